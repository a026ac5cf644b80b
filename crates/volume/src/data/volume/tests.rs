//! [`Volume`] against a reference that works one sector at a time, on random ranges.

use super::*;
use crate::Error;
use crate::device::storage::{File, Memory};
use crate::header::layout::{MappedSegment, Mapping};
use keyway_crypto::{CipherSpec, Secret, SectorCipher, SectorSize};

mod beside;
mod protected;
mod stored;

#[test]
fn reads_and_writes_of_any_range_equal_the_reference() {
    for sector_size in [512, 1024, 2048, 4096] {
        for iv_tweak in [0, 12345678901] {
            let layout = one_segment("aes-xts-plain64", sector_size, 8192, iv_tweak);
            check_random_ranges(&layout, 8192 + 300 * 1024 + 100, 200);
        }
    }
}

#[test]
fn ivs_that_count_large_sectors() {
    let mut layout = one_segment("aes-xts-plain64", 4096, 8192, 4096);
    if let Mapping::Crypt { iv_large_sectors, .. } = &mut layout.segments[0].mapping {
        *iv_large_sectors = true;
    }
    check_random_ranges(&layout, 8192 + 300 * 1024, 200);
}

#[test]
fn segments_of_several_kinds_in_one_volume() {
    let mut segments = one_segment("aes-xts-plain64", 512, 70000, 0).segments;
    segments[0].length = Some(10 * 512);
    let crypt = |plaintext_start, length, storage_offset, spec, sector_size, iv_tweak| MappedSegment {
        plaintext_start,
        length,
        storage_offset,
        mapping: mapping(spec, sector_size, iv_tweak),
        second_key: false,
    };
    segments.push(MappedSegment {
        plaintext_start: 5120,
        length: Some(3072),
        storage_offset: 512,
        mapping: Mapping::Linear,
        second_key: false,
    });
    segments.push(crypt(8192, Some(40960), 4096, "aes-cbc-essiv:sha256", 512, 16));
    segments.push(crypt(49152, None, 80000, "aes-xts-plain64", 4096, 96));
    check_random_ranges(&Layout::new(segments), 80000 + 10 * 4096 + 4095, 600);
}

#[test]
fn large_requests_are_spread_and_equal_small_ones() {
    let layout = one_segment("aes-xts-plain64", 512, 0, 0);
    let len = 2 * SPREAD_FROM + 3 * RUN + 512;
    let (volume, _) = volume(&layout, noise(len, 1));
    let plain = noise(len, 2);
    volume.write_at(&plain[..len - 100], 0).unwrap();
    volume.write_at(&plain[len - 100..], (len - 100) as u64).unwrap();
    assert!(read(&volume, 0, len) == plain);
    assert!(read(&volume, 511, len - 600) == plain[511..len - 89]);

    volume.write_from(&mut plain[1000..len - 3].to_vec(), 300).unwrap();
    assert!(read(&volume, 300, len - 1003) == plain[1000..len - 3]);
    for at in (0..len - 512).step_by(77777) {
        assert_eq!(read(&volume, at, 512), read(&volume, 0, len)[at..at + 512]);
    }
}

#[test]
fn a_part_of_a_sector_at_the_end_is_not_there() {
    let layout = one_segment("aes-xts-plain64", 4096, 4096, 0);
    let (volume, data) = volume(&layout, noise(4096 * 3 + 4095, 3));
    assert_eq!(volume.len(), 8192);
    let before = data.to_vec();

    let error = volume.read_at(&mut [0; 2], 8191).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    assert_eq!(error.to_string(), "the volume ends at byte 8192, 2 bytes at 8191 were requested");
    let error = volume.write_at(&[0; 4097], 4096).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert!(volume.write_at(&[0; 1], u64::MAX).is_err());
    assert_eq!(data.to_vec(), before);
    volume.read_at(&mut [], 8192).unwrap();
    volume.write_at(&[1], 8191).unwrap();
}

#[test]
fn a_device_that_ends_before_the_data_is_refused_and_one_that_shrank_gives_an_error() {
    let layout = one_segment("aes-xts-plain64", 512, 4096, 0);
    let data = Arc::new(Memory::zeroed(1000));
    let error = Volume::new(data, &layout, &key(), Cpu::detect()).err().unwrap();
    assert_eq!(error.to_string(), "the data starts at byte 4096, but the device ends at 1000");

    let (volume, data) = volume(&layout, vec![0; 16384]);
    data.set_len(10000);
    assert!(volume.read_at(&mut [0; 512], 4096).is_ok());
    assert_eq!(volume.read_at(&mut [0; 4096], 4096).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn no_write_makes_a_file_grow() {
    let path = std::env::temp_dir().join(format!("keyway-grow-{}", std::process::id()));
    let file = Arc::new(File::create_new(&path).unwrap());
    std::fs::remove_file(&path).unwrap();
    file.set_len(8192 + 4096).unwrap();
    let mut layout = one_segment("aes-xts-plain64", 512, 8192, 0);
    for (length, fits) in [(4096, true), (4608, false), (1 << 40, false), (u64::MAX, false)] {
        layout.segments[0].length = Some(length);
        let volume = Volume::new(file.clone(), &layout, &key(), Cpu::detect());
        assert_eq!(volume.is_ok(), fits, "{length}");
        match volume {
            Ok(volume) => volume.write_at(&[1; 4096], 0).unwrap(),
            Err(Error::TooShort { has, .. }) => assert_eq!(has, 12288),
            // Beyond 2^64.
            Err(error) => assert!(length == u64::MAX, "{error}"),
        }
    }
    assert_eq!(file.as_file().metadata().unwrap().len(), 12288);
    // The last of several segments determines the end, wherever it is.
    layout.segments[0].length = Some(4096);
    let mut second = layout.segments[0].clone();
    (second.plaintext_start, second.storage_offset) = (4096, 12288);
    layout.segments.push(second);
    let refused = Volume::new(file, &layout, &key(), Cpu::detect()).err();
    assert!(matches!(refused, Some(Error::TooShort { needs: 16384, has: 12288 })), "{refused:?}");
}

#[test]
fn a_volume_of_another_length_needs_no_key() {
    let layout = one_segment("aes-xts-plain64", 4096, 4096, 7);
    let (volume, data) = volume(&layout, noise(4096 * 11 + 100, 5));
    let all = read(&volume, 0, 40960);
    let small = volume.resized(Some(8192)).unwrap();
    assert_eq!(small.len(), 8192);
    assert_eq!(read(&small, 0, 8192), all[..8192]);
    assert!(small.read_at(&mut [0], 8192).is_err() && small.write_at(&[0], 8192).is_err());
    assert_eq!(read(&small.resized(None).unwrap(), 0, 40960), all);
    data.set_len(4096 * 13);
    assert_eq!(volume.resized(None).unwrap().len(), 4096 * 12);
    for (length, why) in [(0, "starts at"), (4097, "not a multiple of 4096"), (4096 * 13, "room for 49152")] {
        let error = volume.resized(Some(length)).err().unwrap().to_string();
        assert!(error.contains(why), "{length}: {error}");
    }
    data.set_len(4096);
    assert!(volume.resized(None).is_err());
}

#[test]
fn holes_of_the_device_are_holes_and_only_whole_sectors_are_discarded() {
    let layout = one_segment("aes-xts-plain64", 4096, 4096, 0);
    let (volume, data) = volume(&layout, noise(4096 * 11, 4));
    volume.discard(5000..30000).unwrap();
    assert_eq!(volume.next_data(0).unwrap(), Some(0..8192));
    assert_eq!(volume.next_data(8192).unwrap(), Some(28672..40960));
    assert_eq!(volume.next_data(30001).unwrap(), Some(30001..40960));
    data.discard(0..4096 * 11).unwrap();
    assert_eq!(volume.next_data(0).unwrap(), None);
    volume.discard(100..200).unwrap();
}

#[test]
fn a_volume_may_lie_on_a_volume() {
    let (below, data) = volume(&one_segment("aes-xts-plain64", 4096, 4096, 0), noise(65536, 9));
    let layout = one_segment("aes-cbc-essiv:sha256", 512, 1024, 0);
    let above = Volume::new(Arc::new(below), &layout, &key(), Cpu::detect()).unwrap();
    assert_eq!(above.len(), 65536 - 4096 - 1024);
    let plain = noise(above.len() as usize, 10);
    above.write_at(&plain, 0).unwrap();
    above.write_at(&[7; 700], 300).unwrap();
    assert!(read(&above, 0, 300) == plain[..300]);
    assert!(read(&above, 300, 700) == [7; 700]);
    assert!(read(&above, 1000, plain.len() - 1000) == plain[1000..]);
    assert!(data.to_vec()[..4096] == noise(65536, 9)[..4096], "what lies before the data is not touched");
}

#[test]
fn writers_of_parts_of_one_sector_lose_nothing() {
    let layout = one_segment("aes-xts-plain64", 4096, 0, 0);
    let (volume, _) = volume(&layout, noise(16384, 5));
    std::thread::scope(|scope| {
        for writer in 0..4usize {
            let volume = &volume;
            scope.spawn(move || {
                for round in 0..200usize {
                    for at in (writer * 3..16384 - 3).step_by(12 * 7) {
                        volume.write_at(&[writer as u8 + 1, round as u8, at as u8], at as u64).unwrap();
                    }
                }
            });
        }
    });
    let all = read(&volume, 0, 16384);
    for writer in 0..4 {
        for at in (writer * 3..16384 - 3).step_by(12 * 7) {
            assert_eq!(all[at..at + 3], [writer as u8 + 1, 199, at as u8], "at {at}");
        }
    }
}

/// Random reads and writes on a [`Volume`] and on plaintext in memory; at the end both must be the
/// same, also when read through [`reference`].
fn check_random_ranges(layout: &Layout, device_len: usize, rounds: usize) {
    let (volume, data) = volume(layout, noise(device_len, 6));
    let mut expected = reference(layout, &data.to_vec());
    assert_eq!(volume.len(), expected.len() as u64);
    let mut random = Lcg(7);
    for round in 0..rounds {
        let at = random.below(expected.len() + 1);
        let longest = if round % 4 == 0 { expected.len() } else { 1500 };
        let len = random.below(longest.min(expected.len() - at) + 1);
        match round % 3 {
            0 => assert!(read(&volume, at, len) == expected[at..at + len], "{len} bytes at {at}"),
            kind => {
                let mut new = noise(len, round as u64);
                expected[at..at + len].copy_from_slice(&new);
                if kind == 1 {
                    volume.write_at(&new, at as u64).unwrap();
                } else {
                    volume.write_from(&mut new, at as u64).unwrap();
                }
            }
        }
    }
    assert!(reference(layout, &data.to_vec()) == expected);
}

/// The whole plaintext, one sector at a time.
fn reference(layout: &Layout, device: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    for segment in &layout.segments {
        let start = segment.storage_offset as usize;
        let end = segment.length.map_or(device.len(), |l| start + l as usize);
        match &segment.mapping {
            Mapping::Linear => plain.extend_from_slice(&device[start..end]),
            Mapping::Zero | Mapping::Bytes(_) | Mapping::Chain { .. } => {
                unreachable!("tests/stored.rs has them")
            }
            Mapping::Crypt { spec, sector_size, iv_tweak, iv_large_sectors } => {
                // The bytes on the device are the same as with 512-byte units, at another place.
                let cipher = SectorCipher::new(spec, &key(), *sector_size, Cpu::portable()).unwrap();
                let step = if *iv_large_sectors { 1 } else { sector_size.units() };
                let first = iv_tweak / (sector_size.units() / step);
                for (i, sector) in device[start..end].chunks_exact(sector_size.bytes()).enumerate() {
                    let mut sector = sector.to_vec();
                    cipher.decrypt(first + i as u64 * step, &mut sector);
                    plain.append(&mut sector);
                }
            }
        }
    }
    plain
}

fn volume(layout: &Layout, device: Vec<u8>) -> (Volume, Arc<Memory>) {
    let data = Arc::new(Memory::from(device));
    (Volume::new(data.clone(), layout, &key(), Cpu::detect()).unwrap(), data)
}

fn read(volume: &Volume, at: usize, len: usize) -> Vec<u8> {
    let mut buf = vec![0; len];
    volume.read_at(&mut buf, at as u64).unwrap();
    buf
}

fn one_segment(spec: &str, sector_size: u32, storage_offset: u64, iv_tweak: u64) -> Layout {
    let mapping = mapping(spec, sector_size, iv_tweak);
    let segment =
        MappedSegment { plaintext_start: 0, length: None, storage_offset, mapping, second_key: false };
    Layout::new(vec![segment])
}

fn mapping(spec: &str, sector_size: u32, iv_tweak: u64) -> Mapping {
    let (spec, sector_size) = (CipherSpec::parse(spec).unwrap(), SectorSize::new(sector_size).unwrap());
    Mapping::Crypt { spec, sector_size, iv_tweak, iv_large_sectors: false }
}

fn key() -> Secret {
    Secret::copy_from(&noise(32, 8))
}

fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut random = Lcg(seed);
    (0..len).map(|_| random.next() as u8).collect()
}

/// Knuth's MMIX generator: good enough to generate content and choices.
struct Lcg(u64);

impl Lcg {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }

    fn below(&mut self, end: usize) -> usize {
        self.next() as usize % end
    }
}
