//! `luksSuspend`: programs that use the volume wait, and the key is wiped from memory.

use crate::args::risk::{Effect, Proof, risk};
use crate::args::{self, Args, Command, Example, Group, Request, Topic, shared};
use crate::device::explain;
use crate::mapping::{self, Open};
use crate::output::failure::{Exit, Failure, Result};
use keyway::{Mapping, Unchanged};

/// `keyway luksSuspend`.
pub(crate) static COMMAND: Command = Command {
    name: "luksSuspend",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Volumes),
    operands: &[shared::operands::OPEN_VOLUME],
    about: "Freeze an open volume and wipe its key.",
    man: "Everything written reaches the device first; from then on reads and writes wait for luksResume, which \
          asks for a passphrase. Never suspend the volume that this program or its libraries are on.\n\nA plain \
          volume opened with nbd, fuse or ublk can be suspended; the kernel's mappings of plain volumes cannot, as \
          with cryptsetup.",
    options: &[&[&shared::HEADER]],
    rules: &[],
    examples: &[Example { line: "keyway luksSuspend home", does: "Before closing the lid." }],
    risks: &[risk("NAME", Effect::Mounts, Proof::Mapping, "luksSuspend TARGET")],
    run: args::run::<Suspend>,
};

struct Suspend {
    name: String,
}

impl Request for Suspend {
    fn from_args(args: &Args) -> Result<Self> {
        Ok(Self { name: mapping::name(args.operands().first())? })
    }

    fn run(self) -> Result<()> {
        match mapping::find_active(&self.name)? {
            Open::Kernel(found) => suspend(&found),
            Open::Session(session) if !can_come_back(&session.facts().format) => Err(only_luks()),
            Open::Session(session) => match session.status().map_err(explain::session)?.suspended {
                true => Err(already(&self.name)),
                false => session.suspend().map_err(explain::session),
            },
        }
    }
}

/// Whether luksResume can find the key again.
fn can_come_back(kind: &str) -> bool {
    kind.starts_with("LUKS") || kind == "PLAIN"
}

fn suspend(found: &Mapping) -> Result<()> {
    let name = found.name();
    found.suspend().map_err(|error| match mapping::why(&error) {
        Some(Unchanged::Kind(_)) => only_luks(),
        Some(Unchanged::Suspended) => already(name),
        Some(Unchanged::InReencryption) => mapping::refused(format!(
            "Volume {name} is in the middle of a reencryption, which needs its keys."
        )),
        Some(Unchanged::Failed { source, .. }) => {
            mapping::refused(format!("Error during suspending device {name}: {source}."))
        }
        _ => mapping::explain(name, &error),
    })
}

fn already(name: &str) -> Failure {
    Failure::new(Exit::Parameters, format!("Volume {name} is already suspended."))
}

fn only_luks() -> Failure {
    Failure::new(Exit::Parameters, "This operation is supported only for LUKS device.")
}
