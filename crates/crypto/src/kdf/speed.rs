//! How fast other programs, and other machines, derive keys: beside this library on the same CPU,
//! or as published. docs/COST.md has the figures and their sources.
//!
//! All of them compute the blocks of a PBKDF2 key one after another; this library computes them side
//! by side.

use crate::cpu::Feature;
use crate::{Cpu, Hash};

/// A program, or a machine, with its speed.
#[derive(Debug)]
pub struct KdfSpeed {
    /// Its name on command lines: "cryptsetup", "grub-2.12", "pi4".
    pub name: &'static str,
    /// Where a volume opens: "in cryptsetup", "on a Raspberry Pi 4".
    pub place: &'static str,
    /// What its figures are relative to, but for those of `own_hash`.
    beside: Beside,
    /// Hashes whose figures are relative to this library with the same hash.
    own_hash: &'static [Hash],
    /// How much slower it is than its figures.
    slower: f64,
    pbkdf2: &'static [(Hash, f64)],
    /// What stands in the place of such a figure where the CPU lacks all that this library's code uses; the first
    /// counts.
    without: &'static [(Hash, &'static [Feature], f64)],
    /// With hashes that have no figure of their own, if it has them.
    others: Option<f64>,
    /// By KiB of memory, in ascending order; empty if it lacks Argon2.
    argon2: &'static [(u64, f64)],
    /// Of BitLocker's stretching.
    stretching: Option<f64>,
}

/// What a speed is relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// This library with the same hash, and its Argon2 with the same lanes.
    SameHash,
    /// This library's PBKDF2 with SHA-512, and its Argon2 with one lane.
    Sha512,
    /// Nothing: iterations of a block, and KiB times passes, a second.
    Nothing,
}

impl KdfSpeed {
    /// Looks one up by name, or by one of [`KdfSpeed::others`].
    pub fn find(name: &str) -> Option<&'static Self> {
        let other = OTHERS.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        let named = ALL.iter().find(|speed| speed.name.eq_ignore_ascii_case(name));
        named.copied().or(other.map(|(_, speed)| *speed))
    }

    /// Further names: programs that derive keys with the code of another, and so as fast.
    pub fn others() -> impl Iterator<Item = &'static str> {
        OTHERS.iter().map(|(name, _)| *name)
    }

    /// All of them.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        ALL.iter().copied()
    }

    /// What its iterations with this hash are relative to.
    pub fn beside(&self, hash: Hash) -> Beside {
        if self.own_hash.contains(&hash) { Beside::SameHash } else { self.beside }
    }

    /// What its Argon2 is relative to.
    pub fn argon2_beside(&self) -> Beside {
        self.beside
    }

    /// Iterations of one block, of those that this library makes meanwhile on this CPU, or a second; `None` if
    /// it lacks the hash, or nothing is known.
    pub fn pbkdf2(&self, hash: Hash) -> Option<f64> {
        self.pbkdf2_on(Cpu::detect(), hash)
    }

    fn pbkdf2_on(&self, cpu: Cpu, hash: Hash) -> Option<f64> {
        let lacks_all = |features: &[Feature]| features.iter().all(|feature| !cpu.has(*feature));
        let lacks = self.without.iter().find(|(known, uses, _)| *known == hash && lacks_all(uses));
        let figure = match lacks {
            Some((.., figure)) => Some(*figure),
            None => self.pbkdf2.iter().find(|(known, _)| *known == hash).map(|(_, figure)| *figure),
        };
        Some(figure.or(self.others)? / self.slower)
    }

    /// Rounds of BitLocker's stretching, of those that this library makes meanwhile on this CPU; `None` if nothing
    /// is known.
    pub fn stretching(&self) -> Option<f64> {
        Some(self.stretching? / self.slower)
    }

    /// The hashes that it has figures of.
    pub fn hashes(&self) -> impl Iterator<Item = Hash> + '_ {
        self.pbkdf2.iter().map(|(hash, _)| *hash)
    }

    /// Whether it has Argon2.
    pub fn has_argon2(&self) -> bool {
        !self.argon2.is_empty()
    }

    /// KiB of memory times passes of Argon2 over so much memory, in the same way: on the line between
    /// the figures around it.
    pub fn argon2(&self, memory_kib: u64) -> Option<f64> {
        let above = self.argon2.partition_point(|(kib, _)| *kib <= memory_kib);
        let (below, above) = (above.checked_sub(1), self.argon2.get(above));
        let figure = match (below.map(|at| self.argon2[at]), above.copied()) {
            (Some((kib, figure)), Some((next, towards))) => {
                let share = (memory_kib - kib) as f64 / (next - kib) as f64;
                figure + share * (towards - figure)
            }
            (Some((_, figure)), None) | (None, Some((_, figure))) => figure,
            (None, None) => return None,
        };
        Some(figure / self.slower)
    }
}

impl PartialEq for KdfSpeed {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for KdfSpeed {}

/// cryptsetup under Linux: its `benchmark` beside this library's, on an Intel Xeon with SHA-NI and
/// AVX-512, on an AMD EPYC (Zen 4), and on an Intel Xeon with AVX-512 alone, November 2026. They differ by up
/// to a third; this is the middle, from which none is farther than a fifth. SHA-NI and GFNI gain this
/// library more than OpenSSL: where they are missing the third counts. Its Argon2 takes as long for each
/// KiB of any memory; this library is faster where caches hold most of it. BitLocker's stretching was measured
/// on the second and the third.
pub static CRYPTSETUP: KdfSpeed = KdfSpeed {
    name: "cryptsetup",
    place: "in cryptsetup",
    beside: Beside::SameHash,
    own_hash: &[],
    slower: 1.0,
    pbkdf2: &[
        (Hash::Sha1, 0.29),
        (Hash::Sha224, 0.47),
        (Hash::Sha256, 0.47),
        (Hash::Sha384, 0.62),
        (Hash::Sha512, 0.62),
        (Hash::Ripemd160, 0.43),
        (Hash::Whirlpool, 0.39),
        (Hash::Blake2s256, 0.37),
    ],
    without: &[
        (Hash::Sha1, &[Feature::ShaNi], 0.40),
        (Hash::Sha224, &[Feature::ShaNi, Feature::Bmi2], 0.97),
        (Hash::Sha256, &[Feature::ShaNi, Feature::Bmi2], 0.97),
        (Hash::Sha224, &[Feature::ShaNi], 0.60),
        (Hash::Sha256, &[Feature::ShaNi], 0.60),
        (Hash::Whirlpool, &[Feature::Gfni], 1.0),
    ],
    others: Some(0.8),
    argon2: &[(64 << 10, 0.30), (256 << 10, 0.40), (1 << 20, 0.53)],
    stretching: Some(0.70),
};

const fn grub(name: &'static str, place: &'static str, pbkdf2: &'static [(Hash, f64)]) -> KdfSpeed {
    let (beside, own_hash) = (Beside::Sha512, &[]);
    let without = &[];
    let (others, stretching) = (None, None);
    KdfSpeed {
        name,
        place,
        beside,
        own_hash,
        slower: FIRMWARE,
        pbkdf2,
        without,
        others,
        argon2: &[],
        stretching,
    }
}

/// GRUB 2.06 in firmware, measured with `grub-fstest`.
pub static GRUB_2_06: KdfSpeed = grub(
    "grub-2.06",
    "in GRUB 2.06",
    &[
        (Hash::Sha1, 0.47),
        (Hash::Sha224, 0.30),
        (Hash::Sha256, 0.30),
        (Hash::Sha384, 0.17),
        (Hash::Sha512, 0.17),
        (Hash::Ripemd160, 0.30),
        (Hash::Whirlpool, 0.15),
    ],
);

/// GRUB 2.12 in firmware.
pub static GRUB_2_12: KdfSpeed = grub(
    "grub-2.12",
    "in GRUB 2.12",
    &[
        (Hash::Sha1, 0.45),
        (Hash::Sha224, 0.26),
        (Hash::Sha256, 0.26),
        (Hash::Sha384, 0.17),
        (Hash::Sha512, 0.17),
        (Hash::Ripemd160, 0.30),
        (Hash::Whirlpool, 0.14),
    ],
);

/// GRUB 2.14 in firmware. It runs Argon2's lanes one after another; Whirlpool's state is too large
/// for it.
pub static GRUB_2_14: KdfSpeed = KdfSpeed {
    argon2: GRUB_ARGON2,
    ..grub(
        "grub-2.14",
        "in GRUB 2.14",
        &[
            (Hash::Sha1, 1.70),
            (Hash::Sha224, 0.80),
            (Hash::Sha256, 0.80),
            (Hash::Sha384, 0.65),
            (Hash::Sha512, 0.65),
            (Hash::Ripemd160, 1.35),
            (Hash::Whirlpool, 0.25),
        ],
    )
};

/// The same after `cryptomount -A` (`--hw-accel`), which x86_64 EFI has: SHA-NI for SHA-256, AVX2 for
/// SHA-512, nothing for the others; AVX2 for SHA-256 where SHA-NI is missing. Its modules were linked into a
/// program and run beside this library (tests/grub/speed), which uses the same instructions: so these follow
/// the CPU as they do.
pub static GRUB_2_14_ACCEL: KdfSpeed = KdfSpeed {
    own_hash: &[Hash::Sha224, Hash::Sha256, Hash::Sha384, Hash::Sha512],
    argon2: GRUB_ARGON2,
    without: &[(Hash::Sha224, &[Feature::ShaNi], 0.76), (Hash::Sha256, &[Feature::ShaNi], 0.76)],
    ..grub(
        "grub-2.14-accel",
        "in GRUB 2.14 after cryptomount -A",
        &[
            (Hash::Sha1, 1.70),
            (Hash::Sha224, 0.93),
            (Hash::Sha256, 0.93),
            (Hash::Sha384, 0.63),
            (Hash::Sha512, 0.63),
            (Hash::Ripemd160, 1.35),
            (Hash::Whirlpool, 0.25),
        ],
    )
};

/// A Raspberry Pi 4: `cryptsetup benchmark` for keys of 256 bits, which are two blocks of hashes
/// with 160 bits; the slower one of several.
pub static PI4: KdfSpeed = KdfSpeed {
    name: "pi4",
    place: "on a Raspberry Pi 4",
    beside: Beside::Nothing,
    own_hash: &[],
    slower: 1.0,
    pbkdf2: PI4_PBKDF2,
    without: &[],
    others: None,
    argon2: PI4_ARGON2,
    stretching: None,
};

/// A Raspberry Pi 3: an estimate, by the speed of aes-xts with 256 bits in MiB/s, averaged over both
/// directions, relative to the Raspberry Pi 4 above.
pub static PI3: KdfSpeed = KdfSpeed {
    name: "pi3",
    place: "on a Raspberry Pi 3",
    beside: Beside::Nothing,
    own_hash: &[],
    slower: 35.2 / 34.8,
    pbkdf2: PI4_PBKDF2,
    without: &[],
    others: None,
    argon2: PI4_ARGON2,
    stretching: None,
};

static ALL: [&KdfSpeed; 7] = [&CRYPTSETUP, &GRUB_2_06, &GRUB_2_12, &GRUB_2_14, &GRUB_2_14_ACCEL, &PI3, &PI4];

/// Distributions' builds of GRUB, with the release whose code they are made of: docs/COST.md says which
/// were measured.
static OTHERS: [(&str, &KdfSpeed); 9] = [
    ("grub-debian-12", &GRUB_2_06),
    ("grub-debian-13", &GRUB_2_12),
    ("grub-debian-14", &GRUB_2_14),
    ("grub-fedora", &GRUB_2_12),
    ("grub-rhel-10", &GRUB_2_12),
    ("grub-tumbleweed", &GRUB_2_14),
    ("grub-ubuntu-22.04", &GRUB_2_06),
    ("grub-ubuntu-24.04", &GRUB_2_12),
    ("grub-ubuntu-26.04", &GRUB_2_14),
];

const PI4_PBKDF2: &[(Hash, f64)] = &[
    (Hash::Sha1, 2.0 * 142_935.0),
    (Hash::Sha256, 233_224.0),
    (Hash::Sha512, 189_684.0),
    (Hash::Ripemd160, 2.0 * 120_692.0),
    (Hash::Whirlpool, 48_046.0),
];
const PI4_ARGON2: &[(u64, f64)] = &[(239_062, 4.0 * 239_062.0 / 2.0)];
const GRUB_ARGON2: &[(u64, f64)] = &[(1 << 20, 0.36)];

/// How much slower GRUB is in firmware than as a program. The article of 2018 (45 s for 2,612,730
/// iterations of SHA-512 where Linux computes 450,000 per second) is 1.3 times what these ratios
/// give; one machine, one firmware.
pub const FIRMWARE: f64 = 1.3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_name_and_the_usual_hashes() {
        for speed in KdfSpeed::all() {
            assert_eq!(KdfSpeed::find(speed.name), Some(speed));
            for hash in [Hash::Sha1, Hash::Sha256, Hash::Sha512] {
                assert!(speed.pbkdf2(hash).is_some_and(|figure| figure > 0.0), "{}: {hash:?}", speed.name);
            }
            let knows_all = speed.pbkdf2(Hash::Blake2b512).is_some();
            assert_eq!(knows_all, speed == &CRYPTSETUP, "{}", speed.name);
        }
        assert!(KdfSpeed::find("abacus").is_none());
        for name in KdfSpeed::others() {
            assert!(KdfSpeed::find(name).is_some_and(|speed| speed.name != name), "{name}");
        }
    }

    /// cryptsetup gains less by SHA-NI, and by BMI2, than this library: without, both are nearly as fast.
    #[test]
    fn instructions_that_are_missing_change_the_ratio() {
        let figure = |cpu, hash| CRYPTSETUP.pbkdf2_on(cpu, hash);
        let with = Cpu::of(&[Feature::ShaNi, Feature::Gfni]);
        let hashes = [Hash::Sha1, Hash::Sha256, Hash::Whirlpool, Hash::Sha512];
        assert_eq!(hashes.map(|hash| figure(with, hash)), [0.29, 0.47, 0.39, 0.62].map(Some));
        let avx2 = Cpu::of(&[Feature::Avx2, Feature::Bmi2]);
        assert_eq!(hashes.map(|hash| figure(avx2, hash)), [0.40, 0.60, 1.0, 0.62].map(Some));
        assert_eq!(hashes.map(|hash| figure(Cpu::portable(), hash)), [0.40, 0.97, 1.0, 0.62].map(Some));
        let in_grub = |cpu| GRUB_2_12.pbkdf2_on(cpu, Hash::Sha256);
        assert_eq!(in_grub(with), in_grub(Cpu::portable()));
        let accelerated = [with, avx2].map(|cpu| GRUB_2_14_ACCEL.pbkdf2_on(cpu, Hash::Sha256));
        assert_eq!(accelerated, [0.93, 0.76].map(|figure| Some(figure / FIRMWARE)));
    }

    #[test]
    fn argon2_by_memory() {
        let figure = |mib: u64| (CRYPTSETUP.argon2(mib << 10).unwrap() * 1000.0).round();
        let figures = [0, 16, 64, 160, 256, 640, 1024, 4096].map(figure);
        assert_eq!(figures, [300.0, 300.0, 300.0, 350.0, 400.0, 465.0, 530.0, 530.0]);
        assert_eq!((GRUB_2_12.argon2(65536), GRUB_2_12.has_argon2()), (None, false));
        let of_pi = [1, 239_062, 1 << 20].map(|kib| PI4.argon2(kib));
        assert_eq!(of_pi, [Some(478_124.0); 3]);
        assert!(GRUB_2_14.has_argon2());
    }
}
