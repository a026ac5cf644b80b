//! Modules that GRUB needs before it can read this volume: grub-install embeds by the
//! device mapper's table, in which no hash of a keyslot stands; what is missing then is
//! looked for on the volume that they should open.

use super::{Version, cipher, names};

/// Each once, in the order of dependence.
pub(super) fn needed(
    format: u8,
    hashes: &[&str],
    specs: &[&str],
    argon2: bool,
    version: Version,
) -> Vec<&'static str> {
    let mut modules = vec!["cryptodisk", if format == 1 { "luks" } else { "luks2" }];
    if argon2 && version >= Version::V2_14 {
        modules.push("argon2");
    }
    let hashes = hashes.iter().filter_map(|hash| names::md(hash, version)).map(|md| md.module);
    let ciphers = specs.iter().flat_map(|spec| cipher::modules(spec, version));
    for module in hashes.chain(ciphers) {
        if !modules.contains(&module) {
            modules.push(module);
        }
    }
    modules
}
