//! `seal`: signs a LUKS2 header with the volume key, so that a forged one is noticed.

use crate::args::risk::{Effect, Proof, risk};
use crate::args::{self, Args, Command, Example, Group, Kind, Opt, Request, groups, shared};
use crate::device::{self, Target, Versions};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::{question, stdio};
use crate::unlock::KeyOptions;
use crate::unlock::admission::Demands;
use keyway::parts::Luks;
use keyway::trust::{self, Broken};
use keyway::{Access, Key, Unlock};
use std::sync::Arc;

/// `keyway seal`.
pub(crate) static COMMAND: Command = Command {
    name: "seal",
    aliases: &[],
    group: Group::Rootless,
    operands: &[shared::operands::DEVICE],
    about: "Sign a volume's header, so that a forged one is refused.",
    man: "A LUKS2 header has a checksum, but nothing that proves who wrote it: whoever can write to the disk \
          can turn encryption off in it, move the data or allow what was not allowed. A seal is a token in \
          the header with a MAC, made with a key derived from the volume key, over the segments, the volume \
          key's digest (salt, iterations, hash), flags and requirements, all sizes and offsets, UUID, label \
          and subsystem, and the length of the data's device. From then on every command that opens the \
          volume compares the header with its seal before it asks for a passphrase, verifies the seal with \
          the volume key, and otherwise refuses with the name of the field that differs and exit code \
          6.\n\nKeyslots may be added, changed and removed, by cryptsetup too, and tokens as well: they are \
          not sealed. After any other change (label, UUID, flags, the device's length) run this again to seal \
          the volume again. It shows every difference from the old seal and asks for the word YES before it \
          asks for a passphrase; without a terminal only --batch-mode proceeds. --remove does the same.\n\nNo other \
          command changes a header that does not match its seal: config, luksUUID, token, convert and all \
          that write a keyslot refuse with every difference and exit code 6. Removing keyslots (luksKillSlot, \
          luksRemoveKey) proceeds with a warning, and erase ignores seals. config and luksUUID renew the seal \
          themselves where a key is given (--key-file and the like).\n\nA header without a seal is opened as \
          before, unless --require sealed or a policy demands one: whoever forges a header can remove the \
          seal, but cannot make one. A seal does not prevent an attacker from restoring an older header that \
          was sealed with the same key, or another whole volume with a key of its own: against the first, \
          seal with another --seal-context each time and demand it; against the second, demand the UUID by a \
          policy. Nor does it protect the data itself: that takes authenticated encryption, which LUKS2 has \
          only with dm-integrity.\n\nThe string of --seal-context is not in the header: it must be given here \
          again each time, and wherever it is demanded. LUKS1 has no room for a seal.",
    options: &[
        &[&REMOVE],
        groups::KEY_INPUT,
        groups::UNLOCKING,
        groups::PROMPT,
        groups::LIMITS,
        groups::ADMISSION,
    ],
    rules: &[],
    examples: &[
        Example { line: "keyway seal disk.luks", does: "From now on a changed header is refused." },
        Example {
            line: "keyway open --require sealed disk.luks disk",
            does: "Refused without a seal of this volume's key.",
        },
        Example { line: "keyway seal --remove disk.luks", does: "Removes the seal." },
    ],
    risks: &[risk("DEVICE", Effect::Edits, Proof::Header, "seal -d KEY TARGET")],
    run: args::run::<SealRequest>,
};

static REMOVE: Opt = Opt {
    long: "remove",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Remove the seal. Needs no passphrase.",
    man: "",
};

struct SealRequest {
    target: Target,
    versions: Versions,
    key: KeyOptions,
    demands: Demands,
    remove: bool,
}

impl Request for SealRequest {
    fn from_args(args: &Args) -> Result<Self> {
        Ok(Self {
            target: Target::from_args(args, 0)?,
            versions: Versions::from_args(args)?,
            key: KeyOptions::from_args(args)?,
            demands: Demands::from_args(args)?,
            remove: args.given(&REMOVE),
        })
    }

    fn run(self) -> Result<()> {
        if self.remove { self.remove() } else { self.seal() }
    }
}

impl SealRequest {
    fn seal(&self) -> Result<()> {
        let (target, path) = (&self.target, self.target.header_path());
        let data = device::storage(&target.device, Access::Probe)?;
        let device = target.over(Arc::clone(&data), target.storage(path, Access::Write)?, true);
        let terms = self.key.terms_to_edit(&self.demands);
        let mut header = target.header_of(&device, self.versions, &terms)?;
        let context = self.demands.terms.seal_context.as_deref();
        header.check_sealable()?;
        let had_context = trust::seal_has_context(header.luks());
        self.show_differences(header.luks(), Some(data.len()), "sealed as it is", "renewed")?;
        if had_context && context.is_none() {
            let device = path.display();
            say!("WARNING: Device {device}: the old seal had a --seal-context, and the new one has none.");
        }
        let (key, _) = self.key.volume_key(header.luks(), path)?;
        if trust::is_sealed_with(header.luks(), &key) == Some(false) {
            let why = "the old seal was not made with its volume key, or was changed: it does not tell what was \
                       changed in the header. \"keyway inspect\" shows what the header says now";
            self.ask(&format!("Device {}: {why}.", path.display()), "sealed as it is", "renewed")?;
        }
        header.seal(&Key::VolumeKey(key), context)?;
        stdio::verbose(target.manner, &format!("{} is sealed.", path.display()))
    }

    fn remove(&self) -> Result<()> {
        let path = self.target.header_path();
        let mut header = self.target.header(Access::Write, self.versions, &Unlock::new())?;
        self.show_differences(header.luks(), None, "left without one", "removed")?;
        match header.unseal()? {
            true => stdio::verbose(self.target.manner, &format!("{} is no longer sealed.", path.display())),
            false => Err(Failure::new(Exit::Parameters, format!("Device {} is not sealed.", path.display()))),
        }
    }

    /// Shows all that differs from the old seal, and asks whether to go on.
    fn show_differences(&self, luks: &Luks, data_len: Option<u64>, outcome: &str, done: &str) -> Result<()> {
        let Err(broken) = trust::check_seal(luks, data_len) else { return Ok(()) };
        let device = self.target.header_path().display();
        let what = match &broken {
            Broken::Differs(differences) => {
                let lines: Vec<String> = differences.iter().map(|one| format!("  {one}")).collect();
                format!("Device {device}: it does not match its seal:\n{}", lines.join("\n"))
            }
            other => format!("Device {device}: {other}."),
        };
        self.ask(&what, outcome, done)
    }

    /// Shows what is wrong with the old seal, and asks whether to go on; without a terminal only
    /// --batch-mode is an answer.
    fn ask(&self, what: &str, outcome: &str, done: &str) -> Result<()> {
        let manner = self.target.manner;
        if manner.batch_mode {
            say!("WARNING: {what}\nIt is now {outcome}.");
            return Ok(());
        }
        let refusal = format!("The header may be forged, and the seal was not {done}.");
        if !question::asks(manner) {
            let way = "If you made all of these changes, --batch-mode proceeds; if not, luksHeaderRestore \
                       brings back a header from a backup.";
            return Err(Failure::new(Exit::Unmet, format!("{what}\n{refusal}")).hinting(way));
        }
        let warning = format!(
            "{what}\n\nThe header may be forged: continue only if you made all of these \
                               changes."
        );
        question::confirm(manner, &warning, &refusal, Exit::Unmet)
    }
}
