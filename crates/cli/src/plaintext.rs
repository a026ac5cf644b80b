//! The plaintext of the volume that the command line names, and the failures of moving it.

use crate::args::{Args, shared};
use crate::device::{self, Versions};
use crate::failure::{Exit, Failure, Result};
use crate::hint;
use crate::passphrase::Request;
use crate::unlocking;
use keyway_crypto::{Cpu, Secret};
use keyway_volume::storage::File;
use keyway_volume::stream;
use keyway_volume::{Access, Layout, Luks, Storage, UnlockOptions, Volume};
use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An unlocked volume.
pub(crate) struct Plaintext {
    /// Its bytes.
    pub(crate) volume: Volume,
    /// The data device's path, for messages.
    pub(crate) device: PathBuf,
}

/// Unlocks the volume in the operand at `operand` (with `--header` where given). `data` says how its data device is
/// to be opened. When standard input holds the data, a passphrase is asked for on the terminal only.
pub(crate) fn open(args: &Args, operand: usize, data: Data, stdin_holds_data: bool) -> Result<Plaintext> {
    let device = args.operand(operand).map(device::resolve).unwrap_or_default();
    let storage = data.open(&device)?;
    let luks = device::load(args, operand, Access::Read, Versions::from_args(args)?)?;
    luks.check_requirements().map_err(|e| hint::on_device(&device, &e))?;
    let layout = luks.layout().map_err(|e| hint::on_volume(&device, &e))?;
    check_length(&device, &layout, storage.len())?;
    let key = volume_key(args, &luks, &device, stdin_holds_data)?;
    let volume =
        Volume::new(storage, &layout, &key, Cpu::detect()).map_err(|e| hint::on_volume(&device, &e))?;
    Ok(Plaintext { volume, device })
}

/// Refuses a device that ends before its data does, as the kernel does: writing would make the file grow.
fn check_length(device: &Path, layout: &Layout, has: u64) -> Result<()> {
    let end = |s: &keyway_volume::MappedSegment| s.storage_offset.saturating_add(s.length.unwrap_or(0));
    match layout.segments.iter().map(end).max() {
        Some(needs) if needs > has => {
            let device = device.display();
            let message =
                format!("{device} ends at byte {has}, but its header describes data up to byte {needs}.");
            Err(Failure::new(Exit::Device, message))
        }
        _ => Ok(()),
    }
}

/// What is going to be done to the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Data {
    /// Reading.
    Read,
    /// Reading and writing.
    Write,
}

impl Data {
    fn open(self, device: &Path) -> Result<Arc<File>> {
        match self {
            Self::Read => device::open_read_only(device),
            Self::Write => {
                let file = device::open_writable(device)?;
                device::refuse_if_in_use(device)?;
                Ok(file)
            }
        }
    }
}

fn volume_key(args: &Args, luks: &Luks, device: &Path, stdin_holds_data: bool) -> Result<Secret> {
    if let Some(key) = unlocking::given_volume_key(args, luks)? {
        return Ok(key);
    }
    let mut request = Request::existing(args, unlocking::prompt_for(device))?;
    if stdin_holds_data {
        request = request.stdin_holds_data();
    }
    let options = UnlockOptions { keyslot: args.number32(&shared::KEY_SLOT), ..unlocking::options(args) };
    Ok(unlocking::unlock(args, luks, &request, &options)?.volume_key)
}

/// Refuses a range that does not lie in the volume, before anything is done.
pub(crate) fn check_range(device: &Path, volume: &Volume, offset: u64, len: u64) -> Result<()> {
    let (device, size) = (device.display(), volume.len());
    if offset > size {
        let message = format!("Offset {offset} is past the end of {device}, which holds {size} bytes.");
        return Err(Failure::new(Exit::Parameters, message));
    }
    if len > size - offset {
        let message = format!(
            "{len} bytes at offset {offset} do not fit: {device} holds {size} bytes, {} from there on.",
            size - offset
        );
        return Err(Failure::new(Exit::Parameters, message));
    }
    Ok(())
}

/// The line for a transfer that failed between `source` and `sink`.
pub(crate) fn failed(failure: stream::Failure, source: &dyn Display, sink: &dyn Display) -> Failure {
    match failure {
        // The reader of our pipe has seen enough.
        stream::Failure::Write { source: e, .. } if e.kind() == ErrorKind::BrokenPipe => {
            Failure::silent(Exit::Parameters)
        }
        stream::Failure::Write { at, source: e } => cannot_write(sink, Some(at), &e),
        stream::Failure::Read { at, source: e } => {
            Failure::new(Exit::Device, format!("Cannot read {source} at byte {at}: {e}."))
        }
        stream::Failure::TooLong { limit } => {
            let message = format!("{source} is longer than the {limit} bytes that {sink} has room for.");
            Failure::new(Exit::Parameters, message)
        }
        stream::Failure::Stopped => Failure::new(Exit::Parameters, "Stopped."),
        other => Failure::new(Exit::Parameters, format!("Cannot copy {source} to {sink}: {other}.")),
    }
}

/// The line for a sink that takes no more.
pub(crate) fn cannot_write(sink: &dyn Display, at: Option<u64>, error: &io::Error) -> Failure {
    let place = at.map(|at| format!(" at byte {at}")).unwrap_or_default();
    let message = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            format!("Cannot write {sink}{place}: no space is left; free some and try again.")
        }
        _ => format!("Cannot write {sink}{place}: {error}."),
    };
    Failure::new(Exit::Parameters, message)
}
