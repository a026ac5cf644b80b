//! Which headers the command line opens: its terms, and what is said of a header that is opened on them only.
//!
//! The judgement itself is the library's ([`keyway_volume::admission`]). Called by cryptsetup's name, weak ciphers are
//! taken with a warning, as scripts that were written for it use them; forged segments are not.

use crate::args::{Args, shared};
use crate::failure::{Exit, Failure, Result};
use crate::{device, hint};
use keyway_crypto::{CipherSpec, Secret};
use keyway_volume::admission::{self, Exemption, Finding};
use keyway_volume::{Admitted, DataDevice, Luks, Opened, Storage, Terms};
use std::path::Path;

/// What the user takes.
pub(crate) fn terms(args: &Args) -> Terms {
    Terms {
        weak_ciphers: args.given(&shared::WEAK_CIPHER) || args.is_cryptsetup(),
        linear_segments: args.given(&shared::LINEAR_SEGMENTS),
    }
}

/// The data device at `path` as the header is judged by it.
pub(crate) fn data_device(args: &Args, path: &Path, storage: &dyn Storage) -> DataDevice {
    let header = args.path(&shared::HEADER).map(device::resolve);
    let holds_header = header.is_none_or(|header| device::is_same(&header, path));
    DataDevice { len: storage.len(), holds_header }
}

/// Judges the header of the volume at `device`: before a passphrase is asked for.
pub(crate) fn judge(args: &Args, luks: Luks, device: &Path, data: Option<DataDevice>) -> Result<Admitted> {
    let admitted = Admitted::judge(luks, data, &terms(args)).map_err(|e| hint::on_volume(device, &e))?;
    warn(args, device, admitted.tolerated());
    Ok(admitted)
}

/// Judges a header whose keys are only tried.
pub(crate) fn check(args: &Args, luks: &Luks, device: &Path) -> Result<()> {
    let tolerated = admission::check(luks, None, &terms(args)).map_err(|e| hint::on_volume(device, &e))?;
    warn(args, device, &tolerated);
    Ok(())
}

/// Goes on with the volume key that `digest` has verified.
pub(crate) fn open(admitted: Admitted, device: &Path, volume_key: Secret, digest: u32) -> Result<Opened> {
    admitted.open(volume_key, digest).map_err(|e| hint::on_volume(device, &e))
}

/// Refuses to make a volume that protects little.
pub(crate) fn check_new(args: &Args, cipher: &CipherSpec, key_len: usize) -> Result<()> {
    let Some(why) = admission::weakness(cipher, key_len) else { return Ok(()) };
    let option = shared::WEAK_CIPHER.long;
    let line = format!("The volume would be under {cipher}, {why}");
    if !terms(args).weak_ciphers {
        let line = format!("{line}; --{option} makes it all the same.");
        return Err(Failure::new(Exit::Parameters, line));
    }
    if !args.given(&shared::WEAK_CIPHER) {
        eprintln!("WARNING: {line}. Its data will not be protected; keyway refuses it without --{option}.");
    }
    Ok(())
}

/// Says what nobody has allowed by name.
fn warn(args: &Args, device: &Path, tolerated: &[Finding]) {
    let by_name = |finding: &&Finding| match finding.rule.exemption() {
        Some(Exemption::WeakCiphers) => args.given(&shared::WEAK_CIPHER),
        Some(Exemption::LinearSegments) => args.given(&shared::LINEAR_SEGMENTS),
        None => false,
    };
    for finding in tolerated.iter().filter(|finding| !by_name(finding)) {
        eprintln!(
            "WARNING: Device {}: {finding}. Its data is not protected; keyway refuses it without --{}.",
            device.display(),
            shared::WEAK_CIPHER.long
        );
    }
}
