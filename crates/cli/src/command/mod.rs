//! The commands, one file a verb: its table and what it does.

mod absent;
mod build;
mod copy;
mod inspect;
mod packaging;
mod read;
mod write;

use crate::args::Command;

/// Every command, in the order of `keyway --help`.
pub(crate) static COMMANDS: &[&Command] = &[
    &inspect::COMMAND,
    &read::COMMAND,
    &write::COMMAND,
    &build::COMMAND,
    &copy::COMMAND,
    // The rest of cryptsetup's commands.
    &absent::CLOSE,
    &absent::RESIZE,
    &absent::STATUS,
    &absent::REENCRYPT,
    &absent::TCRYPT_DUMP,
    &absent::BITLK_DUMP,
    &absent::FVAULT2_DUMP,
    &absent::LUKS_SUSPEND,
    &absent::LUKS_RESUME,
    &packaging::MAN,
    &packaging::COMPLETIONS,
];
