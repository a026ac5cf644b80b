//! Which headers the command line opens: its terms, and what is said
//! of a header that is opened on them only.
//!
//! The judgement itself is the library's ([`keyway_volume::admission`]). Called by
//! cryptsetup's name, weak ciphers are taken with a warning, as scripts that were
//! written for it use them; forged segments are not.

use crate::device;
use crate::door::{Args, Opt, shared};
use crate::say::explain;
use crate::say::failure::{Exit, Failure, Result};
use crate::unlock::policy;
use keyway_crypto::{CipherSpec, Secret};
use keyway_volume::admission::{self, Exemption, Finding};
use keyway_volume::seal::Seal;
use keyway_volume::{Admitted, DataDevice, Luks, Opened, Storage, Terms};
use std::path::Path;

/// What the user takes and demands.
pub(crate) fn terms(args: &Args) -> Result<Terms> {
    if args.given(&shared::IGNORE_SEAL) && args.given(&shared::SEAL_CONTEXT) {
        return Err(Failure::new(
            Exit::Parameters,
            "--ignore-seal and --seal-context contradict each other.",
        ));
    }
    Ok(Terms {
        weak_ciphers: takes_weak_ciphers(args),
        linear_segments: args.given(&shared::LINEAR_SEGMENTS),
        ignore_seal: args.given(&shared::IGNORE_SEAL),
        seal_context: args.text(&shared::SEAL_CONTEXT).map(str::to_owned),
        policies: policy::required(args)?,
    })
}

/// Whether ciphers are taken that protect little.
pub(crate) fn takes_weak_ciphers(args: &Args) -> bool {
    args.given(&shared::WEAK_CIPHER) || args.is_cryptsetup()
}

/// Refuses demands on a volume that has no header to meet them.
pub(crate) fn refuse_demands(args: &Args, device: &Path) -> Result<()> {
    match DEMANDS.into_iter().find(|option| args.given(option)) {
        Some(option) => {
            let (device, option) = (device.display(), option.long);
            let why = "has no header, as a plain volume, that could meet it";
            Err(Failure::new(Exit::Unmet, format!("Device {device}: --{option}: it {why}.")))
        }
        None => Ok(()),
    }
}

static DEMANDS: [&Opt; 2] = [&shared::REQUIRE, &shared::SEAL_CONTEXT];

/// The data device at `path` as the header is judged by it.
pub(crate) fn data_device(args: &Args, path: &Path, storage: &dyn Storage) -> DataDevice {
    let header = args.path(&shared::HEADER).map(device::resolve);
    let holds_header = header.is_none_or(|header| device::is_same(&header, path));
    DataDevice { len: storage.len(), holds_header }
}

/// Judges the header of the volume at `device`: before a passphrase is asked for.
pub(crate) fn judge(args: &Args, luks: Luks, device: &Path, data: Option<DataDevice>) -> Result<Admitted> {
    let admitted = Admitted::judge(luks, data, &terms(args)?).map_err(|e| explain::on_volume(device, &e))?;
    warn(args, device, admitted.tolerated());
    Ok(admitted)
}

/// Judges a header whose keys are only tried.
pub(crate) fn check(args: &Args, luks: &Luks, device: &Path, data: Option<DataDevice>) -> Result<()> {
    let tolerated =
        admission::check(luks, data, &terms(args)?).map_err(|e| explain::on_volume(device, &e))?;
    warn(args, device, &tolerated);
    Ok(())
}

/// Whether something is demanded of the volume: its data device is then judged too where only keys
/// are tried, which else may be those of a header's backup.
pub(crate) fn is_demanded(args: &Args) -> bool {
    DEMANDS.into_iter().any(|option| args.given(option))
}

/// Judges a header whose key is given out or gets another keyslot, before that is asked for.
pub(crate) fn check_header(args: &Args, luks: &Luks, device: &Path) -> Result<()> {
    admission::check_header(luks, &terms(args)?).map_err(|e| explain::on_volume(device, &e))
}

/// Judges the header with a key that is only tried or kept; `data` where the device is to be judged too.
pub(crate) fn check_key(
    args: &Args,
    luks: &Luks,
    device: &Path,
    data: Option<DataDevice>,
    key: &Secret,
    digest: u32,
) -> Result<()> {
    let data_len = data.map(|data| data.len);
    admission::check_key(luks, data_len, &terms(args)?, key, digest)
        .map_err(|e| explain::on_volume(device, &e))
}

/// Goes on with the volume key that `digest` has verified.
pub(crate) fn open(admitted: Admitted, device: &Path, volume_key: Secret, digest: u32) -> Result<Opened> {
    admitted.open(volume_key, digest).map_err(|e| explain::on_volume(device, &e))
}

/// Refuses to make a volume that protects little.
pub(crate) fn check_new(args: &Args, cipher: &CipherSpec, key_len: usize) -> Result<()> {
    let Some(why) = admission::weakness(cipher, key_len) else { return Ok(()) };
    let option = shared::WEAK_CIPHER.long;
    let line = format!("The volume would be under {cipher}{why}");
    if !takes_weak_ciphers(args) {
        let line = format!("{line}; --{option} makes it all the same.");
        return Err(Failure::new(Exit::Parameters, line));
    }
    if !args.given(&shared::WEAK_CIPHER) {
        say!("WARNING: {line}. Its data will not be protected; keyway refuses it without --{option}.");
    }
    Ok(())
}

/// Says that an edit made the seal one of another header.
pub(crate) fn warn_of_seal(luks: &Luks, device: &Path) {
    let seal = Seal::of(luks.header());
    // The string itself is not in the header; without it the new seal would have none.
    let context = seal.as_ref().is_ok_and(|seal| seal.as_ref().is_some_and(Seal::has_context));
    let held = seal.and_then(|seal| seal.map_or(Ok(()), |s| s.compare(luks.header(), None)));
    if let Err(broken) = held {
        let (device, context) = (device.display(), if context { "--seal-context STRING " } else { "" });
        say!(
            "WARNING: Device {device}: {broken}. It is refused now: \"keyway seal {context}{device}\" seals it anew."
        );
    }
}

/// Says what nobody has allowed by name.
fn warn(args: &Args, device: &Path, tolerated: &[Finding]) {
    let by_name = |finding: &&Finding| match finding.rule.exemption() {
        Some(Exemption::WeakCiphers) => args.given(&shared::WEAK_CIPHER),
        Some(Exemption::LinearSegments) => args.given(&shared::LINEAR_SEGMENTS),
        None => false,
    };
    for finding in tolerated.iter().filter(|finding| !by_name(finding)) {
        say!(
            "WARNING: Device {}: {finding}. Its data is not protected; keyway refuses it without --{}.",
            device.display(),
            shared::WEAK_CIPHER.long
        );
    }
}
