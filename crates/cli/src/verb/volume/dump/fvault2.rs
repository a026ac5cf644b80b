//! `fvault2Dump`: shows the header of a FileVault volume, line for line as cryptsetup prints it, or with the key.

use super::{KEY_IS_SHOWN, print_secret, write_key};
use crate::args::{self, Args, Command, Example, Group, Request, Topic, groups, shared};
use crate::device::{self, Target, explain};
use crate::output::failure::{Exit, Result};
use crate::output::{question, stdio};
use crate::unlock::{self, GivenKey, KeyOptions};
use keyway::Access;
use keyway::storage::Storage;
use keyway_volume::kind::fvault2::{Header, JudgedFvault2, ROW, dump};
use keyway_volume::kind::{Judged, Key, Subject};
use std::sync::Arc;

/// `keyway fvault2Dump`.
pub(crate) static COMMAND: Command = Command {
    name: "fvault2Dump",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Headers),
    operands: &[shared::operands::DEVICE],
    about: "Show the header of a FileVault volume of macOS.",
    man: "No key is needed.\n\nWith --dump-volume-key the passphrase is asked for, unless --key-file gives it, and the volume \
          key is shown, and also written to the new file --volume-key-file. Whoever has it can read the data, whichever passphrases are changed later.",
    options: &[
        &[&shared::DUMP_VOLUME_KEY, &shared::VOLUME_KEY_FILE],
        groups::KEY_INPUT,
        groups::PROMPT,
        groups::LIMITS,
    ],
    rules: &[],
    examples: &[Example {
        line: "keyway fvault2Dump mac.img#2",
        does: "Where the volume is, and what opens it.",
    }],
    risks: &[],
    run: args::run::<Dump>,
};

struct Dump {
    target: Target,
    key: KeyOptions,
    shows_key: bool,
}

impl Request for Dump {
    fn from_args(args: &Args) -> Result<Self> {
        Ok(Self {
            target: Target::from_args(args, 0)?,
            key: KeyOptions::from_args(args)?,
            shows_key: args.given(&shared::DUMP_VOLUME_KEY) || args.given(&shared::DUMP_MASTER_KEY),
        })
    }

    fn run(self) -> Result<()> {
        let device = &self.target.device;
        let storage = device::storage(device, Access::Probe)?;
        let header =
            Header::read(&*storage).map_err(|error| explain::of_kind(ROW.title, device, error.into()))?;
        header.troubles().iter().for_each(|trouble| say!("{}: {trouble}", device.display()));
        match self.shows_key {
            true => self.dump_volume_key(header, &storage),
            false => stdio::print(&dump::header(&header, &device.display().to_string())),
        }
    }
}

impl Dump {
    /// Asks once, as cryptsetup does.
    fn dump_volume_key(&self, header: Header, storage: &Arc<dyn Storage>) -> Result<()> {
        question::confirm(self.target.manner, KEY_IS_SHOWN, "", Exit::Permission)?;
        let device = &self.target.device;
        let shown = device.display().to_string();
        let explain = |error: keyway::parts::Error| explain::of_kind(ROW.title, device, error.into());
        let on = Subject { data: storage, device: &shown, writes: false, weak_ciphers: true };
        let judged = JudgedFvault2::new(header, &on).map_err(explain)?;
        let secret = self.key.passphrase.existing(unlock::prompt_for(device)).read()?;
        let found = judged.open(Key::Passphrase(&secret), &self.key.limits()).map_err(explain)?;
        // cryptsetup shows the key even then.
        if let Some(file) = self.key.volume_key.as_ref().and_then(GivenKey::file) {
            write_key(file, &found.volume_key)?;
        }
        print_secret(&dump::with_volume_key(judged.header(), &shown, &found.volume_key))
    }
}
