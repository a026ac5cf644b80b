//! The options of a TrueCrypt or VeraCrypt volume, as given on the command line or in a crypttab line.

use crate::args::{Args, Opt, shared};
use crate::process::encoding::encoded;
use std::fmt;
use std::path::{Path, PathBuf};

/// The options as given, without defaults.
#[derive(Clone, Default)]
pub(crate) struct GivenTcrypt {
    /// `--tcrypt-hidden`.
    pub(crate) hidden: bool,
    /// `--tcrypt-system`.
    pub(crate) system: bool,
    /// `--tcrypt-backup`.
    pub(crate) backup: bool,
    /// `--disable-veracrypt`.
    pub(crate) only_truecrypt: bool,
    /// `--veracrypt-pim`.
    pub(crate) pim: Option<u32>,
    /// `--veracrypt-query-pim`.
    pub(crate) asks_pim: bool,
    /// `--hash`.
    pub(crate) hash: Option<String>,
    /// `--cipher`.
    pub(crate) cipher: Option<String>,
    /// `--key-file`, as often as it was given.
    pub(crate) key_files: Vec<PathBuf>,
    /// `--protect-hidden`.
    pub(crate) protects_hidden: bool,
    /// `--protection-pim`.
    pub(crate) protection_pim: Option<u32>,
    /// `--protection-key-file`, as often as it was given.
    pub(crate) protection_key_files: Vec<PathBuf>,
    /// The file with the passphrase: of a crypttab entry, whose key files are options.
    pub(crate) passphrase_file: Option<PathBuf>,
}

encoded!(GivenTcrypt {
    hidden,
    system,
    backup,
    only_truecrypt,
    pim,
    asks_pim,
    hash,
    cipher,
    key_files,
    protects_hidden,
    protection_pim,
    protection_key_files,
    passphrase_file,
});

/// Without the PIM, which is a secret to some.
impl fmt::Debug for GivenTcrypt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GivenTcrypt").field("key_files", &self.key_files).finish_non_exhaustive()
    }
}

impl GivenTcrypt {
    /// For commands that open such volumes.
    pub(crate) fn from_args(args: &Args) -> Self {
        let given = |option| args.takes(option) && args.given(option);
        let text = |option| args.text(option).map(str::to_owned);
        let files = |of: &Opt| {
            let all = args.paths().into_iter().filter(|(option, _)| option.long == of.long);
            all.map(|(_, path)| path.to_owned()).collect()
        };
        let takes_protection = args.takes(&shared::PROTECTION_PIM);
        Self {
            hidden: given(&shared::TCRYPT_HIDDEN),
            system: given(&shared::TCRYPT_SYSTEM),
            backup: given(&shared::TCRYPT_BACKUP),
            only_truecrypt: given(&shared::DISABLE_VERACRYPT),
            pim: args.number32(&shared::VERACRYPT_PIM),
            asks_pim: given(&shared::VERACRYPT_QUERY_PIM),
            hash: text(&shared::HASH),
            cipher: text(&shared::CIPHER),
            key_files: files(&shared::KEY_FILE),
            protects_hidden: given(&shared::PROTECT_HIDDEN),
            protection_pim: takes_protection.then(|| args.number32(&shared::PROTECTION_PIM)).flatten(),
            protection_key_files: files(&shared::PROTECTION_KEY_FILE),
            passphrase_file: None,
        }
    }

    /// Whether one of the key files is standard input: it is the passphrase then.
    pub(super) fn reads_stdin(&self) -> bool {
        self.key_files.iter().any(|file| file == Path::new("-"))
    }
}
