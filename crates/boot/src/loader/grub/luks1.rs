//! LUKS1 as GRUB handles it: disk/luks.c. The hash and the cipher are looked up before the
//! passphrase is asked for; then every enabled keyslot is derived in turn.
//!
//! Offsets are those of the LUKS1 specification 1.2.3, section 2.1.

use super::cipher::{self, Reading};
use super::disk::{Disk, number, text};
use super::rules::{self, Finding};
use super::{Judgement, Loader, Slot, Verdict, Version, modules, names};
use crate::unlock_time::Work;

const LEN: usize = 592;
const ENABLED: u64 = 0x00ac_71f3;
/// The number of stripes of every keyslot.
const STRIPES: usize = 4000;
/// GRUB_CRYPTODISK_MAX_KEYLEN.
const MAX_KEY: usize = 128;

pub(super) fn judge(loader: &Loader, disk: &Disk<'_>) -> Judgement {
    let Some(header) = disk.at(0, LEN) else {
        return Judgement::not_found(rules::NOT_LUKS.says("the device is shorter than a LUKS1 header"));
    };
    let spec = format!("{}-{}", text(&header, 8, 32), text(&header, 40, 32));
    let (hash, key_len) = (text(&header, 72, 32), number(&header, 108, 4) as usize);
    let refused = not_asked(loader, &hash, &spec, key_len);
    let verdict = match &refused {
        Some(finding) => Verdict::Cannot(finding.clone()),
        None => verdict(loader, &hash, &spec, key_len),
    };
    let derive = |iterations, len| Work::pbkdf2(&hash, iterations, len);
    let digest = derive(number(&header, 164, 4), 20);
    let enabled = (0..8).filter(|slot| number(&header, 208 + 48 * slot, 4) == ENABLED);
    let slot = |at: usize| Slot {
        number: at as u64,
        verdict: verdict.clone(),
        works: match refused {
            Some(_) => Vec::new(),
            None => vec![derive(number(&header, 212 + 48 * at, 4), key_len), digest.clone()],
        },
    };
    let hashes = [hash.as_str()];
    Judgement {
        format: 1,
        slots: enabled.map(slot).collect(),
        asks: refused.is_none(),
        refused,
        notes: Vec::new(),
        modules: modules::needed(1, &hashes, &[&spec], false, loader),
    }
}

/// What makes luks_scan fail, and before 2.12 the first check in luks_recover_key.
fn not_asked(loader: &Loader, hash: &str, spec: &str, key_len: usize) -> Option<Finding> {
    if names::md(hash, loader).is_none() {
        return Some(rules::LUKS1_HASH.says(names::no_md(hash, loader)));
    }
    match cipher::reading(spec, key_len, 512, loader) {
        Reading::Refused(why) => Some(rules::LUKS1_CIPHER.says(why)),
        _ if loader.version < Version::V2_12 => too_long(key_len),
        _ => None,
    }
}

/// A key that is too long for GRUB's buffer.
pub(super) fn too_long(key_len: usize) -> Option<Finding> {
    (key_len > MAX_KEY).then(|| {
        rules::KEY_TOO_LONG.says(format!("its keys have at most {MAX_KEY} bytes, this one {key_len}"))
    })
}

fn verdict(loader: &Loader, hash: &str, spec: &str, key_len: usize) -> Verdict {
    if let Some(finding) = too_long(key_len) {
        return Verdict::Cannot(finding);
    }
    match cipher::reading(spec, key_len, 512, loader) {
        Reading::Refused(why) | Reading::Key(why) => {
            return Verdict::SaysInvalidPassphrase(rules::KEY_SIZE.says(why));
        }
        Reading::Wrong(why) => {
            return Verdict::SaysInvalidPassphrase(rules::misread_slot(&why));
        }
        Reading::Right => {}
    }
    if let Some(finding) = too_large(hash, loader) {
        return Verdict::Cannot(finding);
    }
    match (key_len * STRIPES).is_multiple_of(512) {
        true => Verdict::Opens,
        false => Verdict::Cannot(rules::RAGGED_MATERIAL.says(format!(
            "key material of {key_len}-byte keys ends inside a sector, and GRUB decrypts past the end of its memory"
        ))),
    }
}

/// A splitter hash with which GRUB aborts altogether.
pub(super) fn too_large(hash: &str, loader: &Loader) -> Option<Finding> {
    names::md(hash, loader)
        .filter(|md| md.too_large)
        .map(|_| rules::MD_CONTEXT.says(format!("it stops with \"Too large md context\" at the hash {hash}")))
}
