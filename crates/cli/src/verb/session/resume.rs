//! `luksResume`: gives a suspended volume its key back; waiting requests go on.

use crate::args::risk::{Effect, Proof, risk};
use crate::args::{self, Args, Command, Example, Group, Request, Topic, groups, shared};
use crate::device::explain;
use crate::mapping::{self, KeyLink, Open, Reopening};
use crate::output::failure::{Exit, Failure, Result};
use keyway::{Access, MapOptions, Mapping, Unchanged};

/// `keyway luksResume`.
pub(crate) static COMMAND: Command = Command {
    name: "luksResume",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Volumes),
    operands: &[shared::operands::OPEN_VOLUME],
    about: "Resume a suspended volume.",
    man: "Asks for a passphrase as open does. A plain volume has no header that would reveal a wrong one: its \
          process compares the key with a digest of the one that it was opened with. Hash and key size are those \
          that it was opened with.",
    options: &[
        &[&shared::KEY_SLOT, &shared::KEY_DESCRIPTION, &shared::VOLUME_KEY_KEYRING, &shared::LINK_VK],
        groups::KEY_INPUT,
        groups::KEY_AGAIN,
        groups::PROMPT,
        groups::LIMITS,
        groups::ADMISSION,
    ],
    rules: &[],
    examples: &[Example { line: "keyway luksResume home", does: "After opening the lid." }],
    risks: &[risk("NAME", Effect::Mounts, Proof::Mapping, "luksResume -d KEY TARGET")],
    run: args::run::<Resume>,
};

struct Resume {
    name: String,
    reopening: Reopening,
    /// The key may be passed through the kernel's keyring.
    keyring: bool,
    /// `--link-vk-to-keyring`.
    link: Option<KeyLink>,
}

impl Request for Resume {
    fn from_args(args: &Args) -> Result<Self> {
        Ok(Self {
            name: mapping::name(args.operands().first())?,
            reopening: Reopening::from_args(args)?,
            keyring: !args.given(&shared::DISABLE_KEYRING),
            link: KeyLink::from_args(args)?,
        })
    }

    fn run(self) -> Result<()> {
        match mapping::find_active(&self.name)? {
            Open::Kernel(found) => self.resume(&found),
            Open::Session(_) if self.link.is_some() => {
                let message = "--link-vk-to-keyring is for volumes that the kernel has mapped.";
                Err(Failure::new(Exit::Parameters, message))
            }
            Open::Session(session) => {
                if !session.status().map_err(explain::session)?.suspended {
                    return Err(not_suspended(&self.name));
                }
                let key = self.reopening.take_session_key(session.facts())?;
                session.resume(&key).map_err(explain::session)
            }
        }
    }
}

impl Resume {
    fn resume(&self, found: &Mapping) -> Result<()> {
        let name = found.name();
        let (luks, path) = self.reopening.header_of(found, Access::Read)?;
        if !found.is_suspended() {
            return Err(not_suspended(name));
        }
        let volume = self.reopening.open_again(found, luks, &path)?;
        found.resume(&volume, &self.how()).map_err(|error| match mapping::why(&error) {
            Some(Unchanged::Failed { source, .. }) => {
                mapping::refused(format!("Error during resuming device {name}: {source}."))
            }
            // Somebody else was faster.
            Some(Unchanged::NotSuspended) => not_suspended(name),
            _ => mapping::explain(name, &error),
        })
    }

    fn how(&self) -> MapOptions {
        let how = MapOptions::new();
        let how = if self.keyring { how } else { how.without_keyring() };
        match &self.link {
            Some(link) => link.onto(how),
            None => how,
        }
    }
}

fn not_suspended(name: &str) -> Failure {
    Failure::new(Exit::Parameters, format!("Volume {name} is not suspended."))
}
