//! Transfers between storage in memory, pipes and volumes, with holes, odd lengths, ends and
//! failures.

use super::*;
use crate::device::storage::Memory;
use crate::{Layout, MappedSegment, Mapping, Volume};
use keyway_crypto::{CipherSpec, Cpu, Secret, SectorSize};
use std::sync::Arc;

#[test]
fn everything_arrives_at_every_length_and_offset() {
    for threads in [1, 2, 5] {
        for len in [0, 1, 511, 512, 8191, 8192, 8193, 100_000] {
            for from in [0, 3, 4096] {
                let source = Memory::from(noise(from + len));
                let expected = &source.to_vec()[from..];
                let range = from as u64..(from + len) as u64;
                let options = Options { threads, chunk: 8192, ..Options::default() };

                let mut piped = Vec::new();
                let moved = transfer(
                    Source::Storage(&source, range.clone()),
                    Sink::Pipe(&mut piped),
                    &options,
                    &Meter::new(),
                );
                assert_eq!(moved.unwrap(), Moved { length: len as u64, holes: 0 });
                assert!(piped == expected);

                let sink = Memory::zeroed(7);
                let meter = Meter::new();
                transfer(Source::Pipe(&mut &expected[..]), Sink::Storage(&sink, 7), &options, &meter)
                    .unwrap();
                assert!(sink.to_vec()[7..] == *expected);
                assert_eq!(meter.done(), len as u64);
            }
        }
    }
}

#[test]
fn volume_to_volume_with_other_sector_sizes_and_another_offset() {
    let plain = noise(200_000);
    let (a, _) = volume(512, 1 << 20);
    let (b, _) = volume(4096, 1 << 20);
    a.write_at(&plain, 1000).unwrap();
    b.write_at(&noise(300_000), 0).unwrap();
    let before = read(&b, 0, 300_000);
    let options = Options { threads: 3, chunk: 16384, ..Options::default() };
    let source = Source::Storage(&a, 1000..201_000);
    transfer(source, Sink::Storage(&b, 777), &options, &Meter::new()).unwrap();
    let after = read(&b, 0, 300_000);
    assert!(after[..777] == before[..777], "what lies before is kept");
    assert!(after[777..200_777] == plain);
    assert!(after[200_777..] == before[200_777..], "what lies behind is kept");
}

#[test]
fn holes_are_kept_or_filled() {
    // Data in 8192..12288 and 40960..45056 of 100,000 bytes; then 50,000 more by extension.
    let mut plain = vec![0; 100_000];
    plain[9000] = 1;
    plain[40960..45000].fill(2);
    let source = Memory::from(plain.clone());
    plain.resize(150_000, 0);
    for (holes, kept) in [(Holes::Keep, 150_000 - 8192), (Holes::Fill, 0)] {
        for threads in [1, 3] {
            let (sink, stored) = volume(4096, 151_552);
            let options =
                Options { holes, threads, chunk: 16384, extend_to: 150_000, pad: true, ..Options::default() };
            let meter = Meter::new();
            let from = Source::Storage(&source, 0..100_000);
            let moved = transfer(from, Sink::Storage(&sink, 0), &options, &meter).unwrap();
            assert_eq!(moved, Moved { length: 150_000, holes: kept });
            assert_eq!(meter.done(), 150_000);
            assert!(read(&sink, 8192, 4096) == plain[8192..12288]);
            assert!(read(&sink, 40960, 4096) == plain[40960..45056]);
            if holes == Holes::Fill {
                assert!(read(&sink, 0, 150_000) == plain);
                assert_eq!(read(&sink, 150_000, 1552), [0; 1552], "the last sector is filled up with zeros");
            } else {
                assert_eq!(sink.next_data(0).unwrap(), Some(8192..12288));
                assert_eq!(sink.next_data(12288).unwrap(), Some(40960..45056));
                assert_eq!(sink.next_data(45056).unwrap(), None);
                assert_eq!(stored.to_vec().iter().filter(|&&b| b != 0).count().next_multiple_of(8192), 8192);
            }
        }
    }
}

#[test]
fn an_odd_end_before_an_extension_is_padded_once() {
    for (holes, kept) in [(Holes::Keep, 20480 - 8192), (Holes::Fill, 0)] {
        let (sink, _) = volume(4096, 20480);
        let mut input = &[5; 5000][..];
        let options = Options { holes, chunk: 4096, extend_to: 20480, pad: true, ..Options::default() };
        let moved = transfer(Source::Pipe(&mut input), Sink::Storage(&sink, 0), &options, &Meter::new());
        assert_eq!(moved.unwrap(), Moved { length: 20480, holes: kept });
        let plain = read(&sink, 0, 8192);
        assert!(plain[..5000] == [5; 5000] && plain[5000..] == [0; 3192]);
        assert_eq!(sink.next_data(8192).unwrap().is_none(), holes == Holes::Keep);
    }
}

#[test]
fn headroom_follows_the_end_of_a_pipe_or_a_storage() {
    for piped in [true, false] {
        let sink = Memory::zeroed(0);
        let stored = Memory::from(vec![3; 700]);
        let mut pipe = &[3; 700][..];
        let source = if piped { Source::Pipe(&mut pipe) } else { Source::Storage(&stored, 0..700) };
        let options = Options { headroom: 1000, chunk: 512, ..Options::default() };
        let moved = transfer(source, Sink::Storage(&sink, 0), &options, &Meter::new());
        assert_eq!(moved.unwrap(), Moved { length: 1700, holes: 0 });
        let all = sink.to_vec();
        assert!(all[..700] == [3; 700] && all[700..] == [0; 1000]);
    }
}

#[test]
fn a_pipe_may_not_bring_more_than_the_limit() {
    let sink = Memory::zeroed(10_000);
    let options = Options { limit: Some(10_000), chunk: 4096, ..Options::default() };
    let mut input = &noise(10_000)[..];
    transfer(Source::Pipe(&mut input), Sink::Storage(&sink, 0), &options, &Meter::new()).unwrap();
    let mut input = &noise(10_001)[..];
    let failure = transfer(Source::Pipe(&mut input), Sink::Storage(&sink, 0), &options, &Meter::new());
    assert_eq!(failure.unwrap_err().to_string(), "the input is longer than 10000 bytes");
    assert_eq!(sink.len(), 10_000);
}

#[test]
fn failures_name_the_place_and_end_the_work() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(buf.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(buf.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let source = Memory::from(noise(1 << 20));
    let options = Options { chunk: 4096, threads: 4, ..Options::default() };
    let mut full = Full(40960);
    let failure =
        transfer(Source::Storage(&source, 0..1 << 20), Sink::Pipe(&mut full), &options, &Meter::new());
    assert_eq!(failure.unwrap_err().to_string(), "writing at byte 40960: no storage space");

    let (shrunk, stored) = volume(512, 1 << 20);
    stored.set_len(500_000);
    let sink = Memory::zeroed(0);
    let whole = Source::Storage(&shrunk, 0..1 << 20);
    let failure = transfer(whole, Sink::Storage(&sink, 0), &options, &Meter::new()).unwrap_err();
    assert!(matches!(&failure, Failure::Read { at, .. } if *at >= 495_904), "{failure}");

    let meter = Meter::new();
    meter.stop();
    let failure = transfer(Source::Storage(&source, 0..1 << 20), Sink::Storage(&sink, 0), &options, &meter);
    assert!(matches!(failure, Err(Failure::Stopped)));
}

fn volume(sector_size: u32, len: usize) -> (Volume, Arc<Memory>) {
    let mapping = Mapping::Crypt {
        spec: CipherSpec::parse("aes-xts-plain64").unwrap(),
        sector_size: SectorSize::new(sector_size).unwrap(),
        iv_tweak: 0,
        iv_large_sectors: false,
    };
    let segment =
        MappedSegment { plaintext_start: 0, length: None, storage_offset: 0, mapping, second_key: false };
    let data = Arc::new(Memory::zeroed(len));
    let key = Secret::copy_from(&noise(64));
    let layout = Layout::new(vec![segment]);
    (Volume::new(data.clone(), &layout, &key, Cpu::detect()).unwrap(), data)
}

fn read(storage: &dyn Storage, at: u64, len: usize) -> Vec<u8> {
    let mut buf = vec![0; len];
    storage.read_at(&mut buf, at).unwrap();
    buf
}

fn noise(len: usize) -> Vec<u8> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as u8
    };
    (0..len).map(|_| next()).collect()
}
