//! What opens a TrueCrypt or VeraCrypt header that is to be written, from the command line and from who is asked.

use super::given::GivenTcrypt;
use super::{PIM_PROMPT, ROW, WRONG, pim_of};
use crate::args::{Args, Opt, shared};
use crate::device::{self, explain};
use crate::output::failure::{Cause, Exit, Failure, Result};
use crate::unlock::passphrase::PassphraseOptions;
use crate::unlock::prompt_for;
use keyway::{ErrorKind, Key, Limits, Secret, Tcrypt};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A volume, and the existing key of its header.
pub(crate) struct HeaderKey {
    /// Where the volume is.
    pub(crate) device: PathBuf,
    /// How passphrases are asked for.
    pub(crate) passphrase: PassphraseOptions,
    given: GivenTcrypt,
    /// What key derivation may cost.
    pub(crate) limits: Limits,
}

impl HeaderKey {
    /// For every command that writes headers.
    pub(crate) fn from_args(args: &Args) -> Result<Self> {
        let device = args.operand(0).ok_or_else(|| Failure::silent(Exit::Parameters))?;
        let mut given = GivenTcrypt::from_args(args);
        let (stdin, key_files) = key_files(args.all(&shared::MIXED_KEY_FILE));
        given.key_files = key_files;
        let passphrase = PassphraseOptions::from_args(args).by_file(stdin);
        let (device, CostLimits(limits)) = (device::resolve(device), CostLimits::from_args(args));
        Ok(Self { device, passphrase, given, limits })
    }

    /// Whether it has key files.
    pub(crate) fn has_key_files(&self) -> bool {
        !self.given.key_files.is_empty()
    }

    /// Whether it is the hidden volume's.
    pub(crate) fn is_hidden(&self) -> bool {
        self.given.hidden
    }

    /// Whether it is the copy at the end.
    pub(crate) fn is_backup(&self) -> bool {
        self.given.backup
    }

    /// Asks for what is not given: the passphrase, then the PIM. `hidden` says whose it is.
    pub(crate) fn ask(&self, hidden: bool) -> Result<(Tcrypt, Key)> {
        let passphrase = self.passphrase.existing(prompt_for(&self.device)).read_key()?;
        let pim = match self.given.asks_pim {
            true => Some(pim_of(&self.passphrase.asked().existing(PIM_PROMPT).read()?)?),
            false => self.given.pim,
        };
        let of = described(pim, &self.given.key_files);
        let of = self.given.hash.iter().fold(of, |of, hash| of.hash(hash));
        let of = self.given.cipher.iter().fold(of, |of, cipher| of.cipher(cipher));
        let of = if hidden { of.hidden() } else { of };
        Ok((if self.given.backup { of.backup() } else { of }, passphrase))
    }
}

/// A volume with this PIM, whose 0 is VeraCrypt's default, and these key files.
pub(crate) fn described(pim: Option<u32>, key_files: &[PathBuf]) -> Tcrypt {
    let of = pim.filter(|pim| *pim != 0).into_iter().fold(Tcrypt::new(), Tcrypt::pim);
    key_files.iter().fold(of, Tcrypt::key_file)
}

/// The values of an option for key files; one that is standard input is the passphrase instead.
pub(crate) fn key_files(given: Vec<&OsStr>) -> (Option<PathBuf>, Vec<PathBuf>) {
    let given = given.into_iter().map(PathBuf::from);
    let (stdin, files): (Vec<_>, Vec<_>) = given.partition(|file| file == Path::new("-"));
    (stdin.into_iter().next(), files)
}

/// What key derivation may cost.
pub(crate) struct CostLimits(pub(crate) Limits);

impl CostLimits {
    /// `--memory-budget` and `--time-limit`.
    pub(crate) fn from_args(args: &Args) -> Self {
        let limits = args.number(&shared::MEMORY_BUDGET).into_iter().fold(Limits::new(), Limits::memory);
        let time = args.number(&shared::TIME_LIMIT).map(Duration::from_secs);
        Self(time.into_iter().fold(limits, Limits::time))
    }
}

/// Asks for a new PIM, twice on a terminal: who mistypes it opens the volume by no passphrase.
pub(crate) fn ask_new_pim(passphrase: &PassphraseOptions) -> Result<u32> {
    let ask = |prompt: &str| {
        let source = passphrase.asked().existing(prompt);
        let typed = source.read()?;
        // 0 is the default one, as for the option.
        let pim = if typed.expose().trim_ascii() == b"0" { 0 } else { pim_of(&typed)? };
        Ok::<_, Failure>((pim, source.is_interactive()))
    };
    let (pim, is_typed) = ask("Enter new VeraCrypt PIM: ")?;
    if is_typed && ask("Verify VeraCrypt PIM: ")?.0 != pim {
        return Err(Failure::new(Exit::Permission, "PIMs do not match.").because(Cause::WrongKey));
    }
    Ok(pim)
}

/// Refuses a new key that is nothing; `option` names its key files.
pub(crate) fn check_new(passphrase: &Secret, has_key_files: bool, option: &Opt) -> Result<()> {
    if !passphrase.is_empty() || has_key_files {
        return Ok(());
    }
    let message =
        format!("The new passphrase is empty: VeraCrypt takes that only with key files (--{}).", option.long);
    Err(Failure::new(Exit::Parameters, message))
}

/// The line for an error of the library's.
pub(crate) fn failed(device: &Path, error: keyway::Error) -> Failure {
    match error.kind() {
        ErrorKind::WrongPassphrase => Failure::new(Exit::Permission, WRONG).because(Cause::WrongKey),
        _ => explain::of_kind(ROW.of.title, device, error),
    }
}
