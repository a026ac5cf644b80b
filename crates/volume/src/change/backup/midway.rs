//! Header backups and a re-encryption that is under way: the header alone knows how far it is, and
//! has the key of what is done. A backup from before lacks that key; one from the middle names a
//! border that has moved on, and going on from there would encrypt twice what lies between.

use super::Warning;
use crate::header::luks1_disk;
use crate::{Header, Refusal, Result, Storage, UnderWay};
use keyway_format::luks2::DigestKind;
use keyway_format::luks2::reencryption::{Mode, is_requirement};

/// What to do with a device or a backup whose volume is in the middle of a re-encryption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Midway {
    /// Refused, unless not a sector has changed yet: the backup cancels it then.
    #[default]
    Refuse,
    /// A warning, as in cryptsetup.
    Warn,
}

/// Refuses to back up a header in the middle of a re-encryption.
///
/// # Errors
/// [`Refusal::Reencrypting`].
pub fn check_settled(header: &Header) -> Result<()> {
    match is_under_way(header) {
        true => Err(Refusal::Reencrypting.because(
            "The volume is in the middle of a reencryption: a backup made now would be unusable as soon as \
             that resumes. \"keyway reencrypt --resume-only\" finishes it; back up the header then. Nothing \
             was written.",
        )),
        false => Ok(()),
    }
}

/// Whether a header's volume is in the middle of a re-encryption, or claims to be.
pub(super) fn is_under_way(header: &Header) -> bool {
    let Header::Luks2 { metadata, .. } = header else { return false };
    let mut requirements = metadata.config.requirements.iter();
    requirements.any(|name| is_requirement(name)) || !matches!(UnderWay::of(header), Ok(None))
}

/// What is to be said of a restore over `device`, the header that is there; `None` where none is.
pub(super) fn judge(
    backup: &Header,
    device: Option<&Header>,
    target: &dyn Storage,
    midway: Midway,
) -> Result<Vec<Warning>> {
    let refuse = |kind: Refusal, why: &str| match midway {
        Midway::Refuse => Err(kind.because(why)),
        Midway::Warn => Ok(()),
    };
    let mut warnings = Vec::new();
    if is_under_way(backup) {
        refuse(
            Refusal::Backup,
            match device {
                Some(_) => BACKUP_FROM_THE_MIDDLE,
                None => ONLY_BACKUP_FROM_THE_MIDDLE,
            },
        )?;
        warnings.push(Warning::BackupInReencryption);
    }
    match device {
        Some(device) if is_under_way(device) => {
            if cancels(backup, device) {
                warnings.push(Warning::CancelsReencryption);
            } else {
                refuse(Refusal::Reencrypting, DEVICE_IN_THE_MIDDLE)?;
                warnings.push(Warning::InReencryption);
            }
        }
        Some(device) => {
            let is_same_version = matches!(device, Header::Luks1(_)) == matches!(backup, Header::Luks1(_));
            let differ = first_key(device).zip(first_key(backup)).is_some_and(|(on, inside)| on != inside);
            if is_same_version && device.uuid() == backup.uuid() && differ && !is_under_way(backup) {
                warnings.push(Warning::OtherVolumeKey);
            }
        }
        None if matches!(luks1_disk::marked(target), Ok(Some(_))) => {
            refuse(Refusal::Reencrypting, LUKS1_IN_THE_MIDDLE)?;
            warnings.push(Warning::InReencryption);
        }
        None => {}
    }
    Ok(warnings)
}

/// Whether a backup puts back the header of a volume not a sector of which has changed.
fn cancels(backup: &Header, device: &Header) -> bool {
    let (Ok(Some(under_way)), Header::Luks2 { metadata, .. }) = (UnderWay::of(device), device) else {
        return false;
    };
    let (what, state) = (under_way.what(), under_way.state());
    let untouched = state.done.is_empty() && state.hot.is_none() && what.moved.is_none();
    let old = what.old.digest.and_then(|digest| metadata.digests.get(&digest)).map(|digest| &digest.kind);
    let has_old_key = match (old, first_key(backup)) {
        (Some(DigestKind::Pbkdf2 { salt, value, .. }), Some(inside)) => inside == (&salt[..], &value[..]),
        _ => false,
    };
    let is_same = device.uuid() == backup.uuid();
    untouched && what.mode != Mode::Encrypt && has_old_key && is_same && !is_under_way(backup)
}

/// Salt and value of the digest that verifies the volume key: others mean that the key is another, or
/// that the volume was formatted again.
fn first_key(header: &Header) -> Option<(&[u8], &[u8])> {
    match header {
        Header::Luks1(header) => Some((&header.digest_salt, &header.digest)),
        Header::Luks2 { metadata, .. } => {
            match &metadata.digests.get(&metadata.digest_of_segment(0)?)?.kind {
                DigestKind::Pbkdf2 { salt, value, .. } => Some((salt, value)),
                DigestKind::Other(_) => None,
            }
        }
    }
}

const DEVICE_IN_THE_MIDDLE: &str = "The volume on the device is in the middle of a reencryption: only its own \
    header has the new volume key and the progress; with the backup, the data under that key would be lost. \"keyway \
     reencrypt --resume-only\" finishes it. Nothing was changed.";
const LUKS1_IN_THE_MIDDLE: &str = "The LUKS1 volume on the device is in the middle of a reencryption, and with the backup \
     the data reencrypted so far would be lost. \"keyway reencrypt\" finishes it, in the directory that has its files. \
     Nothing was changed.";
const BACKUP_FROM_THE_MIDDLE: &str = "The backup was made in the middle of a reencryption that may have \
    gone further since: resuming from the backup would then encrypt a part of the data twice. Nothing was changed.";
const ONLY_BACKUP_FROM_THE_MIDDLE: &str = "The backup was made in the middle of a reencryption, and fits the data only if \
     nothing was written to the device since: then \"keyway reencrypt --resume-only\" resumes with it as --header. Nothing \
     was changed.";
