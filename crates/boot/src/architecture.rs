//! The architectures of programs, kernels and modules, as given in their headers: ELF (System V
//! ABI, chapter 4), PE, and the headers of kernels started by a boot loader (Linux,
//! Documentation/arch: arm64/booting.rst, riscv/boot-image-header.rst, x86/boot.rst; for arm's
//! zImage arch/arm/boot/compressed/head.S).

use crate::initramfs::Compression;
use std::fmt;
use std::io::Read;

/// An instruction set, with its address size and byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Architecture {
    /// e_machine.
    machine: u16,
    /// Whether addresses have 64 bits.
    is_wide: bool,
    /// Whether numbers are little-endian.
    is_little: bool,
}

/// What the first bytes of an ELF file say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Object {
    /// The file's architecture.
    pub architecture: Architecture,
    /// Whether the file is relocatable, as kernel modules are.
    pub is_relocatable: bool,
}

impl Object {
    /// Parses the first [`HEAD`] bytes; `None` for other files.
    pub fn parse(head: &[u8]) -> Option<Self> {
        let head = head.first_chunk::<HEAD>().filter(|head| head.starts_with(b"\x7fELF"))?;
        let is_little = head[5] == 1;
        let half = |at: usize| {
            let bytes = [head[at], head[at + 1]];
            if is_little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) }
        };
        let architecture = Architecture { machine: half(18), is_wide: head[4] == 2, is_little };
        Some(Self { architecture, is_relocatable: half(16) == RELOCATABLE })
    }
}

impl Architecture {
    /// The architecture of a kernel, compressed or not; `None` if its header does not tell.
    pub fn of_kernel(kernel: &[u8]) -> Option<Self> {
        if let Some(packed) = Compression::of(kernel) {
            let (mut rest, mut head) = (kernel, Vec::new());
            packed.unpack(&mut rest).ok()?.take(KERNEL_HEAD).read_to_end(&mut head).ok()?;
            return if Compression::of(&head).is_none() { Self::of_kernel(&head) } else { None };
        }
        let word = |at: usize| kernel.get(at..)?.first_chunk::<4>();
        if let Some(object) = Object::parse(kernel) {
            return Some(object.architecture);
        }
        match () {
            () if word(0x38) == Some(b"ARM\x64") => Self::named("aarch64"),
            () if word(0x38) == Some(b"RSC\x05") => Self::named("riscv64"),
            () if word(0x24) == Some(&0x016f_2818_u32.to_le_bytes()) => Self::named("arm"),
            () if word(0x202) == Some(b"HdrS") => {
                let is_wide = kernel.get(0x236).is_some_and(|flags| flags & 1 == 1);
                Self::named(if is_wide { "x86_64" } else { "i686" })
            }
            () if kernel.starts_with(b"MZ") => Self::of_pe(kernel),
            () => None,
        }
    }

    fn of_pe(image: &[u8]) -> Option<Self> {
        let at = u32::from_le_bytes(*image.get(60..)?.first_chunk()?) as usize;
        let header = image.get(at..)?.first_chunk::<6>()?;
        let machine = u16::from_le_bytes([header[4], header[5]]);
        let (_, name) =
            PE_MACHINES.iter().find(|(number, _)| header.starts_with(b"PE\0\0") && *number == machine)?;
        Self::named(name)
    }

    /// Looks up an architecture by its `uname -m` name.
    pub fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// Whether a kernel of this architecture runs programs of the other: its own, and those with
    /// addresses of half the size.
    pub fn runs(self, program: Self) -> bool {
        let is_smaller = self.is_wide && !program.is_wide && self.is_little == program.is_little;
        self == program || is_smaller && is_family(self.machine, program.machine)
    }

    /// Whether this is U-Boot's name for the architecture.
    pub(crate) fn is_uboot(self, name: &str) -> bool {
        NAMES.iter().any(|row| row.0 == self && row.2 == name)
    }

    /// All architectures that U-Boot calls by this name.
    pub(crate) fn of_uboot(name: &str) -> impl Iterator<Item = Self> {
        NAMES.iter().filter(move |row| row.2 == name).map(|row| row.0)
    }

    /// Whether this U-Boot name is known here.
    pub(crate) fn is_known_to_uboot(name: &str) -> bool {
        NAMES.iter().any(|row| row.2 == name)
    }
}

/// Whether a 64-bit kernel for one machine runs 32-bit programs for the other.
fn is_family(kernel: u16, program: u16) -> bool {
    kernel == program || FAMILIES.contains(&(kernel, program))
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|row| row.0 == *self) {
            Some((_, name, _)) => f.write_str(name),
            None => write!(f, "machine {} of ELF", self.machine),
        }
    }
}

const fn wide(machine: u16) -> Architecture {
    Architecture { machine, is_wide: true, is_little: true }
}

const fn narrow(machine: u16) -> Architecture {
    Architecture { machine, is_wide: false, is_little: true }
}

const fn big(little: Architecture) -> Architecture {
    Architecture { is_little: false, ..little }
}

/// The number of bytes needed of an ELF header.
pub const HEAD: usize = 20;
/// ET_REL.
const RELOCATABLE: u16 = 1;
/// The number of bytes needed of a kernel, wherever its PE header is.
const KERNEL_HEAD: u64 = 4096;
/// Architecture (e_machine, width, byte order); `uname -m` name; U-Boot's name, if it has one.
const NAMES: &[(Architecture, &str, &str)] = &[
    (narrow(3), "i686", "x86"),
    (wide(62), "x86_64", "x86_64"),
    (narrow(40), "arm", "arm"),
    (big(narrow(40)), "armeb", "arm"),
    (wide(183), "aarch64", "arm64"),
    (big(wide(183)), "aarch64_be", "arm64"),
    (wide(243), "riscv64", "riscv"),
    (narrow(243), "riscv32", "riscv"),
    (big(narrow(20)), "ppc", "powerpc"),
    (big(wide(21)), "ppc64", "powerpc"),
    (wide(21), "ppc64le", "powerpc"),
    (big(narrow(8)), "mips", "mips"),
    (narrow(8), "mipsel", "mips"),
    (big(wide(8)), "mips64", "mips64"),
    (wide(8), "mips64el", "mips64"),
    (big(wide(22)), "s390x", ""),
    (wide(258), "loongarch64", ""),
];
/// Pairs of machines of which the first's kernels run the second's programs, besides those with the
/// same number.
const FAMILIES: &[(u16, u16)] = &[(62, 3), (183, 40), (21, 20)];
const PE_MACHINES: &[(u16, &str)] = &[
    (0x014c, "i686"),
    (0x01c2, "arm"),
    (0x01c4, "arm"),
    (0x5032, "riscv32"),
    (0x5064, "riscv64"),
    (0x6264, "loongarch64"),
    (0x8664, "x86_64"),
    (0xaa64, "aarch64"),
];

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The beginning of an ELF file: a program or a module.
    pub(crate) fn elf(name: &str, is_module: bool) -> Vec<u8> {
        let architecture = Architecture::named(name).unwrap();
        let mut head = vec![0; 64];
        head[..4].copy_from_slice(b"\x7fELF");
        head[4] = 1 + u8::from(architecture.is_wide);
        head[5] = 2 - u8::from(architecture.is_little);
        let put =
            |number: u16| if architecture.is_little { number.to_le_bytes() } else { number.to_be_bytes() };
        head[16..18].copy_from_slice(&put(if is_module { 1 } else { 2 }));
        head[18..20].copy_from_slice(&put(architecture.machine));
        head
    }

    fn of(name: &str) -> Architecture {
        Architecture::named(name).unwrap()
    }

    #[test]
    fn objects_say_what_they_are_for() {
        for (architecture, name, _) in NAMES {
            for is_relocatable in [false, true] {
                let object = Object::parse(&elf(name, is_relocatable)).unwrap();
                assert_eq!(object, Object { architecture: *architecture, is_relocatable }, "{name}");
            }
            assert_eq!(architecture.to_string(), *name);
        }
        assert_eq!(Object::parse(&elf("arm", false)[..19]), None);
        assert_eq!(Object::parse(b"#!/bin/sh and something more"), None);
        let own = Object::parse(&std::fs::read("/proc/self/exe").unwrap()).unwrap();
        assert_eq!(own.architecture.to_string(), std::env::consts::ARCH);
        assert_eq!(wide(4711).to_string(), "machine 4711 of ELF");
    }

    #[test]
    fn what_runs_where() {
        for (kernel, program, runs) in [
            ("x86_64", "x86_64", true),
            ("x86_64", "i686", true),
            ("i686", "x86_64", false),
            ("i686", "i686", true),
            ("aarch64", "arm", true),
            ("aarch64", "armeb", false),
            ("arm", "aarch64", false),
            ("aarch64", "x86_64", false),
            ("aarch64", "i686", false),
            ("x86_64", "arm", false),
            ("ppc64", "ppc", true),
            ("ppc64le", "ppc", false),
            ("mips64el", "mipsel", true),
            ("mips64", "mipsel", false),
            ("riscv64", "riscv32", true),
            ("riscv64", "arm", false),
        ] {
            assert_eq!(of(kernel).runs(of(program)), runs, "{kernel} {program}");
        }
        assert!(
            of("aarch64").is_uboot("arm64")
                && !of("aarch64").is_uboot("arm")
                && !of("s390x").is_uboot("arm64")
        );
        assert!(Architecture::is_known_to_uboot("riscv") && !Architecture::is_known_to_uboot("m68k"));
    }

    #[test]
    fn kernels() {
        let with = |parts: &[(usize, &[u8])]| {
            let mut kernel = vec![0; 4096];
            for (at, bytes) in parts {
                kernel[*at..*at + bytes.len()].copy_from_slice(bytes);
            }
            kernel
        };
        let pe = |machine: u16| {
            with(&[(0, b"MZ"), (60, &128_u32.to_le_bytes()), (128, b"PE\0\0"), (132, &machine.to_le_bytes())])
        };
        for (kernel, expected) in [
            (with(&[(0x38, b"ARM\x64")]), Some("aarch64")),
            (with(&[(0x38, b"RSC\x05")]), Some("riscv64")),
            (with(&[(0x24, b"\x18\x28\x6f\x01")]), Some("arm")),
            (with(&[(0x202, b"HdrS"), (0x236, b"\x7f")]), Some("x86_64")),
            (with(&[(0x202, b"HdrS"), (0x236, b"\x02")]), Some("i686")),
            (pe(0x8664), Some("x86_64")),
            (pe(0xaa64), Some("aarch64")),
            (pe(0x5064), Some("riscv64")),
            (pe(0x1111), None),
            (with(&[(0, b"MZ"), (60, &128_u32.to_le_bytes()), (132, &0xaa64_u16.to_le_bytes())]), None),
            (with(&[(0, b"MZ"), (60, &[0xff; 4])]), None),
            (with(&[(60, &128_u32.to_le_bytes()), (128, b"PE\0\0"), (132, &0xaa64_u16.to_le_bytes())]), None),
            (elf("mips", false), Some("mips")),
            (with(&[]), None),
            (Vec::new(), None),
        ] {
            assert_eq!(Architecture::of_kernel(&kernel), expected.map(of));
            let packed = crate::initramfs::Packing::Gzip.pack(kernel).unwrap();
            assert_eq!(Architecture::of_kernel(&packed), expected.map(of), "packed");
            let twice = crate::initramfs::Packing::Gzip.pack(packed).unwrap();
            assert_eq!(Architecture::of_kernel(&twice), None, "packed twice");
        }
    }
}
