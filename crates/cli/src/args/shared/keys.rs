//! Options that say which passphrase, key file, keyslot or token opens a volume.

use super::{DISABLE_KEYRING, LINK_VK, U32, U64, flag, option};
use crate::args::option::{Kind, Opt};
use crate::args::rule::Rule;

/// Numbers of keyslots and tokens: LUKS2 has 32 of each, LUKS1 eight keyslots.
pub(crate) const KEYSLOTS: &[&str] = &[
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18",
    "19", "20", "21", "22", "23", "24", "25", "26", "27", "28", "29", "30", "31",
];

pub(crate) static KEY_FILE: Opt = option(
    "key-file",
    Some('d'),
    "FILE",
    Kind::Path,
    "Passphrase from a file; - is standard input.",
    "The whole file is the passphrase, newlines included, up to 8 MiB; with -, all of standard input is. A \
     new passphrase from a file that looks typed and ends in a newline causes a warning: nobody can type that \
     newline later. Without this option the passphrase is asked for on the terminal or, if standard input is \
     not a terminal, read from it up to the first newline.",
);
pub(crate) static PASSWORD_COMMAND: Opt = option(
    "password-command",
    None,
    "COMMAND",
    Kind::Text,
    "Passphrase from this command's output.",
    "COMMAND is run by sh(1), with an empty standard input and this program's standard error. What it prints, \
     without one newline at the end, is the passphrase: at least one byte, at most 8 MiB. It takes the place \
     of --key-file, so the two exclude each other. If the command fails, or prints nothing, nothing is opened \
     or written. The passphrase itself appears on no command line. Not available when called as cryptsetup.",
);
pub(crate) static KEYFILE_OFFSET: Opt =
    option("keyfile-offset", None, "BYTES", U64, "Skip this much of the key file.", "");
pub(crate) static KEYFILE_SIZE: Opt = option(
    "keyfile-size",
    Some('l'),
    "BYTES",
    U32,
    "Read this much of the key file.",
    "A shorter file is an error: a truncated key would never open anything.",
);
pub(crate) static NEW_KEYFILE: Opt =
    option("new-keyfile", None, "FILE", Kind::Path, "New passphrase from a file.", "");
pub(crate) static NEW_KEYFILE_OFFSET: Opt =
    option("new-keyfile-offset", None, "BYTES", U64, "Skip this much of the new key file.", "");
pub(crate) static NEW_KEYFILE_SIZE: Opt =
    option("new-keyfile-size", None, "BYTES", U32, "Read this much of the new key file.", "");
pub(crate) static VOLUME_KEY_FILE: Opt = option(
    "volume-key-file",
    None,
    "FILE",
    Kind::Path,
    "Volume key from a file.",
    "Used instead of a passphrase, or as the key of a new volume. With --dump-volume-key the key is written to \
     this file, which must not exist yet.",
);
pub(crate) static MASTER_KEY_FILE: Opt =
    option("master-key-file", None, "FILE", Kind::Path, "Old name of --volume-key-file.", "");
pub(crate) static ALLOW_EMPTY_PASSPHRASE: Opt = flag(
    "allow-empty-passphrase",
    None,
    "Allow an empty new passphrase.",
    "Anyone who has the volume can then open it by pressing Enter. Without this option an empty new \
     passphrase is refused, since it usually comes from an empty key file or an unset variable; called as \
     cryptsetup, Keyway accepts it with a warning. Opening is not affected.",
);
pub(crate) static VERIFY_PASSPHRASE: Opt =
    flag("verify-passphrase", Some('y'), "Ask twice for a passphrase on a terminal.", "");
pub(crate) static TIMEOUT: Opt = option(
    "timeout",
    Some('t'),
    "SECONDS",
    U32,
    "Limit on waiting for a prompt or a server.",
    SERVER_TIMEOUT,
);

/// One text for both options: a user who runs this unattended wants every wait to end.
const SERVER_TIMEOUT: &str = "Without it, a prompt waits forever, and a server that sends nothing, or \
                              almost nothing, times out: http, https and s3 after 60 seconds, retries included; nbd after 15 \
                              seconds of connecting, or 120 without a reply, after which a read is retried \
                              once over a new connection. With this option the limit is as given, but at \
                              least 120 seconds while an nbd server has changes to write. After 5 seconds, a \
                              line on standard error says what the command is waiting for.";
pub(crate) static TRIES: Opt =
    option("tries", Some('T'), "N", U32, "Number of attempts at the passphrase (3).", "");
pub(crate) static FORCE_PASSWORD: Opt =
    flag("force-password", None, "Accepted; there is no password quality check.", "");
pub(crate) static KEY_SLOT: Opt = option(
    "key-slot",
    Some('S'),
    "N",
    Kind::Numbers(i32::MAX as u64, KEYSLOTS),
    "Use this keyslot only.",
    "LUKS1 has keyslots 0 to 7, LUKS2 0 to 31. For a new key the default is the first free one.",
);
pub(crate) static UNBOUND: Opt = flag(
    "unbound",
    None,
    "A keyslot whose key opens no data (LUKS2).",
    "An unbound keyslot stores any key under a passphrase and opens no data.",
);
pub(crate) static TOKEN_ID: Opt =
    option("token-id", None, "N", Kind::Numbers(i32::MAX as u64, KEYSLOTS), "Use this token.", "");
pub(crate) static TOKEN_ONLY: Opt =
    flag("token-only", None, "Do not ask for a passphrase if tokens fail.", "");
pub(crate) static TOKEN_TYPE: Opt =
    option("token-type", None, "TYPE", Kind::Words(&["luks2-keyring"]), "Use tokens of this type only.", "");
pub(crate) static KEY_DESCRIPTION: Opt = option(
    "key-description",
    None,
    "TEXT",
    Kind::Text,
    "Passphrase from this keyring key.",
    "The description of a key of type \"user\", searched for as request_key(2) does. It replaces the prompt \
     and the key file.",
);
pub(crate) static NEW_KEY_DESCRIPTION: Opt =
    option("new-key-description", None, "TEXT", Kind::Text, "New passphrase from this keyring key.", "");
pub(crate) static VOLUME_KEY_KEYRING: Opt = option(
    "volume-key-keyring",
    None,
    "KEY",
    Kind::Text,
    "Volume key from the kernel's keyring.",
    "KEY is the description of a key of type \"user\", alone or as %user:DESCRIPTION. Used instead of a \
     passphrase. A key of type \"logon\" cannot be read back by any program. A volume in the middle of a \
     reencryption has two keys: give the option twice.",
);

/// Said where an option needs `--key-slot`.
pub(crate) const NO_KEYSLOT: &str = "Keyslot specification is required.";

pub(crate) static KEY_RULES: &[Rule] = &[
    Rule::line(
        |a| a.times(&KEY_FILE) > 1 && !a.is_of(&["tcrypt"]),
        "Only one --key-file argument is allowed.",
    ),
    Rule::excludes(&PASSWORD_COMMAND, &[&KEY_FILE, &KEYFILE_OFFSET, &KEYFILE_SIZE, &KEY_DESCRIPTION]),
    Rule::excludes(&DISABLE_KEYRING, &[&LINK_VK])
        .saying("Cannot link volume key to a keyring when keyring is disabled."),
    Rule::excludes(&DISABLE_KEYRING, &[&KEY_DESCRIPTION, &NEW_KEY_DESCRIPTION])
        .saying("Cannot use keyring key description when keyring is disabled."),
];
