//! `copy`: a volume to raw, raw to LUKS or VeraCrypt, or a volume to either under a new key and cipher.

mod veracrypt;

use crate::args::risk::{Effect, Proof, risk};
use crate::args::rule::Rule;
use crate::args::{self, Args, Command, Example, Group, Kind, Offers, Operand, Opt, Request, groups, shared};
use crate::device::{self, explain, kind_hint};
use crate::make::new_volume::{self, Destination, FILL, KEEP_HOLES, NewVolume, refuse_itself};
use crate::make::output_file::{self, Creation};
use crate::make::replacing::Replacing;
use crate::make::seal::NewSeal;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::progress::{self, Progress};
use crate::output::transfer::{self, cannot_write};
use crate::unlock;
use crate::volume::{Data, Opening, Plaintext};
use keyway::parts::{Content, CopyOptions as Options, Error, Holes, Luks, Source};
use keyway::storage::{Readers, Storage};
use keyway::stream::{self, ImageHoles, Sink};
use keyway::{Access, Version};
use keyway_crypto::Secret;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use veracrypt::{PIM, QUERY_PIM, VERACRYPT, Veracrypt};

/// `keyway copy`.
pub(crate) static COMMAND: Command = Command {
    name: "copy",
    aliases: &[],
    group: Group::First,
    operands: &[
        Operand {
            name: "SOURCE",
            required: true,
            help: "A volume, or a raw image or device.",
            offers: Offers::Volumes,
        },
        Operand {
            name: "DESTINATION",
            required: true,
            help: "A new file, or a block device or export.",
            offers: Offers::Volumes,
        },
    ],
    about: "Copy a volume or raw image to a new volume, or to raw.",
    man: "The source's header says whether it is LUKS; --type tcrypt, bitlk, fvault2, loopaes or plain says \
          that it is a volume of TrueCrypt or VeraCrypt, BitLocker, FileVault, loop-AES or plain dm-crypt. \
          The destination is LUKS2 unless --to says otherwise: plaintext is written only with --to raw. A new \
          volume gets a new volume key, and the cipher, sector size and key derivation that the options \
          say.\n\n--key-file holds the passphrase of the source, --new-keyfile that of the destination. \
          Without them, both are asked for on a terminal, or read as two lines of standard input. A raw \
          source needs only the new one. TrueCrypt and VeraCrypt key files complement the passphrase, which \
          is still asked for.\n\nOptions about cipher, hash, sizes and offsets describe the new volume; those \
          of a plain dm-crypt or loop-AES source begin with --source. Nothing on it confirms them or the key: \
          a source that reads as noise is copied with a warning.\n\nWith --to veracrypt, the new volume is \
          VeraCrypt's: --cipher is a chain of its ciphers (aes), --hash its key derivation (sha512), \
          --new-keyfile a key file that complements the new passphrase, which is asked for; may be given more \
          than once, and a directory stands for the files in it. Its whole data area is written: holes as the \
          data that they read as, and zeros after the content.\n\nOtherwise the copy is exactly as long as \
          the plaintext. Holes in an encrypted part of a volume were never written: they stay holes, unless \
          --fill copies what they read as. Holes in a raw image are treated as \"keyway build\" treats \
          them.\n\nA file appears under its name when it is complete; an existing one is replaced only with \
          --force, and never the source or another file that the command reads: \"keyway reencrypt\" gives a \
          volume another key in place.",
    options: &[
        &[
            &TO,
            &FILL,
            &KEEP_HOLES,
            &shared::FORCE,
            &shared::NEW_KEYFILE,
            &shared::HEADER,
            &shared::TRIES,
            &shared::DISABLE_LOCKS,
        ],
        groups::KEY_INPUT,
        groups::NEW_KEY_INPUT,
        groups::LIMITS,
        groups::ADMISSION_TO_READ,
        groups::TCRYPT,
        groups::BITLK,
        shared::SOURCE,
        veracrypt::OPTIONS,
        groups::KDF,
        groups::KEYSLOT,
        groups::NEW_VOLUME,
        groups::PROGRESS,
    ],
    rules: &[
        Rule::excludes(&FILL, &[&KEEP_HOLES]),
        veracrypt::FITS,
        veracrypt::IS_ITS_OWN,
        Rule::excludes(&PIM, &[&QUERY_PIM]),
    ],
    examples: &[
        Example { line: "keyway copy --to raw disk.luks disk.img", does: "decrypt; holes stay holes" },
        Example {
            line: "keyway copy old.luks new.luks --cipher aes-xts-plain64 --sector-size 4096",
            does: "reencrypt, under a new key",
        },
        Example {
            line: "keyway copy --type bitlk windows.img ntfs.luks",
            does: "move a BitLocker volume to LUKS",
        },
        Example {
            line: "keyway copy --to veracrypt disk.luks new.hc",
            does: "for people who have VeraCrypt",
        },
    ],
    risks: &[
        risk(
            "DESTINATION",
            Effect::Overwrites,
            Proof::Claim,
            "copy -q -d KEY --new-keyfile KEY VOLUME TARGET",
        ),
        risk(
            "DESTINATION",
            Effect::Replaces,
            Proof::NewName,
            "copy -q --force -d KEY --new-keyfile KEY VOLUME TARGET",
        ),
        risk(
            "--to raw DESTINATION",
            Effect::Overwrites,
            Proof::Claim,
            "copy -q --to raw -d KEY VOLUME TARGET",
        ),
        risk(
            "--to raw DESTINATION",
            Effect::Replaces,
            Proof::NewName,
            "copy -q --to raw --force -d KEY VOLUME TARGET",
        ),
    ],
    run: args::run::<Copy>,
};

static TO: Opt = Opt {
    long: "to",
    short: None,
    value: "FORMAT",
    kind: Kind::Choice(&["luks2", "luks1", VERACRYPT, "raw"]),
    help: "luks2 (default), luks1, veracrypt or raw.",
    man: "",
};

struct Copy {
    opening: Opening,
    from: PathBuf,
    to: PathBuf,
    new: New,
    new_key_file: Option<PathBuf>,
    holes: ImageHoles,
    replacing: Replacing,
    progress: Progress,
}

/// What is made.
enum New {
    Luks(Box<NewVolume>),
    Veracrypt(Box<Veracrypt>),
    /// The plaintext.
    Raw,
}

impl Request for Copy {
    fn from_args(args: &Args) -> Result<Self> {
        let (Some(from), Some(to)) = (args.operand(0), args.operand(1)) else {
            return Err(Failure::silent(Exit::Parameters));
        };
        let holes = new_volume::holes_from_args(args);
        let luks = |version| {
            NewVolume::from_args(args, version, None, NewSeal::NONE).map(|new| New::Luks(Box::new(new)))
        };
        Ok(Self {
            new: match args.text(&TO) {
                Some("raw") => New::Raw,
                Some("luks1") => luks(Version::Luks1)?,
                Some(VERACRYPT) => New::Veracrypt(Box::new(Veracrypt::from_args(args)?)),
                _ => luks(Version::Luks2)?,
            },
            opening: Opening::from_args(args, 0)?,
            from: from.to_owned(),
            to: to.to_owned(),
            new_key_file: args.path(&shared::NEW_KEYFILE).map(Path::to_owned),
            holes,
            replacing: Replacing::from_args(args, &[1], &[]),
            progress: args.progress(),
        })
    }

    fn run(self) -> Result<()> {
        match &self.new {
            New::Luks(new) => {
                new.agree()?;
                match self.is_volume()? {
                    true => self.encrypt_anew(new),
                    false => self.encrypt(new),
                }
            }
            New::Veracrypt(new) => self.to_veracrypt(new),
            New::Raw if self.is_volume()? => self.to_raw(),
            New::Raw => {
                let from = self.from.display();
                let message =
                    format!("{from} is not a LUKS volume, and --to raw would only copy it; use cp.");
                let failure = Failure::new(Exit::Parameters, message);
                Err(match self.another_kind() {
                    Some(hint) => failure.hinting(hint),
                    None => failure,
                })
            }
        }
    }
}

impl Copy {
    fn encrypt_anew(&self, new: &NewVolume) -> Result<()> {
        let plain = self.source()?;
        let name = plain.device.display().to_string();
        new.check_content(&*plain.volume, &name)?;
        let passphrase = self.new_passphrase()?;
        let content = Content::whole(&*plain.volume, self.holes.in_transfer());
        new.make(self.destination()?, content, &name, passphrase).map(drop)
    }

    /// The volume's plaintext.
    fn source(&self) -> Result<Plaintext> {
        let plain = self.opening.open(Data::Read)?;
        self.opening.warn_of_noise(&*plain.volume);
        Ok(plain)
    }

    fn another_kind(&self) -> Option<String> {
        kind_hint::of_another_kind(&device::resolve(&self.from))
    }

    fn to_veracrypt(&self, new: &Veracrypt) -> Result<()> {
        let is_volume = self.is_volume()?;
        let (content, name) = match is_volume {
            true => {
                let plain = self.source()?;
                (plain.volume, plain.device.display().to_string())
            }
            false => (self.raw()?, self.from.display().to_string()),
        };
        let key = new.ask(&self.opening.key.passphrase, &self.to, !is_volume)?;
        new.make(self.destination()?, (&*content, &name), &key)
    }

    /// The source as it is.
    fn raw(&self) -> Result<Arc<dyn Storage>> {
        if let Some(hint) = self.another_kind() {
            say!("WARNING: {} is copied as it is, encrypted. {hint}", self.from.display());
        }
        device::storage(&device::resolve(&self.from), Access::Probe)
    }

    fn encrypt(&self, new: &NewVolume) -> Result<()> {
        let raw = self.raw()?;
        new.check_content(&*raw, &self.from.display().to_string())?;
        let passphrase = match &self.new_key_file {
            Some(_) => self.new_passphrase()?,
            None => self.opening.key.passphrase.first(unlock::prompt_for(&self.to), None).read()?,
        };
        let destination = self.destination()?;
        let name = self.from.display().to_string();
        let view = new_volume::view(self.holes, &*raw, &name)?;
        let image: &dyn Storage = view.as_ref().map_or(&*raw, |view| view);
        let content = Content::whole(image, self.holes.in_transfer());
        new.make(destination, content, &name, passphrase).map(drop)
    }

    fn destination(&self) -> Result<Destination> {
        Destination::open(self.opening.target.manner, &self.replacing, &self.to, &self.from)
    }

    /// A volume to raw.
    fn to_raw(&self) -> Result<()> {
        let (plain, to) = (self.source()?, &self.to);
        if device::is_given(to) {
            return self.to_raw_device(&plain);
        }
        let creation = Creation::start(&self.replacing, to)?;
        let file = creation.file();
        self.move_all(&plain, &**file, self.holes.in_transfer())?;
        file.set_len(plain.volume.len()).map_err(|e| cannot_write(&to.display(), None, &e))?;
        // Only the owner may read the plaintext of an encrypted volume.
        creation.complete(Readers::Owner)
    }

    /// A device cannot have holes: everything is written.
    fn to_raw_device(&self, plain: &Plaintext) -> Result<()> {
        let to = &self.to;
        let device = output_file::overwrite(&self.replacing, to)?;
        refuse_itself(&plain.device, to)?;
        if plain.volume.len() > device.len() {
            return Err(new_volume::too_short(to, device.len(), plain.volume.len()));
        }
        let manner = self.opening.target.manner;
        output_file::confirm(manner, &self.replacing, &device, to, ", with plaintext")?;
        self.move_all(plain, &**device, Holes::Fill)?;
        device.flush().map_err(|e| cannot_write(&to.display(), None, &e))
    }

    fn move_all(&self, plain: &Plaintext, sink: &dyn Storage, holes: Holes) -> Result<()> {
        let options = Options { holes, ..Options::default() };
        let len = plain.volume.len();
        let source = Source::Storage(&*plain.volume, 0..len);
        progress::watch(self.progress, &plain.device, Some(len), |meter| {
            stream::copy(source, Sink::Storage(sink, 0), &options, meter)
        })
        .map_err(|e| transfer::failed(e, &plain.device.display(), &self.to.display()))?;
        Ok(())
    }

    fn new_passphrase(&self) -> Result<Secret> {
        let prompt = unlock::prompt_for_new(&self.to);
        self.opening.key.passphrase.replacement(prompt, self.new_key_file.as_deref(), NEW_KEYFILE).read()
    }

    /// Whether the source is a volume: of the kind that `--type` names, or with a LUKS header, possibly a detached
    /// one. A source with a damaged header is not treated as a raw image.
    fn is_volume(&self) -> Result<bool> {
        if self.opening.target.header.is_some() || !self.opening.kind.is_luks() {
            return Ok(true);
        }
        let storage = device::storage(&device::resolve(&self.from), Access::Probe)?;
        if storage.len() < SMALLEST_HEADER {
            return Ok(false);
        }
        match Luks::open(storage, Access::Probe) {
            Ok(_) => Ok(true),
            Err(Error::Format(keyway_format::Error::NotLuks)) => Ok(false),
            Err(error) => Err(explain::on_device(&self.from, &error)),
        }
    }
}

/// A LUKS1 header with its keyslots, and one copy of a LUKS2 header, are both longer.
const SMALLEST_HEADER: u64 = 4096;

/// How the new passphrase is given where nobody can be asked.
const NEW_KEYFILE: &str = "Give the new passphrase in a file with --new-keyfile FILE, or on standard input.";
