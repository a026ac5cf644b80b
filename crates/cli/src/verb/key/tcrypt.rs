//! `tcryptChangeKey`: another passphrase, PIM, hash or other key files for a TrueCrypt or VeraCrypt volume.

use crate::args::risk::{Effect, Proof, risk};
use crate::args::rule::Rule;
use crate::args::{self, Args, Command, Example, Group, Kind, Opt, Request, groups, shared};
use crate::device::check_exists;
use crate::make::output_file;
use crate::make::replacing::Replacing;
use crate::output::failure::Result;
use crate::unlock;
use crate::volume::kinds::tcrypt::header_key::{self, HeaderKey};
use keyway::{Key, NewTcryptKey, TcryptHeader};
use keyway_format::tcrypt::LARGEST_PIM;
use std::path::PathBuf;
use std::sync::Arc;

/// `keyway tcryptChangeKey`.
pub(crate) static COMMAND: Command = Command {
    name: "tcryptChangeKey",
    aliases: &[],
    group: Group::Containers,
    operands: &[shared::operands::DEVICE],
    about: "Change the passphrase of a TrueCrypt or VeraCrypt volume.",
    man: "Asks for the passphrase, then for the new one. Hash, PIM and key files stay the same unless their \
          --new- options change them; the data and its key stay the same. A TrueCrypt volume stays a \
          TrueCrypt volume.\n\nBoth headers are written, the copy at the end before the first, each after two \
          passes of random bytes: if that is interrupted, one of them opens with the old or the new \
          passphrase. If the old one still opens the volume after a crash, run the command again. If neither \
          opens it, run tcryptHeaderRestore DEVICE with the new one. With --tcrypt-backup, the copy opens it \
          and the first header is rebuilt.\n\nAnyone with the old passphrase and a copy of the old header (a \
          backup of the file, a snapshot, spare cells of a flash disk) can still open the volume: if that \
          matters, copy the data to a new volume.\n\nDevices in use are refused, and so are encrypted \
          systems, whose boot loaders need their headers, and volumes of TrueCrypt 5 and earlier, which have only \
          one header.",
    options: &[
        &[
            &shared::MIXED_KEY_FILE,
            &shared::PASSWORD_COMMAND,
            &shared::CIPHER,
            &shared::HASH,
            &shared::VERACRYPT_PIM,
            &shared::VERACRYPT_QUERY_PIM,
            &shared::TCRYPT_HIDDEN,
            &shared::TCRYPT_BACKUP,
            &NEW_KEY_FILE,
            &NO_KEY_FILES,
            &NEW_HASH,
            &NEW_PIM,
            &NEW_QUERY_PIM,
            &shared::VERIFY_PASSPHRASE,
            &shared::TIMEOUT,
        ],
        groups::LIMITS,
    ],
    rules: &[Rule::excludes(&NEW_KEY_FILE, &[&NO_KEY_FILES]), Rule::excludes(&NEW_PIM, &[&NEW_QUERY_PIM])],
    examples: &[
        Example { line: "keyway tcryptChangeKey disk.hc", does: shared::examples::ASKS_OLD_THEN_NEW },
        Example {
            line: "keyway tcryptChangeKey --new-keyfile key disk.hc",
            does: "The same, with a key file from now on.",
        },
    ],
    risks: &[risk(
        "DEVICE",
        Effect::Overwrites,
        Proof::Claim,
        "tcryptChangeKey -q --password-command true TARGET",
    )],
    run: args::run::<ChangeKey>,
};

static NEW_KEY_FILE: Opt = Opt {
    long: "new-keyfile",
    short: None,
    value: "FILE",
    kind: Kind::Path,
    help: "New key file.",
    man: "Replaces the volume's key files. May be given more than once; a directory stands for the files in it. \
          With -, standard input is the new passphrase, newlines included.",
};

static NO_KEY_FILES: Opt = Opt {
    long: "no-key-files",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Remove all key files.",
    man: "The new passphrase opens the volume alone.",
};

static NEW_HASH: Opt = Opt {
    long: "new-hash",
    short: None,
    value: "NAME",
    kind: Kind::Words(&["sha512", "sha256", "whirlpool", "blake2s", "streebog", "argon2id", "ripemd160"]),
    help: "New hash of its key derivation.",
    man: "TrueCrypt's volumes have sha512, whirlpool and ripemd160, VeraCrypt's all but ripemd160. Versions of VeraCrypt \
          before 1.26.29 may not open argon2id.",
};

static NEW_PIM: Opt = Opt {
    long: "new-veracrypt-pim",
    short: None,
    value: "N",
    kind: Kind::Number(LARGEST_PIM as u64),
    help: "New PIM; 0 is the default.",
    man: "One below 485 (12 with argon2id) needs a passphrase of 20 bytes or more. A volume with a PIM needs \
          a new one when its hash changes from or to argon2id.",
};

static NEW_QUERY_PIM: Opt = Opt {
    long: "new-veracrypt-query-pim",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Ask for the new PIM.",
    man: shared::AFTER_NEW_PASSPHRASE,
};

struct ChangeKey {
    key: HeaderKey,
    new: New,
    replacing: Replacing,
}

/// What is to open the volume.
struct New {
    key: NewTcryptKey,
    /// Standard input, where the passphrase is all of it.
    stdin: Option<PathBuf>,
    has_key_files: bool,
    asks_pim: bool,
}

impl Request for ChangeKey {
    fn from_args(args: &Args) -> Result<Self> {
        let key = HeaderKey::from_args(args)?;
        Ok(Self {
            new: New::from_args(args, key.has_key_files())?,
            key,
            replacing: Replacing::from_args(args, &[0], &[]),
        })
    }

    fn run(self) -> Result<()> {
        let (key, device) = (&self.key, &self.key.device);
        check_exists(device, "")?;
        let claimed = output_file::overwrite(&self.replacing, device)?;
        let (of, old) = key.ask(key.is_hidden())?;
        let failed = |error| header_key::failed(device, error);
        let header = TcryptHeader::on(Arc::clone(&claimed), &of, &old, &key.limits).map_err(failed)?;
        let (new, passphrase) = self.new.ask(key)?;
        header.change_key(&new, &passphrase).map_err(failed)
    }
}

impl New {
    fn from_args(args: &Args, has_key_files: bool) -> Result<Self> {
        let (stdin, files) = header_key::key_files(args.all(&NEW_KEY_FILE));
        let has_key_files = !files.is_empty() || (has_key_files && !args.given(&NO_KEY_FILES));
        let key = args.text(&NEW_HASH).into_iter().fold(NewTcryptKey::new(), NewTcryptKey::hash);
        let key = args.number32(&NEW_PIM).into_iter().fold(key, NewTcryptKey::pim);
        let key = if args.given(&NO_KEY_FILES) { key.no_key_files() } else { key };
        let key = files.into_iter().fold(key, NewTcryptKey::key_file);
        key.check()?;
        Ok(Self { key, stdin, has_key_files, asks_pim: args.given(&NEW_QUERY_PIM) })
    }

    /// Asks for what is not given.
    fn ask(&self, old: &HeaderKey) -> Result<(NewTcryptKey, Key)> {
        let options = old.passphrase.clone().or_empty();
        let source = options.replacement(unlock::NEW_PROMPT, self.stdin.as_deref(), unlock::NEXT_LINE);
        let passphrase = source.read()?;
        header_key::check_new(&passphrase, self.has_key_files, &NEW_KEY_FILE)?;
        let asked = self.asks_pim.then(|| header_key::ask_new_pim(&options)).transpose()?;
        let key = asked.into_iter().fold(self.key.clone(), NewTcryptKey::pim);
        Ok((key, Key::Passphrase(passphrase)))
    }
}
