//! What re-encryption is the cure for: more data under one XTS key than the standard advises, and
//! encryption sectors that are smaller than the device's.

use super::{Concern, Content, Facts, Segment};
use crate::Storage;
use crate::device::storage::{LockTarget, Topology};

impl Concern {
    /// Those that re-encryption is the cure for, of a volume on `data`. None in the middle of one.
    pub fn cured_by_reencryption(facts: &Facts, data: &dyn Storage) -> Vec<Self> {
        // A file is as good as its file system, which does not tell.
        let of_device = matches!(data.lock_target(), Some(LockTarget::BlockDevice { .. }));
        Self::cured(facts, of_device.then(|| Topology::of(data).sector_size))
    }

    fn cured(facts: &Facts, device_sector: Option<u32>) -> Vec<Self> {
        let mut found = Vec::new();
        if !matches!(facts.reencryption, Ok(None)) {
            return found;
        }
        let is_xts = |segment: &&Segment| {
            let Content::Encrypted { cipher, .. } = &segment.content else { return false };
            let mode = cipher.split_once('-').map_or("", |(_, mode)| mode);
            mode.split('-').next() == Some("xts") || cipher.starts_with("capi:xts(")
        };
        let len = facts.segments.iter().filter(is_xts).map(|segment| segment.len).sum::<u64>();
        if len > XTS_ADVISED {
            found.push(Self::LongUnderOneKey { len, is_beyond_all: len > XTS_ALLOWED });
        }
        // LUKS1 has no other, and a volume that does not consist of whole ones cannot have them.
        let has_small = |segment: &&Segment| {
            let is_encrypted = matches!(segment.content, Content::Encrypted { .. });
            is_encrypted && segment.sector_size == 512 && (segment.offset | segment.len).is_multiple_of(4096)
        };
        if facts.version == 2 && device_sector == Some(4096) && facts.segments.iter().any(|it| has_small(&it))
        {
            found.push(Self::SmallSectors);
        }
        found
    }

    /// Whether it is worth knowing rather than a danger.
    pub fn is_remark(&self) -> bool {
        matches!(self, Self::LongUnderOneKey { is_beyond_all: false, .. } | Self::SmallSectors)
    }
}

/// IEEE 1619-2025 advises no more under one XTS key, in bytes: 2^36 blocks of 16.
const XTS_ADVISED: u64 = 1 << 40;
/// And this at the very most: 2^44 blocks.
const XTS_ALLOWED: u64 = 1 << 48;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::facts::Copies;

    fn facts(version: u8, cipher: &str, sector_size: u32, len: u64) -> Facts {
        let content = Content::Encrypted { cipher: cipher.into(), integrity: None };
        Facts {
            version,
            uuid: String::new(),
            label: None,
            subsystem: None,
            segments: vec![Segment { content, sector_size, offset: 16 << 20, len }],
            key_bits: Some(512),
            copies: Copies::Single,
            flags: Vec::new(),
            requirements: Vec::new(),
            reencryption: Ok(None),
            keyslots: Vec::new(),
            tokens: Vec::new(),
            awaits_first_boot: false,
        }
    }

    #[test]
    fn data_under_one_xts_key_is_counted() {
        let cured = |cipher, len| Concern::cured(&facts(2, cipher, 4096, len), None);
        assert_eq!(cured("aes-xts-plain64", 1 << 40), []);
        for cipher in ["aes-xts-plain64", "serpent-xts-plain", "capi:xts(aes)-plain64"] {
            let [remark] = &cured(cipher, (1 << 40) + 4096)[..] else { panic!("{cipher}") };
            assert!(remark.is_remark(), "{cipher}");
            assert!(cured(cipher, 1 << 48)[0].is_remark(), "{cipher}");
            let warning = Concern::LongUnderOneKey { len: (1 << 48) + 4096, is_beyond_all: true };
            assert_eq!(cured(cipher, (1 << 48) + 4096), [warning]);
        }
        assert!(!cured("aes-xts-plain64", u64::MAX)[0].is_remark());
        for cipher in ["xchacha20,aes-adiantum-plain64", "aes-cbc-essiv:sha256", "xts"] {
            assert_eq!(cured(cipher, 1 << 50), [], "{cipher}");
        }
        let midway = Facts { reencryption: Err("x".into()), ..facts(2, "aes-xts-plain64", 512, 1 << 50) };
        assert_eq!(Concern::cured(&midway, Some(4096)), []);
    }

    #[test]
    fn small_sectors_are_only_small_on_a_device_that_has_larger_ones() {
        let cured = |version, size, len, device| {
            Concern::cured(&facts(version, "aes-xts-plain64", size, len), device)
        };
        assert_eq!(cured(2, 512, 1 << 30, Some(4096)), [Concern::SmallSectors]);
        for (version, size, len, device) in [
            (2, 512, 1 << 30, Some(512)),
            (2, 512, 1 << 30, None),
            (2, 4096, 1 << 30, Some(4096)),
            (2, 512, (1 << 30) + 512, Some(4096)),
            (1, 512, 1 << 30, Some(4096)),
        ] {
            assert_eq!(cured(version, size, len, device), [], "{version} {size} {len} {device:?}");
        }
    }
}
