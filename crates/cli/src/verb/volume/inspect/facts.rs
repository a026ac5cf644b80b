//! The facts about a volume.

use crate::device::explain;
use crate::say::failure::Result;
use keyway_crypto::{CipherSpec, Hash};
use keyway_format::luks1::SlotState;
use keyway_format::luks2::{
    Copy, DigestKind, Kdf, KeyslotKind, Metadata, Priority, SegmentKind, SegmentSize,
};
use keyway_format::{luks1, luks2};
use keyway_volume::policy::Subject;
use keyway_volume::seal::{Broken, Seal};
use keyway_volume::{Header, Luks, Storage, UnlockOptions, UnlockTimes};
use std::path::Path;
use std::time::Duration;

/// A volume at a glance.
pub(super) struct Facts {
    pub(super) device: String,
    /// 1 or 2.
    pub(super) version: u8,
    pub(super) uuid: String,
    pub(super) label: Option<String>,
    pub(super) subsystem: Option<String>,
    pub(super) segments: Vec<Segment>,
    /// Volume key length; unknown for LUKS2 without keyslots.
    pub(super) key_bits: Option<usize>,
    pub(super) header: HeaderState,
    pub(super) flags: Vec<String>,
    pub(super) requirements: Vec<String>,
    pub(super) keyslots: Vec<Keyslot>,
    pub(super) tokens: Vec<Token>,
    pub(super) seal: SealState,
    pub(super) warnings: Vec<String>,
}

/// A segment of the data.
pub(super) struct Segment {
    /// "aes-xts-plain64", or the segment's type if it is not encrypted.
    pub(super) cipher: String,
    pub(super) encrypted: bool,
    pub(super) sector_size: u32,
    /// In bytes, on the data device.
    pub(super) offset: u64,
    /// In bytes; if it extends to the end of the device, the length that the device gives it.
    pub(super) length: u64,
}

/// Whether the header is sound.
pub(super) enum HeaderState {
    /// LUKS1 has one copy and no checksum.
    Single,
    Both {
        sequence_id: u64,
    },
    Damaged {
        sequence_id: u64,
        copy: Copy,
    },
}

pub(super) struct Keyslot {
    pub(super) number: u32,
    pub(super) priority: Priority,
    pub(super) unbound: bool,
    /// The KDF; for a keyslot that this build does not understand, its type.
    pub(super) kdf: std::result::Result<Kdf, String>,
    /// How long it takes on this machine; `None` if that cannot be measured.
    pub(super) time: Option<Duration>,
}

pub(super) struct Token {
    pub(super) number: u32,
    pub(super) kind: String,
    pub(super) keyslots: Vec<u32>,
}

/// The state of the header's seal.
pub(super) enum SealState {
    None,
    /// The header matches the seal; who made the seal is not known.
    Unverified,
    /// Sealed by somebody who has the volume key.
    Verified,
    Broken(Broken),
}

impl SealState {
    pub(super) fn of(subject: Subject<'_>, context: Option<&str>) -> Self {
        let Subject { header, data_len, volume_key } = subject;
        let state = Seal::of(header).and_then(|seal| match (seal, volume_key) {
            (None, _) => Ok(Self::None),
            (Some(seal), None) => seal.compare(header, data_len).map(|()| Self::Unverified),
            (Some(seal), Some(key)) => seal.verify(header, data_len, key, context).map(|()| Self::Verified),
        });
        state.unwrap_or_else(Self::Broken)
    }
}

impl Facts {
    pub(super) fn gather(device: &Path, luks: &Luks, data: &dyn Storage) -> Result<Self> {
        let damaged = luks.damaged_copy().map_err(|e| explain::on_device(device, &e))?;
        let mut facts = Self {
            device: device.display().to_string(),
            version: luks.version(),
            uuid: luks.uuid().to_owned(),
            label: None,
            subsystem: None,
            segments: Vec::new(),
            key_bits: luks.header().volume_key_len().map(|bytes| bytes * 8),
            header: HeaderState::Single,
            flags: Vec::new(),
            requirements: Vec::new(),
            keyslots: Vec::new(),
            tokens: Vec::new(),
            seal: SealState::None,
            warnings: Vec::new(),
        };
        match luks.header() {
            Header::Luks1(header) => facts.add_luks1(header, data),
            Header::Luks2 { binary, metadata } => {
                facts.header = match damaged {
                    Some(copy) => HeaderState::Damaged { sequence_id: binary.sequence_id, copy },
                    None => HeaderState::Both { sequence_id: binary.sequence_id },
                };
                facts.add_luks2(binary, metadata, data);
            }
        }
        Ok(facts)
    }

    fn add_luks1(&mut self, header: &luks1::Header, data: &dyn Storage) {
        let offset = header.payload_offset.0 * 512;
        let length = data.len().saturating_sub(offset) / 512 * 512;
        self.segments.push(Segment {
            cipher: header.cipher(),
            encrypted: true,
            sector_size: 512,
            offset,
            length,
        });
        let mut times = UnlockTimes::new(UnlockOptions::default().threads);
        let hash = Hash::parse(&header.hash_spec).ok();
        let mut time = |iterations, len| hash.and_then(|h| times.of_pbkdf2(h, iterations, len).ok());
        let verify = time(header.digest_iterations, header.digest.len()).unwrap_or_default();
        for (number, slot) in header.slots.iter().enumerate() {
            if slot.state == SlotState::Enabled {
                let hash = header.hash_spec.clone();
                let (iterations, salt) = (slot.iterations, Vec::new());
                self.keyslots.push(Keyslot {
                    number: number as u32,
                    priority: Priority::Normal,
                    unbound: false,
                    kdf: Ok(Kdf::Pbkdf2 { hash, iterations, salt }),
                    time: time(iterations, header.key_bytes as usize).map(|t| t + verify),
                });
            }
        }
    }

    fn add_luks2(&mut self, binary: &luks2::BinaryHeader, metadata: &Metadata, data: &dyn Storage) {
        let non_empty = |text: &String| (!text.is_empty()).then(|| text.clone());
        self.label = non_empty(&binary.label);
        self.subsystem = non_empty(&binary.subsystem);
        self.flags = metadata.config.flags.clone();
        self.requirements = metadata.config.requirements.clone();
        self.segments = metadata
            .segments
            .values()
            .filter(|s| !s.is_backup())
            .map(|s| Segment::of_luks2(s, data))
            .collect();
        let mut times = UnlockTimes::new(UnlockOptions::default().threads);
        for (&number, keyslot) in &metadata.keyslots {
            let (kdf, time) = match &keyslot.kind {
                KeyslotKind::Luks2 { kdf, area_key_size, .. } => {
                    let derive = times.of_kdf(kdf, *area_key_size as usize).ok();
                    let verify = verify_time(&mut times, metadata, number);
                    (Ok(kdf.clone()), derive.map(|t| t + verify))
                }
                KeyslotKind::Other(kind) => (Err(kind.clone()), None),
            };
            let unbound = metadata.is_unbound(number);
            self.keyslots.push(Keyslot { number, priority: keyslot.priority, unbound, kdf, time });
        }
        self.tokens = metadata
            .tokens
            .iter()
            .map(|(&number, t)| Token { number, kind: t.kind.clone(), keyslots: t.keyslots.clone() })
            .collect();
    }

    /// The cipher of the first encrypted segment in words: "AES-256 in XTS mode".
    pub(super) fn cipher_in_words(&self) -> Option<String> {
        let cipher = &self.segments.iter().find(|s| s.encrypted)?.cipher;
        let spec = CipherSpec::parse(cipher).ok()?;
        let (name, mode) = (spec.cipher_name(), spec.mode_name());
        let mode = mode.split('-').next().unwrap_or_default().to_ascii_uppercase();
        let bits = self.key_bits.map(|bits| if mode == "XTS" { bits / 2 } else { bits });
        let bits = bits.map(|bits| format!("-{bits}")).unwrap_or_default();
        let name = if name.len() <= 4 { name.to_ascii_uppercase() } else { capital(&name) };
        Some(if mode.is_empty() { format!("{name}{bits}") } else { format!("{name}{bits} in {mode} mode") })
    }
}

impl Segment {
    fn of_luks2(segment: &luks2::Segment, data: &dyn Storage) -> Self {
        let (cipher, encrypted, sector_size) = match &segment.kind {
            SegmentKind::Crypt { encryption, sector_size, integrity, .. } => {
                let integrity = integrity.as_ref().map(|i| format!(" with {}", i.kind)).unwrap_or_default();
                (format!("{encryption}{integrity}"), true, *sector_size)
            }
            SegmentKind::Linear => ("not encrypted".to_owned(), false, 512),
            SegmentKind::Other(kind) => (format!("of type {kind}"), false, 512),
        };
        let offset = segment.offset.0;
        let length = match segment.size {
            SegmentSize::Fixed(size) => size.0,
            SegmentSize::Dynamic => {
                data.len().saturating_sub(offset) / u64::from(sector_size) * u64::from(sector_size)
            }
        };
        Self { cipher, encrypted, sector_size, offset, length }
    }
}

/// How long it takes to compute the digest that verifies a keyslot's key.
fn verify_time(times: &mut UnlockTimes, metadata: &Metadata, keyslot: u32) -> Duration {
    let digest = metadata.digest_of_keyslot(keyslot).and_then(|id| metadata.digests.get(&id));
    match digest.map(|d| &d.kind) {
        Some(DigestKind::Pbkdf2 { hash, iterations, value, .. }) => Hash::parse(hash)
            .ok()
            .and_then(|hash| times.of_pbkdf2(hash, *iterations, value.len()).ok())
            .unwrap_or_default(),
        _ => Duration::ZERO,
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|c| c.to_ascii_uppercase()).into_iter().chain(letters).collect()
}
