//! What this CPU can do, as a value that proves it. Nobody else asks the CPU.
//!
//! Detection follows the vendors' rules (CPUID leaves 1 and 7 with XGETBV for the register state on x86-64, HWCAP on
//! aarch64) through the standard library; without `std` only what the build's target always has is used.

#[cfg(feature = "alloc")]
use alloc::vec::Vec;
use core::fmt;

/// The instruction sets that code may use. Only this module makes one, so holding it proves the features are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cpu(u32);

/// The AES code that a [`Cpu`] leads to, the strongest first.
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
#[derive(Clone, Copy)]
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
    /// Asks the CPU. The standard library remembers the answer, so later calls are cheap.
    pub fn detect() -> Self {
        Self(
            ALL.iter()
                .filter(|feature| machine::has(**feature))
                .fold(0, |bits, feature| bits | *feature as u32),
        )
    }

    /// No vector code at all: the readable reference everywhere.
    pub const fn portable() -> Self {
        Self(0)
    }

    /// Every distinct set usable on this machine, newest first: what is detected, then the features switched off one
    /// by one, down to [`Cpu::portable`]. Tests run each of them against the last.
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

    /// Which AES code this leads to.
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

    pub(crate) const fn has(self, feature: Feature) -> bool {
        self.0 & feature as u32 != 0
    }
}

impl Level {
    /// A short name for tables: "vaes-avx512", "vaes-avx2", "aes-ni", "armv8-crypto", "portable".
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

/// The AES level and what else is in use: "vaes-avx512 (gfni avx512 sha-ni bmi2 avx2)".
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

#[cfg(all(feature = "std", target_arch = "x86_64"))]
mod machine {
    use super::Feature;
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

#[cfg(not(any(target_arch = "aarch64", all(feature = "std", target_arch = "x86_64"))))]
mod machine {
    use super::Feature;

    pub(super) fn has(_: Feature) -> bool {
        false
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
