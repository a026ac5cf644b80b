//! `--encrypt DEVICE NAME`: what begins to be encrypted is opened under a name, and is in use from then on.

use super::{Asked, Extent, What};
use crate::door::{Args, Request};
use crate::mapping;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::stdio;
use crate::unlock::passphrase::Known;
use crate::verb::session::open::Open;
use keyway_crypto::Secret;
use keyway_volume::device::storage::Exclusive;
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
                let open = Open::from_args(args)?;
                Ok(Some(Self { name, open, passphrase: OnceCell::new() }))
            }
            (_, true) => Ok(None),
            (_, false) => Err(Failure::new(
                Exit::Parameters,
                format!(
                    "Only what is to be a LUKS2 volume (--encrypt) can be opened at once, as {name}. Nothing was written."
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
                "The encryption of {device} has begun: open or closed, it goes on by \"{}\".",
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
        (self.what, self.extent, self.reduce) = (What::Reencrypt, Extent::Resume, None);
        self.key.passphrase.known = known;
        let open = mapping::find_active(&name)?;
        self.active_name = Some(name);
        self.run_open(&open)
    }

    /// Refuses a key from standard input where another process is to read it once more.
    fn check_key_is_there_twice(&self, opened: &Opened) -> Result<()> {
        let given = &self.key.passphrase;
        let is_typed = !given.is_given() && std::io::stdin().is_terminal();
        let is_file = given.is_given() && given.key_file.as_deref().is_none_or(|file| file != Path::new("-"));
        if opened.open.mapping().is_some() || is_typed || is_file {
            return Ok(());
        }
        let (device, name) = (self.target.device.display(), &opened.name);
        let message = format!(
            "{name} is served by another process, which reads the key once more: standard input has it once."
        );
        Err(Failure::new(Exit::Parameters, message).hinting(format!(
            "Give it with --key-file FILE; or begin with --init-only and without a name, and open {device} as {name} then. Nothing was \
             written."
        )))
    }
}
