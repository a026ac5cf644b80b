//! `luksDump`: shows the header as text, line for line as cryptsetup prints it, as JSON, or with
//! the key.

pub(crate) mod bitlk;
pub(crate) mod fvault2;
mod luks1;
mod luks2;
mod summary;
pub(crate) mod tcrypt;

use crate::args::risk::{Effect, Proof, risk};
use crate::args::rule::Rule;
use crate::args::{self, Args, Command, Example, Group, Request, Topic, groups, shared};
use crate::device::{Target, Versions};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::paint::printable;
use crate::output::{question, stdio};
use crate::unlock::admission::Demands;
use crate::unlock::{self, GivenKey, KeyOptions};
use keyway::parts::{Header, Luks, UnlockOptions};
use keyway::storage::Place;
use keyway::{Access, KeyslotState};
use keyway_crypto::Secret;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use zeroize::Zeroizing;

/// `keyway luksDump`.
pub(crate) static COMMAND: Command = Command {
    name: "luksDump",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Questions),
    operands: &[shared::operands::DEVICE],
    about: "Show the header.",
    man: "No passphrase is needed. The salts, digests and encrypted keys that it shows open nothing by \
          themselves.\n\nWith --dump-volume-key the passphrase is asked for and the volume key is shown, or written \
          to the new file --volume-key-file. Whoever has the key can read the data, whichever passphrases are \
          changed later.",
    options: &[
        &[
            &shared::DUMP_JSON,
            &shared::JSON,
            &shared::DUMP_VOLUME_KEY,
            &shared::DUMP_MASTER_KEY,
            &shared::VOLUME_KEY_FILE,
            &shared::KEY_DESCRIPTION,
            &shared::UNBOUND,
            &shared::KEY_SLOT,
        ],
        groups::KEY_INPUT,
        groups::KEYSLOT_EDIT,
        groups::LIMITS,
        groups::DEMANDS,
    ],
    rules: &[Rule::needs(&shared::UNBOUND, &shared::KEY_SLOT).saying(shared::NO_KEYSLOT)],
    examples: &[
        Example { line: "keyway luksDump disk.img", does: "Format, cipher, keyslots and their cost." },
        Example {
            line: "keyway luksDump --dump-volume-key --volume-key-file key disk.img",
            does: "The volume key, into a new file that only its owner can read.",
        },
    ],
    risks: &[risk("DEVICE, a damaged copy of its header", Effect::Edits, Proof::Header, "luksDump TARGET")],
    run: args::run::<Dump>,
};

struct Dump {
    target: Target,
    versions: Versions,
    demands: Demands,
    key: KeyOptions,
    what: What,
}

/// What to show.
enum What {
    /// The header in words.
    Text,
    /// The JSON metadata of a LUKS2 header.
    Metadata,
    /// The header as JSON in one form for both formats.
    Summary,
    /// The volume key.
    VolumeKey,
    /// The key in an unbound keyslot.
    UnboundKey(u32),
}

impl Request for Dump {
    fn from_args(args: &Args) -> Result<Self> {
        Ok(Self {
            what: What::from_args(args),
            target: Target::from_args(args, 0)?,
            versions: Versions::from_args(args)?,
            demands: Demands::from_args(args)?,
            key: KeyOptions::from_args(args)?,
        })
    }

    fn run(self) -> Result<()> {
        let (path, luks) = (self.target.header_path(), self.target.load(Access::Read, self.versions)?);
        let is_key = matches!(self.what, What::VolumeKey | What::UnboundKey(_));
        if self.demands.is_demanded() && !is_key {
            self.demands.check_header(&luks, path)?;
        }
        let text = match (&self.what, luks.header()) {
            (What::VolumeKey, _) => return self.dump_volume_key(&luks),
            (What::UnboundKey(keyslot), _) => return self.dump_unbound_key(&luks, *keyslot),
            (What::Summary, _) => summary::summary(&luks),
            (What::Metadata, Header::Luks1(_)) => {
                let message =
                    "Dump operation is not supported for this device type: LUKS1 has no JSON; use --json.";
                return Err(Failure::new(Exit::Parameters, message));
            }
            (What::Metadata, Header::Luks2 { metadata, .. }) => metadata.to_pretty_json(),
            (What::Text, Header::Luks1(header)) => luks1::dump(header, path),
            (What::Text, Header::Luks2 { binary, metadata }) => luks2::dump(binary, metadata),
        };
        stdio::print(&text)
    }
}

impl What {
    fn from_args(args: &Args) -> Self {
        let keyslot = args.number32(&shared::KEY_SLOT);
        let wants_key = args.given(&shared::DUMP_VOLUME_KEY) || args.given(&shared::DUMP_MASTER_KEY);
        match keyslot.filter(|_| args.given(&shared::UNBOUND)) {
            _ if wants_key => Self::VolumeKey,
            Some(keyslot) => Self::UnboundKey(keyslot),
            None if args.given(&shared::JSON) => Self::Summary,
            None if args.given(&shared::DUMP_JSON) => Self::Metadata,
            None => Self::Text,
        }
    }
}

impl Dump {
    fn dump_volume_key(&self, luks: &Luks) -> Result<()> {
        question::confirm(self.target.manner, KEY_IS_SHOWN, "", Exit::Permission)?;
        // --key-slot applies to --unbound only: cryptsetup ignores it here.
        let key = self.ask_for_key(luks, &self.key.limits())?;
        let (cipher, payload_sectors) = cipher_and_payload(luks);
        let cipher = printable(&cipher);
        let (name, mode) = cipher.split_once('-').unwrap_or((&cipher, ""));
        let text = format!(
            "LUKS header information for {}\nCipher name:   \t{name}\nCipher mode:   \t{mode}\n\
             Payload offset:\t{payload_sectors}\nUUID:          \t{}\nMK bits:       \t{}\n",
            self.target.header_path().display(),
            printable(luks.uuid()),
            key.len() * 8
        );
        self.finish_key_dump(text, "MK dump:\t", &key)
    }

    fn dump_unbound_key(&self, luks: &Luks, keyslot: u32) -> Result<()> {
        if luks.keyslot_state(keyslot) != KeyslotState::Unbound {
            let message = format!("Keyslot {keyslot} does not contain unbound key.");
            return Err(Failure::new(Exit::Parameters, message));
        }
        let warning = "The header dump with unbound key is sensitive information.\n\
                       This dump should be stored encrypted in a safe place.";
        question::confirm(self.target.manner, warning, "", Exit::Permission)?;
        let options = UnlockOptions { keyslot: Some(keyslot), unbound_too: true, ..self.key.limits() };
        let key = self.ask_for_key(luks, &options)?;
        let text = format!(
            "LUKS header information for {}\nUUID:    \t{}\nKeyslot: \t{keyslot}\nKey bits:\t{}\n",
            self.target.header_path().display(),
            printable(luks.uuid()),
            key.len() * 8
        );
        self.finish_key_dump(text, "Unbound Key:\t", &key)
    }

    /// Asks once, as cryptsetup does.
    fn ask_for_key(&self, luks: &Luks, options: &UnlockOptions) -> Result<Secret> {
        let path = self.target.header_path();
        luks.check_requirements()?;
        self.demands.check_header(luks, path)?;
        let passphrase = self.key.passphrase.existing(unlock::prompt_for(path)).read()?;
        let unlocked = keyway::parts::unlock(luks, &passphrase, options)?;
        self.demands.check_key(luks, path, None, &unlocked.volume_key, unlocked.digest)?;
        unlock::note_unlocked(self.target.manner, unlocked.keyslot)?;
        Ok(unlocked.volume_key)
    }

    /// Writes the key to its file, or after the text, which is wiped afterwards.
    fn finish_key_dump(&self, text: String, label: &str, key: &Secret) -> Result<()> {
        if let Some(file) = self.key.volume_key.as_ref().and_then(GivenKey::file) {
            return store_key(file, key, text);
        }
        // Capacity for everything at once: growing would leave copies of the key in memory.
        let room = text.len() + label.len() + 4 * key.len() + 16;
        let mut whole = Zeroizing::new(String::with_capacity(room));
        whole.push_str(&text);
        whole.push_str(label);
        for (i, byte) in key.expose().iter().enumerate() {
            if i > 0 && i % 16 == 0 {
                whole.push_str("\n\t\t");
            }
            let _ = write!(whole, "{byte:02x} ");
        }
        whole.push('\n');
        stdio::print(&whole)
    }
}

/// Prints text that holds a key.
fn print_secret(text: &Secret) -> Result<()> {
    stdio::print(std::str::from_utf8(text.expose()).expect("a dump is text"))
}

/// Writes the key to its new file, and prints the text with its name.
fn store_key(file: &Path, key: &Secret, mut text: String) -> Result<()> {
    write_key(file, key)?;
    let _ = writeln!(text, "Key stored to file {}.", file.display());
    stdio::print(&text)
}

/// Shown before a volume key is.
const KEY_IS_SHOWN: &str = "The header dump with volume key is sensitive information\n\
                            that allows access to encrypted partition without a passphrase.\n\
                            This dump should be stored encrypted in a safe place.";

/// Creates a file that only its owner may read.
fn write_key(path: &Path, key: &Secret) -> Result<()> {
    let opened = Place::find(path, false).and_then(|place| place.make(0o400));
    let mut file = opened.map_err(|e| {
        Failure::new(Exit::Parameters, format!("Cannot open keyfile {} for write: {e}.", path.display()))
    })?;
    file.write_all(key.expose()).and_then(|()| file.sync_all()).map_err(|e| {
        let _ = std::fs::remove_file(path);
        Failure::new(Exit::Parameters, format!("Cannot write to keyfile {}: {e}.", path.display()))
    })
}

/// "aes-xts-plain64" and where the data starts, in sectors.
fn cipher_and_payload(luks: &Luks) -> (String, u64) {
    use keyway_format::luks2::SegmentKind;
    match luks.header() {
        Header::Luks1(header) => (header.cipher(), header.payload_offset.0),
        Header::Luks2 { metadata, .. } => {
            let segment = metadata.segments.values().next();
            let cipher = match segment.map(|s| &s.kind) {
                Some(SegmentKind::Crypt { encryption, .. }) => encryption.clone(),
                _ => "null".to_owned(),
            };
            (cipher, segment.map_or(0, |s| s.offset.0 / 512))
        }
    }
}

/// Bytes in hexadecimal, sixteen per line, each followed by a space; `indent` starts every line
/// except the first.
fn hex_lines(bytes: &[u8], indent: &str) -> String {
    let mut text = String::new();
    for (i, byte) in bytes.iter().enumerate() {
        if i > 0 && i % 16 == 0 {
            text.push('\n');
            text.push_str(indent);
        }
        let _ = write!(text, "{byte:02x} ");
    }
    text
}
