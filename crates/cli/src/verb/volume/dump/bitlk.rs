//! `bitlkDump`: shows the header of a BitLocker volume, line for line as cryptsetup prints it, or with the key.

use super::{KEY_IS_SHOWN, print_secret, store_key};
use crate::args::{self, Args, Command, Example, Group, Request, Topic, groups, shared};
use crate::device::{self, Target, explain};
use crate::output::failure::{Exit, Result};
use crate::output::{question, stdio};
use crate::unlock::{self, GivenKey, KeyOptions};
use keyway::Access;
use keyway::storage::Storage;
use keyway_volume::kind::bitlk::{Bitlk, Header, ROW, dump};
use keyway_volume::kind::{Judged, Key, Subject};
use std::sync::Arc;

/// `keyway bitlkDump`.
pub(crate) static COMMAND: Command = Command {
    name: "bitlkDump",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Headers),
    operands: &[shared::operands::DEVICE],
    about: "Show the header of a BitLocker volume.",
    man: "No key is needed. Times are in UTC.\n\nWith --dump-volume-key the passphrase or recovery password is asked for, \
          unless --key-file gives it or a start-up key, and the volume key is shown, or written to the new file \
          --volume-key-file. Whoever has it can read the data, whichever passwords are changed later.",
    options: &[
        &[&shared::DUMP_VOLUME_KEY, &shared::VOLUME_KEY_FILE],
        groups::KEY_INPUT,
        groups::PROMPT,
        groups::LIMITS,
    ],
    rules: &[],
    examples: &[Example { line: "keyway bitlkDump windows.img", does: "Cipher, state, and what opens it." }],
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
        header.troubles().for_each(|trouble| say!("{}: {trouble}", device.display()));
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
        // No data are read: metadata of somebody else's could only give another key.
        let judged = Bitlk { allows_vista: true }.judge_header(header, &on).map_err(explain)?;
        let found = match judged.open_unprotected().transpose().map_err(explain)? {
            Some(found) => found,
            None => {
                let secret = self.key.passphrase.existing(unlock::prompt_for(device)).read()?;
                let key = match self.key.passphrase.key_file {
                    Some(_) => Key::File(&secret),
                    None => Key::Passphrase(&secret),
                };
                judged.open(key, &self.key.limits()).map_err(explain)?
            }
        };
        let (header, key) = (judged.header(), &found.volume_key);
        match self.key.volume_key.as_ref().and_then(GivenKey::file) {
            Some(file) => store_key(file, key, dump::with_key_size(header, &shown, key)),
            None => print_secret(&dump::with_volume_key(header, &shown, key)),
        }
    }
}
