//! Rules for options that exclude or need each other.

use crate::door::values::Args;
use std::path::Path;

/// Whether the command line breaks the rule, and the message.
type Rule = (fn(&Args) -> bool, &'static str);

/// The message of the first rule that is broken.
pub(super) fn broken(args: &Args) -> Option<String> {
    let rules = EVERYWHERE.iter().chain(of_command(args.command().name));
    rules.into_iter().find(|(breaks, _)| breaks(args)).map(|(_, message)| (*message).to_owned())
}

/// The same for Keyway's own verbs: the rules of the options that they share with cryptsetup's.
pub(super) fn broken_of_own(args: &Args) -> Option<String> {
    let mut rules = of_command(args.command().name).iter();
    rules.find(|(breaks, _)| breaks(args)).map(|(_, message)| (*message).to_owned())
}

fn of_command(name: &str) -> &'static [Rule] {
    match name {
        "open" | "refresh" => OPEN,
        "tcryptDump" | "tcryptFormat" | "read" | "copy" | "write" | "compare" | "serve" | "mount" => {
            VERACRYPT
        }
        "close" => CLOSE,
        "resize" => RESIZE,
        "reencrypt" => REENCRYPT,
        "config" => CONFIG,
        "luksFormat" => FORMAT,
        "luksAddKey" => ADD_KEY,
        "luksDump" => DUMP,
        "luksKillSlot" => KILL_SLOT,
        "token" => TOKEN,
        _ => &[],
    }
}

/// The type that cryptsetup would take, if there is one to judge by: a mapping that is refreshed
/// has its own, and so has a volume that /etc/crypttab names.
fn kind(args: &Args) -> Option<&str> {
    let from_crypttab = !args.is_cryptsetup() && args.operands().len() == 1;
    match args.command().name {
        _ if refreshes(args) => None,
        "tcryptDump" | "tcryptFormat" => Some("tcrypt"),
        "open" if from_crypttab => args.device_type(),
        _ => args.device_type().or(Some("luks")),
    }
}

fn refreshes(args: &Args) -> bool {
    args.command().name == "refresh" || args.has("refresh")
}

/// Whether the type is known and none of these.
fn is_other_than(args: &Args, kinds: &[&str]) -> bool {
    kind(args).is_some_and(|kind| !kinds.contains(&kind))
}

fn is_luks(args: &Args) -> bool {
    kind(args).is_none_or(|kind| kind.starts_with("luks"))
}

/// The action of `token`.
fn is_token(args: &Args, actions: &[&str]) -> bool {
    args.operand(0).and_then(Path::to_str).is_some_and(|action| actions.contains(&action))
}

/// A value that is given, in lower case.
fn is_one_of(args: &Args, option: &str, words: &[&str]) -> bool {
    args.value(option).is_none_or(|value| words.contains(&value))
}

static EVERYWHERE: &[Rule] = &[
    (
        |a| a.count("key-file") > 1 && is_other_than(a, &["tcrypt"]),
        "Only one --key-file argument is allowed.",
    ),
    (
        |a| !is_one_of(a, "pbkdf", &["pbkdf2", "argon2i", "argon2id"]),
        "Password-based key derivation function (PBKDF) can be only pbkdf2 or argon2i/argon2id.",
    ),
    (
        |a| a.has("pbkdf-force-iterations") && a.has("iter-time"),
        "PBKDF forced iterations cannot be combined with iteration time option.",
    ),
    (
        |a| a.has("disable-keyring") && a.has("link-vk-to-keyring"),
        "Cannot link volume key to a keyring when keyring is disabled.",
    ),
    (
        |a| a.has("disable-keyring") && (a.has("key-description") || a.has("new-key-description")),
        "Cannot use keyring key description when keyring is disabled.",
    ),
    (
        |a| a.has("integrity-inline") && !a.has("integrity"),
        "Inline integrity must be used together with --integrity option.",
    ),
    (
        |a| a.has("keyslot-cipher") != a.has("keyslot-key-size"),
        "Options --keyslot-cipher and --keyslot-key-size must be used together.",
    ),
];

static OPEN: &[Rule] = &[
    (
        |a| a.has("persistent") && a.has("test-passphrase"),
        "Option --persistent is not allowed with --test-passphrase.",
    ),
    (
        |a| refreshes(a) && a.has("test-passphrase"),
        "Options --refresh and --test-passphrase are mutually exclusive.",
    ),
    (
        // Keyway's own doors can share any volume.
        |a| a.is_cryptsetup() && a.has("shared") && is_other_than(a, &["plain"]),
        "Option --shared is allowed only for open of plain device.",
    ),
    (
        |a| a.has("skip") && is_other_than(a, &["plain", "loopaes"]),
        "Option --skip is supported only for open of plain and loopaes devices.",
    ),
    (
        |a| a.has("offset") && is_other_than(a, &["plain", "loopaes"]),
        "Option --offset with open action is only supported for plain and loopaes devices.",
    ),
    (
        |a| a.has("tcrypt-hidden") && a.has("allow-discards"),
        "Option --tcrypt-hidden cannot be combined with --allow-discards.",
    ),
    (
        |a| a.has("sector-size") && is_other_than(a, &["plain"]),
        "Sector size option with open action is supported only for plain devices.",
    ),
    (
        |a| {
            a.has("iv-large-sectors")
                && (is_other_than(a, &["plain"]) || a.numbers("sector-size").all(|n| n <= 512))
        },
        "Large IV sectors option is supported only for opening plain type device with sector size larger than 512 bytes.",
    ),
    (
        |a| a.has("test-passphrase") && !is_luks(a) && is_other_than(a, &["tcrypt", "bitlk", "fvault2"]),
        "Option --test-passphrase is allowed only for open of LUKS, TCRYPT, BITLK and FVAULT2 devices.",
    ),
    SIZES,
    (|a| a.has("unbound") && !is_luks(a), "Option --unbound is allowed only for open of luks device."),
    (
        |a| a.has("unbound") && !a.has("test-passphrase"),
        "Option --unbound cannot be used without --test-passphrase.",
    ),
    (
        |a| {
            a.has("volume-key-keyring")
                && (a.has("hash") || a.has("volume-key-file"))
                && kind(a) == Some("plain")
        },
        "Option --volume-key-keyring cannot be combined with --hash or --volume-key-file.",
    ),
    (
        |a| a.count("volume-key-file") > 1 && a.count("key-size") < 2,
        "Both --volume-key-file options must be paired with respective --key-size options.",
    ),
    HIDDEN_TCRYPT,
    VERACRYPT_TYPE,
    PIM_TYPE,
    SYSTEM_TCRYPT,
    PROTECTED,
    PROTECTED_HIDDEN,
    PROTECTED_READONLY,
    PROTECTION,
    PIM,
    QUERIED_PIM,
    TWO_PIMS,
];

static VERACRYPT: &[Rule] = &[
    HIDDEN_TCRYPT,
    VERACRYPT_TYPE,
    PIM_TYPE,
    SYSTEM_TCRYPT,
    PIM,
    QUERIED_PIM,
    TWO_PIMS,
    PROTECTED,
    PROTECTED_HIDDEN,
    PROTECTED_READONLY,
    PROTECTION,
];

const SIZES: Rule =
    (|a| a.has("device-size") && a.has("size"), "Options --device-size and --size cannot be combined.");
const HIDDEN_TCRYPT: Rule = (
    |a| {
        let given = ["tcrypt-hidden", "tcrypt-system", "tcrypt-backup"].iter().any(|name| a.has(name));
        given && kind(a) != Some("tcrypt")
    },
    "Option --tcrypt-hidden, --tcrypt-system or --tcrypt-backup is supported only for TCRYPT device.",
);
const VERACRYPT_TYPE: Rule = (
    |a| (a.has("veracrypt") || a.has("disable-veracrypt")) && kind(a) != Some("tcrypt"),
    "Option --veracrypt or --disable-veracrypt is supported only for TCRYPT device type.",
);
// cryptsetup ignores these.
const PIM_TYPE: Rule = (
    |a| {
        let given = a.has("veracrypt-pim") || a.has("veracrypt-query-pim");
        given && !a.is_cryptsetup() && is_other_than(a, &["tcrypt"])
    },
    "Options --veracrypt-pim and --veracrypt-query-pim are for --type tcrypt.",
);
const SYSTEM_TCRYPT: Rule = (
    |a| !a.is_cryptsetup() && a.has("tcrypt-system") && (a.has("tcrypt-hidden") || a.has("tcrypt-backup")),
    "Option --tcrypt-system cannot be combined with --tcrypt-hidden or --tcrypt-backup.",
);
const PROTECTED: Rule = (
    |a| a.has("protect-hidden") && kind(a) != Some("tcrypt"),
    "Option --protect-hidden is for --type tcrypt.",
);
const PROTECTED_HIDDEN: Rule = (
    |a| a.has("protect-hidden") && (a.has("tcrypt-hidden") || a.has("tcrypt-system")),
    "Option --protect-hidden protects what is hidden in an outer volume: it cannot be combined with --tcrypt-hidden or --tcrypt-system.",
);
const PROTECTED_READONLY: Rule = (
    |a| a.has("protect-hidden") && a.has("readonly"),
    "Option --protect-hidden cannot be combined with --readonly: nothing is written.",
);
const PROTECTION: Rule = (
    |a| (a.has("protection-pim") || a.has("protection-key-file")) && !a.has("protect-hidden"),
    "Options --protection-key-file and --protection-pim are those of the volume that --protect-hidden protects.",
);
const PIM: Rule = (
    |a| a.has("veracrypt-pim") && a.has("disable-veracrypt"),
    "Option --veracrypt-pim is supported only for VeraCrypt compatible devices.",
);
const QUERIED_PIM: Rule = (
    |a| a.has("veracrypt-query-pim") && a.has("disable-veracrypt"),
    "Option --veracrypt-query-pim is supported only for VeraCrypt compatible devices.",
);
const TWO_PIMS: Rule = (
    |a| a.has("veracrypt-query-pim") && a.has("veracrypt-pim"),
    "The options --veracrypt-pim and --veracrypt-query-pim are mutually exclusive.",
);

static CLOSE: &[Rule] = &[(
    |a| a.has("cancel-deferred") && a.has("deferred"),
    "Options --cancel-deferred and --deferred cannot be used at the same time.",
)];

static RESIZE: &[Rule] = &[SIZES];

static REENCRYPT: &[Rule] = &[
    (
        |a| a.has("active-name") && kind(a) == Some("luks1"),
        "Option --active-name can be set only for LUKS2 device.",
    ),
    (
        |a| a.has("active-name") && a.has("force-offline-reencrypt"),
        "Options --active-name and --force-offline-reencrypt cannot be combined.",
    ),
    (
        |a| a.has("new-volume-key-file") && a.has("keep-key"),
        "Options --new-volume-key-file and --keep-key cannot be combined.",
    ),
    (
        |a| a.has("new-volume-key-keyring") && a.has("keep-key"),
        "Options --new-volume-key-keyring and --keep-key cannot be combined.",
    ),
];

const NO_KEYSLOT: &str = "Keyslot specification is required.";

static CONFIG: &[Rule] = &[(|a| a.has("priority") && !a.has("key-slot"), NO_KEYSLOT)];

static DUMP: &[Rule] = &[(|a| a.has("unbound") && !a.has("key-slot"), NO_KEYSLOT)];

static FORMAT: &[Rule] = &[
    (
        |a| a.has("align-payload") && a.has("offset"),
        "Options --align-payload and --offset cannot be combined.",
    ),
    (
        |a| a.has("integrity-no-wipe") && !a.has("integrity"),
        "Option --integrity-no-wipe can be used only for format action with integrity extension.",
    ),
    (|a| a.has("use-random") && a.has("use-urandom"), "Only one of --use-[u]random options is allowed."),
];

static ADD_KEY: &[Rule] = &[(
    |a| a.has("unbound") && a.numbers("key-size").all(|bits| bits == 0),
    "Key size is required with --unbound option.",
)];

static KILL_SLOT: &[Rule] = &[(
    |a| a.operand(1).and_then(Path::to_str).is_some_and(|slot| slot.starts_with('-')),
    "Key slot is invalid.",
)];

static TOKEN: &[Rule] = &[
    (
        // Keyway's own refusal suggests one.
        |a| a.is_cryptsetup() && !is_token(a, &["add", "remove", "import", "export", "unassign"]),
        "Invalid token action: add, remove, import, export or unassign is needed.",
    ),
    (
        |a| is_token(a, &["add"]) && !a.has("key-description"),
        "--key-description parameter is mandatory for token add action.",
    ),
    (
        |a| is_token(a, &["remove", "export"]) && !a.has("token-id"),
        "Action requires specific token. Use --token-id parameter.",
    ),
    (|a| a.has("unbound") && !is_token(a, &["add"]), "Option --unbound is valid only with token add action."),
    (|a| a.has("unbound") && a.has("key-slot"), "Options --key-slot and --unbound cannot be combined."),
    (
        |a| is_token(a, &["unassign"]) && !a.has("key-slot"),
        "Action requires specific keyslot. Use --key-slot parameter.",
    ),
    (
        |a| is_token(a, &["unassign"]) && !a.has("token-id"),
        "Action requires specific token. Use --token-id parameter.",
    ),
];
