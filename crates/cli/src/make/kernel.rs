//! A new volume that the kernel of this machine cannot map: said before it is made.

use crate::output::manner::Manner;
use keyway_crypto::CipherSpec;
use std::path::Path;

/// Warns if this kernel certainly lacks a part of the cipher. The volume is made all the same:
/// Keyway opens it without the kernel, and other machines have other kernels.
pub(super) fn warn_of_no_mapping(manner: Manner, cipher: &str) {
    let Ok(spec) = CipherSpec::parse(cipher) else { return };
    if manner.batch_mode {
        return;
    }
    if let Some((system, missing)) = keyway_kernel::lacking(Path::new("/"), &spec) {
        let (release, missing) = (system.release, missing.join(", "));
        say!(
            "WARNING: The kernel of this machine ({release}) cannot map {cipher}: it has no {missing}, neither loaded nor \
             as a module. Here, only Keyway's own backends (nbd, fuse, ublk) open the volume."
        );
    }
}
