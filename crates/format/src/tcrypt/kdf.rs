//! Key derivation: what both programs make of a passphrase.
//!
//! | function        | TrueCrypt | its boot loader | VeraCrypt | its boot loader | with a PIM         | boot loader   |
//! |-----------------|-----------|-----------------|-----------|-----------------|--------------------|---------------|
//! | SHA-512         | 1000      |                 | 500000    |                 | 15000 + PIM × 1000 |               |
//! | RIPEMD-160      | 2000      | 1000            | 655331    | 327661          | 15000 + PIM × 1000 | PIM × 2048    |
//! | Whirlpool       | 1000      |                 | 500000    |                 | 15000 + PIM × 1000 |               |
//! | SHA-1           | 2000      |                 |           |                 |                    |               |
//! | SHA-256         |           |                 | 500000    | 200000          | 15000 + PIM × 1000 | PIM × 2048    |
//! | BLAKE2s-256     |           |                 | 500000    | 200000          | 15000 + PIM × 1000 | PIM × 2048    |
//! | Streebog-512    |           |                 | 500000    | 200000          | 15000 + PIM × 1000 | PIM × 2048    |
//! | Argon2id        |           |                 | PIM 12    |                 | below              |               |
//!
//! Argon2id, one lane (VeraCrypt 1.26.29): up to PIM 31, 64 + 32 (PIM - 1) MiB and 3 + (PIM - 1) / 3
//! passes; from there on 1 GiB and PIM - 18. ("VeraCrypt User's Guide", Header Key Derivation and
//! PIM; cryptsetup, lib/tcrypt/tcrypt.c, `tcrypt_kdf`.)
//!
//! RIPEMD-160 left VeraCrypt in 1.26, SHA-1 left TrueCrypt in 5. A system on a GPT disk is encrypted
//! with the counts of other volumes: its boot loader has the time.

use super::Program;
use crate::Error;
use alloc::format;
use keyway_crypto::Hash;

/// Bytes that are derived: enough for every cipher. Argon2's depend on their number.
pub const DERIVED_LEN: usize = 192;

/// One way from a passphrase to a header's key.
#[derive(Debug, PartialEq, Eq)]
pub struct Kdf {
    /// Whose headers.
    pub program: Program,
    /// cryptsetup's name of it (for PBKDF2, that of the hash).
    pub name: &'static str,
    /// Whether only headers of encrypted systems use it.
    pub boot: bool,
    cost: Cost,
}

/// A derivation with its cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stretch {
    /// PBKDF2.
    Pbkdf2 {
        /// The hash of its HMAC.
        hash: Hash,
        /// Its iterations.
        iterations: u32,
    },
    /// Argon2id with one lane.
    Argon2id(Argon2),
}

/// What Argon2id costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Argon2 {
    /// Passes over the memory.
    pub passes: u32,
    /// Memory in KiB.
    pub memory_kib: u32,
}

#[derive(Debug, PartialEq, Eq)]
enum Cost {
    /// Hash, and iterations: without a PIM, with PIM 0, for each step of the PIM.
    Pbkdf2(Hash, u32, u32, u32),
    Argon2id,
}

impl Kdf {
    /// The derivation and its cost; a PIM must have passed [`check_pim`]. `None`: this one takes no
    /// PIM.
    pub fn stretch(&self, pim: Option<u32>) -> Option<Stretch> {
        if pim.is_some() && self.program == Program::TrueCrypt {
            return None;
        }
        Some(match self.cost {
            Cost::Argon2id => Stretch::Argon2id(argon2(pim.unwrap_or(ARGON2_PIM))),
            Cost::Pbkdf2(hash, default, base, step) => {
                let with_pim = |pim: u32| step.saturating_mul(pim).saturating_add(base);
                Stretch::Pbkdf2 { hash, iterations: pim.map_or(default, with_pim) }
            }
        })
    }

    /// Whether a PIM stands for the same kind of cost: iterations of PBKDF2, or passes and memory of Argon2id.
    pub fn counts_pim_as(&self, other: &Self) -> bool {
        matches!(self.cost, Cost::Argon2id) == matches!(other.cost, Cost::Argon2id)
    }
}

/// Refuses a PIM that VeraCrypt refuses; the limit is lower for encrypted systems.
///
/// # Errors
/// [`Error::Invalid`].
pub fn check_pim(pim: u32, system: bool) -> Result<(), Error> {
    let (limit, of) = if system { (65535, " for an encrypted system") } else { (LARGEST_PIM, "") };
    match (1..=limit).contains(&pim) {
        true => Ok(()),
        false => Err(Error::invalid("PIM", format!("{pim} is not one of 1 to {limit}{of}"))),
    }
}

fn argon2(pim: u32) -> Argon2 {
    let steps = pim.saturating_sub(1);
    match pim {
        0..=31 => Argon2 { passes: 3 + steps / 3, memory_kib: (64 + 32 * steps) << 10 },
        _ => Argon2 { passes: pim - 18, memory_kib: 1 << 20 },
    }
}

const fn truecrypt(name: &'static str, hash: Hash, iterations: u32, boot: bool) -> Kdf {
    Kdf { program: Program::TrueCrypt, name, boot, cost: Cost::Pbkdf2(hash, iterations, 0, 0) }
}

const fn veracrypt(name: &'static str, hash: Hash, iterations: u32) -> Kdf {
    let cost = Cost::Pbkdf2(hash, iterations, 15000, 1000);
    Kdf { program: Program::VeraCrypt, name, boot: false, cost }
}

const fn booting(name: &'static str, hash: Hash, iterations: u32) -> Kdf {
    Kdf { program: Program::VeraCrypt, name, boot: true, cost: Cost::Pbkdf2(hash, iterations, 0, 2048) }
}

/// All of them, the likely ones first: TrueCrypt's take milliseconds.
pub static KDFS: [Kdf; 16] = [
    truecrypt("sha512", Hash::Sha512, 1000, false),
    truecrypt("ripemd160", Hash::Ripemd160, 2000, false),
    truecrypt("whirlpool", Hash::Whirlpool, 1000, false),
    truecrypt("sha1", Hash::Sha1, 2000, false),
    truecrypt("ripemd160", Hash::Ripemd160, 1000, true),
    booting("sha256", Hash::Sha256, 200_000),
    veracrypt("sha512", Hash::Sha512, 500_000),
    veracrypt("sha256", Hash::Sha256, 500_000),
    Kdf { program: Program::VeraCrypt, name: "argon2id", boot: false, cost: Cost::Argon2id },
    veracrypt("whirlpool", Hash::Whirlpool, 500_000),
    booting("blake2s-256", Hash::Blake2s256, 200_000),
    veracrypt("blake2s-256", Hash::Blake2s256, 500_000),
    booting("ripemd160", Hash::Ripemd160, 327_661),
    veracrypt("ripemd160", Hash::Ripemd160, 655_331),
    booting("stribog512", Hash::Streebog512, 200_000),
    veracrypt("stribog512", Hash::Streebog512, 500_000),
];

/// The largest PIM that VeraCrypt takes.
pub const LARGEST_PIM: u32 = 2_147_468;

/// VeraCrypt's PIM where none is given, with Argon2id.
pub const ARGON2_PIM: u32 = 12;
