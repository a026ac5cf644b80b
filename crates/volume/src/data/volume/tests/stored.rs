//! Segments as only volumes without a LUKS header have them: chains of ciphers, and metadata of the format between
//! the data.

use super::{noise, read};
use crate::device::storage::Memory;
use crate::header::layout::{MappedSegment, Mapping};
use crate::{Layout, Storage, Volume};
use keyway_crypto::{Cascade, CascadeMode, Cpu, Secret};
use std::io::ErrorKind;
use std::sync::Arc;

const SECTOR: usize = 512;

/// Where the metadata are, in the plaintext and on the device.
const METADATA: std::ops::Range<usize> = 40 * SECTOR..52 * SECTOR;

fn key() -> Secret {
    Secret::copy_from(&noise(128, 3))
}

/// Two chains around 12 sectors of metadata, on a device of 200 sectors.
fn layout() -> Layout {
    let chain = |mode, iv_tweak| Mapping::Chain { ciphers: "twofish-aes".into(), mode, iv_tweak };
    let segment = |start: usize, sectors: Option<usize>, mapping| MappedSegment {
        plaintext_start: (start * SECTOR) as u64,
        length: sectors.map(|sectors| (sectors * SECTOR) as u64),
        storage_offset: (start * SECTOR) as u64,
        mapping,
        second_key: false,
    };
    Layout::new(vec![
        segment(0, Some(40), chain(CascadeMode::Xts, 256)),
        segment(40, Some(12), Mapping::Zero),
        segment(52, None, chain(CascadeMode::Cbc, 308)),
    ])
}

fn volume() -> (Volume, Arc<Memory>) {
    let data = Arc::new(Memory::from(noise(200 * SECTOR, 4)));
    (Volume::new(data.clone(), &layout(), &key(), Cpu::detect()).unwrap(), data)
}

/// The whole plaintext, one sector at a time.
fn reference(device: &[u8]) -> Vec<u8> {
    let chain = |mode| Cascade::new("twofish-aes", mode, &key(), Cpu::portable()).unwrap();
    let (xts, cbc) = (chain(CascadeMode::Xts), chain(CascadeMode::Cbc));
    let mut plain = device.to_vec();
    for (number, sector) in plain.chunks_exact_mut(SECTOR).enumerate() {
        match number {
            0..40 => xts.decrypt(256 + number as u64, sector),
            40..52 => sector.fill(0),
            _ => cbc.decrypt(256 + number as u64, sector),
        }
    }
    plain
}

#[test]
fn chains_and_metadata_read_as_the_reference() {
    let (volume, data) = volume();
    let expected = reference(&data.to_vec());
    for (at, len) in [(0, 200 * SECTOR), (39 * SECTOR + 1, 14 * SECTOR), (51 * SECTOR, 600), (7, 11)] {
        assert!(read(&volume, at, len) == expected[at..at + len], "{len} bytes at {at}");
    }
}

#[test]
fn what_is_written_around_the_metadata_leaves_them_alone() {
    let (volume, data) = volume();
    let before = data.to_vec();
    let mut new = noise(200 * SECTOR, 5);
    new[METADATA].fill(0);
    volume.write_at(&new, 0).unwrap();
    assert!(reference(&data.to_vec()) == new);
    assert_eq!(data.to_vec()[METADATA], before[METADATA]);
}

#[test]
fn a_write_over_the_metadata_is_refused_as_a_whole() {
    let (volume, data) = volume();
    let before = data.to_vec();
    for (at, len) in [(0, 200 * SECTOR), (METADATA.end - 1, 1), (METADATA.start - 1, 2)] {
        let error = volume.write_at(&vec![1; len], at as u64).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{len} bytes at {at}");
        let error = volume.write_from(&mut vec![1; len], at as u64).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the volume's own metadata are at bytes 20480 to 26623, which take only zeros"
        );
    }
    assert!(data.to_vec() == before);
    volume.write_at(&[1], METADATA.start as u64 - 1).unwrap();
    volume.write_at(&[1], METADATA.end as u64).unwrap();
}

#[test]
fn metadata_survive_a_discard_and_are_data() {
    let (volume, data) = volume();
    let before = data.to_vec();
    volume.discard(0..200 * SECTOR as u64).unwrap();
    assert_eq!(data.to_vec()[METADATA], before[METADATA]);
    assert_ne!(data.to_vec()[..SECTOR], before[..SECTOR]);
    // Its zeros are what a copy must have there.
    let metadata = METADATA.start as u64..METADATA.end as u64;
    assert_eq!(volume.next_data(0).unwrap(), Some(metadata.clone()));
    assert_eq!(volume.next_data(metadata.start + 5).unwrap(), Some(metadata.start + 5..metadata.end));
    // A page that is no hole holds the last of the metadata.
    assert_eq!(volume.next_data(metadata.end).unwrap(), Some(metadata.end..28672));
    assert_eq!(volume.next_data(28672).unwrap(), None);
}

/// A hole that is not encrypted reads as zeros, one that is as noise: only the latter may be left out.
#[test]
fn a_hole_of_a_linear_segment_is_data() {
    let segment = |start, length, mapping| MappedSegment {
        plaintext_start: start,
        length,
        storage_offset: start,
        mapping,
        second_key: false,
    };
    let chain = Mapping::Chain { ciphers: "twofish-aes".into(), mode: CascadeMode::Xts, iv_tweak: 0 };
    let layout = Layout::new(vec![segment(0, Some(20480), chain), segment(20480, None, Mapping::Linear)]);
    let data = Arc::new(Memory::from(noise(40960, 6)));
    data.discard(0..40960).unwrap();
    let volume = Volume::new(data, &layout, &key(), Cpu::detect()).unwrap();
    assert_eq!(volume.next_data(0).unwrap(), Some(20480..40960));
    assert_eq!(volume.next_data(30000).unwrap(), Some(30000..40960));
    assert_eq!(volume.next_data(40960).unwrap(), None);
}
