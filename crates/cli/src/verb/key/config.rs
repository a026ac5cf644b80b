//! `config`: what a LUKS2 header remembers beside its keys: priorities and labels.

use crate::device;
use crate::device::Versions;
use crate::door::{Alias, Args, Command, Example, Group, Kind, Operand, Opt, Topic, shared};
use crate::say::failure::{Exit, Failure, Result};
use crate::unlock::admission;
use crate::verb::key::keyslot;
use keyway_format::luks2::Priority;
use keyway_volume::edit::{set_label, set_priority};
use keyway_volume::{Access, OsRandom};

/// `keyway config`.
pub(crate) static COMMAND: Command = Command {
    name: "config",
    aliases: &[Alias { name: "luksConfig", device_type: Some("luks2") }],
    group: Group::Cryptsetup(Topic::Headers),
    operands: &[Operand { name: "DEVICE", required: true, help: "The volume." }],
    about: "Set label, subsystem and keyslot priorities.",
    man: "Keyslots with priority \"prefer\" are tried first; those with \"ignore\" only when --key-slot names them. \
          Label and subsystem are set together: the one that is not named becomes empty. Of a sealed volume they are part of \
          the seal, which must be renewed then: keyway-seal(8).",
    options: &[&[&PRIORITY, &shared::KEY_SLOT, &shared::LABEL, &shared::SUBSYSTEM, &shared::HEADER]],
    examples: &[Example {
        line: "keyway config --priority prefer --key-slot 1 disk.img",
        does: "Keyslot 1 is tried before the others.",
    }],
    run,
};

static PRIORITY: Opt = Opt {
    long: "priority",
    short: None,
    value: "WORD",
    kind: Kind::Choice(&["ignore", "normal", "prefer"]),
    help: "ignore, normal or prefer.",
    man: "",
};

fn run(args: &Args) -> Result<()> {
    let (label, subsystem) = (args.text(&shared::LABEL), args.text(&shared::SUBSYSTEM));
    let keyslot = args.number32(&shared::KEY_SLOT);
    if !args.given(&PRIORITY) && label.is_none() && subsystem.is_none() {
        return Err(Failure::new(Exit::Parameters, "Option --priority, --label or --subsystem is missing."));
    }
    if args.given(&PRIORITY) && keyslot.is_none() {
        return Err(Failure::new(Exit::Parameters, "Keyslot specification is required."));
    }
    let mut luks = device::load(args, 0, Access::Write, Versions::Two)?;
    if let (Some(word), Some(keyslot)) = (args.text(&PRIORITY), keyslot) {
        keyslot::check_active(&luks, keyslot)?;
        set_priority(&mut luks, keyslot, priority(word), &mut OsRandom)?;
    }
    if label.is_some() || subsystem.is_some() {
        // As in cryptsetup: the one that is not named becomes empty.
        set_label(&mut luks, label.or(Some("")), subsystem.or(Some("")), &mut OsRandom)?;
        admission::warn_of_seal(&luks, &device::header_path(args, 0)?);
    }
    Ok(())
}

fn priority(word: &str) -> Priority {
    match word {
        "ignore" => Priority::Ignore,
        "prefer" => Priority::Prefer,
        _ => Priority::Normal,
    }
}
