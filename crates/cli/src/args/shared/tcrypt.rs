//! Options of TrueCrypt and VeraCrypt volumes (`--type tcrypt`).

use super::{READONLY, flag, option};
use crate::args::option::{Kind, Opt};
use crate::args::rule::Rule;
use keyway_format::tcrypt::LARGEST_PIM;

pub(crate) static MIXED_KEY_FILE: Opt = option(
    "key-file",
    Some('d'),
    "FILE",
    Kind::Path,
    "A key file, mixed into the passphrase.",
    "May be given more than once; a directory stands for the files in it. With -, standard input is the passphrase, \
     newlines included.",
);
pub(crate) static TCRYPT_HIDDEN: Opt = flag(
    "tcrypt-hidden",
    None,
    "The hidden volume (TrueCrypt, VeraCrypt).",
    "It has a passphrase of its own. When you write to the outer volume, only --protect-hidden protects it.",
);
pub(crate) static TCRYPT_SYSTEM: Opt = flag(
    "tcrypt-system",
    None,
    "An encrypted system (TrueCrypt, VeraCrypt).",
    "The device is the disk, or a partition of it (disk.img#2): the header is on the disk.",
);
pub(crate) static TCRYPT_BACKUP: Opt = flag(
    "tcrypt-backup",
    None,
    "Use the backup header (TrueCrypt, VeraCrypt).",
    "It is at the end of the volume, and opens it if the first header is damaged.",
);
pub(crate) static VERACRYPT: Opt = flag(
    "veracrypt",
    None,
    "VeraCrypt's formats too: the default.",
    "They are tried unless --disable-veracrypt is given.",
);
pub(crate) static VERACRYPT_PIM: Opt = option(
    "veracrypt-pim",
    None,
    "N",
    Kind::Number(LARGEST_PIM as u64),
    "VeraCrypt's personal iterations multiplier.",
    "The PIM that the volume was made with. TrueCrypt's formats are then not tried.",
);
pub(crate) static VERACRYPT_QUERY_PIM: Opt = flag(
    "veracrypt-query-pim",
    None,
    "Ask for VeraCrypt's multiplier.",
    "After the passphrase, on the terminal or as the next line of standard input.",
);
pub(crate) static DISABLE_VERACRYPT: Opt =
    flag("disable-veracrypt", None, "TrueCrypt's formats only.", "Rejects a wrong passphrase sooner.");
pub(crate) static PROTECT_HIDDEN: Opt = flag(
    "protect-hidden",
    None,
    "Protect the hidden volume from writes.",
    "Asks for its passphrase after the outer volume's. The first write that would reach the hidden volume is \
     refused, and so are all later ones: the outer volume stays read-only until it is opened again. Nothing \
     is discarded.",
);
pub(crate) static PROTECTION_KEY_FILE: Opt =
    option("protection-key-file", None, "FILE", Kind::Path, HIDDEN_KEY_FILE_HELP, KEY_FILES);
pub(crate) static PROTECTION_PIM: Opt =
    option("protection-pim", None, "N", Kind::Number(LARGEST_PIM as u64), HIDDEN_PIM_HELP, HIDDEN_PIM_MAN);

pub(crate) static TCRYPT_RULES: &[Rule] = &[
    Rule::only_of_named(
        TCRYPT,
        &[&TCRYPT_HIDDEN, &TCRYPT_SYSTEM, &TCRYPT_BACKUP],
        "Option --tcrypt-hidden, --tcrypt-system or --tcrypt-backup is supported only for TCRYPT device.",
    ),
    Rule::only_of_named(
        TCRYPT,
        &[&VERACRYPT, &DISABLE_VERACRYPT],
        "Option --veracrypt or --disable-veracrypt is supported only for TCRYPT device type.",
    ),
    // cryptsetup ignores these.
    Rule::line(
        |a| {
            let given = a.given(&VERACRYPT_PIM) || a.given(&VERACRYPT_QUERY_PIM);
            given && !a.is_cryptsetup() && a.is_other_than(TCRYPT)
        },
        "Options --veracrypt-pim and --veracrypt-query-pim are for --type tcrypt.",
    ),
    Rule::line(
        |a| {
            let other = a.given(&TCRYPT_HIDDEN) || a.given(&TCRYPT_BACKUP);
            other && !a.is_cryptsetup() && a.given(&TCRYPT_SYSTEM)
        },
        "Option --tcrypt-system cannot be combined with --tcrypt-hidden or --tcrypt-backup.",
    ),
    Rule::excludes(&VERACRYPT_PIM, &[&DISABLE_VERACRYPT])
        .saying("Option --veracrypt-pim is supported only for VeraCrypt compatible devices."),
    Rule::excludes(&VERACRYPT_QUERY_PIM, &[&DISABLE_VERACRYPT])
        .saying("Option --veracrypt-query-pim is supported only for VeraCrypt compatible devices."),
    Rule::excludes(&VERACRYPT_QUERY_PIM, &[&VERACRYPT_PIM])
        .saying("The options --veracrypt-pim and --veracrypt-query-pim are mutually exclusive."),
    Rule::only_of_named(TCRYPT, &[&PROTECT_HIDDEN], "Option --protect-hidden is for --type tcrypt."),
    Rule::excludes(&PROTECT_HIDDEN, &[&TCRYPT_HIDDEN, &TCRYPT_SYSTEM]).saying(
        "Option --protect-hidden protects the hidden volume inside an outer one: it cannot be combined with \
         --tcrypt-hidden or --tcrypt-system.",
    ),
    Rule::excludes(&PROTECT_HIDDEN, &[&READONLY])
        .saying("Option --protect-hidden cannot be combined with --readonly: nothing is written."),
    Rule::line(
        |a| (a.given(&PROTECTION_PIM) || a.given(&PROTECTION_KEY_FILE)) && !a.given(&PROTECT_HIDDEN),
        "Options --protection-key-file and --protection-pim need --protect-hidden.",
    ),
];

const TCRYPT: &[&str] = &["tcrypt"];

/// Of every option that takes key files.
pub(crate) const KEY_FILES: &str = "May be given more than once; a directory stands for the files in it.";
/// Of the options for the key files of a hidden volume.
pub(crate) const HIDDEN_KEY_FILE_HELP: &str = "A key file of the hidden volume.";
/// Of the options for its PIM.
pub(crate) const HIDDEN_PIM_HELP: &str = "The PIM of the hidden volume.";
/// More of it.
pub(crate) const HIDDEN_PIM_MAN: &str = "As --veracrypt-pim for the outer volume.";
/// Of the options that ask for a new PIM.
pub(crate) const AFTER_NEW_PASSPHRASE: &str =
    "After the new passphrase, on the terminal or as the next line of standard input.";
/// Of `--quick`, which writes headers alone.
pub(crate) const QUICK_HELP: &str = "Leave the data area as it is.";
/// Of `--size`, for formats of other programs.
pub(crate) const NEW_SIZE_HELP: &str = "Make a new file of this length.";
