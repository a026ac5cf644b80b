//! Which options most users of a command need: the others are behind `--help-all`. Man pages and
//! completions have all of them.

use crate::args::option::Opt;
use crate::args::shared;
use crate::args::table::Command;

/// What every command takes and help shows at once.
pub(super) static EVERYWHERE: &[&Opt] = &[&shared::BATCH_MODE, &shared::VERBOSE, &shared::HELP_ALL];

/// The options that a command's page shows.
pub(super) fn shown(command: &'static Command) -> impl Iterator<Item = &'static Opt> {
    command.own_options().filter(|option| shows(command, option)).chain(EVERYWHERE.iter().copied())
}

/// Whether the page of one of its verbs shows the option: it has the room.
pub(super) fn of_verb(command: &Command, option: &Opt) -> bool {
    !RARE.contains(&option.long)
        || ALSO.iter().any(|(of, names)| *of == command.name && names.contains(&option.long))
}

fn shows(command: &Command, option: &Opt) -> bool {
    // A long table of several verbs: each verb's page has its own.
    if !command.verbs().is_empty() && command.name != "token" {
        return FIRST.iter().any(|(of, names)| *of == command.name && names.contains(&option.long));
    }
    of_verb(command, option)
}

/// Options for parts of key files, limits, tuning, plain volumes, the layout of headers, scripts.
static RARE: &[&str] = &[
    "align-payload",
    "allow-empty-passphrase",
    "allow-linear-segments",
    "allow-vista",
    "allow-weak-cipher",
    "cipher",
    "device-offset",
    "device-size",
    "direct",
    "direct-io",
    "disable-blkid",
    "disable-keyring",
    "disable-locks",
    "disable-veracrypt",
    "dump-master-key",
    "hash",
    "ignore-seal",
    "insecure-network",
    "iter-time-for",
    "iv-large-sectors",
    "key-description",
    "key-size",
    "keyfile-offset",
    "keyfile-size",
    "keyslot-cipher",
    "keyslot-key-size",
    "label",
    "link-vk-to-keyring",
    "luks2-keyslots-size",
    "luks2-metadata-size",
    "memory-budget",
    "new-key-description",
    "new-keyfile-offset",
    "new-keyfile-size",
    "new-veracrypt-pim",
    "new-veracrypt-query-pim",
    "offset",
    "pbkdf-force-iterations",
    "pbkdf-memory",
    "pbkdf-parallel",
    "perf-high_priority",
    "perf-no_read_workqueue",
    "perf-no_write_workqueue",
    "perf-same_cpu_crypt",
    "perf-submit_from_crypt_cpus",
    "progress-frequency",
    "progress-json",
    "protect-hidden",
    "protection-key-file",
    "protection-pim",
    "seal-context",
    "seal-context-file",
    "sector-size",
    "serialize-memory-hard-pbkdf",
    "shared",
    "size",
    "skip",
    "source-hash",
    "source-iv-large-sectors",
    "source-key-size",
    "source-offset",
    "source-sector-size",
    "source-size",
    "source-skip",
    "subsystem",
    "tcrypt-backup",
    "tcrypt-hidden",
    "tcrypt-system",
    "time-limit",
    "timeout",
    "tls-psk",
    "tls-verify-peer",
    "token-id",
    "token-only",
    "token-type",
    "tries",
    "use-random",
    "use-urandom",
    "uuid",
    "veracrypt",
    "veracrypt-pim",
    "veracrypt-query-pim",
    "verify-passphrase",
    "volume-key-keyring",
    // Of reencrypt.
    "block-size",
    "discard-unused",
    "force-no-keyslots",
    "force-offline-reencrypt",
    "hotzone-size",
    "if-marked",
    "keep-header-backup",
    "keep-key",
    "limit-rate",
    "no-header-backup",
    "init-only",
    "new",
    "new-key-size",
    "new-volume-key-file",
    "new-volume-key-keyring",
    "resilience-hash",
    "skip-unused",
    "use-directio",
    "use-fsync",
    "without-flush",
    "write-log",
];

/// What is rare elsewhere, and is what these commands are about.
static ALSO: &[(&str, &[&str])] = &[
    ("bench", &["cipher", "key-size", "sector-size", "hash", "pbkdf-memory", "pbkdf-parallel"]),
    ("benchmark", &["cipher", "key-size", "hash", "pbkdf-memory", "pbkdf-parallel"]),
    ("bitlkAddKey", &["new-keyfile", "recovery-password"]),
    ("bitlkFormat", &["key-size", "sector-size", "size", "label", "recovery-password"]),
    ("boot", &["hash", "cipher"]),
    ("config", &["label", "subsystem"]),
    ("luksUUID", &["uuid"]),
    ("build", &["cipher", "key-size", "sector-size", "size"]),
    ("ciphers", &["cipher"]),
    ("copy", &["cipher", "hash", "key-size", "sector-size"]),
    ("luksAddKey", &["key-size", "hash"]),
    ("luksChangeKey", &["hash"]),
    ("luksConvertKey", &["hash"]),
    (
        "luksFormat",
        &["cipher", "hash", "key-size", "sector-size", "offset", "label", "uuid", "verify-passphrase"],
    ),
    ("open", &["cipher", "key-size", "hash"]),
    (
        "tcryptDump",
        &[
            "cipher",
            "hash",
            "tcrypt-backup",
            "tcrypt-hidden",
            "tcrypt-system",
            "veracrypt-pim",
            "disable-veracrypt",
        ],
    ),
    (
        "tcryptChangeKey",
        &[
            "tcrypt-hidden",
            "tcrypt-backup",
            "veracrypt-pim",
            "veracrypt-query-pim",
            "new-veracrypt-pim",
            "new-veracrypt-query-pim",
        ],
    ),
    ("tcryptHeaderBackup", &["tcrypt-hidden", "tcrypt-backup", "veracrypt-pim"]),
    ("tcryptHeaderRestore", &["tcrypt-hidden", "veracrypt-pim"]),
    ("toLuks", &["type", "veracrypt-pim", "new-keyfile", "cipher", "init-only"]),
    ("tcryptFormat", &["cipher", "hash", "size", "tcrypt-hidden", "veracrypt-pim", "veracrypt-query-pim"]),
    ("read", &["offset"]),
    ("resize", &["size", "device-size"]),
    ("token", &["token-id", "key-description"]),
    ("write", &["offset"]),
    ("xray", &["cipher"]),
];

/// What the page of a command with several verbs shows of their options.
static FIRST: &[(&str, &[&str])] = &[
    (
        "bench",
        &[
            "suite",
            "cipher",
            "key-size",
            "sector-size",
            "hash",
            "pbkdf",
            "compare",
            "time",
            "all",
            "save",
            "json",
            "html",
        ],
    ),
    ("boot", &["output", "list", "force"]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::COMMANDS;

    #[test]
    fn what_is_named_exists() {
        for name in RARE {
            assert!(COMMANDS.any_option(|option| option.long == *name).is_some(), "--{name}");
        }
        for (name, options) in ALSO.iter().chain(FIRST) {
            let command = COMMANDS.all.iter().find(|command| command.name == *name);
            if COMMANDS.left_out.contains(name) && command.is_none() {
                continue;
            }
            let command = command.unwrap_or_else(|| panic!("{name}"));
            for option in *options {
                assert!(command.own_options().any(|own| own.long == *option), "{name} --{option}");
            }
        }
    }

    #[test]
    fn every_command_shows_an_option_of_its_own_where_it_has_one() {
        for command in COMMANDS.all.iter().filter(|command| command.own_options().next().is_some()) {
            assert!(shown(command).count() > EVERYWHERE.len(), "{}", command.name);
        }
    }
}
