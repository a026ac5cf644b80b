//! Options that more than one command takes, defined once.
//!
//! Names and letters are cryptsetup's; the help texts are Keyway's own. Options of a single command
//! are in that command's file.

mod accepted;
mod bitlk;
pub(crate) mod examples;
mod keys;
mod making;
mod opening;
pub(crate) mod operands;
mod reencrypting;
mod source;
mod tcrypt;
mod unbuilt;

pub(crate) use accepted::*;
pub(crate) use bitlk::*;
pub(crate) use keys::*;
pub(crate) use making::*;
pub(crate) use opening::*;
pub(crate) use reencrypting::*;
pub(crate) use source::*;
pub(crate) use tcrypt::*;
pub(crate) use unbuilt::*;

use super::option::{Kind, Opt};
use super::rule::Rule;

const U32: Kind = Kind::Number(u32::MAX as u64);
const U64: Kind = Kind::Number(u64::MAX);

const fn flag(long: &'static str, short: Option<char>, help: &'static str, man: &'static str) -> Opt {
    Opt { long, short, value: "", kind: Kind::Flag, help, man }
}

const fn option(
    long: &'static str,
    short: Option<char>,
    value: &'static str,
    kind: Kind,
    help: &'static str,
    man: &'static str,
) -> Opt {
    Opt { long, short, value, kind, help, man }
}

// ---- every command ----

pub(crate) static HELP: Opt =
    flag("help", Some('?'), "Show help: what most users need.", "Called as cryptsetup, all options.");
pub(crate) static HELP_ALL: Opt = flag("help-all", None, "Show help with all options.", "");
pub(crate) static USAGE: Opt = flag("usage", None, "Show the command's synopsis.", "");
pub(crate) static VERSION: Opt = flag("version", Some('V'), "Show the version.", "");
pub(crate) static VERBOSE: Opt = flag("verbose", Some('v'), "Print more, and the exit code.", "");
pub(crate) static DEBUG: Opt = flag("debug", None, "Print what is done and why; never secrets.", "");
pub(crate) static DEBUG_JSON: Opt = flag("debug-json", None, "Like --debug, with the LUKS2 metadata.", "");
pub(crate) static BATCH_MODE: Opt = flag(
    "batch-mode",
    Some('q'),
    "Ask no questions.",
    "Answers every question with yes. For scripts; dangerous on a terminal.",
);
pub(crate) static TEST_ARGS: Opt = flag("test-args", None, "Check the command line and do nothing.", "");
pub(crate) static JSON: Opt = flag("json", None, "Print JSON instead of text.", "");
pub(crate) static MEMORY_BUDGET: Opt = option(
    "memory-budget",
    None,
    "SIZE",
    Kind::Size,
    "Memory limit for key derivation.",
    "An Argon2 keyslot states how much memory it needs, and a hostile header may demand all of the machine's memory. A keyslot \
     over the limit is refused, and the message says what it needs. Keyslots that fit together are derived in \
     parallel. The default is half of the available memory.",
);

pub(crate) static TIME_LIMIT: Opt = option(
    "time-limit",
    None,
    "SECONDS",
    U64,
    "Time limit for one key derivation (3600).",
    "A hostile header may demand years of work. A keyslot over the limit is refused, and the message says \
     what it needs.",
);

/// Unknown where the program is called as cryptsetup, whose command lines have no such option.
pub(crate) static NOT_CRYPTSETUPS: &[&Opt] = &[
    &PASSWORD_COMMAND,
    &ALLOW_EMPTY_PASSPHRASE,
    &ITER_TIME_FOR,
    &HELP_ALL,
    &LIMIT_RATE,
    &KEEP_HEADER_BACKUP,
    &NO_HEADER_BACKUP,
    &ESTIMATE,
    &IF_MARKED,
];

/// Taken by every command.
pub(crate) static EVERYWHERE: &[&Opt] =
    &[&BATCH_MODE, &VERBOSE, &DEBUG, &DEBUG_JSON, &TEST_ARGS, &HELP, &HELP_ALL, &USAGE, &VERSION];

/// What every command refuses that takes these options, before what it refuses itself.
pub(super) static RULES: [&[Rule]; 5] =
    [KEY_RULES, MAKING_RULES, UNBUILT_RULES, OPENING_RULES, NEW_VOLUME_RULES];

/// What every command that has the option refuses besides, after it.
pub(super) static RULES_WITH: [(&Opt, &[Rule]); 3] =
    [(&TCRYPT_HIDDEN, TCRYPT_RULES), (&SOURCE_CIPHER, SOURCE_RULES), (&ALLOW_VISTA, BITLK_RULES)];

// ---- the volume ----

pub(crate) static HEADER: Opt = option(
    "header",
    None,
    "FILE",
    Kind::Path,
    "The file that holds the LUKS header.",
    "A detached header; DEVICE then holds only the encrypted data.",
);
pub(crate) static TYPE: Opt = option(
    "type",
    Some('M'),
    "TYPE",
    Kind::Words(&["luks", "luks1", "luks2", "plain"]),
    "The format: luks, luks1, luks2 or plain.",
    "luks means either version; a new volume is LUKS2. Plain volumes have no header: options describe them, and \
     a wrong passphrase yields noise.",
);
pub(crate) static DISABLE_LOCKS: Opt = flag(
    "disable-locks",
    None,
    "Do not lock the LUKS2 header.",
    "Without the lock, another process may change the header at the same time. A damaged copy is not recovered.",
);
pub(crate) static UUID: Opt = option("uuid", None, "UUID", Kind::Text, "Give the volume this UUID.", "");
pub(crate) static LABEL: Opt =
    option("label", None, "TEXT", Kind::Text, "Label, at most 47 bytes (LUKS2).", "");
pub(crate) static SUBSYSTEM: Opt =
    option("subsystem", None, "TEXT", Kind::Text, "Subsystem label, at most 47 bytes (LUKS2).", "");

// ---- for cryptsetup's scripts: no effect in commands that have no use for them ----

pub(crate) static JSON_FILE: Opt =
    option("json-file", None, "FILE", Kind::Path, "File for a token's JSON.", "");
pub(crate) static HEADER_BACKUP_FILE: Opt =
    option("header-backup-file", None, "FILE", Kind::Path, "File for the header backup.", "");
pub(crate) static DISABLE_EXTERNAL_TOKENS: Opt =
    flag("disable-external-tokens", None, "Accepted; token plugins are never loaded.", "");
pub(crate) static EXTERNAL_TOKENS_PATH: Opt =
    option("external-tokens-path", None, "DIR", Kind::Path, "Accepted; token plugins are never loaded.", "");
pub(crate) static DUMP_JSON: Opt =
    flag("dump-json-metadata", None, "The LUKS2 metadata as stored in the header.", "");
pub(crate) static DUMP_VOLUME_KEY: Opt =
    flag("dump-volume-key", None, "The volume key; asks for a passphrase.", "");
pub(crate) static DUMP_MASTER_KEY: Opt = flag("dump-master-key", None, "Old name of --dump-volume-key.", "");
pub(crate) static DISABLE_BLKID: Opt =
    flag("disable-blkid", None, "Do not check what the device already holds.", "");
pub(crate) static DISABLE_KEYRING: Opt = flag(
    "disable-keyring",
    None,
    "Pass the volume key to dm-crypt directly.",
    "By default a LUKS2 volume's key goes through the kernel keyring, so that the mapping's table does not show \
     it. Volumes opened with nbd, fuse or ublk use no keyring.",
);
