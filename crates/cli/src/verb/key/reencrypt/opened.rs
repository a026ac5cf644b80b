//! `--encrypt DEVICE NAME`: what begins to be encrypted is opened under a name, and is in use from then on.

use super::unused::SKIP_UNUSED;
use super::{Asked, Extent, What};
use crate::args::{Args, Request};
use crate::mapping;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::{shell, stdio};
use crate::unlock::GivenKey;
use crate::unlock::passphrase::Known;
use crate::verb::session::open::Open;
use keyway::storage::Exclusive;
use keyway_crypto::Secret;
use std::cell::OnceCell;
use std::io::IsTerminal;
use std::path::Path;

/// What opens it.
pub(super) struct Opened {
    name: String,
    open: Open,
    /// What was asked for, and opens it: nobody is asked twice where the kernel maps it.
    passphrase: OnceCell<Secret>,
}

impl Opened {
    /// The name that follows the device. Where no LUKS2 volume is to be made, cryptsetup ignores it.
    pub(super) fn from_args(args: &Args, what: What) -> Result<Option<Self>> {
        let Some(name) = args.operands().get(1) else { return Ok(None) };
        let name = name.to_string_lossy().into_owned();
        let is_luks1 = args.device_type().is_some_and(|kind| kind.eq_ignore_ascii_case("luks1"));
        match (what, args.is_cryptsetup()) {
            (What::Encrypt, _) if !is_luks1 => {
                check_nothing_is_skipped(args, &name)?;
                let open = Open::of_new_volume(args)?;
                Ok(Some(Self { name, open, passphrase: OnceCell::new() }))
            }
            (_, true) => Ok(None),
            (_, false) => Err(Failure::new(
                Exit::Parameters,
                format!(
                    "Only --encrypt to LUKS2 can open the volume at once, as {name}. Nothing was written."
                ),
            )),
        }
    }

    /// Keeps a passphrase for the opening.
    pub(super) fn keep(&self, passphrase: &Secret) {
        let _ = self.passphrase.set(Secret::copy_from(passphrase.expose()));
    }
}

impl Asked {
    /// Begins to encrypt what is on the device, opens it, and goes on while it is in use.
    pub(super) fn encrypt_opened(mut self, data: Exclusive) -> Result<()> {
        let extent = std::mem::replace(&mut self.extent, Extent::Begin);
        if let Some(opened) = &self.opened {
            opened.open.check_place()?;
            self.check_key_is_there_twice(opened)?;
        }
        self.encrypt(&data)?;
        drop(data);
        let Some(Opened { name, open, passphrase }) = self.opened.take() else { return Ok(()) };
        let known = passphrase.into_inner().map(Known::from);
        let (device, place) = (self.target.device.display(), open.mapping());
        // No key is handed to the process that serves it: that one reads its own.
        let open = known.iter().filter(|_| place.is_some()).cloned().fold(open, Open::knowing);
        open.run().map_err(|failure| {
            failure.hinting(format!(
                "The encryption of {device} has begun: open or closed, resume with \"{}\".",
                self.again("--resume-only")
            ))
        })?;
        if let Some(place) = place.filter(|_| self.is_cryptsetup) {
            let place = place.display();
            stdio::print(&format!("{place} is now active and ready for online encryption.\n"))?;
        }
        if extent == Extent::Begin {
            return Ok(());
        }
        // What the line says of the beginning is done.
        (self.what, self.extent) = (What::Reencrypt, Extent::Resume);
        (self.reduce, self.resilience, self.data_len) = (None, None, None);
        self.key.passphrase.known = known;
        let open = mapping::find_active(&name)?;
        self.active_name = Some(name);
        self.run_open(&open)
    }

    /// Refuses a key that can be read once where another process is to read it once more.
    fn check_key_is_there_twice(&self, opened: &Opened) -> Result<()> {
        if opened.open.mapping().is_some() {
            return Ok(());
        }
        let given = &self.key.passphrase;
        let volume_key = match &self.key.volume_key {
            Some(GivenKey::File(file)) => once(file),
            _ => None,
        };
        let passphrase = match &given.key_file {
            _ if given.is_in_keyring() => None,
            Some(file) => once(file),
            None if given.is_given() || std::io::stdin().is_terminal() => None,
            None => Some(STDIN.to_owned()),
        };
        let Some(what) = passphrase.or(volume_key) else { return Ok(()) };
        let (device, name) = (self.target.device.display(), &opened.name);
        let message = format!(
            "{name} is served by another process, which must read the key again: {what} can be read only \
             once."
        );
        Err(Failure::new(Exit::Parameters, message).hinting(format!(
            "Give it with --key-file FILE; or begin with --init-only and without a name, and open {device} as {name} then. Nothing was \
             written."
        )))
    }

    /// Refuses a name where something is under way: it would go on, and open nothing.
    pub(super) fn check_nothing_is_to_be_opened(&self) -> Result<()> {
        // cryptsetup goes on, and ignores it.
        let Some(Opened { name, .. }) = self.opened.as_ref().filter(|_| !self.is_cryptsetup) else {
            return Ok(());
        };
        let word = |path: &Path| shell::word(&path.to_string_lossy());
        let header = self.target.header.as_deref().map(|header| format!("--header {} ", word(header)));
        let device = header.unwrap_or_default() + &word(&self.target.device);
        let message = format!(
            "The reencryption of {} has begun already: {name} would not be opened. Nothing was changed.",
            self.target.device.display()
        );
        let name = shell::word(name);
        Err(Failure::new(Exit::Parameters, message).hinting(format!(
            "\"keyway open {device} {name}\" opens it, and \"keyway reencrypt --resume-only --active-name \
             {name}\" then resumes in use."
        )))
    }
}

/// The file system would be looked at after the volume is open, and in use.
fn check_nothing_is_skipped(args: &Args, name: &str) -> Result<()> {
    if !args.given(&SKIP_UNUSED) {
        return Ok(());
    }
    let message = format!(
        "Option --skip-unused needs a file system that nobody uses: it cannot be combined with a name ({name}). Nothing \
         was written."
    );
    Err(Failure::new(Exit::Parameters, message))
}

/// What is read from `file` once and never again; `None` for what can be read any number of times.
fn once(file: &Path) -> Option<String> {
    if file == Path::new("-") {
        return Some(STDIN.to_owned());
    }
    // What this process has open, another has not.
    if file == Path::new("/dev/stdin") || file.starts_with("/dev/fd") || file.starts_with("/proc") {
        return Some(file.display().to_string());
    }
    match std::fs::metadata(file) {
        // Whoever reads it says what is wrong with it.
        Err(_) => None,
        Ok(found) if found.is_file() => None,
        Ok(_) => Some(format!("{}, which is no regular file,", file.display())),
    }
}

const STDIN: &str = "standard input";
