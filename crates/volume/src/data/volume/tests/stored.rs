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

/// A sector whose bytes are given, in the middle of encrypted ones, on a device of three.
fn with_bytes(length: Option<u64>) -> (crate::Result<Volume>, Arc<Memory>, Vec<u8>) {
    let (shown, device) = (noise(SECTOR, 9), noise(3 * SECTOR, 8));
    let chain = || Mapping::Chain { ciphers: "twofish-aes".into(), mode: CascadeMode::Xts, iv_tweak: 0 };
    let segment = |start: usize, length, mapping| MappedSegment {
        plaintext_start: (start * SECTOR) as u64,
        length,
        storage_offset: (start * SECTOR) as u64,
        mapping,
        second_key: false,
    };
    let one = Some(SECTOR as u64);
    let bytes = Mapping::Bytes(Arc::from(&shown[..]));
    let layout =
        Layout::new(vec![segment(0, one, chain()), segment(1, length, bytes), segment(2, one, chain())]);
    let data = Arc::new(Memory::from(device));
    (Volume::new(data.clone(), &layout, &key(), Cpu::detect()), data, shown)
}

#[test]
fn bytes_of_the_format_read_as_they_are_given_and_take_no_writes() {
    let (volume, data, shown) = with_bytes(Some(SECTOR as u64));
    let (volume, before) = (volume.unwrap(), data.to_vec());
    let cipher = Cascade::new("twofish-aes", CascadeMode::Xts, &key(), Cpu::portable()).unwrap();
    let mut expected = before.clone();
    cipher.decrypt(0, &mut expected[..SECTOR]);
    cipher.decrypt(0, &mut expected[2 * SECTOR..]);
    expected[SECTOR..2 * SECTOR].copy_from_slice(&shown);
    for (at, len) in [(0, 3 * SECTOR), (SECTOR - 1, 2), (SECTOR + 5, 7), (2 * SECTOR - 1, 3), (500, 600)] {
        assert!(read(&volume, at, len) == expected[at..at + len], "{len} bytes at {at}");
    }

    for (at, bytes) in [
        (0, expected.clone()),
        (SECTOR, shown.clone()),
        (SECTOR - 1, vec![0; 2]),
        (2 * SECTOR - 1, vec![0; 2]),
    ] {
        let why = "the volume's own metadata are at bytes 512 to 1023, which take no writes";
        let error = volume.write_at(&bytes, at as u64).unwrap_err();
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::PermissionDenied, why.into()), "{at}");
        assert_eq!(volume.write_from(&mut bytes.clone(), at as u64).unwrap_err().to_string(), why);
    }
    assert!(data.to_vec() == before);
    volume.write_at(&[1], SECTOR as u64 - 1).unwrap();
    volume.write_at(&[1], 2 * SECTOR as u64).unwrap();
    assert_eq!(data.to_vec()[SECTOR..2 * SECTOR], before[SECTOR..2 * SECTOR]);
}

#[test]
fn bytes_of_the_format_are_data_that_no_discard_reaches() {
    let (volume, data, shown) = with_bytes(Some(SECTOR as u64));
    let (volume, before) = (volume.unwrap(), data.to_vec());
    volume.discard(0..3 * SECTOR as u64).unwrap();
    assert_eq!(data.to_vec()[SECTOR..2 * SECTOR], before[SECTOR..2 * SECTOR]);
    assert_ne!(data.to_vec()[..SECTOR], before[..SECTOR]);
    assert!(read(&volume, SECTOR, SECTOR) == shown);
    data.discard(0..3 * SECTOR as u64).unwrap();
    assert_eq!(volume.next_data(SECTOR as u64 + 3).unwrap(), Some(SECTOR as u64 + 3..2 * SECTOR as u64));
}

#[test]
fn bytes_of_the_format_have_their_segments_length() {
    for length in [None, Some(0), Some(1024), Some(511)] {
        let error = with_bytes(length).0.err().unwrap().to_string();
        assert_eq!(error, "a segment's length is not that of its bytes", "{length:?}");
    }
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
