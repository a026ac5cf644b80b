//! What describes a source that is a plain dm-crypt or loop-AES volume, where `--cipher` and its like describe a new
//! volume.

use super::{HASHES, KEY_FILE, U64, flag, option};
use crate::args::Args;
use crate::args::option::{Kind, Opt};
use crate::args::rule::Rule;

pub(crate) static SOURCE_CIPHER: Opt = option(
    "source-cipher",
    None,
    "SPEC",
    Kind::Words(super::CIPHERS),
    "The source's cipher (plain, loop-AES).",
    "As --cipher when the volume is opened. The default for loop-AES is aes.",
);
pub(crate) static SOURCE_KEY_SIZE: Opt = option(
    "source-key-size",
    None,
    "BITS",
    Kind::Numbers(u32::MAX as u64, &["128", "192", "256", "512"]),
    "The source's key size.",
    "The default for loop-AES is 256.",
);
pub(crate) static SOURCE_HASH: Opt = option(
    "source-hash",
    None,
    "NAME",
    Kind::Words(HASHES),
    "The source's hash.",
    "For plain, the hash of the passphrase, with a length if one was given (ripemd160:20), or the word plain; \
     for loop-AES, that of the key file, whose default depends on the key size.",
);
pub(crate) static SOURCE_OFFSET: Opt = option(
    "source-offset",
    None,
    "SIZE",
    Kind::Size,
    "Start of the source's data.",
    "In bytes or with a unit. A multiple of 512.",
);
pub(crate) static SOURCE_SKIP: Opt = option(
    "source-skip",
    None,
    "SECTORS",
    U64,
    "IV of the source's first sector.",
    "In 512-byte sectors. For loop-AES, the default is the position on the device.",
);
pub(crate) static SOURCE_SIZE: Opt = option(
    "source-size",
    None,
    "SIZE",
    Kind::Size,
    "Length of the source (plain).",
    "In bytes or with a unit. A multiple of 512. Without it, the source extends to the end of its device.",
);
pub(crate) static SOURCE_SECTOR_SIZE: Opt = option(
    "source-sector-size",
    None,
    "BYTES",
    Kind::Numbers(u32::MAX as u64, &["512", "1024", "2048", "4096"]),
    "The source's encryption sector (plain).",
    "",
);
pub(crate) static SOURCE_IV_LARGE_SECTORS: Opt = flag(
    "source-iv-large-sectors",
    None,
    "IVs count encryption sectors (plain).",
    "Otherwise they count 512-byte sectors.",
);

/// All of them.
pub(crate) static SOURCE: &[&Opt] = &[
    &SOURCE_CIPHER,
    &SOURCE_KEY_SIZE,
    &SOURCE_HASH,
    &SOURCE_OFFSET,
    &SOURCE_SKIP,
    &SOURCE_SIZE,
    &SOURCE_SECTOR_SIZE,
    &SOURCE_IV_LARGE_SECTORS,
];

pub(crate) static SOURCE_RULES: &[Rule] = &[
    Rule::only_of_named(
        &["plain", "loopaes"],
        SOURCE,
        "Options that begin with --source describe a source of --type plain or loopaes; other volumes have a \
         header that describes them.",
    ),
    Rule::line(
        |args| {
            let numbers = [&SOURCE_KEY_SIZE, &SOURCE_SIZE, &SOURCE_SECTOR_SIZE];
            numbers.into_iter().any(|option| args.number(option) == Some(0))
        },
        "--source-key-size, --source-size and --source-sector-size must be greater than 0.",
    ),
    Rule::line(
        |args| args.is_of(&["plain"]) && args.given(&SOURCE_HASH) && has_key_file(args),
        "--source-hash is for a passphrase; a plain volume's key file is the key itself.",
    ),
    // The defaults are not the volume's, and nothing on the disk tells: the copy would be noise.
    Rule::line(
        |args| {
            let is_keyed = args.given(&SOURCE_HASH) || has_key_file(args);
            let is_described = args.given(&SOURCE_CIPHER) && args.given(&SOURCE_KEY_SIZE) && is_keyed;
            args.is_of(&["plain"]) && !is_described
        },
        "A plain source needs --source-cipher, --source-key-size and, unless a key file opens it, \
         --source-hash: its device does not record them, and with wrong ones the copy would be noise.",
    ),
];

/// Whether a file is named, and not standard input, which is a passphrase.
fn has_key_file(args: &Args) -> bool {
    args.path(&KEY_FILE).is_some_and(|file| file.as_os_str() != "-")
}
