//! The rules: each is a small pure function of the header's content.

use crate::data::volume::Keys;
use crate::error::{Finding, Rule};
use crate::header::layout::{self, Layout, MappedSegment, Mapping};
use crate::header::luks::Header;
use crate::{DataDevice, UnderWay};
use keyway_crypto::Secret;
use keyway_format::luks2::{Metadata, SegmentKind};

/// Objections to opening the volume, whatever its key is.
pub(super) fn findings(header: &Header, layout: &Layout, data: Option<DataDevice>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (number, segment) in (0..).zip(&layout.segments) {
        let mut add = |rule: Option<Rule>| found.extend(rule.map(|rule| Finding { segment: number, rule }));
        add(cipher(&segment.mapping));
        add(key_length(&segment.mapping, header.volume_key_len()));
        add(another_key(header, number));
        add(shifted_iv(segment));
        if let Some(data) = data {
            add(geometry(segment, data.len));
            add(over_header(segment, header, data));
        }
    }
    found
}

/// Objections to opening a volume in the middle of a re-encryption, whatever its keys are. Its
/// segments are those that the re-encryption leaves there: linear ones, second keys and IVs that do
/// not count from the volume's start are a part of it.
pub(super) fn findings_under_way(
    header: &Header,
    metadata: &Metadata,
    under_way: &UnderWay,
    layout: &Layout,
    data: Option<DataDevice>,
) -> Vec<Finding> {
    let mut found = Vec::new();
    for (number, side, digest) in under_way.sides(metadata) {
        let Ok(mapping) = layout::mapping(number, &side.kind) else { continue };
        if mapping.is_linear() {
            continue;
        }
        let rules = [cipher(&mapping), key_length(&mapping, key_len(metadata, digest))];
        found.extend(rules.into_iter().flatten().map(|rule| Finding { segment: number, rule }));
    }
    let Some(data) = data else { return found };
    for (number, segment) in (0..).zip(&layout.segments) {
        let rules = [geometry(segment, data.len), over_header(segment, header, data)];
        found.extend(rules.into_iter().flatten().map(|rule| Finding { segment: number, rule }));
    }
    found
}

/// Objections to opening it with these keys.
pub(super) fn findings_of_keys(layout: &Layout, keys: &Keys<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (number, segment) in (0..).zip(&layout.segments) {
        let len = keys.of(segment).ok().map(Secret::len);
        found.extend(key_length(&segment.mapping, len).map(|rule| Finding { segment: number, rule }));
    }
    found
}

/// The length of the key that a digest verifies, as its keyslots state it.
fn key_len(metadata: &Metadata, digest: Option<u32>) -> Option<usize> {
    let keyslot = metadata.digests.get(&digest?)?.keyslots.first()?;
    Some(metadata.keyslots.get(keyslot)?.key_size as usize)
}

/// Objections to opening it with this key, which `digest` has verified.
pub(super) fn findings_of_key(
    header: &Header,
    layout: &Layout,
    volume_key: &Secret,
    digest: u32,
) -> Vec<Finding> {
    let mut found = Vec::new();
    for (number, segment) in (0..).zip(&layout.segments) {
        let mut add = |rule: Option<Rule>| found.extend(rule.map(|rule| Finding { segment: number, rule }));
        add(key_length(&segment.mapping, Some(volume_key.len())));
        if let Header::Luks2 { metadata, .. } = header {
            add(key_of_another(metadata, number, digest));
        }
    }
    found
}

fn cipher(mapping: &Mapping) -> Option<Rule> {
    if mapping.is_linear() {
        return Some(Rule::LinearSegment);
    }
    Rule::of_cipher(mapping.spec()?)
}

fn key_length(mapping: &Mapping, len: Option<usize>) -> Option<Rule> {
    Rule::of_key(mapping.spec()?, len?)
}

/// A volume has two volume keys only while one replaces the other; any other second key is foreign.
fn another_key(header: &Header, number: u32) -> Option<Rule> {
    let Header::Luks2 { metadata, .. } = header else { return None };
    let first = first_digest(metadata)?;
    key_of_another(metadata, number, first)
}

fn key_of_another(metadata: &Metadata, number: u32, first: u32) -> Option<Rule> {
    let is_crypt = matches!(metadata.segments.get(&number)?.kind, SegmentKind::Crypt { .. });
    let others =
        metadata.digests.iter().filter(|(id, digest)| **id != first && digest.segments.contains(&number));
    others.map(|(&digest, _)| Rule::AnotherKey { digest, first }).next().filter(|_| is_crypt)
}

fn first_digest(metadata: &Metadata) -> Option<u32> {
    metadata.segments.keys().find_map(|number| metadata.digest_of_segment(*number))
}

/// An attacker who can have a file stored in the volume could turn that file into the volume: if
/// offset and IV are moved by the same number of sectors, the data still decrypts.
fn shifted_iv(segment: &MappedSegment) -> Option<Rule> {
    let Mapping::Crypt { iv_tweak, .. } = segment.mapping else { return None };
    let sector = segment.plaintext_start / 512;
    (iv_tweak != sector).then_some(Rule::ShiftedIv { iv_tweak, sector })
}

/// Finds a sector size, offset or length that a device of `has` bytes cannot have.
fn geometry(segment: &MappedSegment, has: u64) -> Option<Rule> {
    let start = segment.storage_offset;
    let sector_size = segment.mapping.unit();
    if let Some(length) = segment.length {
        let needs = start.saturating_add(length);
        return (needs > has).then_some(Rule::BeyondDevice { needs, has });
    }
    let room = has.saturating_sub(start);
    (room < sector_size).then_some(Rule::NoRoom { start, sector_size, has })
}

/// Writes to such a volume would destroy its header.
fn over_header(segment: &MappedSegment, header: &Header, data: DataDevice) -> Option<Rule> {
    let (start, header_end) = (segment.storage_offset, header.end());
    (data.holds_header && start < header_end).then_some(Rule::OverHeader { start, header_end })
}
