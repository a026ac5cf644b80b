//! Whether keyslots' areas still look like key material: split and encrypted keys are random bytes,
//! which zeros, text, tables or a file system are not.
//!
//! A sector of 512 bytes is judged by how often each byte occurs in it: by the sum of the squares of
//! the 256 counts, which is 1534 on average (Pearson's chi-squared is half of it less 512). The limits
//! follow from its distribution for random bytes, computed in full (sums over the multinomial, not an
//! approximation):
//!
//! | sum of squares | probability in a random sector |
//! |----------------|--------------------------------|
//! | at most 1270   | 3.2e-14                        |
//! | at least 2006  | 4.0e-14                        |
//!
//! So a sound area of 500 sectors (a key of 64 bytes) is suspected with a probability of 3.6e-11, the
//! largest there is (4000 sectors) with 2.9e-10. Noticed are 30 equal bytes in a sector, or a third of
//! it in text; not what is itself compressed or encrypted.

use crate::device::storage::read_readable;
use crate::header::luks1_disk;
use crate::{Header, Storage};
use keyway_format::af;
use keyway_format::luks1::SlotState;
use keyway_format::luks2::KeyslotKind;
use std::ops::Range;

/// The key material of a keyslot in use, and what in it is damaged for certain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyslotArea {
    /// The keyslot.
    pub number: u32,
    /// Its first byte on the header's device.
    pub offset: u64,
    /// Its length, in whole sectors.
    pub len: u64,
    /// Bytes of the device that are not random, in whole sectors.
    pub suspicious: Vec<Range<u64>>,
    /// Bytes of the device that cannot be read.
    pub unreadable: Vec<Range<u64>>,
}

impl KeyslotArea {
    /// The unit of the analysis, in bytes.
    pub const SECTOR: u64 = 512;

    /// Whether nothing is known to be wrong with it.
    pub fn is_sound(&self) -> bool {
        self.suspicious.is_empty() && self.unreadable.is_empty()
    }

    /// The area as a line of at most `width` characters, each for the same number of sectors: `#` for
    /// random bytes, `.` with any sector that is not, `?` with any that cannot be read.
    pub fn bar(&self, width: u64) -> String {
        let sectors = self.len / Self::SECTOR;
        let step = Self::SECTOR * sectors.div_ceil(width.max(1)).max(1);
        let has = |ranges: &[Range<u64>], place: &Range<u64>| {
            ranges.iter().any(|range| range.start < place.end && place.start < range.end)
        };
        let starts = (self.offset..self.offset + self.len).step_by(step as usize);
        let character = |start: u64| match start..(start + step).min(self.offset + self.len) {
            place if has(&self.unreadable, &place) => '?',
            place if has(&self.suspicious, &place) => '.',
            _ => '#',
        };
        starts.map(character).collect()
    }

    /// Judges the areas of all keyslots that hold key material; those that lie beyond the device's end
    /// are left out.
    pub(super) fn all(storage: &dyn Storage, header: &Header) -> Vec<Self> {
        let fits = |(_, offset, len): &(u32, u64, u64)| {
            *len > 0 && offset.checked_add(*len).is_some_and(|end| end <= storage.len())
        };
        let areas = material(header).into_iter().filter(fits);
        areas.map(|(number, offset, len)| Self::judge(storage, number, offset, len)).collect()
    }

    fn judge(storage: &dyn Storage, number: u32, offset: u64, len: u64) -> Self {
        let all = offset..offset + len;
        let read = read_readable(storage, offset, len as usize);
        let (bytes, unreadable) = read.unwrap_or_else(|_| (vec![0; len as usize], vec![all]));
        let mut suspicious: Vec<Range<u64>> = Vec::new();
        for (at, sector) in (offset..).step_by(Self::SECTOR as usize).zip(bytes.chunks(Self::SECTOR as usize))
        {
            let is_read = !unreadable.iter().any(|range| range.contains(&at));
            if !is_read || is_random(sector) {
                continue;
            }
            match suspicious.last_mut().filter(|last| last.end == at) {
                Some(last) => last.end += Self::SECTOR,
                None => suspicious.push(at..at + Self::SECTOR),
            }
        }
        Self { number, offset, len, suspicious, unreadable }
    }
}

/// Number, first byte and length of each keyslot's material. (The rest of an area has no meaning.)
fn material(header: &Header) -> Vec<(u32, u64, u64)> {
    match header {
        Header::Luks1(header) => {
            let slots = (0_u32..).zip(&header.slots).filter(|(_, slot)| slot.state == SlotState::Enabled);
            let len = whole_sectors(header.key_bytes).min(luks1_disk::material_len(header));
            slots.map(|(number, slot)| (number, slot.offset.0 * KeyslotArea::SECTOR, len)).collect()
        }
        Header::Luks2 { metadata, .. } => {
            let keys =
                metadata.keyslots.iter().filter(|(_, slot)| matches!(slot.kind, KeyslotKind::Luks2 { .. }));
            let len =
                |size, room: u64| whole_sectors(size).min(room / KeyslotArea::SECTOR * KeyslotArea::SECTOR);
            keys.map(|(number, slot)| (*number, slot.area.offset.0, len(slot.key_size, slot.area.size.0)))
                .collect()
        }
    }
}

fn whole_sectors(key_bytes: u32) -> u64 {
    u64::from(key_bytes) * u64::from(af::STRIPES) / KeyslotArea::SECTOR * KeyslotArea::SECTOR
}

/// Whether each byte occurs about as often as in random bytes: neither much more nor less evenly.
fn is_random(sector: &[u8]) -> bool {
    let mut counts = [0_u32; 256];
    for &byte in sector {
        counts[usize::from(byte)] += 1;
    }
    let sum: u32 = counts.iter().map(|count| count * count).sum();
    sum > TOO_EVEN && sum < TOO_UNEVEN
}

const TOO_EVEN: u32 = 1270;
const TOO_UNEVEN: u32 = 2006;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::storage::Memory;

    const START: u64 = 4096;
    const LEN: u64 = 500 * 512;

    /// SplitMix64.
    fn random(seed: u64) -> Vec<u8> {
        let mut state = seed << 32;
        let mut bytes = vec![0; (START + LEN) as usize];
        for eight in bytes.chunks_mut(8) {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            eight.copy_from_slice(&(mixed ^ (mixed >> 31)).to_le_bytes());
        }
        bytes
    }

    fn judge(bytes: Vec<u8>) -> KeyslotArea {
        KeyslotArea::judge(&Memory::from(bytes), 3, START, LEN)
    }

    #[test]
    fn random_areas_give_no_alarm() {
        for seed in 0..1000 {
            assert!(judge(random(seed)).is_sound(), "{seed}");
        }
    }

    #[test]
    fn what_is_not_random_is_found_to_the_sector() {
        let text = "Nobody writes key material, and everybody writes text. ".repeat(20);
        let counting: Vec<u8> = (0..512).map(|byte| byte as u8).collect();
        let mixed = [&random(7)[..300], &[0; 30], &random(8)[..182]].concat();
        let lines = [&random(9)[..300], &text.as_bytes()[..212]].concat();
        for damage in
            [&[0; 512][..], &[0xff; 512], &[0x55; 512], &text.as_bytes()[..512], &counting, &mixed, &lines]
        {
            let mut bytes = random(1);
            let at = START as usize + 250 * 512;
            bytes[at..at + 512].copy_from_slice(damage);
            let area = judge(bytes);
            let expected = at as u64..at as u64 + 512;
            assert_eq!(area.suspicious, [expected]);
            assert!(!area.is_sound());
            let expected = "#".repeat(31) + "." + &"#".repeat(31);
            assert_eq!(area.bar(64), expected);
        }
    }

    #[test]
    fn damage_side_by_side_is_one_range() {
        let mut bytes = random(2);
        let (first, last) = (START as usize, (START + LEN) as usize);
        bytes[first..first + 1024].fill(0);
        bytes[last - 512..].fill(0);
        let area = judge(bytes);
        assert_eq!(area.suspicious, [START..START + 1024, START + LEN - 512..START + LEN]);
        assert_eq!(area.bar(500), ["..", &"#".repeat(497), "."].concat());
        assert_eq!(area.bar(1), ".");
        assert_eq!(area.bar(0), ".");
    }

    #[test]
    fn a_sector_over_whose_border_something_was_written() {
        let mut bytes = random(3);
        bytes[START as usize + 500..START as usize + 600].fill(0);
        let area = judge(bytes);
        let second = START + 512..START + 1024;
        assert_eq!(area.suspicious, [second], "12 zeros are no proof, 88 are");
    }
}
