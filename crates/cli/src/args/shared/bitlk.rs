//! Options of BitLocker volumes (`--type bitlk`).

use super::flag;
use crate::args::option::Opt;
use crate::args::rule::Rule;

pub(crate) static ALLOW_VISTA: Opt = flag(
    "allow-vista",
    None,
    "Open a BitLocker volume of Windows Vista.",
    "For reading. Windows Vista's metadata have no digest that a key vouches for, and its volumes begin with 8 KiB that are \
     not encrypted. So somebody who can write to a newer disk can pass it off as one of these, and choose what its file \
     system begins with: give this option only for a disk that you know to be of Windows Vista.",
);

pub(crate) static BITLK_RULES: &[Rule] =
    &[Rule::only_of_named(&["bitlk"], &[&ALLOW_VISTA], "Option --allow-vista is for --type bitlk.")];
