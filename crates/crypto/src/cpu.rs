//! What this CPU can do, as a value that proves it. No other module queries the CPU.
//!
//! Detection follows the vendors' rules (CPUID leaves 1 and 7 with XGETBV for the register state on
//! x86-64, HWCAP on aarch64): through the standard library, and without `std` by CPUID itself on
//! x86-64. On aarch64 without `std`, and on x86-64 targets without SSE registers (kernels, UEFI),
//! only what the build's target always has is used.
//!
//! Vector code for x86-64 is compiled where the target has SSE2:
//! `all(target_arch = "x86_64", target_feature = "sse2")`. The soft-float
//! targets of kernels and UEFI have no way to pass a vector.

#[cfg(feature = "alloc")]
use alloc::vec::Vec;
use core::fmt;

/// The instruction sets that code may use. Only this module creates one, so holding it proves that
/// the features are present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cpu(u32);

/// The AES code that a [`Cpu`] selects, fastest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Level {
    /// VAES on 512-bit registers: four blocks an instruction.
    Vaes512,
    /// VAES on 256-bit registers: two blocks an instruction.
    Vaes256,
    /// AES-NI: one block an instruction.
    AesNi,
    /// The ARMv8 cryptography extension: one block an instruction.
    ArmCrypto,
    /// Constant-time code without special instructions.
    Portable,
}

/// A set of instructions that code needs together.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Feature {
    /// AES-NI with SSE4.1 and PCLMULQDQ.
    AesNi = 1 << 0,
    /// AVX2.
    Avx2 = 1 << 1,
    /// BMI1 and BMI2 (rorx, andn).
    Bmi2 = 1 << 2,
    /// SHA-1 and SHA-256 instructions with SSE4.1.
    ShaNi = 1 << 3,
    /// AVX2 with VAES and VPCLMULQDQ.
    Vaes256 = 1 << 4,
    /// AVX-512 F, BW, DQ and VL.
    Avx512 = 1 << 5,
    /// AVX-512 F, BW, DQ and VL with VAES and VPCLMULQDQ.
    Vaes512 = 1 << 6,
    /// ARMv8 AES instructions.
    ArmAes = 1 << 7,
    /// AVX-512 F, BW and VBMI with GFNI.
    Gfni = 1 << 8,
    /// The vector registers that every aarch64 CPU has.
    Neon = 1 << 9,
}

impl Cpu {
    /// Queries the CPU. The standard library remembers the answer, so later calls are cheap.
    pub fn detect() -> Self {
        Self(
            ALL.iter()
                .filter(|feature| machine::has(**feature))
                .fold(0, |bits, feature| bits | *feature as u32),
        )
    }

    /// No vector code at all: the readable reference code everywhere.
    pub const fn portable() -> Self {
        Self(0)
    }

    /// Every distinct set usable on this machine, newest first: the detected set, then with
    /// features switched off one by one, down to [`Cpu::portable`]. Tests compare each set with the
    /// last.
    #[cfg(feature = "alloc")]
    pub fn levels() -> Vec<Self> {
        let mut cpu = Self::detect();
        let mut levels = Vec::from([cpu]);
        for feature in ALL.iter().rev() {
            let less = Self(cpu.0 & !(*feature as u32));
            if less != cpu {
                levels.push(less);
            }
            cpu = less;
        }
        levels
    }

    /// The AES code that this set selects.
    pub fn level(self) -> Level {
        if self.has(Feature::Vaes512) {
            Level::Vaes512
        } else if self.has(Feature::Vaes256) {
            Level::Vaes256
        } else if self.has(Feature::AesNi) {
            Level::AesNi
        } else if self.has(Feature::ArmAes) {
            Level::ArmCrypto
        } else {
            Level::Portable
        }
    }

    /// With these features alone.
    #[cfg(test)]
    pub(crate) fn of(features: &[Feature]) -> Self {
        Self(features.iter().fold(0, |bits, feature| bits | *feature as u32))
    }

    pub(crate) const fn has(self, feature: Feature) -> bool {
        self.0 & feature as u32 != 0
    }
}

impl Level {
    /// A short name as shown in tables: "vaes-avx512", "vaes-avx2", "aes-ni", "armv8-crypto",
    /// "portable".
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vaes512 => "vaes-avx512",
            Self::Vaes256 => "vaes-avx2",
            Self::AesNi => "aes-ni",
            Self::ArmCrypto => "armv8-crypto",
            Self::Portable => "portable",
        }
    }
}

/// The AES level and the other features in use: "vaes-avx512 (gfni avx512 sha-ni bmi2 avx2)".
impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.level().name())?;
        let others = [
            (Feature::Gfni, "gfni"),
            (Feature::Avx512, "avx512"),
            (Feature::ShaNi, "sha-ni"),
            (Feature::Bmi2, "bmi2"),
            (Feature::Avx2, "avx2"),
            (Feature::Neon, "neon"),
        ];
        let mut before = " (";
        for (_, name) in others.iter().filter(|(feature, _)| self.has(*feature)) {
            write!(f, "{before}{name}")?;
            before = " ";
        }
        if before == " " { f.write_str(")") } else { Ok(()) }
    }
}

/// Oldest first: the order in which [`Cpu::levels`] keeps them longest.
const ALL: [Feature; 10] = [
    Feature::Neon,
    Feature::ArmAes,
    Feature::AesNi,
    Feature::Avx2,
    Feature::Bmi2,
    Feature::ShaNi,
    Feature::Vaes256,
    Feature::Avx512,
    Feature::Gfni,
    Feature::Vaes512,
];

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod machine {
    use super::Feature;
    #[cfg(not(feature = "std"))]
    use super::cpuid::is;
    #[cfg(feature = "std")]
    use std::arch::is_x86_feature_detected as is;

    pub(super) fn has(feature: Feature) -> bool {
        match feature {
            Feature::AesNi => is!("aes") && is!("ssse3") && is!("sse4.1") && is!("pclmulqdq"),
            Feature::Avx2 => is!("avx2"),
            Feature::Bmi2 => is!("bmi1") && is!("bmi2"),
            Feature::ShaNi => is!("sha") && is!("ssse3") && is!("sse4.1"),
            Feature::Vaes256 => has(Feature::Avx2) && is!("aes") && is!("vaes") && is!("vpclmulqdq"),
            Feature::Avx512 => is!("avx512f") && is!("avx512bw") && is!("avx512dq") && is!("avx512vl"),
            Feature::Vaes512 => has(Feature::Avx512) && has(Feature::Vaes256),
            Feature::Gfni => has(Feature::Avx512) && is!("avx512vbmi") && is!("gfni"),
            Feature::ArmAes | Feature::Neon => false,
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod machine {
    use super::Feature;

    pub(super) fn has(feature: Feature) -> bool {
        match feature {
            Feature::Neon => cfg!(target_feature = "neon"),
            #[cfg(feature = "std")]
            Feature::ArmAes => std::arch::is_aarch64_feature_detected!("aes"),
            _ => false,
        }
    }
}

#[cfg(not(any(target_arch = "aarch64", all(target_arch = "x86_64", target_feature = "sse2"))))]
mod machine {
    use super::Feature;

    pub(super) fn has(_: Feature) -> bool {
        false
    }
}

/// CPUID (Intel SDM, volume 2A, CPUID), and XGETBV for the registers that the system saves (volume
/// 1, 14.3 and 15.2), for programs without the standard library.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2", any(test, not(feature = "std"))))]
mod cpuid {
    use core::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};

    /// Like `std::arch::is_x86_feature_detected`.
    #[cfg(not(feature = "std"))]
    macro_rules! is {
        ($name:literal) => {
            crate::cpu::cpuid::has($name)
        };
    }
    #[cfg(not(feature = "std"))]
    pub(super) use is;

    /// Whether the CPU and the system support a feature, by Rust's name for it.
    pub(super) fn has(name: &str) -> bool {
        let Some((_, leaf, register, bit, registers)) =
            FEATURES.into_iter().find(|(known, ..)| *known == name)
        else {
            return false;
        };
        saved() & registers == registers && (word(leaf, register) >> bit) & 1 == 1
    }

    /// EBX or ECX of leaf 1 or of leaf 7's first part; zero when the CPU has no such leaf.
    #[allow(unused_unsafe)] // Newer compilers know that every x86-64 CPU has CPUID.
    fn word(leaf: u32, register: Register) -> u32 {
        // SAFETY: every x86-64 CPU has CPUID.
        let answer = unsafe {
            if leaf > __cpuid(0).eax {
                return 0;
            }
            __cpuid_count(leaf, 0)
        };
        match register {
            Register::Ebx => answer.ebx,
            Register::Ecx => answer.ecx,
        }
    }

    /// XCR0: which registers the system saves. The SSE registers are saved on every system that
    /// this code is built for.
    fn saved() -> u64 {
        const OSXSAVE: u32 = 27;
        if (word(1, Register::Ecx) >> OSXSAVE) & 1 == 0 {
            return SSE;
        }
        // SAFETY: OSXSAVE says that XGETBV is available and allowed.
        unsafe { xcr0() }
    }

    #[target_feature(enable = "xsave")]
    fn xcr0() -> u64 {
        // SAFETY: the caller has checked OSXSAVE; register 0 always exists.
        unsafe { _xgetbv(0) }
    }

    #[derive(Clone, Copy)]
    enum Register {
        Ebx,
        Ecx,
    }

    const SSE: u64 = 1 << 1;
    const AVX: u64 = SSE | 1 << 2;
    /// Mask registers, the upper halves of zmm0 to 15, and zmm16 to 31.
    const AVX512: u64 = AVX | 0b111 << 5;

    /// Rust's name, leaf, register and bit, and the registers that the system must save for it.
    const FEATURES: [(&str, u32, Register, u32, u64); FEATURE_COUNT] = [
        ("aes", 1, Register::Ecx, 25, SSE),
        ("ssse3", 1, Register::Ecx, 9, SSE),
        ("sse4.1", 1, Register::Ecx, 19, SSE),
        ("pclmulqdq", 1, Register::Ecx, 1, SSE),
        ("avx2", 7, Register::Ebx, 5, AVX),
        ("bmi1", 7, Register::Ebx, 3, 0),
        ("bmi2", 7, Register::Ebx, 8, 0),
        ("sha", 7, Register::Ebx, 29, SSE),
        ("vaes", 7, Register::Ecx, 9, AVX),
        ("vpclmulqdq", 7, Register::Ecx, 10, AVX),
        ("avx512f", 7, Register::Ebx, 16, AVX512),
        ("avx512bw", 7, Register::Ebx, 30, AVX512),
        ("avx512dq", 7, Register::Ebx, 17, AVX512),
        ("avx512vl", 7, Register::Ebx, 31, AVX512),
        ("avx512vbmi", 7, Register::Ecx, 1, AVX512),
        ("gfni", 7, Register::Ecx, 8, SSE),
    ];
    const FEATURE_COUNT: usize = 16;

    #[test]
    fn says_what_the_standard_library_says() {
        use std::arch::is_x86_feature_detected as is;
        let expected = [
            ("aes", is!("aes")),
            ("ssse3", is!("ssse3")),
            ("sse4.1", is!("sse4.1")),
            ("pclmulqdq", is!("pclmulqdq")),
            ("avx2", is!("avx2")),
            ("bmi1", is!("bmi1")),
            ("bmi2", is!("bmi2")),
            ("sha", is!("sha")),
            ("vaes", is!("vaes")),
            ("vpclmulqdq", is!("vpclmulqdq")),
            ("avx512f", is!("avx512f")),
            ("avx512bw", is!("avx512bw")),
            ("avx512dq", is!("avx512dq")),
            ("avx512vl", is!("avx512vl")),
            ("avx512vbmi", is!("avx512vbmi")),
            ("gfni", is!("gfni")),
        ];
        assert_eq!(expected.len(), FEATURE_COUNT);
        for (name, there) in expected {
            assert_eq!(has(name), there, "{name}");
        }
        assert!(!has("mmx2"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn levels_start_at_the_machine_and_end_portable() {
        let levels = Cpu::levels();
        assert_eq!(levels[0], Cpu::detect());
        assert_eq!(*levels.last().unwrap(), Cpu::portable());
        assert!(levels.windows(2).all(|pair| pair[0].0 & pair[1].0 == pair[1].0 && pair[0] != pair[1]));
    }

    #[test]
    fn names() {
        assert_eq!(Cpu::portable().to_string(), "portable");
        let cpu = Cpu(Feature::AesNi as u32 | Feature::Avx2 as u32 | Feature::ShaNi as u32);
        assert_eq!(cpu.to_string(), "aes-ni (sha-ni avx2)");
    }
}
