//! `luksDump`: the header as text, line for line as cryptsetup prints it, as JSON, or with the key.

mod luks1;
mod luks2;
mod summary;

use crate::device::Versions;
use crate::door::{Args, Command, Example, Group, Kind, Operand, Opt, Topic, groups, shared};
use crate::say::failure::{Exit, Failure, Result};
use crate::say::paint::printable;
use crate::say::{output, question};
use crate::unlock::admission;
use crate::unlock::passphrase::PassphraseSource;
use crate::{device, unlock};
use keyway_crypto::Secret;
use keyway_volume::storage::Place;
use keyway_volume::{Access, Header, KeyslotState, Luks, UnlockOptions};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use zeroize::Zeroizing;

/// `keyway luksDump`.
pub(crate) static COMMAND: Command = Command {
    name: "luksDump",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Questions),
    operands: &[Operand { name: "DEVICE", required: true, help: "The volume." }],
    about: "Show the header.",
    man: "No passphrase is needed. Salts, digests and the encrypted keys that are shown open nothing by themselves.\n\n\
          With --dump-volume-key the passphrase is asked for and the volume key is shown, or written to the new file \
          --volume-key-file. Whoever has it can read the data whatever passphrases are changed later.",
    options: &[
        &[
            &DUMP_JSON,
            &shared::JSON,
            &DUMP_VOLUME_KEY,
            &DUMP_MASTER_KEY,
            &shared::VOLUME_KEY_FILE,
            &shared::UNBOUND,
            &shared::KEY_SLOT,
            &shared::KEY_FILE,
            &shared::KEYFILE_OFFSET,
            &shared::KEYFILE_SIZE,
            &shared::HEADER,
            &shared::TYPE,
            &shared::TIMEOUT,
            &shared::WEAK_CIPHER,
            &shared::MEMORY_BUDGET,
            &shared::TIME_LIMIT,
            &shared::EXTERNAL_TOKENS_PATH,
        ],
        groups::DEMANDS,
    ],
    examples: &[
        Example { line: "keyway luksDump disk.img", does: "Format, cipher, keyslots and their cost." },
        Example {
            line: "keyway luksDump --dump-volume-key --volume-key-file key disk.img",
            does: "The volume key into a new file that only its owner may read.",
        },
    ],
    run,
};

static DUMP_JSON: Opt = Opt {
    long: "dump-json-metadata",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "LUKS2's metadata as it stands in the header.",
    man: "",
};
static DUMP_VOLUME_KEY: Opt = Opt {
    long: "dump-volume-key",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "The volume key; asks for a passphrase.",
    man: "",
};
static DUMP_MASTER_KEY: Opt = Opt {
    long: "dump-master-key",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Old name of --dump-volume-key.",
    man: "",
};

fn run(args: &Args) -> Result<()> {
    let key_wanted = args.given(&DUMP_VOLUME_KEY) || args.given(&DUMP_MASTER_KEY);
    if args.given(&shared::UNBOUND) && !args.given(&shared::KEY_SLOT) {
        return Err(Failure::new(Exit::Parameters, "Keyslot specification is required."));
    }
    let path = device::header_path(args, 0)?;
    let luks = device::load(args, 0, Access::Read, Versions::from_args(args)?)?;
    if key_wanted {
        return dump_volume_key(args, &luks, &path);
    }
    if args.given(&shared::UNBOUND) {
        return dump_unbound_key(args, &luks, &path);
    }
    if admission::is_demanded(args) {
        admission::check_header(args, &luks, &path)?;
    }
    let text = if args.given(&shared::JSON) {
        summary::summary(&luks)
    } else if args.given(&DUMP_JSON) {
        match luks.header() {
            Header::Luks1(_) => {
                let message =
                    "Dump operation is not supported for this device type: LUKS1 has no JSON; use --json.";
                return Err(Failure::new(Exit::Parameters, message));
            }
            Header::Luks2 { metadata, .. } => metadata.to_pretty_json(),
        }
    } else {
        match luks.header() {
            Header::Luks1(header) => luks1::dump(header, &path),
            Header::Luks2 { binary, metadata } => luks2::dump(binary, metadata),
        }
    };
    output::print(&text)
}

fn dump_volume_key(args: &Args, luks: &Luks, path: &Path) -> Result<()> {
    let warning = "The header dump with volume key is sensitive information\n\
                   that allows access to encrypted partition without a passphrase.\n\
                   This dump should be stored encrypted in a safe place.";
    question::confirm(args.manner(), warning, "", Exit::Permission)?;
    // --key-slot is for --unbound: cryptsetup does not look at it here.
    let key = ask_for_key(args, luks, path, &unlock::options(args))?;
    let (cipher, payload_sectors) = cipher_and_payload(luks);
    let cipher = printable(&cipher);
    let (name, mode) = cipher.split_once('-').unwrap_or((&cipher, ""));
    let mut text = format!(
        "LUKS header information for {}\nCipher name:   \t{name}\nCipher mode:   \t{mode}\n\
         Payload offset:\t{payload_sectors}\nUUID:          \t{}\nMK bits:       \t{}\n",
        path.display(),
        printable(luks.uuid()),
        key.len() * 8
    );
    finish_key_dump(args, &mut text, "MK dump:\t", &key)
}

fn dump_unbound_key(args: &Args, luks: &Luks, path: &Path) -> Result<()> {
    let keyslot = args.number32(&shared::KEY_SLOT).unwrap_or_default();
    if luks.keyslot_state(keyslot) != KeyslotState::Unbound {
        let message = format!("Keyslot {keyslot} does not contain unbound key.");
        return Err(Failure::new(Exit::Parameters, message));
    }
    let warning = "The header dump with unbound key is sensitive information.\n\
                   This dump should be stored encrypted in a safe place.";
    question::confirm(args.manner(), warning, "", Exit::Permission)?;
    let options = UnlockOptions { keyslot: Some(keyslot), unbound_too: true, ..unlock::options(args) };
    let key = ask_for_key(args, luks, path, &options)?;
    let mut text = format!(
        "LUKS header information for {}\nUUID:    \t{}\nKeyslot: \t{keyslot}\nKey bits:\t{}\n",
        path.display(),
        printable(luks.uuid()),
        key.len() * 8
    );
    finish_key_dump(args, &mut text, "Unbound Key:\t", &key)
}

/// One try, as in cryptsetup.
fn ask_for_key(args: &Args, luks: &Luks, path: &Path, options: &UnlockOptions) -> Result<Secret> {
    luks.check_requirements()?;
    admission::check_header(args, luks, path)?;
    let passphrase = PassphraseSource::existing(args, unlock::prompt_for(path))?.read()?;
    let unlocked = keyway_volume::unlock(luks, &passphrase, options)?;
    admission::check_key(args, luks, path, None, &unlocked.volume_key, unlocked.digest)?;
    unlock::note_unlocked(args, unlocked.keyslot)?;
    Ok(unlocked.volume_key)
}

/// The key to its file or behind the text, which is wiped afterwards.
fn finish_key_dump(args: &Args, text: &mut String, label: &str, key: &Secret) -> Result<()> {
    if let Some(file) = unlock::volume_key_file(args) {
        write_key(file, key)?;
        let _ = writeln!(text, "Key stored to file {}.", file.display());
        return output::print(text);
    }
    // Room for everything at once: growing would leave copies of the key behind.
    let mut whole = Zeroizing::new(String::with_capacity(text.len() + label.len() + 4 * key.len() + 16));
    whole.push_str(text);
    whole.push_str(label);
    for (i, byte) in key.expose().iter().enumerate() {
        if i > 0 && i % 16 == 0 {
            whole.push_str("\n\t\t");
        }
        let _ = write!(whole, "{byte:02x} ");
    }
    whole.push('\n');
    output::print(&whole)
}

/// A new file that only its owner may read.
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

/// Bytes in hexadecimal, sixteen a line, a space behind each;
/// `indent` starts every line but the first.
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
