//! The ciphers of a header's data.

use super::Header;
use keyway_format::luks2::SegmentKind;

/// The ciphers of a header's data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DataCiphers {
    /// As the header writes them, one per segment.
    pub specs: Vec<String>,
    /// Whether part of the data has integrity tags.
    pub with_tags: bool,
}

impl Header {
    /// The ciphers of the data segments, as the header names them: this build may not know them
    /// all.
    pub fn data_ciphers(&self) -> DataCiphers {
        let metadata = match self {
            Self::Luks1(header) => return DataCiphers { specs: vec![header.cipher()], with_tags: false },
            Self::Luks2 { metadata, .. } => metadata,
        };
        let mut found = DataCiphers::default();
        for segment in metadata.segments.values().filter(|segment| !segment.is_backup()) {
            if let SegmentKind::Crypt { encryption, integrity, .. } = &segment.kind {
                found.specs.push(encryption.clone());
                found.with_tags |= integrity.is_some();
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::create::{Luks1Params, Luks2Params, create_luks1, create_luks2};
    use crate::device::storage::Memory;
    use crate::{Access, Cost, KdfChoice, Luks, OsRandom};
    use keyway_crypto::Secret;
    use keyway_format::luks2::Metadata;
    use std::sync::Arc;

    fn cheap() -> KdfChoice {
        KdfChoice::Pbkdf2 { hash: "sha256".into(), cost: Cost::Forced(1000) }
    }

    #[test]
    fn of_both_formats() {
        let (key, passphrase) = (Secret::copy_from(&[7; 32]), Secret::copy_from(b"x"));
        let storage = || Arc::new(Memory::zeroed(4 << 20));
        let one = storage();
        let params = Luks1Params { kdf: cheap(), key_bits: 256, ..Luks1Params::default() };
        create_luks1(one.clone(), &params, &key, &passphrase, &mut OsRandom).unwrap();
        let two = storage();
        let keyslots_size = Some(512 << 10);
        let params = Luks2Params { kdf: cheap(), key_bits: 256, keyslots_size, ..Luks2Params::default() };
        create_luks2(two.clone(), &params, &key, &passphrase, &mut OsRandom).unwrap();
        let header = |storage| Luks::open(storage, Access::Probe).unwrap().header().clone();
        let plain = DataCiphers { specs: vec!["aes-xts-plain64".to_owned()], with_tags: false };
        assert_eq!(header(one).data_ciphers(), plain);

        let two = header(two);
        assert_eq!(two.data_ciphers(), plain);
        let Header::Luks2 { binary, metadata } = two else { panic!("a LUKS2 header was made") };
        let json = String::from_utf8(metadata.to_json()).unwrap();
        let start = json.find(r#""segments":{"0":{"#).unwrap() + r#""segments":{"0":{"#.len();
        let fields = &json[start..start + json[start..].find('}').unwrap()];
        let tagged = r#""integrity":{"type":"aead","journal_encryption":"none","journal_integrity":"none"}"#;
        let segments = format!(r#"{fields},{tagged}}},"1":{{{fields},"flags":["backup-final"]"#);
        let json = json.replace(fields, &segments).replace(r#""segments":["0"]"#, r#""segments":["0","1"]"#);
        let metadata = Metadata::parse(json.as_bytes(), binary.size).unwrap();
        let found = Header::Luks2 { binary, metadata }.data_ciphers();
        assert_eq!(found, DataCiphers { with_tags: true, ..plain }, "what is kept as a backup is no data");
    }
}
