//! What this CPU could do at most: instructions that cannot be saved,
//! over the rate at which it completes them.
//!
//! A floor counts 512-bit instructions for a number of bytes. Each kind has its own measured rate;
//! all kinds together cannot be faster than simple logic, and kinds that share the CPU's first
//! vector port (AES rounds, rotations) or its second (shuffles, carry-less products) cannot overlap
//! among themselves. The largest of these times is the floor.

#[cfg(target_arch = "x86_64")]
mod x86;

use super::sectors::Cipher;
use crate::rounds::Floor;

/// A kind of instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    /// One AES round on four blocks.
    Aes,
    /// Any logic of three vectors; additions cost the same.
    Logic,
    /// Rotation or shift of a vector's words.
    Rotate,
    /// Bytes moved within 16-byte lanes.
    Shuffle,
    /// Bytes moved across a whole vector; a table of 64 bytes.
    Permute,
    /// An affine map over GF(2) of each byte, with or without inversion.
    Affine,
    /// Eight products of 32-bit words.
    Multiply,
    /// Four carry-less products of 64-bit words.
    Carryless,
    /// Two rounds of SHA-256.
    Sha256,
    /// Four rounds of SHA-1.
    Sha1,
    /// Addition or logic of a general register.
    Alu,
    /// Rotation of a general register.
    Turn,
    /// A word from the first-level cache.
    Load,
}

/// How many instructions of a kind.
pub(crate) type Counts = &'static [(Op, f64)];

/// What a cipher cannot do without.
#[derive(Debug)]
pub(crate) struct Work {
    /// Bytes that `counts` is for.
    pub(crate) bytes: f64,
    pub(crate) counts: Counts,
    /// What each sector adds.
    pub(crate) a_sector: Counts,
    /// The counts in words.
    pub(crate) derivation: &'static str,
    /// What keeps Keyway from there.
    pub(crate) gap: &'static str,
}

/// The floor of a sector cipher in 10^6 bytes a second; `None` where the instructions are missing.
pub(crate) fn sectors(cipher: &Cipher, sector: usize) -> Option<Floor> {
    let work = cipher.floor.as_ref()?;
    let pieces = sector as f64 / work.bytes;
    let counts: Vec<_> = work.counts.iter().map(|(op, count)| (*op, count * pieces)).collect();
    let counts: Vec<_> = counts.into_iter().chain(work.a_sector.iter().copied()).collect();
    floor(counts, sector as f64, format!("{}; {}", work.derivation, work.gap))
}

/// The floor of work that takes these instructions for so many units, in 10^6 units a second.
pub(super) fn floor(counts: Vec<(Op, f64)>, units: f64, reason: String) -> Option<Floor> {
    seconds(&counts)?;
    let sample = move || units / seconds(&counts).expect("instructions that were there") / 1e6;
    Some(Floor { sample: Box::new(sample), reason })
}

/// The least time for these instructions; `None` where one of them is missing.
fn seconds(counts: &[(Op, f64)]) -> Option<f64> {
    let (mut all_vectors, mut first_port, mut second_port, mut alu, mut alone) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (op, count) in counts {
        let time = count / rate(*op)?;
        match op {
            Op::Alu => alu += time,
            Op::Turn => {
                alu += count / rate(Op::Alu)?;
                alone += time;
            }
            Op::Sha1 | Op::Sha256 | Op::Load => alone += time,
            _ => {
                all_vectors += count / rate(Op::Logic)?;
                match op {
                    Op::Aes | Op::Rotate | Op::Affine | Op::Multiply => first_port += time,
                    Op::Shuffle | Op::Permute | Op::Carryless => second_port += time,
                    _ => {}
                }
            }
        }
    }
    Some([all_vectors, first_port, second_port, alu, alone].into_iter().fold(0.0, f64::max))
}

/// Instructions a second on this CPU, now: a tenth of a millisecond of nothing else, a few times.
#[cfg(target_arch = "x86_64")]
fn rate(op: Op) -> Option<f64> {
    x86::rate(op)
}

#[cfg(not(target_arch = "x86_64"))]
fn rate(_: Op) -> Option<f64> {
    None
}

/// The measured rates, for the table's head: "aes 2.9".
pub(super) fn rates() -> String {
    let known = ALL.iter().filter_map(|op| Some(format!("{op:?} {:.2}", rate(*op)? / 1e9)));
    known.collect::<Vec<_>>().join(", ").to_lowercase()
}

const ALL: [Op; 13] = [
    Op::Aes,
    Op::Logic,
    Op::Rotate,
    Op::Shuffle,
    Op::Permute,
    Op::Affine,
    Op::Multiply,
    Op::Carryless,
    Op::Sha256,
    Op::Sha1,
    Op::Alu,
    Op::Turn,
    Op::Load,
];
