//! `./dev bench formats`: other programs' volumes, opened and read beside those programs; chains of
//! ciphers beside what their ciphers alone allow.

mod chains;
mod opening;
mod reading;

use crate::options::Options;
use crate::rounds::Case;

/// What is measured, in the order of the table. Volumes of one section are gone before the next one begins.
pub(crate) const SECTIONS: [fn(&Options) -> Vec<Case>; 5] =
    [opening::cases, reading::xts, reading::cbc, reading::elephant, chains::cases];
