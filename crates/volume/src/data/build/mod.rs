//! Creates a volume together with its content, in one pass: the header is planned before anything
//! is written, the content is written to its place, and the header is written last.
//!
//! ```text
//!   plan ──► Build::start ──► fill ──► settle ──► write_header
//!            wipes an old header       exact length, or flushed
//! ```

mod content;

pub use content::{Content, ImageHoles, NoLength, plaintext_len};

use crate::change::create::{Luks1Params, Luks2Params, Plan, plan_luks1, plan_luks2};
use crate::device::probe::largest_sector;
use crate::device::storage::{Exclusive, NewFile};
use crate::device::stream::{self, Failure, Meter, Moved, Options, Sink};
use crate::{Error, Layout, Locking, Random, Refusal, Result, Storage, Volume};
use keyway_crypto::{Cpu, Secret};
use std::io;
use std::sync::Arc;

/// The parameters of the header.
#[derive(Debug, Clone)]
pub enum Params {
    /// LUKS1.
    Luks1(Luks1Params),
    /// LUKS2. Without a sector size it gets the largest that the content allows.
    Luks2(Luks2Params),
}

/// Plans the header of a volume that holds the header itself and `content`.
///
/// # Errors
/// The parameters contradict each other, or a cipher or hash is unknown.
pub fn plan(
    params: Params,
    content: &Content<'_>,
    volume_key: &Secret,
    passphrase: &Secret,
    rng: &mut dyn Random,
) -> Result<Plan> {
    match params {
        Params::Luks1(params) => {
            let params = Luks1Params { detached: false, ..params };
            plan_luks1(&params, None, volume_key, passphrase, rng)
        }
        Params::Luks2(params) => {
            let mut params = Luks2Params { detached: false, ..params };
            // Large sectors unless the content does not fill them, as cryptsetup chooses. But a
            // content with smaller blocks could then not be mounted.
            let is_odd = |len: u64| !len.is_multiple_of(4096);
            let odd = content.len.is_some_and(is_odd) || is_odd(params.topology.alignment_offset);
            let odd = odd.then_some(512);
            params.sector_size = params.sector_size.or(odd).or_else(|| largest_sector(&content.source));
            plan_luks2(&params, None, volume_key, passphrase, rng)
        }
    }
}

/// Where the volume is written.
#[derive(Clone, Copy)]
pub enum Target<'a> {
    /// A file that grows with the content.
    New(&'a NewFile),
    /// A block device or an export, used to its end.
    Existing(&'a Exclusive),
}

/// A volume in the making: it is not a volume until its header is written.
pub struct Build<'a> {
    plan: Plan,
    target: Target<'a>,
    volume: Volume,
    /// Bytes that the content is rounded up to.
    unit: u64,
}

impl<'a> Build<'a> {
    /// Makes room for a plaintext of `len` bytes, where that is known. From now on a device holds
    /// no volume.
    ///
    /// # Errors
    /// [`Error::TooShort`] before anything is written, or the error of wiping.
    pub fn start(plan: Plan, target: Target<'a>, len: Option<u64>, volume_key: &Secret) -> Result<Self> {
        let unit = sector_size(&plan)?;
        if len.is_some_and(|len| len > MOST) {
            return Err(Refusal::NoRoom.because(format!("no file or device is longer than {MOST} bytes")));
        }
        let room = len.map(|len| len.next_multiple_of(unit));
        let volume = match target {
            Target::New(file) => {
                Volume::in_the_making(file, &bounded(&plan, room)?, volume_key, Cpu::detect())?
            }
            Target::Existing(storage) => {
                let (needs, has) = (plan.data_offset.saturating_add(room.unwrap_or(1)), storage.len());
                if needs > has {
                    return Err(Error::TooShort { needs, has });
                }
                plan.wipe(storage)?;
                Volume::new(Arc::clone(storage), &plan.layout()?, volume_key, Cpu::detect())?
            }
        };
        Ok(Self { plan, target, volume, unit })
    }

    /// Encrypts the content into its place, with as many threads as `options` says.
    ///
    /// # Errors
    /// The first [`Failure`] of either side; [`Failure::Stopped`] after [`Meter::stop`].
    pub fn fill(&self, content: Content<'_>, options: Options, meter: &Meter) -> Result<Moved, Failure> {
        let room = self.volume.len();
        let options = Options {
            holes: content.holes,
            limit: Some(content.limit.unwrap_or(room).min(room)),
            extend_to: content.extend_to,
            headroom: content.headroom,
            pad: true,
            ..options
        };
        stream::transfer(content.source, Sink::Storage(&self.volume, 0), &options, meter)
    }

    /// The zeros that follow `length` bytes of content, up to the end of a sector.
    pub fn padding(&self, length: u64) -> u64 {
        length.next_multiple_of(self.unit) - length
    }

    /// Finishes after `length` bytes of content: a new file gets its exact length, a device is
    /// flushed.
    ///
    /// # Errors
    /// The error of the file or device.
    pub fn settle(&self, length: u64) -> io::Result<()> {
        match self.target {
            Target::New(new) => {
                new.file().set_len(self.plan.data_offset + length.next_multiple_of(self.unit))
            }
            Target::Existing(storage) => storage.flush(),
        }
    }

    /// Writes the header: only now do the filled and settled bytes form a volume.
    ///
    /// # Errors
    /// The error of writing.
    pub fn write_header(self, rng: &mut dyn Random) -> Result<()> {
        match self.target {
            Target::New(new) => self.plan.write_to_new(&**new.file()),
            Target::Existing(storage) => {
                self.plan.write(Arc::clone(storage), false, Locking::default(), rng).map(drop)
            }
        }
    }
}

/// The plan's layout with the length that the content needs; unbounded while that is unknown.
fn bounded(plan: &Plan, room: Option<u64>) -> Result<Layout> {
    let mut layout = plan.layout()?;
    if let Some(segment) = layout.segments.last_mut() {
        segment.length = Some(room.unwrap_or(i64::MAX as u64 - plan.data_offset));
    }
    Ok(layout)
}

fn sector_size(plan: &Plan) -> Result<u64> {
    let layout = plan.layout()?;
    Ok(layout.segments.last().map_or(512, |segment| segment.mapping.unit()))
}

/// The longest plaintext: with header and rounding it stays below the 2^63 bytes that offsets can
/// address.
pub const MOST: u64 = 1 << 62;

#[cfg(test)]
mod tests;
