//! Which verb of `boot` takes which option: all verbs share one table, and an option of another verb
//! would otherwise be accepted and ignored.

use super::options::{ALL, ARCH, DTB, KERNEL, LIST, OUTPUT, RAMDISK};
use super::{VERBS, check, fit, initramfs, script, uki};
use crate::door::{Args, Opt, shared};
use crate::say::failure::{Exit, Failure, Result};

/// Refuses an option that belongs to other verbs, and a second file.
pub(super) fn check(args: &Args, verb: &str) -> Result<()> {
    if !VERBS.contains(&verb) {
        return Ok(());
    }
    if let Some(extra) = args.operand(2) {
        let message = format!("boot {verb} takes one file; {} is one too many.", extra.display());
        return Err(Failure::new(Exit::Parameters, message));
    }
    let mut options = VERBS.into_iter().flat_map(options_of);
    let foreign = options.find(|option| args.given(option) && !takes(verb, option));
    foreign.map_or(Ok(()), |option| Err(refused(verb, option)))
}

fn refused(verb: &str, option: &Opt) -> Failure {
    let takers: Vec<String> =
        VERBS.into_iter().filter(|other| takes(other, option)).map(|other| format!("boot {other}")).collect();
    let hint = if option.long == ARCH.long && verb == "initramfs" {
        ". An initramfs is for the architecture of what is in it: --program FILE names a keyway for another one"
    } else {
        ""
    };
    let (option, takers) = (option.long, takers.join(", "));
    Failure::new(Exit::Parameters, format!("boot {verb} takes no --{option}, which is for {takers}{hint}."))
}

fn takes(verb: &str, option: &Opt) -> bool {
    options_of(verb).any(|own| own.long == option.long)
}

fn options_of(verb: &str) -> impl Iterator<Item = &'static Opt> + use<> {
    let (shared, own) = match verb {
        "initramfs" => (OF_INITRAMFS, initramfs::OPTIONS),
        "fit" => (ALL, fit::OPTIONS),
        "script" => (OF_SCRIPT, script::OPTIONS),
        "uki" => (OF_UKI, uki::OPTIONS),
        "check" => (OF_CHECK, check::OPTIONS),
        _ => (NONE, NONE),
    };
    shared.iter().chain(own).copied()
}

static OF_INITRAMFS: &[&Opt] = &[&OUTPUT, &LIST, &KERNEL, &shared::FORCE];
static OF_SCRIPT: &[&Opt] = &[&OUTPUT, &LIST, &ARCH, &shared::FORCE];
static OF_UKI: &[&Opt] = &[&OUTPUT, &LIST, &KERNEL, &RAMDISK, &DTB, &shared::FORCE];
static OF_CHECK: &[&Opt] = &[&KERNEL, &shared::HEADER];
static NONE: &[&Opt] = &[];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::desk::boot::COMMAND;

    #[test]
    fn every_option_of_the_table_belongs_to_a_verb() {
        for option in COMMAND.options.iter().copied().flatten() {
            assert!(VERBS.into_iter().any(|verb| takes(verb, option)), "--{}", option.long);
        }
    }
}
