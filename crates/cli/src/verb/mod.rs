//! The commands, one file each: the command's table and its implementation.

mod about;
pub(crate) mod boot;
mod key;
mod make;
#[cfg(test)]
mod sample;
pub(crate) mod session;
#[cfg(feature = "tools")]
mod tools;
pub(crate) mod volume;

use crate::args::{Command, Commands};

/// The program's commands.
pub(crate) static COMMANDS: Commands = Commands { all: ALL, left_out: LEFT_OUT };

/// In the order of `keyway --help`.
static ALL: &[&Command] = &[
    &volume::inspect::COMMAND,
    &volume::read::COMMAND,
    &volume::write::COMMAND,
    &volume::compare::COMMAND,
    &session::mount::COMMAND,
    &session::umount::COMMAND,
    &make::build::COMMAND,
    &make::copy::COMMAND,
    &volume::seal::COMMAND,
    &volume::to_luks::COMMAND,
    &make::veracrypt::COMMAND,
    &key::tcrypt::COMMAND,
    &volume::tcrypt_header::BACKUP,
    &volume::tcrypt_header::RESTORE,
    &make::bitlk::COMMAND,
    &key::bitlk::ADD,
    &key::bitlk::REMOVE,
    &session::serve::COMMAND,
    &session::list::COMMAND,
    &boot::unlock::COMMAND,
    #[cfg(feature = "tools")]
    &tools::measure::ciphers::COMMAND,
    #[cfg(feature = "tools")]
    &tools::measure::bench::COMMAND,
    #[cfg(feature = "tools")]
    &tools::measure::xray::COMMAND,
    #[cfg(feature = "tools")]
    &tools::measure::passport::COMMAND,
    #[cfg(feature = "tools")]
    &tools::boot::COMMAND,
    &make::format::COMMAND,
    &session::open::COMMAND,
    &session::close::COMMAND,
    &session::status::COMMAND,
    &session::resize::COMMAND,
    &session::open::REFRESH_COMMAND,
    &session::suspend::COMMAND,
    &session::resume::COMMAND,
    &volume::dump::COMMAND,
    &volume::dump::tcrypt::COMMAND,
    &volume::dump::bitlk::COMMAND,
    &volume::dump::fvault2::COMMAND,
    &key::add::COMMAND,
    &key::change::COMMAND,
    &key::kill::REMOVE_KEY,
    &key::kill::KILL_SLOT,
    &key::convert::COMMAND,
    &key::kill::ERASE,
    &volume::uuid::UUID,
    &volume::uuid::IS_LUKS,
    &volume::backup::BACKUP,
    &volume::backup::RESTORE,
    &key::config::COMMAND,
    &key::token::COMMAND,
    &key::reencrypt::COMMAND,
    &volume::convert::CONVERT,
    &volume::repair::COMMAND,
    #[cfg(feature = "tools")]
    &tools::measure::benchmark::COMMAND,
    &about::manual::COMMAND,
    &about::packaging::COMPLETIONS,
];

/// The commands that a program without the feature "tools" reports as left out, not as unknown.
#[cfg(not(feature = "tools"))]
static LEFT_OUT: &[&str] = &["bench", "benchmark", "boot", "ciphers", "passport", "xray"];
/// None.
#[cfg(feature = "tools")]
static LEFT_OUT: &[&str] = &[];
