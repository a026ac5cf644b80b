//! The rules for a header during online reencryption: exactly one requirement that declares it, a
//! keyslot of type "reencrypt", the states before and after it as backup segments, and regular
//! segments that are each in one of those two states.

use super::CONVERSION;
use crate::Error;
use crate::luks2::config::Config;
use crate::luks2::keyslot::{Keyslot, KeyslotKind};
use crate::luks2::segment::{Segment, SegmentKind};
use alloc::collections::BTreeMap;
use alloc::format;

pub(in crate::luks2) fn check(
    config: &Config,
    keyslots: &BTreeMap<u32, Keyslot>,
    segments: &BTreeMap<u32, Segment>,
) -> Result<(), Error> {
    let versions = config.requirements.iter().filter(|name| is_version(name)).count();
    if versions > 1 {
        let why = format!("{versions} versions of online reencryption");
        return Err(Error::invalid("config.requirements.mandatory", why));
    }
    if versions == 0 && config.requirements.iter().any(|name| name == CONVERSION) {
        let why = format!("\"{CONVERSION}\", but no reencryption is under way");
        return Err(Error::invalid("config.requirements.mandatory", why));
    }
    // A later version may be dumped; nothing else is done with it.
    match (versions == 1, keyslots.iter().find(|(_, keyslot)| is_reencrypt(keyslot))) {
        (true, Some(_)) => check_segments(segments),
        (true, None) => Err(no_keyslot()),
        (false, Some((id, _))) => {
            let why = "is of type reencrypt, but no requirement says that reencryption is under way";
            Err(Error::invalid(format!("keyslots.{id}"), why))
        }
        (false, None) => Ok(()),
    }
}

pub(super) fn no_keyslot() -> Error {
    Error::invalid("keyslots", "online reencryption without a keyslot of type reencrypt")
}

pub(super) fn is_reencrypt(keyslot: &Keyslot) -> bool {
    matches!(&keyslot.kind, KeyslotKind::Other(name) if name == "reencrypt")
}

fn check_segments(segments: &BTreeMap<u32, Segment>) -> Result<(), Error> {
    let (before, after) = (backup(segments, "backup-previous")?, backup(segments, "backup-final")?);
    for (id, segment) in segments.iter().filter(|(_, segment)| !segment.is_backup()) {
        let under_way = segment.flags.iter().any(|flag| flag == "in-reencryption");
        if !same_mapping(segment, after) && (under_way || !same_mapping(segment, before)) {
            let why = "is mapped as neither before nor after the reencryption";
            return Err(Error::invalid(format!("segments.{id}"), why));
        }
    }
    Ok(())
}

fn is_version(requirement: &str) -> bool {
    match requirement.strip_prefix("online-reencrypt") {
        Some("") => true,
        Some(suffix) => suffix
            .strip_prefix("-v")
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())),
        None => false,
    }
}

fn backup<'s>(segments: &'s BTreeMap<u32, Segment>, flag: &str) -> Result<&'s Segment, Error> {
    let found = segments.values().find(|segment| segment.flags.iter().any(|f| f == flag));
    found.ok_or_else(|| lacks(flag))
}

pub(super) fn lacks(flag: &str) -> Error {
    Error::invalid("segments", format!("online reencryption without a {flag} segment"))
}

/// Whether both have the same type and, if encrypted, the same cipher and sector size.
fn same_mapping(one: &Segment, other: &Segment) -> bool {
    match (&one.kind, &other.kind) {
        (
            SegmentKind::Crypt { encryption, sector_size, .. },
            SegmentKind::Crypt { encryption: other_encryption, sector_size: other_size, .. },
        ) => encryption == other_encryption && sector_size == other_size,
        (SegmentKind::Linear, SegmentKind::Linear) => true,
        (SegmentKind::Other(one), SegmentKind::Other(other)) => one == other,
        _ => false,
    }
}
