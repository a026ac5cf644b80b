//! The passphrase that is to be judged.

use super::{AS_KEY_FILE, KEYBOARD};
use crate::args::{Args, shared};
use crate::device::{self, explain};
use crate::output::failure::{Exit, Failure, Result};
use crate::unlock::KeyOptions;
use crate::unlock::passphrase::PassphraseSource;
use keyway::parts::{Error, Luks, UnlockOptions};
use keyway::{Access, Locking};
use keyway_boot::loader::grub::typing::Layout;
use keyway_crypto::Secret;
use std::path::Path;

/// A passphrase to be judged.
pub(super) struct Given {
    pub(super) source: PassphraseSource,
    pub(super) way: Way,
    options: UnlockOptions,
}

/// How a loader gets a passphrase.
pub(super) enum Way {
    Typed {
        layout: Option<&'static Layout>,
    },
    /// As a key file; `size` is the number of bytes that are read.
    KeyFile {
        size: Option<u64>,
    },
}

impl Given {
    /// The passphrase to be judged, if one is given.
    pub(super) fn from_args(args: &Args) -> Result<Option<Self>> {
        let (keyboard, as_key_file) = (args.text(&KEYBOARD), args.given(&AS_KEY_FILE));
        let layout = keyboard.map(layout).transpose()?;
        if !args.given(&shared::KEY_FILE) && !args.given(&shared::PASSWORD_COMMAND) {
            return match layout.is_some() || as_key_file {
                true => Err(Failure::new(
                    Exit::Parameters,
                    "--keyboard and --as-key-file apply to a passphrase: give it with --key-file (- is standard input).",
                )),
                false => Ok(None),
            };
        }
        let way = match as_key_file {
            true => Way::KeyFile { size: args.number(&shared::KEYFILE_SIZE) },
            false => Way::Typed { layout },
        };
        let key = KeyOptions::from_args(args)?;
        let (source, options) = (key.passphrase.existing("Enter passphrase: "), key.of_keyslot());
        Ok(Some(Self { source, way, options }))
    }

    /// The keyslot that it opens.
    pub(super) fn keyslot(
        &self,
        passphrase: &Secret,
        header: &Path,
        locking: Locking,
    ) -> Result<Option<u32>> {
        let on_device = |error| explain::on_device(header, &error);
        let storage = device::storage(header, Access::Probe)?;
        let luks = Luks::open_with(storage, Access::Probe, locking).map_err(on_device)?;
        // An unknown requirement does not stop the loader, but it stops this library.
        match keyway::parts::unlock(&luks, passphrase, &self.options) {
            Ok(unlocked) => Ok(Some(unlocked.keyslot)),
            Err(Error::WrongPassphrase | Error::NoUsableKeyslot) => Ok(None),
            Err(error) => Err(on_device(error)),
        }
    }
}

fn layout(name: &str) -> Result<&'static Layout> {
    Layout::find(name).ok_or_else(|| {
        let names: Vec<&str> = Layout::all().map(|layout| layout.name).collect();
        Failure::new(Exit::Parameters, format!("--keyboard {name}: choose one of {}.", names.join(", ")))
    })
}
