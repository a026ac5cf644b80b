//! Argon2i and Argon2id, version 0x13 (RFC 9106), as LUKS2 uses them:
//! no secret, no associated data.
//!
//! Memory is a matrix of 1 KiB blocks, one row per lane, four slices of columns. Within a slice
//! lanes are independent: they are filled by threads that synchronise after each slice
//! ([`slices`]). A thread with several lanes fills them in turn, block by block, so that one lane's
//! memory latency hides behind another's rounds.

mod address;
#[cfg(target_arch = "aarch64")]
mod arm;
mod compress;
#[cfg(any(all(target_arch = "x86_64", target_feature = "sse2"), target_arch = "aarch64"))]
mod lanes;
mod slices;
mod sys;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod x86;

use super::{Argon2Cost, Argon2Variant, Stop};
use crate::secret::on_clean_stack;
use crate::simd::vector_code;
use crate::{Cpu, Error};
use blake2::Blake2bVarCore;
use blake2::digest::Output;
use blake2::digest::block_api::{UpdateCore, VariableOutputCore};
use blake2::digest::block_buffer::LazyBuffer;
use compress::BLOCK_BYTES;
pub use compress::Block as Argon2Block;
use compress::Block;
use sys::{Fill, Matrix};
use zeroize::{Zeroize, Zeroizing};

/// Argon2 (RFC 9106, version 0x13, no secret, no associated data) into `out`, which must be at
/// least 4 bytes long. Lanes run on up to `threads` threads.
///
/// Fails with [`Error::Cost`], [`Error::Lanes`] or [`Error::LaneMemory`] when a cost
/// is outside the RFC's bounds, [`Error::NoMemory`] when the system refuses the
/// memory, [`Error::Stopped`] when `stop` is raised.
#[cfg(feature = "alloc")]
pub fn argon2(
    variant: Argon2Variant,
    cost: Argon2Cost,
    password: &[u8],
    salt: &[u8],
    out: &mut [u8],
    threads: usize,
    stop: &Stop,
) -> Result<(), Error> {
    argon2_on(Cpu::detect(), variant, cost, password, salt, out, threads, stop)
}

/// [`argon2`] with the code for `cpu`.
#[cfg(feature = "alloc")]
#[allow(clippy::too_many_arguments)] // The KDF has this many inputs.
pub fn argon2_on(
    cpu: Cpu,
    variant: Argon2Variant,
    cost: Argon2Cost,
    password: &[u8],
    salt: &[u8],
    out: &mut [u8],
    threads: usize,
    stop: &Stop,
) -> Result<(), Error> {
    check(cost, password, salt, out)?;
    if stop.is_stopped() {
        return Err(Error::Stopped);
    }
    let shape = Shape::new(variant, cost);
    let matrix = Matrix::new(shape).ok_or(Error::NoMemory { kib: shape.blocks() as u32 })?;
    on_clean_stack(|| {
        let seed = Zeroizing::new(seed(&shape, cost, password, salt, out.len()));
        derive_from(cpu, matrix, &seed, out, threads, stop, &|| ())
    })
}

/// [`argon2`](fn@argon2) in memory that the caller lends, on this thread alone: it needs no
/// allocator. `memory` must have at least as many blocks as the cost has KiB. Its contents are
/// overwritten, and afterwards it is as secret as `out`: wipe it.
///
/// # Errors
/// As [`argon2`](fn@argon2); [`Error::NoMemory`] if `memory` is too short.
pub fn argon2_in(
    memory: &mut [Argon2Block],
    variant: Argon2Variant,
    cost: Argon2Cost,
    password: &[u8],
    salt: &[u8],
    out: &mut [u8],
    stop: &Stop,
) -> Result<(), Error> {
    check(cost, password, salt, out)?;
    let shape = Shape::new(variant, cost);
    let matrix = Matrix::lent(shape, memory).ok_or(Error::NoMemory { kib: shape.blocks() as u32 })?;
    on_clean_stack(|| {
        let seed = Zeroizing::new(seed(&shape, cost, password, salt, out.len()));
        derive_from(Cpu::detect(), matrix, &seed, out, 1, stop, &|| ())
    })
}

/// The work of a derivation without its input and result, to be measured: `after` is called when
/// each quarter of a pass is done.
///
/// # Errors
/// As [`argon2`](fn@argon2).
#[cfg(feature = "alloc")]
pub fn argon2_quarters(
    variant: Argon2Variant,
    cost: Argon2Cost,
    threads: usize,
    after: &(dyn Fn() + Sync),
) -> Result<(), Error> {
    let mut out = [0; 4];
    check(cost, &[], &[], &out)?;
    let shape = Shape::new(variant, cost);
    let matrix = Matrix::new(shape).ok_or(Error::NoMemory { kib: shape.blocks() as u32 })?;
    derive_from(Cpu::detect(), matrix, &[0; 64], &mut out, threads, &Stop::new(), after)
}

/// Everything after H_0.
fn derive_from(
    cpu: Cpu,
    mut matrix: Matrix<'_>,
    seed: &[u8; 64],
    out: &mut [u8],
    threads: usize,
    stop: &Stop,
    after: &(dyn Fn() + Sync),
) -> Result<(), Error> {
    for lane in 0..matrix.shape().lanes {
        for column in 0..2u32 {
            let mut bytes = Zeroizing::new([0; BLOCK_BYTES]);
            stretch(&[seed, &column.to_le_bytes(), &lane.to_le_bytes()], &mut *bytes);
            matrix.set(lane, column, &Block::from_bytes(&bytes));
        }
    }
    slices::fill(choose(cpu), &matrix, threads, stop, after)?;
    let mut last = matrix.last_column();
    stretch(&[&*Zeroizing::new(last.to_bytes())], out);
    last.0.zeroize();
    Ok(())
}

/// The widest code that `cpu` can run.
fn choose(cpu: Cpu) -> Fill {
    vector_code!(cpu).unwrap_or(sys::PORTABLE)
}

/// The dimensions of the matrix, from which the rest follows.
#[derive(Debug, Clone, Copy)]
struct Shape {
    variant: Argon2Variant,
    passes: u32,
    lanes: u32,
    /// Blocks per lane: a multiple of four.
    lane_len: u32,
}

impl Shape {
    fn new(variant: Argon2Variant, cost: Argon2Cost) -> Self {
        let lane_len = cost.memory_kib / (SLICES * cost.lanes) * SLICES;
        Self { variant, passes: cost.time, lanes: cost.lanes, lane_len }
    }

    /// Blocks of a lane that belong to one slice.
    fn segment_len(&self) -> u32 {
        self.lane_len / SLICES
    }

    /// m' of the RFC: blocks in the whole matrix.
    fn blocks(&self) -> usize {
        self.lane_len as usize * self.lanes as usize
    }

    /// Whether references in this slice come from a counter rather than from the data (RFC 9106,
    /// 3.4.1.3).
    fn is_data_independent(&self, pass: u32, slice: u32) -> bool {
        self.variant == Argon2Variant::Argon2i || (pass == 0 && slice < SLICES / 2)
    }

    /// y of the RFC.
    fn type_number(&self) -> u32 {
        match self.variant {
            Argon2Variant::Argon2i => 1,
            Argon2Variant::Argon2id => 2,
        }
    }
}

/// RFC 9106, section 3.1, bounds of the inputs.
fn check(cost: Argon2Cost, password: &[u8], salt: &[u8], out: &[u8]) -> Result<(), Error> {
    let Argon2Cost { time, memory_kib, lanes } = cost;
    if time == 0 {
        Err(Error::Cost("Argon2 needs at least one pass"))
    } else if lanes == 0 || lanes >= 1 << 24 {
        Err(Error::Lanes(lanes))
    } else if u64::from(memory_kib) < 8 * u64::from(lanes) {
        Err(Error::LaneMemory { lanes, kib: memory_kib })
    } else if out.len() < 4
        || [out.len(), password.len(), salt.len()].iter().any(|len| u32::try_from(*len).is_err())
    {
        Err(Error::Cost("Argon2 takes inputs below 4 GiB and gives at least 4 bytes"))
    } else {
        Ok(())
    }
}

/// H_0 (RFC 9106, 3.2).
fn seed(shape: &Shape, cost: Argon2Cost, password: &[u8], salt: &[u8], out_len: usize) -> [u8; 64] {
    let length = |len: usize| (len as u32).to_le_bytes();
    let mut seed = [0; 64];
    blake2b(
        [
            &cost.lanes.to_le_bytes()[..],
            &length(out_len),
            &cost.memory_kib.to_le_bytes(),
            &cost.time.to_le_bytes(),
            &VERSION.to_le_bytes(),
            &shape.type_number().to_le_bytes(),
            &length(password.len()),
            password,
            &length(salt.len()),
            salt,
            &length(0),
            &length(0),
        ],
        &mut seed,
    );
    seed
}

/// H' (RFC 9106, 3.3): BLAKE2b with output of any length.
fn stretch(parts: &[&[u8]], out: &mut [u8]) {
    let length = (out.len() as u32).to_le_bytes();
    let input = core::iter::once(&length[..]).chain(parts.iter().copied());
    if out.len() <= 64 {
        return blake2b(input, out);
    }
    let mut link = [0; 64];
    blake2b(input, &mut link);
    let mut rest = out;
    loop {
        let (half, after) = rest.split_at_mut(32);
        half.copy_from_slice(&link[..32]);
        rest = after;
        if rest.len() <= 64 {
            blake2b([&link[..]], rest);
            break;
        }
        let previous = link;
        blake2b([&previous[..]], &mut link);
    }
    link.zeroize();
}

/// BLAKE2b of the parts, as long as `out` (1 to 64 bytes).
fn blake2b<'a>(parts: impl IntoIterator<Item = &'a [u8]>, out: &mut [u8]) {
    let mut core = Blake2bVarCore::new(out.len()).expect("a length of 1 to 64 bytes");
    let mut buffer = LazyBuffer::default();
    for part in parts {
        buffer.digest_blocks(part, |blocks| core.update_blocks(blocks));
    }
    let mut digest = Output::<Blake2bVarCore>::default();
    core.finalize_variable_core(&mut buffer, &mut digest);
    out.copy_from_slice(&digest[..out.len()]);
    digest.zeroize();
}

/// Slices per lane.
const SLICES: u32 = 4;

/// Argon2's version 1.3.
const VERSION: u32 = 0x13;

#[cfg(test)]
mod tests;
