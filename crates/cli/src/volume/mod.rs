//! The volume that the command line names: its key and layout, its
//! plaintext, and the failures of moving it.

pub(crate) mod plain_dmcrypt;

use crate::device::Versions;
use crate::door::{Args, shared};
use crate::say::failure::{Exit, Failure, Result};
use crate::say::{explain, output};
use crate::unlock::admission;
use crate::unlock::passphrase::PassphraseSource;
use crate::{device, mapping, unlock};
use keyway_crypto::{Cpu, Secret};
use keyway_format::text::Shown;
use keyway_volume::storage::Claimed;
use keyway_volume::stream;
use keyway_volume::{Access, InUse, Layout, Luks, Storage, UnlockOptions, Volume, in_use};
use std::fmt::{self, Display};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A volume with its key: what any door needs, the kernel's too.
pub(crate) struct Unlocked {
    /// The data device's path.
    pub(crate) device: PathBuf,
    /// The data device, opened as [`Data`] said.
    pub(crate) storage: Arc<dyn Storage>,
    /// Which of its bytes are plaintext where.
    pub(crate) layout: Layout,
    /// The volume key.
    pub(crate) volume_key: Secret,
    /// What kind of volume it is.
    pub(crate) format: Format,
}

/// What kind of volume was unlocked.
pub(crate) enum Format {
    /// LUKS1 or LUKS2.
    Luks {
        /// The header: version, UUID, metadata.
        luks: Box<Luks>,
        /// The keyslot that opened; `None` when the volume key was given.
        keyslot: Option<u32>,
        /// The digest that verified the volume key (0 for LUKS1).
        digest: u32,
    },
    /// Plain dm-crypt: everything that is known stands in the layout, but for the hash that makes
    /// the key of a passphrase, where one was named.
    Plain { hash: Option<String> },
}

impl Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Luks { luks, keyslot, digest } => {
                write!(f, "LUKS{} volume {}, digest {digest}", luks.version(), Shown(luks.uuid()))?;
                keyslot.map_or(Ok(()), |keyslot| write!(f, ", keyslot {keyslot}"))
            }
            Self::Plain { .. } => f.write_str("plain volume"),
        }
    }
}

impl Unlocked {
    /// Marks the data device as in use, as `data` asks for, for as long as its storage is held.
    /// (The kernel's door needs it unmarked: dm-crypt claims a device for itself.)
    pub(crate) fn mark_in_use(mut self, args: &Args, data: Data) -> Result<Self> {
        let Some(access) = data.claims() else { return Ok(self) };
        match InUse::acquire(&*self.storage, access, args.given(&shared::SHARED)) {
            Ok(mark) => {
                self.storage = Arc::new(Claimed::new(self.storage, mark));
                Ok(self)
            }
            Err(why) => Err(or_share(args, explain::on_device(&self.device, &why))),
        }
    }

    /// Puts the plaintext over the data device.
    pub(crate) fn into_plaintext(self) -> Result<Plaintext> {
        let Self { device, storage, layout, volume_key, .. } = self;
        let volume = Volume::new(storage, &layout, &volume_key, Cpu::detect());
        Ok(Plaintext { volume: volume.map_err(|e| explain::on_volume(&device, &e))?, device })
    }
}

/// An unlocked volume's bytes.
pub(crate) struct Plaintext {
    /// The bytes.
    pub(crate) volume: Volume,
    /// The data device's path, for messages.
    pub(crate) device: PathBuf,
}

/// [`unlock()`] for those who want the bytes only.
pub(crate) fn open(args: &Args, operand: usize, data: Data, stdin_holds_data: bool) -> Result<Plaintext> {
    let unlocked = unlock(args, operand, data, stdin_holds_data)?.mark_in_use(args, data)?;
    output::debug(args.manner(), &format!("{} holds {}.", unlocked.device.display(), unlocked.format))?;
    unlocked.into_plaintext()
}

/// Unlocks the volume in the operand at `operand` (with `--header` where given).
/// `data` says how its data device is to be opened. When standard input holds the
/// data, a passphrase is asked for on the terminal only.
pub(crate) fn unlock(args: &Args, operand: usize, data: Data, stdin_holds_data: bool) -> Result<Unlocked> {
    let device = args.operand(operand).map(device::resolve).unwrap_or_default();
    let storage = data.open(args, &device)?;
    if plain_dmcrypt::is_meant(args)? {
        admission::refuse_demands(args, &device)?;
        let (layout, volume_key) = plain_dmcrypt::unlock(args, &device, &*storage, data, stdin_holds_data)?;
        let format = Format::Plain { hash: args.text(&shared::HASH).map(str::to_owned) };
        return Ok(Unlocked { device, storage, layout, volume_key, format });
    }
    let luks = device::load(args, operand, Access::Read, Versions::from_args(args)?)?;
    let data_device = admission::data_device(args, &device, &*storage);
    if data_device.holds_header && device::is_exchanged(&*storage, &**luks.storage()) {
        let message = format!("Device {} was exchanged while it was being opened.", device.display());
        return Err(Failure::new(Exit::Device, message));
    }
    let admitted = admission::judge(args, luks, &device, Some(data_device))?;
    let (volume_key, keyslot, digest) = luks_key(args, admitted.luks(), &device, stdin_holds_data)?;
    let (luks, layout, volume_key) = admission::open(admitted, &device, volume_key, digest)?.into_parts();
    Ok(Unlocked {
        device,
        storage,
        layout,
        volume_key,
        format: Format::Luks { luks: Box::new(luks), keyslot, digest },
    })
}

/// What is going to be done to the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Data {
    /// Reading, whoever else writes.
    Read,
    /// Reading for as long as a door is open: nobody may write meanwhile.
    Show,
    /// Reading and writing, alone.
    Write,
}

impl Data {
    fn open(self, args: &Args, device: &Path) -> Result<Arc<dyn Storage>> {
        let open = if args.given(&shared::DIRECT_IO) { device::storage_direct } else { device::storage };
        if self == Self::Write {
            let storage = open(device, Access::Write)?;
            // Before a passphrase is asked for.
            if !args.given(&shared::SHARED) {
                mapping::refuse_if_mapped(device).map_err(|failure| or_share(args, failure))?;
            }
            return Ok(storage);
        }
        open(device, Access::Probe)
    }

    /// What others are told.
    fn claims(self) -> Option<in_use::Access> {
        match self {
            Self::Read => None,
            Self::Show => Some(in_use::Access::ReadOnly),
            Self::Write => Some(in_use::Access::Write),
        }
    }
}

/// Names the way out of a volume in use, where the command has one.
fn or_share(args: &Args, failure: Failure) -> Failure {
    let takes_it = args.command().own_options().any(|option| option.long == shared::SHARED.long);
    let is_busy = failure.exit() == Exit::Busy;
    if takes_it && is_busy { failure.adding("--shared uses it all the same.") } else { failure }
}

/// The volume key, the keyslot it came from and the digest that verified it.
fn luks_key(
    args: &Args,
    luks: &Luks,
    device: &Path,
    stdin_holds_data: bool,
) -> Result<(Secret, Option<u32>, u32)> {
    if let Some((key, digest)) = unlock::given_volume_key(args, luks)? {
        return Ok((key, None, digest));
    }
    let mut request = PassphraseSource::existing(args, unlock::prompt_for(device))?;
    if stdin_holds_data {
        request = request.stdin_holds_data();
    }
    let options = UnlockOptions { keyslot: args.number32(&shared::KEY_SLOT), ..unlock::options(args) };
    let unlocked = unlock::unlock_by_token_or(args, luks, &request, &options)?;
    Ok((unlocked.volume_key, Some(unlocked.keyslot), unlocked.digest))
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
            let (source, why) = (source.to_string(), e.to_string());
            let why = why.strip_prefix(&format!("{source}: ")).unwrap_or(&why);
            Failure::new(Exit::Device, format!("Cannot read {source} at byte {at}: {why}."))
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
