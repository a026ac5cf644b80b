//! Modules that GRUB needs before it can read this volume. grub-install embeds modules according to
//! the device-mapper table, which does not contain the keyslots' hashes; GRUB then looks for the
//! missing modules on the very volume that they are needed to open.

use super::{Loader, Version, cipher, names};

/// Each module once, in dependency order.
pub(super) fn needed(
    format: u8,
    hashes: &[&str],
    specs: &[&str],
    argon2: bool,
    loader: &Loader,
) -> Vec<&'static str> {
    let mut modules = vec!["cryptodisk", if format == 1 { "luks" } else { "luks2" }];
    if argon2 && loader.version >= Version::V2_14 {
        modules.push("argon2");
    }
    let hashes = hashes.iter().filter_map(|hash| names::md(hash, loader)).map(|md| md.module);
    let ciphers = specs.iter().flat_map(|spec| cipher::modules(spec, loader));
    for module in hashes.chain(ciphers) {
        if !modules.contains(&module) {
            modules.push(module);
        }
    }
    modules
}
