//! `luksFormat`: makes a LUKS volume on an existing file or device.

use crate::args::risk::{Effect, Proof, risk};
use crate::args::{
    self, Args, Command, Example, Group, Offers, Operand, Opt, Request, Topic, groups, shared,
};
use crate::device::{self, Target, Versions, content};
use crate::make::header::HeaderParams;
use crate::make::output_file;
use crate::make::seal::{NewSeal, SEAL};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::{question, stdio};
use crate::unlock::{self, KeyOptions};
use keyway::parts::{Header, Luks};
use keyway::storage::{Exclusive, Storage};
use keyway::{Access, Create, Version};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `keyway luksFormat`.
pub(crate) static COMMAND: Command = Command {
    name: "luksFormat",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Volumes),
    operands: &[
        Operand {
            name: "DEVICE",
            required: true,
            help: "The file or device that becomes the volume. It must exist.",
            offers: Offers::Volumes,
        },
        Operand {
            name: "KEY-FILE",
            required: false,
            help: "The first passphrase, in a file.",
            offers: Offers::Files,
        },
    ],
    about: "Make a LUKS volume on a file or device.",
    man: "Writes a new LUKS header and one keyslot. Everything on the device is lost: the word YES confirms \
          that. A device that is mounted, mapped or open in another program is refused. The volume key is random, \
          unless --volume-key-file gives it.\n\nThe default is LUKS2 with aes-xts-plain64, a key of 512 bits and \
          Argon2id. Numbers of sectors are in units of 512 bytes.",
    options: &[
        groups::KEY_INPUT,
        &[
            &shared::KEY_DESCRIPTION,
            &shared::KEY_SLOT,
            &shared::VOLUME_KEY_FILE,
            &shared::WEAK_CIPHER,
            &shared::HEADER,
            &shared::USE_RANDOM,
            &shared::USE_URANDOM,
            &shared::PROGRESS_JSON,
            &SEAL,
            &shared::SEAL_CONTEXT,
            &shared::SEAL_CONTEXT_FILE,
        ],
        groups::KDF,
        groups::KEYSLOT,
        groups::NEW_VOLUME,
    ],
    rules: &[],
    examples: &[
        Example {
            line: "truncate -s 1G disk.img && keyway luksFormat disk.img",
            does: "A LUKS2 volume in a file; asks for the passphrase twice.",
        },
        Example {
            line: "keyway luksFormat --type luks1 --iter-time-for grub-2.12 disk.img",
            does: "LUKS1 that GRUB opens in two seconds.",
        },
    ],
    risks: &[
        risk("DEVICE", Effect::Overwrites, Proof::Claim, "luksFormat -q --type luks1 TARGET KEY"),
        risk(
            "--header FILE",
            Effect::Overwrites,
            Proof::Claim,
            "luksFormat -q --type luks1 --header TARGET RAW KEY",
        ),
    ],
    run: args::run::<Format>,
};

/// Options that are refused by name instead of being carried out halfway.
static REFUSED: &[(&Opt, &str)] = &[
    (&shared::VOLUME_KEY_KEYRING, "a new volume's key is random, or comes from --volume-key-file"),
    (&shared::INTEGRITY, "integrity protection is not implemented yet; without it, luksFormat works"),
    (&shared::HW_OPAL, "self-encrypting drives are not supported; encryption by software works"),
    (&shared::HW_OPAL_ONLY, "self-encrypting drives are not supported; encryption by software works"),
];

/// Below this (4 MiB less the two smallest header copies) cryptsetup warns.
const SMALL_KEYSLOTS_AREA: u64 = (4 << 20) - 2 * (16 << 10);

struct Format {
    params: HeaderParams,
    seal: NewSeal,
    key: KeyOptions,
    /// The operand that names a key file.
    key_file: Option<PathBuf>,
    target: Target,
    /// What the place holds is not looked for (`--disable-blkid`).
    unseen: bool,
    is_cryptsetup: bool,
}

impl Request for Format {
    fn from_args(args: &Args) -> Result<Self> {
        if let Some((option, why)) = REFUSED.iter().find(|(option, _)| args.given(option)) {
            let message = format!("--{}: {why}. Nothing was written.", option.long);
            return Err(Failure::new(Exit::Parameters, message));
        }
        let version = Versions::from_args(args)?.only().unwrap_or(Version::Luks2);
        Ok(Self {
            seal: NewSeal::from_args(args, version)?,
            params: HeaderParams::from_args(args, version)?,
            key: KeyOptions::from_args(args)?,
            key_file: args.operand(1).map(Path::to_owned),
            target: Target::from_args(args, 0)?,
            unseen: args.given(&shared::DISABLE_BLKID),
            is_cryptsetup: args.is_cryptsetup(),
        })
    }

    fn run(self) -> Result<()> {
        let Self { params, key, .. } = &self;
        if self.key_file.is_some() && key.passphrase.key_file.is_some() {
            unlock::note_option_wins();
        }
        let manner = self.target.manner;
        stdio::debug(manner, &params.describe())?;
        let place = Place::open(&self.target)?;
        params.agree()?;
        params.warn_of_no_mapping(manner);
        place.confirm(self.unseen)?;
        let path = place.header_path();
        let passphrase = key.passphrase.first(unlock::prompt_for(path), self.key_file.as_deref());
        let passphrase = passphrase.read_key()?;
        let create = self.seal.of(params.create()?);
        let (header, len_before) = (place.prepare_header()?, place.data.len());
        let header = create.create_on(&place.data, header, &passphrase)?;
        warn_of_few_keyslots(header.luks())?;
        stdio::verbose(manner, &format!("Key slot {} created.", key.keyslot.unwrap_or(0)))?;
        place.check_room(header.luks(), len_before, self.is_cryptsetup)
    }
}

/// Refuses to overwrite the only keys of a locking range, which the drive would keep locked.
fn refuse_locking_range(place: &Arc<dyn Storage>, path: &Path) -> Result<()> {
    match Luks::open(Arc::clone(place), Access::Probe) {
        Ok(luks) if luks.is_opal() => {
            let path = path.display();
            let message = format!(
                "Device {path} holds the keys of a range that the drive itself encrypts (OPAL) and that would stay locked."
            );
            Err(Failure::new(Exit::Parameters, message).hinting(format!(
                "Nothing was written. \"cryptsetup erase {path}\" (2.7 or later) gives the range back; \"wipefs -a {path}\" forgets \
                 its keys."
            )))
        }
        _ => Ok(()),
    }
}

/// cryptsetup's warning for a keyslots area that cannot hold 32 keyslots of the usual size.
fn warn_of_few_keyslots(luks: &Luks) -> Result<()> {
    match luks.header() {
        Header::Luks2 { metadata, .. } if metadata.config.keyslots_size.0 < SMALL_KEYSLOTS_AREA => {
            let bytes = metadata.config.keyslots_size.0;
            stdio::print(&format!(
                "WARNING: keyslots area ({bytes} bytes) is very small, available LUKS2 keyslot count is very limited.\n"
            ))
        }
        _ => Ok(()),
    }
}

/// The device and, if the header is detached, the file for the header.
struct Place<'a> {
    target: &'a Target,
    data: Exclusive,
    /// The header's file, if it exists already.
    claimed_header: Option<Exclusive>,
}

impl<'a> Place<'a> {
    fn open(target: &'a Target) -> Result<Self> {
        let (device, header) = (&target.device, target.header.as_deref());
        if !device::exists(device) {
            let path = device.display();
            let way_out = format!("\"truncate -s 1G {path}\" makes a file for a volume");
            let message = format!("Device {path} does not exist or access denied; {way_out}.");
            return Err(Failure::new(Exit::Device, message));
        }
        if header.is_some_and(|header| device::exists(header) && device::is_same(header, device)) {
            // cryptsetup makes such a volume, and then nothing opens it: its data would lie over it.
            let message = format!(
                "--header {} is the device itself: omit --header, or name another file for the header.",
                device.display()
            );
            return Err(Failure::new(Exit::Parameters, message));
        }
        let is_apart = header.is_some();
        let data = target.claimed(device, if is_apart { Access::Probe } else { Access::Write })?;
        let claimed_header = match header.filter(|header| device::exists(header)) {
            Some(existing) => Some(target.claimed(existing, Access::Write)?),
            None => None,
        };
        // A header that is still to be made will be a file, whatever the data is on.
        let holder = if is_apart { claimed_header.as_ref() } else { Some(&data) };
        if holder.is_some_and(|holder| Create::check_place(&***holder).is_err()) {
            let path = header.unwrap_or(device).display();
            let message = format!("Zoned device {path} cannot be used for LUKS header.");
            return Err(Failure::new(Exit::Parameters, message));
        }
        if let Some(holder) = holder {
            refuse_locking_range(holder, header.unwrap_or(device))?;
        }
        Ok(Self { target, data, claimed_header })
    }

    fn header_path(&self) -> &'a Path {
        self.target.header_path()
    }

    fn confirm(&self, unseen: bool) -> Result<()> {
        let manner = self.target.manner;
        if self.target.header.as_ref().is_some_and(|h| !device::exists(h)) {
            let question = "Header file does not exist, do you want to create it?";
            return question::confirm(manner, question, "Operation aborted.", Exit::Permission);
        }
        // Nobody is asked, so nobody needs to know.
        if !unseen && (manner.debug || !manner.batch_mode) {
            self.show_signatures()?;
        }
        let warning = format!("This will overwrite data on {} irrevocably.", self.header_path().display());
        question::confirm(manner, &warning, "Operation aborted.", Exit::Parameters)
    }

    /// Lists the signatures that are found where the header goes.
    fn show_signatures(&self) -> Result<()> {
        let found = match &self.target.header {
            Some(path) => content::warnings(&*device::storage(path, Access::Probe)?, path)?,
            None => content::warnings(&**self.data, &self.target.device)?,
        };
        found.iter().try_for_each(|line| match self.target.manner.batch_mode {
            true => stdio::debug(self.target.manner, line),
            false => stdio::print(&format!("{line}\n")),
        })
    }

    /// A file that was extended for the header has no room for data yet: a success with a warning in
    /// cryptsetup, a failure with the way on in Keyway.
    fn check_room(&self, luks: &Luks, len_before: u64, is_cryptsetup: bool) -> Result<()> {
        let data_start = luks.data_offset()?;
        if self.target.header.is_some() || len_before > data_start {
            return Ok(());
        }
        let device = self.target.device.display();
        let line =
            format!("Device {device} is too small for activation, there is no remaining space for data.");
        match is_cryptsetup {
            true => stdio::print(&format!("{line}\n")),
            false => Err(Failure::new(Exit::Parameters, line).hinting(format!(
                "Its header is written and takes {data_start} bytes: \"truncate -s +1G {device}\" gives it room for data."
            ))),
        }
    }

    /// The storage for a detached header; a header file is created if it does not exist.
    fn prepare_header(&self) -> Result<Option<Arc<dyn Storage>>> {
        let Some(path) = &self.target.header else { return Ok(None) };
        if let Some(claimed) = &self.claimed_header {
            return Ok(Some(Arc::clone(claimed)));
        }
        stdio::debug(self.target.manner, &format!("Creating header file {}.", path.display()))?;
        let file = output_file::new_header(path)?;
        Ok(Some(Arc::new(file)))
    }
}
