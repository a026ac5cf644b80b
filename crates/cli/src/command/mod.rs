//! The commands, one file a verb: its table and what it does.

mod absent;
#[cfg(feature = "desk")]
mod bench;
#[cfg(feature = "desk")]
mod benchmark;
#[cfg(feature = "desk")]
mod boot;
mod build;
#[cfg(feature = "desk")]
mod ciphers;
mod close;
mod config;
mod convert;
mod copy;
mod effects;
mod inspect;
mod list;
mod luks_add_key;
mod luks_change_key;
mod luks_convert_key;
mod luks_dump;
mod luks_format;
mod luks_header;
mod luks_kill_slot;
mod luks_resume;
mod luks_suspend;
mod luks_uuid;
mod mount;
mod new_keyslot;
pub(crate) mod open;
mod packaging;
#[cfg(feature = "desk")]
mod passport;
mod read;
mod resize;
pub(crate) mod seal;
mod serve;
mod status;
mod token;
mod umount;
pub(crate) mod unlock;
mod write;
#[cfg(feature = "desk")]
mod xray;

use crate::args::Command;

#[cfg(all(test, feature = "desk"))]
pub(crate) use boot::verbs as boot_verbs;

/// Every command, in the order of `keyway --help`.
pub(crate) static COMMANDS: &[&Command] = &[
    &inspect::COMMAND,
    &read::COMMAND,
    &write::COMMAND,
    &mount::COMMAND,
    &umount::COMMAND,
    &build::COMMAND,
    &copy::COMMAND,
    &seal::COMMAND,
    &serve::COMMAND,
    &list::COMMAND,
    &unlock::COMMAND,
    #[cfg(feature = "desk")]
    &ciphers::COMMAND,
    #[cfg(feature = "desk")]
    &bench::COMMAND,
    #[cfg(feature = "desk")]
    &xray::COMMAND,
    #[cfg(feature = "desk")]
    &passport::COMMAND,
    #[cfg(feature = "desk")]
    &boot::COMMAND,
    &luks_format::COMMAND,
    &open::COMMAND,
    &close::COMMAND,
    &status::COMMAND,
    &resize::COMMAND,
    &open::REFRESH_COMMAND,
    &luks_suspend::COMMAND,
    &luks_resume::COMMAND,
    &luks_dump::COMMAND,
    &luks_add_key::COMMAND,
    &luks_change_key::COMMAND,
    &luks_kill_slot::REMOVE_KEY,
    &luks_kill_slot::KILL_SLOT,
    &luks_convert_key::COMMAND,
    &luks_kill_slot::ERASE,
    &luks_uuid::UUID,
    &luks_uuid::IS_LUKS,
    &luks_header::BACKUP,
    &luks_header::RESTORE,
    &config::COMMAND,
    &token::COMMAND,
    &convert::CONVERT,
    &convert::REPAIR,
    #[cfg(feature = "desk")]
    &benchmark::COMMAND,
    &absent::REENCRYPT,
    &absent::TCRYPT_DUMP,
    &absent::BITLK_DUMP,
    &absent::FVAULT2_DUMP,
    &packaging::MAN,
    &packaging::COMPLETIONS,
    &effects::COMMAND,
];

/// What a program without the feature "desk" says of these: not that nobody knows them.
#[cfg(not(feature = "desk"))]
pub(crate) static LEFT_OUT: &[&str] = &["bench", "benchmark", "boot", "ciphers", "passport", "xray"];
/// None.
#[cfg(feature = "desk")]
pub(crate) static LEFT_OUT: &[&str] = &[];
