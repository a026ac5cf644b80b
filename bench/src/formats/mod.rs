//! `./dev bench formats`: other programs' volumes, opened and read beside those programs; chains of
//! ciphers beside what their ciphers alone allow.

mod chains;
mod opening;
mod reading;

use crate::options::Options;
use crate::rounds::Case;

/// What is measured, in the order of the table.
pub(crate) const SECTIONS: [fn(&Options) -> Vec<Case>; 3] = [opening::cases, reading::cases, chains::cases];
