//! The verbs of `boot`, and which of the options each takes.

use super::options::{ALL, ARCH, DTB, KERNEL, LIST, OUTPUT, RAMDISK};
use super::{check, fit, initramfs, script, uki};
use crate::args::{Args, Opt, Verb, shared};
use crate::output::failure::{Exit, Failure, Result};

pub(super) static VERBS: &[Verb] = &[
    Verb {
        name: "initramfs",
        operands: "[IMAGE]",
        about: "Make an initramfs that unlocks volumes.",
        options: &[&[&OUTPUT, &LIST, &KERNEL, &shared::FORCE], initramfs::OPTIONS],
    },
    Verb {
        name: "fit",
        operands: "[SOURCE]",
        about: "Make a FIT image for U-Boot.",
        options: &[ALL, fit::OPTIONS],
    },
    Verb {
        name: "script",
        operands: "FILE",
        about: "Make a script for U-Boot (boot.scr).",
        options: &[&[&OUTPUT, &LIST, &ARCH, &shared::FORCE], script::OPTIONS],
    },
    Verb {
        name: "uki",
        operands: "[IMAGE]",
        about: "Make a unified kernel image.",
        options: &[&[&OUTPUT, &LIST, &KERNEL, &RAMDISK, &DTB, &shared::FORCE], uki::OPTIONS],
    },
    Verb {
        name: "check",
        operands: "VOLUME",
        about: "Predict what a boot loader will do.",
        options: &[&[&KERNEL, &shared::HEADER], check::OPTIONS],
    },
];

/// Refuses an option that belongs to other verbs, and a second file.
pub(super) fn check(args: &Args, verb: &str) -> Result<()> {
    if !VERBS.iter().any(|known| known.name == verb) {
        return Ok(());
    }
    if let Some(extra) = args.operand(2) {
        let message = format!("boot {verb} takes one file: unexpected operand {}.", extra.display());
        return Err(Failure::new(Exit::Parameters, message));
    }
    args.check_verb(hint)
}

fn hint(verb: &Verb, option: &Opt) -> &'static str {
    if option.long == ARCH.long && verb.name == "initramfs" {
        ". An initramfs is for the architecture of its programs: --program FILE names a keyway for another \
         one"
    } else {
        ""
    }
}
