//! A BitLocker volume: its boot sector and a copy of its metadata, as they are and with the checksum mended; what is accepted
//! has entries that are written back to the byte, and a layout without gaps within the device. The same bytes as a start-up
//! key and as a recovery password.
#![no_main]

use keyway_crypto::Secret;
use keyway_format::bitlk::{BootSector, Metadata, RecoveryPassword, StartupKey};
use keyway_format::crc32::crc32;
use keyway_volume::device::storage::{Memory, Storage};
use keyway_volume::kind::Subject;
use keyway_volume::kind::bitlk::{Header, JudgedBitlk, dump};
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

fuzz_target!(|bytes: &[u8]| {
    let _ = StartupKey::parse(bytes);
    let _ = StartupKey::is_likely(bytes);
    let _ = RecoveryPassword::parse(&Secret::copy_from(&bytes[..bytes.len().min(64)]));
    let Some((boot, metadata)) = bytes.split_at_checked(BootSector::LEN) else { return };
    read(boot, metadata);
    let mut mended = metadata.to_vec();
    if mend(&mut mended).is_some() {
        read(boot, &mended);
    }
});

/// Puts the right checksum behind the metadata.
fn mend(metadata: &mut Vec<u8>) -> Option<()> {
    let units = if metadata.get(10)? == &1 { 1 } else { 16 };
    let len = units * usize::from(u16::from_le_bytes([*metadata.get(8)?, *metadata.get(9)?]));
    if !(112..=64 << 10).contains(&len) {
        return None;
    }
    metadata.resize(metadata.len().max(len + 8), 0);
    let sum = crc32(&metadata[..len]).to_le_bytes();
    metadata[len + 4..len + 8].copy_from_slice(&sum);
    Some(())
}

fn read(boot: &[u8], metadata: &[u8]) {
    if let Ok(found) = Metadata::parse(metadata) {
        check_entries(&found);
        let mut device = vec![0; LEN];
        device[..boot.len()].copy_from_slice(boot);
        for place in METADATA {
            let end = LEN.min(place + metadata.len());
            device[place..end].copy_from_slice(&metadata[..end - place]);
        }
        check_layout(Arc::new(Memory::from(device)));
    }
}

/// Entries follow each other, and say all that is in them.
fn check_entries(metadata: &Metadata) {
    let bytes = metadata.as_bytes();
    let mut at = 112;
    for entry in metadata.entries() {
        let entry = entry.expect("they were read before");
        let fields =
            [entry.data.len() as u16 + 8, entry.purpose, entry.value, entry.version].map(u16::to_le_bytes);
        let written = [fields.as_flattened(), entry.data].concat();
        assert_eq!((entry.at, &written[..]), (at + 8, &bytes[at..at + written.len()]));
        at += written.len();
    }
}

fn check_layout(data: Arc<dyn Storage>) {
    let Ok(header) = Header::read(&*data) else { return };
    assert!(dump::header(&header, "volume").ends_with('\n'));
    let on = Subject { data: &data, device: "volume", writes: false, weak_ciphers: true };
    let Ok(judged) = JudgedBitlk::new(header, &on) else { return };
    let mut next = 0;
    for segment in &judged.layout().segments {
        let length = segment.length.expect("all lengths are known");
        assert_eq!(segment.plaintext_start, next);
        assert!(
            length > 0 && segment.storage_offset.checked_add(length).is_some_and(|end| end <= data.len())
        );
        next += length;
    }
    assert!(next <= data.len() && next + 4096 > data.len());
}

/// As the seeds have them.
const LEN: usize = 4 << 20;
const METADATA: [usize; 3] = [1 << 20, 2 << 20, 3 << 20];
