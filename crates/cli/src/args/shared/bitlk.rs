//! Options of BitLocker volumes (`--type bitlk`).

use super::flag;
use crate::args::option::Opt;
use crate::args::rule::Rule;

pub(crate) static ALLOW_VISTA: Opt = flag(
    "allow-vista",
    None,
    "Open a BitLocker volume of Windows Vista.",
    "For reading. No key authenticates Windows Vista's metadata, and its volumes begin with 8 KiB of \
     plaintext. An attacker who can write to a newer disk can therefore disguise it as one of these and \
     choose how its file system begins: give this option only for a disk that you know is from Windows Vista.",
);

pub(crate) static BITLK_RULES: &[Rule] =
    &[Rule::only_of_named(&["bitlk"], &[&ALLOW_VISTA], "Option --allow-vista is for --type bitlk.")];
