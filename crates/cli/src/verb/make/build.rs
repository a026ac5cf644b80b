//! `build`: turns an image, a disk or standard input into a LUKS volume of exactly the needed size,
//! in one pass.

use crate::args::risk::{Effect, Proof, risk};
use crate::args::rule::Rule;
use crate::args::{self, Args, Command, Example, Group, Kind, Offers, Operand, Opt, Request, groups, shared};
use crate::device::input::Input;
use crate::device::{self, Versions};
use crate::make::comparison::{self, zeros};
use crate::make::directory;
use crate::make::first_boot::{self, FirstBoot, REKEY_AT_FIRST_BOOT};
use crate::make::new_volume::{self, Destination, FILL, KEEP_HOLES, NewVolume};
use crate::make::replacing::Replacing;
use crate::make::seal::{NewSeal, SEAL};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::manner::Manner;
use crate::output::progress::Progress;
use crate::output::size::human;
use crate::output::stdio;
use crate::unlock::{self, KeyOptions};
use keyway::parts::{Content, Holes, Source};
use keyway::storage::Storage;
use keyway::stream::{ImageHoles, LONGEST, NoLength, plaintext_len};
use keyway::{Built, Device, Key, Version};
use keyway_crypto::Secret;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;

/// `keyway build`.
pub(crate) static COMMAND: Command = Command {
    name: "build",
    aliases: &[],
    group: Group::First,
    operands: &[
        Operand {
            name: "SOURCE",
            required: true,
            help: "The plaintext; - is standard input.",
            offers: Offers::Volumes,
        },
        Operand {
            name: "OUT",
            required: true,
            help: "The new volume: a new file, or a block device.",
            offers: Offers::Files,
        },
    ],
    about: "Turn an image or standard input into a LUKS volume in one pass.",
    man: "The volume is as long as header and plaintext need; the plaintext is padded with zeros to whole \
          sectors. It appears under its name when it is complete, so that neither a full disk nor a kill leaves half \
          a volume. An existing file is replaced only with --force. On a block device the header is written last, \
          and parts that are not written keep their old content: --fill overwrites all of it. Sectors of LUKS2 have \
          4096 bytes, or fewer if the length or the file system in the source is no multiple of that (a pipe is not \
          inspected: give --sector-size).\n\nHoles in the source stay holes in the volume where that is harmless. A \
          mapping decrypts whatever is stored, so a hole reads as noise, not as zeros. The free space of ext2, ext3 \
          and ext4 file systems, bare or in partitions, may read as anything and stays a hole, as does the room that \
          --size and --headroom add; all other holes are zeros that something may rely on, and are encrypted. --fill \
          encrypts the free space too; --keep-holes leaves every hole unwritten.\n\nWith --reproducible, volume key, \
          salts, UUID and everything else that is random come from the seed file: the same seed, passphrase, options \
          and input give the same bytes with the same version of keyway. That has a price. Whoever has the seed has \
          the volume key, without any passphrase. And two volumes from one seed share a volume key: under XTS, \
          whoever sees both sees which blocks of 16 bytes are equal at the same place, and so which files changed \
          from one build to the next, and where; whoever can write to them can move blocks from one to the other. \
          Ciphers and modes that make a key stream (ctr, xctr, cfb, ofb, arc4) are refused: the difference of two \
          such volumes is the difference of their contents. The cost of key derivation is then not measured: it is 4 \
          passes of Argon2id over 256 MiB in 4 lanes, or 1,000,000 iterations of PBKDF2, unless \
          --pbkdf-force-iterations sets another.",
    options: &[
        groups::KEY_INPUT,
        &[
            &SIZE,
            &HEADROOM,
            &FILL,
            &KEEP_HOLES,
            &REPRODUCIBLE,
            &REKEY_AT_FIRST_BOOT,
            &VERIFY,
            &shared::FORCE,
            &shared::KEY_SLOT,
            &shared::VOLUME_KEY_FILE,
            &shared::WEAK_CIPHER,
            &SEAL,
            &shared::SEAL_CONTEXT,
            &shared::SEAL_CONTEXT_FILE,
        ],
        groups::KDF,
        groups::KEYSLOT,
        groups::NEW_VOLUME,
        groups::PROGRESS,
    ],
    rules: &[
        Rule::excludes(&SIZE, &[&HEADROOM]),
        Rule::excludes(&FILL, &[&KEEP_HOLES]),
        Rule::excludes(&REKEY_AT_FIRST_BOOT, &[&SEAL]).saying(first_boot::SEALED),
    ],
    examples: &[
        Example { line: "keyway build rootfs.ext4 rootfs.luks", does: "encrypt a file-system image" },
        Example {
            line: "zcat disk.img.gz | keyway build - disk.luks -d key --headroom 1G",
            does: "encrypt a stream, and leave room after it",
        },
        Example {
            line: "keyway build rootfs.ext4 rootfs.luks -d key --reproducible seed",
            does: "the same input gives the same bytes",
        },
    ],
    risks: &[
        risk("OUT", Effect::Overwrites, Proof::Claim, "build -q -d KEY RAW TARGET"),
        risk("OUT", Effect::Replaces, Proof::NewName, "build -q --force -d KEY RAW TARGET"),
    ],
    run: args::run::<Build>,
};

static SIZE: Opt = Opt {
    long: "size",
    short: None,
    value: "SIZE",
    kind: Kind::Size,
    help: "Make the plaintext this long.",
    man: "",
};

static HEADROOM: Opt = Opt {
    long: "headroom",
    short: None,
    value: "SIZE",
    kind: Kind::Size,
    help: "Leave this much room after the source.",
    man: "",
};

static REPRODUCIBLE: Opt = Opt {
    long: "reproducible",
    short: None,
    value: "SEED-FILE",
    kind: Kind::Path,
    help: "Derive all random data from a seed.",
    man: "At least 32 bytes, as secret as the data.",
};

static VERIFY: Opt = Opt {
    long: "verify",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Open the new volume and compare it.",
    man: "Opens it with the passphrase and compares it with everything that the source uses, as \"keyway \
          compare\" does. A difference gives exit code 1; the volume is kept, so that you can examine it.",
};

struct Build {
    version: Version,
    new: NewVolume,
    holes: ImageHoles,
    length: Length,
    key: KeyOptions,
    replacing: Replacing,
    seed: Option<PathBuf>,
    verify: bool,
    progress: Progress,
    from: PathBuf,
    to: PathBuf,
    manner: Manner,
}

impl Request for Build {
    fn from_args(args: &Args) -> Result<Self> {
        let version = Versions::from_args(args)?.only().unwrap_or(Version::Luks2);
        let seed = args.path(&REPRODUCIBLE);
        let seal = NewSeal::from_args(args, version)?;
        let first_boot = FirstBoot::from_args(args, version)?;
        let new = NewVolume::from_args(args, version, seed.map(read_seed).transpose()?, seal)?;
        let (Some(from), Some(to)) = (args.operand(0), args.operand(1)) else {
            return Err(Failure::silent(Exit::Parameters));
        };
        // The finished volume may replace its image.
        let replacing = Replacing::from_args(args, &[0, 1], &[]);
        Ok(Self {
            version,
            new: new.marked(first_boot),
            holes: new_volume::holes_from_args(args),
            length: Length::from_args(args)?,
            key: KeyOptions::from_args(args)?,
            replacing,
            seed: seed.map(Path::to_owned),
            verify: args.given(&VERIFY),
            progress: args.progress(),
            from: from.to_owned(),
            to: to.to_owned(),
            manner: args.manner(),
        })
    }

    fn run(self) -> Result<()> {
        let Self { holes, manner, to, .. } = &self;
        self.new.agree()?;
        directory::refuse(&self.from, to)?;
        let mut input = Input::open(Some(&self.from))?;
        if self.verify && input.storage().is_none() {
            let message = format!("{input} cannot be read twice: --verify needs a file or a device.");
            return Err(Failure::new(Exit::Parameters, message));
        }
        let (name, len, image) = (input.to_string(), self.length.of(&input)?, input.len());
        input.storage().map_or(Ok(()), |image| self.new.check_content(image, &name))?;
        let destination = Destination::open(*manner, &self.replacing, to, &self.from)?;
        let source = self.key.passphrase.first(unlock::prompt_for(to), None);
        let source = if input.is_stdin() { source.stdin_holds_data() } else { source };
        let passphrase = source.read()?;
        let again = self.verify.then(|| Key::Passphrase(Secret::copy_from(passphrase.expose())));
        let unneeded =
            input.storage().map(|image| new_volume::view(*holes, image, &name)).transpose()?.flatten();
        let recognised = unneeded.is_some();
        let source = match &unneeded {
            Some(view) => Source::Storage(view, 0..view.len()),
            None => input.source(),
        };
        // Standard input is a file that is positioned in the middle: which of its holes are free
        // cannot be determined.
        let middle = !recognised && *holes == ImageHoles::Unneeded && matches!(source, Source::Storage(..));
        let content = Content {
            source,
            len,
            holes: if middle { Holes::Fill } else { holes.in_transfer() },
            extend_to: self.length.size.unwrap_or(0),
            headroom: self.length.headroom.unwrap_or(0),
            limit: self.length.size,
        };
        let filled = self.new.make(destination, content, &name, passphrase)?;
        self.warn(&filled, image, &name);
        let (version, size, kept) = (self.version, human(filled.length), human(filled.holes));
        stdio::verbose(*manner, &format!("{}: {version}, {size}, of that {kept} in holes.", to.display()))?;
        again.map_or(Ok(()), |key| self.verify(&key))
    }
}

/// `--size` and `--headroom`.
struct Length {
    size: Option<u64>,
    headroom: Option<u64>,
}

impl Length {
    fn from_args(args: &Args) -> Result<Self> {
        let refusal = |message: String| Failure::new(Exit::Parameters, message);
        let bytes = |option: &Opt| match args.number(option) {
            Some(bytes) if bytes > LONGEST => Err(refusal(format!(
                "--{} {bytes}: no file or device is longer than {LONGEST} bytes.",
                option.long
            ))),
            bytes => Ok(bytes),
        };
        let (size, headroom) = (bytes(&SIZE)?, bytes(&HEADROOM)?);
        Ok(Self { size, headroom })
    }

    /// Length of the plaintext; `None` for a pipe of unknown length.
    fn of(&self, input: &Input) -> Result<Option<u64>> {
        let refuse = |message: String| Err(Failure::new(Exit::Parameters, message));
        match plaintext_len(input.len(), self.size, self.headroom) {
            Err(NoLength::DoesNotFit { len, size }) => {
                refuse(format!("{input} has {len} bytes and does not fit into --size {size}."))
            }
            Err(NoLength::Empty) => {
                refuse(format!("{input} is empty: give the volume room with --size or --headroom."))
            }
            Ok(len) => Ok(len),
        }
    }
}

fn read_seed(path: &Path) -> Result<Secret> {
    let wrong = |why: String| Failure::new(Exit::Parameters, format!("Seed file {}: {why}.", path.display()));
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(wrong("a regular file is needed".to_owned()));
    }
    let mut file = File::open(path).map_err(|e| wrong(e.to_string()))?;
    let len = file.metadata().map_err(|e| wrong(e.to_string()))?.len();
    if !(SEED_LEN).contains(&len) {
        return Err(wrong(format!(
            "{len} bytes; at least {} random ones are needed, and at most {}",
            SEED_LEN.start(),
            SEED_LEN.end()
        )));
    }
    let mut seed = Secret::zeroed(len as usize);
    file.read_exact(seed.expose_mut()).map_err(|e| wrong(e.to_string()))?;
    Ok(seed)
}

impl Build {
    /// Opens the volume that was made, and compares it with what it was made from.
    fn verify(&self, key: &Key) -> Result<()> {
        let device = device::resolve(&self.to);
        let volume = Device::open(device.as_path())?.unlock(key)?.storage();
        let mut input = Input::open(Some(&self.from))?;
        comparison::compare(&mut input, self.holes, &*volume, &device, self.progress)
    }

    /// Tells an interactive user what to know about the volume that was made; scripts use
    /// `--batch-mode`.
    fn warn(&self, filled: &Built, image: Option<u64>, name: &str) {
        if self.manner.batch_mode {
            return;
        }
        // Not where room after the source was asked for, or where its last sector may be a hole.
        let is_exact = self.length.size.is_none() && self.length.headroom.is_none();
        let has_noise = self.holes == ImageHoles::All && filled.holes > 0;
        if filled.padding > 0 && is_exact && !has_noise {
            say!(
                "{} holds {} after {name}: a volume ends with a whole sector.",
                self.to.display(),
                zeros(filled.padding)
            );
        }
        // The room after the source was asked for.
        let room = filled.length.saturating_sub(image.unwrap_or(0));
        let free = filled.holes.saturating_sub(room);
        if self.holes == ImageHoles::Unneeded && free > 0 {
            say!(
                "{} that the file system in {} marks as free were left unwritten: they read as noise. --fill encrypts \
                 them too.",
                human(free),
                self.from.display()
            );
        }
        if has_noise {
            say!("{} in holes were left unwritten: they read as noise, not as zeros.", human(filled.holes));
        }
        if let Some(seed) = &self.seed {
            say!(
                "Reproducible: whoever has {} has the volume key, whatever the passphrase, and volumes made from it show \
                 which of their sectors are equal. Keep it as secret as the data.",
                seed.display()
            );
        }
    }
}

/// The length of a seed in bytes.
const SEED_LEN: std::ops::RangeInclusive<u64> = 32..=8 << 20;
