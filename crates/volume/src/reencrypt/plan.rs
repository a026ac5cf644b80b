//! What a re-encryption would do, by the rules that begin one: nothing is written, and no key is
//! needed. What begin refuses for its geometry is refused here.

use super::begin::{self, Place, decrypt, encrypt, settle};
use super::convert::{Shape, convert};
use super::job::zones;
use super::keys::{metadata, under_way};
use super::terms::Terms;
use crate::header::under_way::geometry::{
    check_header_stays, check_moved_fits, check_whole_sectors, largest_zone, volume_len,
};
use crate::{Error, Layout, Luks, Refusal, Result};
use keyway_format::Bytes;
use keyway_format::luks2::Reencryption;
use keyway_format::luks2::reencryption::{Mode, MovedResilience, Resilience, State};

/// What is to be planned, on the header of the volume as it is, or of the one that plaintext becomes.
#[derive(Debug, Clone, Copy)]
pub enum Planned<'a> {
    /// The volume gets another encryption.
    Reencrypt {
        /// "aes-xts-plain64".
        cipher: &'a str,
        /// Encryption sector size in bytes.
        sector_size: u32,
        /// How many keyslots are made for the new volume key; none to keep the old one.
        slots: usize,
    },
    /// Plaintext becomes a volume.
    Encrypt {
        /// Whether the header is put in front of the data, which moves back.
        moves: bool,
        /// Where the data of the volume is to start, in bytes.
        offset: u64,
    },
    /// The volume becomes plaintext.
    Decrypt,
    /// A volume of another kind becomes the one that the header describes, which is on another device.
    Convert {
        /// Where its data is: one for each cipher that it may have, the likeliest first.
        layouts: &'a [Layout],
    },
    /// What is under way goes on.
    Resume,
}

impl Planned<'_> {
    /// How many keyslots are added; `None` where no volume key is.
    fn new_slots(&self) -> Option<usize> {
        match self {
            Self::Reencrypt { slots, .. } => Some(*slots),
            Self::Convert { .. } => Some(1),
            Self::Encrypt { .. } | Self::Decrypt | Self::Resume => None,
        }
    }
}

/// What would be done, and what that takes.
#[derive(Debug, Clone)]
pub struct Plan {
    what: Reencryption,
    state: State,
    len: u64,
    /// Bytes of each copy of the header.
    header_copy: u64,
    /// The smallest hot zone, and the largest.
    zones: (u64, u64),
    /// A size that was asked for.
    wanted: Option<u64>,
    /// Whether the first part is still to be moved.
    moves_first: bool,
    /// Where the old cipher is not known: which it may be, the likeliest first.
    may_be: Vec<String>,
}

/// Bytes that a re-encryption reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amounts {
    /// Of the volume: what is left to do.
    pub left: u64,
    /// Read from the data device. What a zone's protection has read is read once more to be written,
    /// mostly from memory.
    pub read: u64,
    /// Written to the data device.
    pub written: u64,
    /// Written beside the header to protect hot zones: hashes, or a copy.
    pub protection: u64,
    /// Written to the header, which is told twice a zone.
    pub headers: u64,
    /// Hot zones.
    pub zones: u64,
}

impl Plan {
    /// Plans it for the data device of `device_len` bytes.
    ///
    /// # Errors
    /// Those of [`begin`](super::begin()) that need no key; [`Refusal::NotReencrypting`].
    pub fn new(luks: &Luks, planned: Planned<'_>, terms: &Terms, device_len: u64) -> Result<Self> {
        let found = metadata(luks)?;
        let shapes = match planned {
            Planned::Convert { layouts } => shapes(layouts, device_len)?,
            _ => Vec::new(),
        };
        let terms = &shapes.first().map_or_else(|| terms.clone(), |shape| shape.terms(terms));
        let place = Place { len: device_len, holds_header: terms.holds_header };
        let (what, state, len) = match planned {
            Planned::Resume => {
                let what = under_way(luks)?;
                let state = what.state(found)?;
                let len = volume_len(&what, &state, device_len)?;
                (what, state, len)
            }
            planned => {
                luks.check_requirements()?;
                let (mut what, state) = match planned {
                    Planned::Encrypt { moves: true, .. } => encrypt(found, true, place, terms)?,
                    Planned::Encrypt { moves: false, offset } => {
                        // The header is one that is made for this plan: its data starts elsewhere.
                        let (mut what, state) =
                            encrypt(found, false, place, &Terms { shift: 0, ..terms.clone() })?;
                        what.new.segment.offset = Bytes(offset);
                        what.old.segment.offset = Bytes(offset.saturating_sub(terms.shift));
                        (what, state)
                    }
                    Planned::Decrypt => decrypt(found, place, terms)?,
                    Planned::Reencrypt { cipher, sector_size, slots } => {
                        let digest = if slots > 0 { found.free_digest() } else { None };
                        begin::reencrypt(found, cipher, sector_size, digest, terms)?
                    }
                    Planned::Convert { .. } => {
                        let Some(likeliest) = shapes.first() else { return Err(no_cipher()) };
                        let digest = found.free_digest().unwrap_or_default();
                        let (what, state) = convert(found, likeliest, digest, device_len)?;
                        // What it begins with is written as any zone is.
                        (what, State { hot: None, ..state })
                    }
                    Planned::Resume => return Err(Refusal::NotReencrypting.because("nothing is under way")),
                };
                let len = volume_len(&what, &state, device_len)?;
                check_whole_sectors(&what, &state, len, device_len)?;
                settle(&mut what, found, len, terms)?;
                if let Some(slots) = planned.new_slots() {
                    let each = found.keyslots.values().map(|slot| slot.area.size.0).max().unwrap_or(0);
                    let taken = each.saturating_mul(slots as u64);
                    what.area.size = Bytes(what.area.size.0.saturating_sub(taken).max(4096));
                }
                (what, state, len)
            }
        };
        check_header_stays(&what, if terms.holds_header { luks.header().end() } else { 0 })?;
        check_moved_fits(&what)?;
        let zone = zones(&what, terms.zone)?.bytes();
        let zones = (zone.min(len), largest_zone(&what)?.min(len));
        let moves_first = what.moved.is_some() && !matches!(planned, Planned::Resume);
        let header_copy = found.header_size().bytes().0;
        let may_be = shapes.iter().map(|shape| shape.cipher().to_owned()).collect();
        Ok(Self { what, state, len, header_copy, zones, wanted: terms.zone, moves_first, may_be })
    }

    /// Where the old cipher is not known before the volume's key is: which it may be, the likeliest first.
    pub fn may_be(&self) -> &[String] {
        &self.may_be
    }

    /// What would be done.
    pub fn what(&self) -> &Reencryption {
        &self.what
    }

    /// Bytes of the volume, and how many are done.
    pub fn progress(&self) -> (u64, u64) {
        let end = |at: u64| at.min(self.len);
        let done = match self.moves_first {
            true => 0,
            false => end(self.state.done.end) - end(self.state.done.start),
        };
        (done, self.len)
    }

    /// What is being written, where it was cut off.
    pub fn hot_zone(&self) -> Option<&std::ops::Range<u64>> {
        self.state.hot.as_ref()
    }

    /// The first hot zone in bytes and the largest; with a size that was asked for, all are that.
    pub fn zones(&self) -> (u64, u64) {
        match self.wanted {
            Some(_) => (self.zones.0, self.zones.0),
            None => self.zones,
        }
    }

    /// The bytes it takes with hot zones of so many bytes.
    pub fn amounts(&self, zone: u64) -> Amounts {
        let (done, len) = self.progress();
        let left = len - done;
        let moved = self.what.moved_len().min(left);
        let first = if self.moves_first { moved } else { 0 };
        let hashes = |bytes: u64| match self.what.resilience.checksum() {
            Some(sum) => bytes.div_ceil(sum.block.into()) * hash_len(&sum.hash),
            None => 0,
        };
        // What is read to be protected, and what that writes.
        let (protected, protection) = match &self.what.resilience {
            Resilience::None => (0, 0),
            Resilience::Checksum(_) => (left, hashes(left)),
            Resilience::Journal => (left, left),
            Resilience::DataShift { moved: MovedResilience::DataShift, .. } => (0, 0),
            Resilience::DataShift { moved: MovedResilience::Checksum(_), .. } => (moved, hashes(moved)),
            Resilience::DataShift { moved: MovedResilience::Journal, .. } => (moved, moved),
        };
        let zones = left.div_ceil(zone.max(1));
        Amounts {
            left,
            read: left + protected + first,
            written: left + first,
            protection,
            // Each copy, when a zone begins and when it ends; and the beginning.
            headers: (2 * zones + 1) * 2 * self.header_copy,
            zones,
        }
    }

    /// Whether one side is plaintext.
    pub fn mode(&self) -> Mode {
        self.what.mode
    }
}

/// Those that LUKS2 describes: at least one.
fn shapes(layouts: &[Layout], device_len: u64) -> Result<Vec<Shape>> {
    let (mut all, mut refused) = (Vec::new(), no_cipher());
    for layout in layouts {
        match Shape::new(layout, device_len) {
            Ok(shape) => all.push(shape),
            Err(error) => refused = error,
        }
    }
    if all.is_empty() { Err(refused) } else { Ok(all) }
}

fn no_cipher() -> Error {
    Refusal::NotConvertible.because("No cipher is left that LUKS2 describes.")
}

fn hash_len(name: &str) -> u64 {
    keyway_crypto::Hash::find(name).map_or(32, |hash| hash.output_len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::create::{Luks2Params, create_luks2};
    use crate::device::storage::Memory;
    use crate::{Access, Cost, KdfChoice, OsRandom, Storage};
    use keyway_crypto::Secret;
    use std::sync::Arc;

    const MIB: u64 = 1 << 20;

    fn luks() -> Luks {
        let storage = Arc::new(Memory::zeroed(20 << 20));
        let kdf = KdfChoice::Pbkdf2 { hash: "sha256".into(), cost: Cost::Forced(1000) };
        let params = Luks2Params { kdf, sector_size: Some(4096), ..Luks2Params::default() };
        let key = Secret::copy_from(&[7; 64]);
        let storage: Arc<dyn Storage> = storage;
        create_luks2(Arc::clone(&storage), &params, &key, &Secret::copy_from(b"x"), &mut OsRandom).unwrap();
        Luks::open(storage, Access::Probe).unwrap()
    }

    fn plan(planned: Planned<'_>, terms: &Terms) -> Result<Plan> {
        Plan::new(&luks(), planned, terms, 100 * MIB)
    }

    #[test]
    fn bytes_are_those_that_the_modes_take() {
        let reencrypt = Planned::Reencrypt { cipher: "aes-xts-plain64", sector_size: 4096, slots: 1 };
        let terms = |resilience: &str| Terms {
            resilience: resilience.into(),
            holds_header: true,
            zone: Some(4 * MIB),
            ..Terms::default()
        };
        let len = 84 * MIB;
        for (resilience, read, protection) in
            [("checksum", 2 * len, len / 4096 * 32), ("journal", 2 * len, len), ("none", len, 0)]
        {
            let found = plan(reencrypt, &terms(resilience)).unwrap();
            assert_eq!((found.progress(), found.zones()), ((0, len), (4 * MIB, 4 * MIB)), "{resilience}");
            let amounts = found.amounts(4 * MIB);
            assert_eq!(
                amounts,
                Amounts { left: len, read, written: len, protection, headers: 43 * 32768, zones: 21 },
                "{resilience}"
            );
        }
        let refused = plan(reencrypt, &Terms { zone: Some(1000), ..terms("none") }).err().unwrap();
        assert!(refused.to_string().contains("Hotzone size must be multiple"), "{refused}");
        let refused = plan(Planned::Resume, &terms("none")).err().unwrap();
        assert!(refused.to_string().contains("not in reencryption"), "{refused}");
    }

    #[test]
    fn data_that_moves_is_copied_first() {
        let terms = Terms::default();
        let found = plan(Planned::Encrypt { moves: true, offset: 0 }, &terms).unwrap();
        let amounts = found.amounts(16 * MIB);
        assert_eq!((amounts.left, amounts.written), (68 * MIB, 84 * MIB));
        let found = plan(Planned::Encrypt { moves: false, offset: 0 }, &terms).unwrap();
        assert_eq!(found.amounts(MIB).left, 100 * MIB);
        let found = plan(Planned::Decrypt, &terms).unwrap();
        assert_eq!(found.mode(), Mode::Decrypt);
        assert_eq!((found.amounts(MIB).left, found.amounts(MIB).written), (84 * MIB, 100 * MIB));
    }
}
