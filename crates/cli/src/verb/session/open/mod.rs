//! `open` and its old names: a volume through a door, the kernel's or one of our own.

mod backend;
mod conflicts;
pub(crate) mod crypttab;
mod door;
mod kernel;
pub(crate) mod options;
mod refresh;
mod test_passphrase;

pub(crate) use conflicts::check_size;
pub(crate) use refresh::COMMAND as REFRESH_COMMAND;

use crate::device::{self, Target, explain};
use crate::door::shared::{
    self, ALLOW_DISCARDS, PERF_HIGH_PRIORITY, PERF_NO_READ, PERF_NO_WRITE, PERF_SAME_CPU, PERF_SUBMIT,
    SERIALIZE,
};
use crate::door::{Alias, Args, Command, Example, Group, Operand, Topic, groups};
use crate::mapping::{self, GivenFlags};
use crate::say::failure::{Exit, Failure, Result};
use crate::session;
use crate::verb::about::absent;
use crate::volume::{Format, Unlocked};
use backend::Backend;
use conflicts::Kind;
use keyway_crypto::Secret;
use keyway_volume::{Access, Luks};
use options::{BACKEND, LINK_VK, PERSISTENT, REFRESH, TEST_PASSPHRASE};

/// `keyway open`.
pub(crate) static COMMAND: Command = Command {
    name: "open",
    aliases: &[
        Alias { name: "luksOpen", device_type: Some("luks") },
        Alias { name: "create", device_type: Some("plain") },
        Alias { name: "plainOpen", device_type: Some("plain") },
        Alias { name: "loopaesOpen", device_type: Some("loopaes") },
        Alias { name: "tcryptOpen", device_type: Some("tcrypt") },
        Alias { name: "bitlkOpen", device_type: Some("bitlk") },
        Alias { name: "fvault2Open", device_type: Some("fvault2") },
    ],
    group: Group::Cryptsetup(Topic::Volumes),
    operands: &[
        Operand { name: "DEVICE", required: true, help: "The volume, or a name from /etc/crypttab." },
        Operand { name: "NAME", required: false, help: "What it is to be called while it is open." },
    ],
    about: "Open a volume under a name: in the kernel, or without root.",
    man: "As root, where the kernel has dm-crypt, the volume becomes /dev/mapper/NAME exactly as cryptsetup makes it, and \
          nothing is said; either program shows, resizes and closes the other's mappings. Otherwise a background process \
          of the user's holds the key and serves the plaintext: as a file through FUSE, or on a socket through NBD. It \
          survives the terminal, \"keyway list\" shows it, \"keyway close NAME\" ends it, and the command says where it is \
          and how to use it. --backend chooses.\n\n\
          A file gets a loop device for the kernel's door, which goes with the mapping. A second writer of the same volume \
          is refused. A LUKS2 volume's key goes through the kernel's keyring, as with cryptsetup. Volumes with \
          integrity protection are refused by name.\n\n\
          With one operand that is a name in /etc/crypttab, device, key file and options come from there; what the \
          command line says goes before. A name that /etc/crypttab gives to another device is warned about.\n\n\
          With --test-passphrase the volume is unlocked and nothing else happens: exit status 0 says that the passphrase is \
          right, 2 that it is wrong.\n\n\
          A LUKS2 token of type luks2-keyring is tried before a key file and before anybody is asked: its passphrase is the \
          key of type \"user\" that it names in the kernel's keyring. Tokens of other types are passed over. Keyslots are derived side by side, those with priority \"prefer\" first; those with \
          priority \"ignore\" only when --key-slot names them.",
    options: &[
        &[
            &BACKEND,
            &TEST_PASSPHRASE,
            &shared::READONLY,
            &shared::SHARED,
            &shared::DIRECT_IO,
            &ALLOW_DISCARDS,
            &PERSISTENT,
            &REFRESH,
            &shared::KEY_FILE,
            &shared::KEYFILE_OFFSET,
            &shared::KEYFILE_SIZE,
            &shared::KEY_SLOT,
            &shared::UNBOUND,
            &shared::VOLUME_KEY_FILE,
            &shared::KEY_SIZE,
            &shared::HEADER,
            &shared::TYPE,
            &shared::TRIES,
            &shared::TIMEOUT,
            &shared::MEMORY_BUDGET,
            &shared::TIME_LIMIT,
            &SERIALIZE,
            &shared::DISABLE_KEYRING,
            &LINK_VK,
            &PERF_SAME_CPU,
            &PERF_SUBMIT,
            &PERF_NO_READ,
            &PERF_NO_WRITE,
            &PERF_HIGH_PRIORITY,
            &shared::CIPHER,
            &shared::HASH,
            &shared::OFFSET,
            &shared::SKIP,
            &shared::SIZE,
            &shared::DEVICE_SIZE,
            &shared::SECTOR_SIZE,
            &shared::IV_LARGE_SECTORS,
            &shared::TOKEN_ID,
            &shared::TOKEN_ONLY,
            &shared::TOKEN_TYPE,
            &absent::TCRYPT_HIDDEN,
            &absent::TCRYPT_SYSTEM,
            &absent::TCRYPT_BACKUP,
            &absent::VERACRYPT_PIM,
            &absent::VERACRYPT_QUERY_PIM,
            &absent::DISABLE_VERACRYPT,
            &shared::VOLUME_KEY_KEYRING,
            &shared::EXTERNAL_TOKENS_PATH,
        ],
        groups::ADMISSION,
    ],
    examples: &[
        Example { line: "keyway open disk.img home", does: "Open it the best way that this machine has." },
        Example { line: "keyway open --backend nbd disk.img home", does: "A socket for QEMU or libguestfs." },
        Example { line: "keyway open --test-passphrase disk.img", does: "Is this passphrase right?" },
    ],
    run,
};

fn run(args: &Args) -> Result<()> {
    match crypttab::complete(args)? {
        Some(completed) => open(&completed),
        None => open(args),
    }
}

/// What the command does when nothing is left to be looked up in a table; `unlock` does it too.
pub(crate) fn open(args: &Args) -> Result<()> {
    conflicts::check_task(args)?;
    if args.given(&REFRESH) {
        return refresh::run(args);
    }
    let kind = Kind::from_args(args)?;
    conflicts::check(args, kind)?;
    if args.given(&TEST_PASSPHRASE) {
        return test_passphrase::run(args);
    }
    let name = mapping::name_operand(args, 1)?;
    match Backend::choose(args) {
        Backend::Kernel => kernel::run(args, name),
        own => door::run(args, own, name),
    }
}

/// Refuses a name that is taken, by the kernel or by a session.
fn refuse_taken(name: &str) -> Result<()> {
    if name.contains('/') {
        let message = format!("Cannot use device {name}, name is invalid or still in use.");
        return Err(Failure::new(Exit::Parameters, message));
    }
    let taken = mapping::find_mapping(name)?.is_some() || session::find(name).is_some();
    match taken {
        true => Err(Failure::new(Exit::Busy, format!("Device {name} already exists."))),
        false => Ok(()),
    }
}

/// `--persistent`, after the volume was opened; as with cryptsetup,
/// failing at it is said and fails nothing.
fn keep_flags(args: &Args, unlocked: &Unlocked) {
    let Format::Luks { luks, .. } = &unlocked.format else { return };
    if args.given(&PERSISTENT) && write_flags(args, luks, &unlocked.volume_key).is_err() {
        say!("Device activated but cannot make flags persistent.");
    }
}

fn write_flags(args: &Args, luks: &Luks, volume_key: &Secret) -> Result<()> {
    let path = Target::from_args(args, 0)?.header_path().to_owned();
    let mut writable = Target::from_args(args, 0)?.load(Access::Write, device::Versions::Two)?;
    if !writable.is_same(luks) {
        return Err(device::not_luks(&path));
    }
    GivenFlags::from_args(args)
        .keep(&mut writable, Some(volume_key))
        .map_err(|e| explain::on_device(&path, &e))
}
