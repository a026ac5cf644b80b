//! A BitLocker volume: its boot sector and a copy of its metadata, as they are and with the checksum mended; what is accepted
//! has entries that are written back to the byte, and a layout without gaps within the device. Copies and boot sectors that are
//! written say what was read, and a protector that is added and removed leaves no trace. The same bytes as a start-up key and as
//! a recovery password.
#![no_main]

use keyway_crypto::{Cpu, Secret};
use keyway_format::bitlk::{BootSector, Draft, Metadata, NewProtector, Nonces, RecoveryPassword, StartupKey};
use keyway_format::crc32::crc32;
use keyway_volume::device::storage::{Memory, Storage};
use keyway_volume::kind::Subject;
use keyway_volume::kind::bitlk::{Bitlk, Header, dump};
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
    if let Ok(boot) = BootSector::parse(boot) {
        assert_eq!(BootSector::parse(&boot.to_bytes()), Ok(boot));
    }
    if let Ok(found) = Metadata::parse(metadata) {
        assert!(metadata.starts_with(&found.to_bytes()));
        check_entries(&found);
        check_changes(&found);
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

/// What is put in and taken out again leaves all else to the byte, but for what every write makes anew.
fn check_changes(metadata: &Metadata) {
    let (key, cpu) = (Secret::zeroed(32), Cpu::detect());
    let sealed = |draft: Draft, nonces: &mut Nonces| draft.sealed(&key, nonces, cpu);
    let first = metadata.protectors.len();
    let mut draft = Draft::of(metadata);
    let mut nonces = Nonces::new(7, draft.next_nonce());
    let new = NewProtector {
        guid: metadata.guid,
        changed: 7,
        salt: [7; 16],
        stretched: &key,
        recovery: Some(&key),
    };
    let entry = new.entry(&key, &mut nonces, cpu).expect("a key of AES");
    let (Ok(()), Ok(before)) = (draft.add(&entry), sealed(Draft::of(metadata), &mut nonces)) else { return };
    let Ok(more) = sealed(draft, &mut nonces) else { return };
    // What follows the end of a list is no entry, but could become one where the list grows.
    let Ok(more) = Metadata::parse(&more) else { return };
    if more.protectors.len() != first + 1 {
        return;
    }
    assert_eq!((more.protectors[first].salt, more.encryption), ([7; 16], metadata.encryption));
    let mut less = Draft::of(&more);
    less.remove(first).expect("it was added");
    let less = sealed(less, &mut nonces).expect("it was shorter");
    let len = 16 * usize::from(u16::from_le_bytes([before[8], before[9]]));
    let is_counter = |at: usize| (96..100).contains(&at);
    assert!((0..len).all(|at| is_counter(at) || before[at] == less[at]));
}

fn check_layout(data: Arc<dyn Storage>) {
    let Ok(header) = Header::read(&*data) else { return };
    assert!(dump::header(&header, "volume").ends_with('\n'));
    let on = Subject { data: &data, device: "volume", writes: false, weak_ciphers: true };
    let Ok(judged) = Bitlk { allows_vista: true }.judge_header(header, &on) else { return };
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
