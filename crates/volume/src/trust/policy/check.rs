//! Checks whether a volume meets a demand: the finding in words, and the verdict.

use super::demand::Demand;
use super::{Subject, Verdict};
use crate::header::seal::{Broken, Seal};
use crate::{Header, Layout, MappedSegment};
use keyway_format::luks1::SlotState;
use keyway_format::luks2::{BinaryHeader, Kdf, KeyslotKind, Metadata, Segment, SegmentKind};
use std::fmt::{self, Display};

type Judgement = (String, Verdict);

pub(super) fn judge(demand: &Demand, subject: Subject<'_>) -> Judgement {
    let header = subject.header;
    match demand {
        Demand::Formats(allowed) => {
            let format = if matches!(header, Header::Luks1(_)) { "luks1" } else { "luks2" };
            (format.into(), met(allowed.iter().any(|name| name == format)))
        }
        Demand::Ciphers(allowed) => {
            each(ciphers(header), |cipher| allowed.iter().any(|name| is_cipher(cipher, name)))
        }
        Demand::Modes(allowed) => {
            each(ciphers(header), |cipher| allowed.iter().any(|name| is_mode(cipher, name)))
        }
        Demand::NoLinearSegments => each(ciphers(header), |cipher| !matches!(cipher, Cipher::None(_))),
        Demand::SectorSizes(allowed) => {
            each(sector_sizes(header), |size| size.0.is_some_and(|size| allowed.contains(&size)))
        }
        Demand::MinKeyBits(least) => key_bits(subject, *least),
        Demand::AllowedFlags(allowed) => match header {
            Header::Luks1(_) => ("none".into(), Verdict::Met),
            Header::Luks2 { metadata, .. } => {
                each(metadata.config.flags.clone(), |flag| allowed.contains(flag))
            }
        },
        Demand::AllowedTokens(allowed) => match header {
            Header::Luks1(_) => ("none".into(), Verdict::Met),
            Header::Luks2 { metadata, .. } => {
                let types: Vec<String> = metadata.tokens.values().map(|token| token.kind.clone()).collect();
                each(types, |kind| kind == Seal::TYPE || allowed.contains(kind))
            }
        },
        Demand::Uuid(wanted) => {
            let uuid = match header {
                Header::Luks1(header) => &header.uuid,
                Header::Luks2 { binary, .. } => &binary.uuid,
            };
            (uuid.clone(), met(uuid.eq_ignore_ascii_case(wanted)))
        }
        Demand::Label(wanted) => text(header, wanted, |binary| &binary.label),
        Demand::Subsystem(wanted) => text(header, wanted, |binary| &binary.subsystem),
        Demand::Size(wanted) => size(subject, |size| size == *wanted),
        Demand::MinSize(least) => size(subject, |size| size >= *least),
        Demand::MaxSize(most) => size(subject, |size| size <= *most),
        Demand::MaxKeyslots(most) => {
            let used = kdfs(header).len() as u64;
            (used.to_string(), met(used <= *most))
        }
        Demand::Kdfs(allowed) => each(kdfs(header), |slot| allowed.contains(&slot.kind)),
        Demand::MinPbkdf2Iterations(least) => {
            each(kdfs(header), |slot| slot.iterations().is_none_or(|iterations| iterations >= *least))
        }
        Demand::MinArgon2Memory(least) => argon2(header, |memory, _| memory >= *least),
        Demand::MinArgon2Passes(least) => argon2(header, |_, passes| passes >= *least),
        Demand::Sealed => in_words(sealed(subject, None)),
        Demand::SealContext(context) => in_words(sealed(subject, Some(context))),
    }
}

/// Why the seal does not hold that is demanded; `None` if it does, or if the demand is another.
pub(super) fn broken(demand: &Demand, subject: Subject<'_>) -> Option<Broken> {
    match demand {
        Demand::Sealed => sealed(subject, None).err(),
        Demand::SealContext(context) => sealed(subject, Some(context)).err(),
        _ => None,
    }
}

fn met(met: bool) -> Verdict {
    if met { Verdict::Met } else { Verdict::Violated }
}

/// All of them must fit; the finding lists those that do not, or all of them.
fn each<T: ToString>(things: Vec<T>, fits: impl Fn(&T) -> bool) -> Judgement {
    let names = |things: &mut dyn Iterator<Item = &T>| {
        let mut names: Vec<String> = things.map(ToString::to_string).collect();
        names.dedup();
        names.join(", ")
    };
    match names(&mut things.iter().filter(|thing| !fits(thing))) {
        misfits if !misfits.is_empty() => (misfits, Verdict::Violated),
        _ if things.is_empty() => ("none".into(), Verdict::Met),
        _ => (names(&mut things.iter()), Verdict::Met),
    }
}

/// Memory and passes of every keyslot with Argon2 must fit. The demand says nothing of the others,
/// and the finding says so: who wants none of them demands `kdfs`.
fn argon2(header: &Header, fits: impl Fn(u64, u64) -> bool) -> Judgement {
    let (covered, others): (Vec<_>, Vec<_>) =
        kdfs(header).into_iter().partition(|slot| slot.argon2().is_some());
    if covered.is_empty() {
        return ("no keyslot uses Argon2".into(), Verdict::Met);
    }
    let (found, verdict) =
        each(covered, |slot| slot.argon2().is_some_and(|(memory, passes)| fits(memory, passes)));
    let others: Vec<String> = others.iter().map(ToString::to_string).collect();
    match others.is_empty() || verdict != Verdict::Met {
        true => (found, verdict),
        false => (format!("{found}; this rule does not cover {}", others.join(", ")), verdict),
    }
}

/// A segment's encryption, or its type if it is not encrypted.
enum Cipher {
    Named(String),
    None(String),
}

impl Display for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(text) => f.write_str(text),
            Self::None(what) => write!(f, "not encrypted ({what})"),
        }
    }
}

fn ciphers(header: &Header) -> Vec<Cipher> {
    match header {
        Header::Luks1(header) => vec![Cipher::Named(header.cipher())],
        Header::Luks2 { metadata, .. } => mapped(metadata)
            .map(|segment| match &segment.kind {
                SegmentKind::Crypt { encryption, .. } => Cipher::Named(encryption.clone()),
                SegmentKind::Linear => Cipher::None("linear".into()),
                SegmentKind::Other(kind) => Cipher::None(kind.clone()),
            })
            .collect(),
    }
}

fn mapped(metadata: &Metadata) -> impl Iterator<Item = &Segment> {
    metadata.segments.values().filter(|segment| !segment.is_backup())
}

/// Cipher and mode as written in the specification: before and after the first dash; in
/// "capi:xts(aes)-plain64" the part before the dash is both.
fn is_cipher(cipher: &Cipher, name: &str) -> bool {
    let Cipher::Named(spec) = cipher else { return false };
    spec == name || spec.split_once('-').is_some_and(|(cipher, _)| cipher == name)
}

fn is_mode(cipher: &Cipher, name: &str) -> bool {
    let Cipher::Named(spec) = cipher else { return false };
    let mode = spec.split_once('-').map_or("", |(_, mode)| mode);
    mode == name || mode.split_once('-').is_some_and(|(chaining, _)| chaining == name)
}

/// A segment's sector size; `None` for a segment that is not encrypted.
struct SectorSizeOf(Option<u64>);

impl Display for SectorSizeOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(size) => write!(f, "{size}"),
            None => f.write_str("not encrypted"),
        }
    }
}

fn sector_sizes(header: &Header) -> Vec<SectorSizeOf> {
    match header {
        Header::Luks1(_) => vec![SectorSizeOf(Some(512))],
        Header::Luks2 { metadata, .. } => mapped(metadata)
            .map(|segment| match segment.kind {
                SegmentKind::Crypt { sector_size, .. } => SectorSizeOf(Some(sector_size.into())),
                SegmentKind::Linear | SegmentKind::Other(_) => SectorSizeOf(None),
            })
            .collect(),
    }
}

/// The key itself is decisive; until it is known, the key size that the keyslots state.
fn key_bits(subject: Subject<'_>, least: u64) -> Judgement {
    let said = match (subject.volume_key, subject.header) {
        (Some(key), _) => Some(key.len() as u64),
        (None, Header::Luks1(header)) => Some(header.key_bytes.into()),
        (None, Header::Luks2 { metadata, .. }) => {
            let bound = metadata.keyslots.iter().filter(|(number, _)| !metadata.is_unbound(**number));
            bound.map(|(_, slot)| u64::from(slot.key_size)).min()
        }
    };
    match said.map(|bytes| bytes.saturating_mul(8)) {
        Some(bits) => (bits.to_string(), met(bits >= least)),
        None => ("not stated by any keyslot".into(), Verdict::NeedsKey),
    }
}

fn text(header: &Header, wanted: &str, field: impl Fn(&BinaryHeader) -> &String) -> Judgement {
    match header {
        Header::Luks1(_) => ("none: LUKS1 has no such field".into(), Verdict::Violated),
        Header::Luks2 { binary, .. } => (field(binary).clone(), met(field(binary) == wanted)),
    }
}

/// Bytes of plaintext. Where the data is not touched, its size does not matter.
fn size(subject: Subject<'_>, fits: impl Fn(u64) -> bool) -> Judgement {
    let Some(data_len) = subject.data_len else { return ("not checked".into(), Verdict::Met) };
    let length = |segment: &MappedSegment| {
        let sector = segment.mapping.unit();
        let rest = data_len.saturating_sub(segment.storage_offset);
        segment.length.unwrap_or(rest - rest % sector)
    };
    match subject.header.layout() {
        Ok(Layout { segments, .. }) => {
            let size = segments.iter().map(length).fold(0u64, u64::saturating_add);
            (size.to_string(), met(fits(size)))
        }
        Err(error) => (error.to_string(), Verdict::Violated),
    }
}

/// A keyslot's derivation.
struct SlotKdf {
    number: u32,
    /// "argon2id", or the type of a keyslot that is not known.
    kind: String,
    kdf: Option<Kdf>,
}

impl SlotKdf {
    fn iterations(&self) -> Option<u64> {
        match self.kdf {
            Some(Kdf::Pbkdf2 { iterations, .. }) => Some(iterations.into()),
            _ => None,
        }
    }

    /// Memory in bytes, and passes.
    fn argon2(&self) -> Option<(u64, u64)> {
        match self.kdf {
            Some(Kdf::Argon2i { time, memory_kib, .. } | Kdf::Argon2id { time, memory_kib, .. }) => {
                Some((u64::from(memory_kib) * 1024, time.into()))
            }
            _ => None,
        }
    }
}

impl Display for SlotKdf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "keyslot {}: {}", self.number, self.kind)?;
        match &self.kdf {
            Some(Kdf::Pbkdf2 { iterations, .. }) => write!(f, " ({iterations} iterations)"),
            Some(Kdf::Argon2i { time, memory_kib, .. } | Kdf::Argon2id { time, memory_kib, .. }) => {
                write!(f, " ({memory_kib} KiB, {time} passes)")
            }
            None => Ok(()),
        }
    }
}

/// The derivation of every keyslot in use.
fn kdfs(header: &Header) -> Vec<SlotKdf> {
    match header {
        Header::Luks1(header) => {
            let used = header.slots.iter().enumerate().filter(|(_, slot)| slot.state == SlotState::Enabled);
            used.map(|(number, slot)| {
                let (hash, iterations) = (header.hash_spec.clone(), slot.iterations);
                let kdf = Some(Kdf::Pbkdf2 { hash, iterations, salt: Vec::new() });
                SlotKdf { number: number as u32, kind: "pbkdf2".into(), kdf }
            })
            .collect()
        }
        Header::Luks2 { metadata, .. } => metadata
            .keyslots
            .iter()
            .map(|(&number, slot)| match &slot.kind {
                KeyslotKind::Luks2 { kdf, .. } => {
                    SlotKdf { number, kind: kdf.type_name().into(), kdf: Some(kdf.clone()) }
                }
                KeyslotKind::Other(kind) => SlotKdf { number, kind: format!("type {kind}"), kdf: None },
            })
            .collect(),
    }
}

fn sealed(subject: Subject<'_>, context: Option<&str>) -> Result<Verdict, Broken> {
    let Subject { header, data_len, volume_key } = subject;
    let seal = Seal::of(header)?.ok_or(Broken::Missing)?;
    match volume_key {
        Some(key) => seal.verify(header, data_len, key, context).map(|()| Verdict::Met),
        None if context.is_some() && !seal.has_context() => Err(Broken::Context),
        None => seal.compare(header, data_len).map(|()| Verdict::NeedsKey),
    }
}

fn in_words(verdict: Result<Verdict, Broken>) -> Judgement {
    match verdict {
        Ok(Verdict::Met) => ("sealed".into(), Verdict::Met),
        Ok(verdict) => ("sealed, not verified: that needs the key".into(), verdict),
        Err(why) => (why.to_string(), Verdict::Violated),
    }
}
