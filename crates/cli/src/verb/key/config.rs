//! `config`: what a LUKS2 header stores besides its keys: priorities and labels.

use crate::args::risk::{Effect, Proof, risk};
use crate::args::rule::Rule;
use crate::args::{self, Alias, Args, Command, Example, Group, Kind, Opt, Request, Topic, groups, shared};
use crate::device::{Target, Versions};
use crate::make::label;
use crate::output::failure::{Exit, Failure, Result};
use crate::unlock::{KeyOptions, admission};
use crate::verb::key::keyslot;
use keyway::{Access, Priority};

/// `keyway config`.
pub(crate) static COMMAND: Command = Command {
    name: "config",
    aliases: &[Alias { name: "luksConfig", device_type: Some("luks2") }],
    group: Group::Cryptsetup(Topic::Passphrases),
    operands: &[shared::operands::DEVICE],
    about: "Set label, subsystem and keyslot priorities.",
    man: "Keyslots with priority \"prefer\" are tried first; those with \"ignore\" only when --key-slot names \
          them. Label and subsystem are set together: the one that is not given becomes empty. On a sealed \
          volume they are part of the seal: with a key (--key-file and the like), the same write renews it; \
          without one, renew it afterwards: keyway-seal(8).",
    options: &[
        &[&PRIORITY, &shared::KEY_SLOT, &shared::LABEL, &shared::SUBSYSTEM, &shared::HEADER],
        groups::KEY_INPUT,
    ],
    rules: &[Rule::needs(&PRIORITY, &shared::KEY_SLOT).saying(shared::NO_KEYSLOT)],
    examples: &[Example {
        line: "keyway config --priority prefer --key-slot 1 disk.img",
        does: "Keyslot 1 is tried before the others.",
    }],
    risks: &[risk("DEVICE", Effect::Edits, Proof::Header, "config -q --label label TARGET")],
    run: args::run::<Config>,
};

static PRIORITY: Opt = Opt {
    long: "priority",
    short: None,
    value: "WORD",
    kind: Kind::Choice(&["ignore", "normal", "prefer"]),
    help: "ignore, normal or prefer.",
    man: "",
};

struct Config {
    target: Target,
    /// If one is given, it renews the seal.
    key: KeyOptions,
    /// The keyslot and its new priority.
    priority: Option<(u32, Priority)>,
    /// Label and subsystem.
    names: Option<(String, String)>,
}

impl Request for Config {
    fn from_args(args: &Args) -> Result<Self> {
        let refuse = |why: &str| Err(Failure::new(Exit::Parameters, why));
        let (label, subsystem) =
            (label::from_args(args, &shared::LABEL)?, label::from_args(args, &shared::SUBSYSTEM)?);
        let has_names = label.is_some() || subsystem.is_some();
        if !args.given(&PRIORITY) && !has_names {
            return refuse("Option --priority, --label or --subsystem is missing.");
        }
        let priority = args.number32(&shared::KEY_SLOT).zip(args.text(&PRIORITY).map(priority));
        // As in cryptsetup: of the two, the one that is not given becomes empty.
        let names = has_names.then(|| (label.unwrap_or_default(), subsystem.unwrap_or_default()));
        // --key-slot names the keyslot that gets the priority, not the one to unlock with.
        let mut key = KeyOptions::from_args(args)?;
        key.keyslot = None;
        Ok(Self { target: Target::from_args(args, 0)?, key, priority, names })
    }

    fn run(self) -> Result<()> {
        let mut header = self.target.header(Access::Write, Versions::Two, &self.key.terms())?;
        header.check()?;
        self.key.renew_seal(&mut header)?;
        if let Some((keyslot, priority)) = self.priority {
            keyslot::check_active(&header, keyslot)?;
            header.set_priority(keyslot, priority)?;
        }
        if let Some((label, subsystem)) = &self.names {
            header.set_names(label, subsystem)?;
            admission::warn_of_seal(header.luks(), self.target.header_path());
        }
        Ok(())
    }
}

fn priority(word: &str) -> Priority {
    match word {
        "ignore" => Priority::Ignore,
        "prefer" => Priority::Prefer,
        _ => Priority::Normal,
    }
}
