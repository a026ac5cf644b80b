//! Which unused blocks are filled together, with what, and which zones go around them.

use super::*;
use crate::device::storage::Memory;

const KIB: u64 = 1 << 10;

/// `free` in KiB; filled with noise unless they are discarded.
fn skip(free: &[Range<u64>], is_noise: bool) -> Skip {
    let free = free.iter().map(|range| range.start * KIB..range.end * KIB).collect();
    Skip { free, noise: is_noise.then(noise), filled: 0, is_filled: false }
}

fn noise() -> SectorCipher {
    let spec = CipherSpec::parse("aes-xts-plain64").unwrap();
    let key = Secret::copy_from(&(0..64).collect::<Vec<u8>>());
    SectorCipher::new(&spec, &key, SectorSize::new(PAGE as u32).unwrap(), Cpu::detect()).unwrap()
}

fn in_kib(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    ranges.iter().map(|range| range.start / KIB..range.end / KIB).collect()
}

/// A list of one range.
fn one(range: Range<u64>) -> Vec<Range<u64>> {
    Vec::from([range])
}

#[test]
fn its_length_is_that_of_all_ranges() {
    assert_eq!(skip(&[], true).len(), 0);
    assert_eq!(skip(&[4..8, 20..24, 100..164], true).len(), 72 * KIB);
}

/// Range after range, each byte once, in portions that end within a range where it is longer.
#[test]
fn portions_take_every_free_byte_once() {
    let mut skip = skip(&[4..8, 12..36, 40..44, 48..56, 60..64], true);
    let mut portions = Vec::new();
    loop {
        let portion = skip.portion(16 * KIB);
        let Some(last) = portion.last() else { break };
        skip.filled = last.end;
        portions.push(in_kib(&portion));
        assert!(portions.len() < 9, "{portions:?}");
    }
    let expected: [&[Range<u64>]; 3] = [&[4..8, 12..24], &[24..36, 40..44], &[48..56, 60..64]];
    assert_eq!(portions, expected);
}

/// A range is discarded at once, however long it is; a portion ends with the range that fills it.
#[test]
fn what_is_discarded_is_not_cut() {
    let mut skip = skip(&[4..8, 12..96, 100..104], false);
    assert_eq!(in_kib(&skip.portion(16 * KIB)), [4..8, 12..96]);
    skip.filled = 96 * KIB;
    assert_eq!(in_kib(&skip.portion(16 * KIB)), one(100..104));
    skip.filled = 104 * KIB;
    assert!(skip.portion(16 * KIB).is_empty());
}

/// Bytes of one stream for the whole volume, whatever parts are written together: no page has the noise of
/// another one. Nothing else is touched.
#[test]
fn noise_is_where_it_belongs_and_nowhere_twice() {
    let (len, offset) = (4 * CHUNK, 3 * 512);
    let mut expected = vec![0x5a; (offset + len) as usize];
    let parts = [4096..8192, 5 * 4096..CHUNK + 4096, 2 * CHUNK - 4096..4 * CHUNK];
    for at in parts.iter().flat_map(|part| part.clone().step_by(PAGE as usize)) {
        let page = &mut expected[(offset + at) as usize..][..PAGE as usize];
        page.fill(0);
        noise().encrypt(at / 512, page);
    }
    let data = Memory::from(vec![0x5a; (offset + len) as usize]);
    write_noise(&noise(), parts.to_vec(), &data, |chunk| offset + chunk.start).unwrap();
    assert!(data.to_vec() == expected);
    let blocks = |from: u64, to: u64| expected[(offset + from) as usize..(offset + to) as usize].chunks(16);
    let first: std::collections::HashSet<&[u8]> = blocks(2 * CHUNK, 3 * CHUNK).collect();
    assert!(blocks(3 * CHUNK, 4 * CHUNK).all(|block| !first.contains(block)));
}

/// A zone begins and ends with a used block, has as many used bytes as zones have, and reaches no further
/// than can be protected.
#[test]
fn zones_stretch_over_unused_blocks() {
    let skip = skip(&[16..32, 40..48, 96..4096, 5000..6000], true);
    let len = 6000 * KIB;
    let stretched = |zone: Range<u64>, sizes: &ZoneSize| {
        let range = skip.stretched(zone.start * KIB..zone.end * KIB, len, sizes);
        range.start / KIB..range.end / KIB
    };
    let sizes = |now: u64, most: u64| {
        let mut sizes = ZoneSize::new(4096, most * KIB, None);
        while sizes.bytes() > now * KIB {
            sizes.learn(std::time::Duration::from_secs(9), std::time::Duration::ZERO);
        }
        assert_eq!((sizes.bytes(), sizes.most()), (now * KIB, most * KIB));
        sizes
    };
    let sizes16 = sizes(16, 4096);
    assert_eq!(stretched(0..16, &sizes16), 0..16, "the next block is unused");
    assert_eq!(stretched(4..20, &sizes16), 4..36, "12 before what is unused and 4 behind it");
    assert_eq!(stretched(32..48, &sizes16), 32..56, "8 and 8");
    assert_eq!(stretched(48..64, &sizes16), 48..64, "nothing in the way");
    assert_eq!(stretched(88..104, &sizes16), 88..4104, "across almost 4 MiB");
    assert_eq!(stretched(4992..5008, &sizes16), 4992..5000, "nothing used follows");
    assert_eq!(stretched(4988..5004, &sizes(16, 64)), 4988..5000, "the end cannot be protected, too");
    assert_eq!(stretched(88..104, &sizes(16, 2048)), 88..96, "the unused part reaches too far");
    assert_eq!(stretched(4..20, &sizes(16, 16)), 4..16, "the unused part reaches further");
    assert_eq!(stretched(32..48, &sizes(16, 16)), 32..40, "it reaches just as far");
    assert_eq!(stretched(4..20, &sizes(16, 32)), 4..36, "just as far as can be protected");
    assert_eq!(stretched(36..52, &sizes(16, 16)), 36..52, "as much as can be protected");
    let rest = Skip { free: vec![], noise: None, filled: 0, is_filled: true };
    assert_eq!(rest.stretched(0..16 * KIB, 12 * KIB, &sizes16), 0..12 * KIB, "the end of the volume");
}

#[test]
fn the_used_parts_of_a_zone() {
    let skip = skip(&[16..32, 40..48], true);
    let used = |zone: Range<u64>| in_kib(&skip.used(&(zone.start * KIB..zone.end * KIB)));
    assert_eq!(used(0..16), one(0..16));
    assert_eq!(used(8..52), [8..16, 32..40, 48..52]);
    assert_eq!(used(16..32), []);
    assert_eq!(used(20..44), one(32..40));
    assert_eq!(used(48..60), one(48..60));
}

/// What is behind the border and filled already is as good as done.
#[test]
fn what_is_filled_ahead_counts() {
    let mut skip = skip(&[16..32, 40..48, 60..64], true);
    let ahead = |skip: &Skip, done: u64| {
        let state = State { done: 0..done * KIB, hot: None, total: 64 * KIB };
        skip.ahead_of(&state) / KIB
    };
    assert_eq!(ahead(&skip, 0), 0);
    skip.filled = 44 * KIB;
    assert_eq!((ahead(&skip, 0), ahead(&skip, 20), ahead(&skip, 42), ahead(&skip, 50)), (20, 16, 2, 0));
    skip.filled = 64 * KIB;
    assert_eq!((ahead(&skip, 0), ahead(&skip, 36), ahead(&skip, 62)), (28, 12, 2));
}

/// The border passes unused blocks only where it is at them.
#[test]
fn what_follows_the_border_is_passed() {
    let skip = skip(&[0..8, 16..32, 60..64], true);
    let passed = |done: u64| {
        let state = State { done: 0..done * KIB, hot: None, total: 99 * KIB };
        skip.passed(&state, 64 * KIB).done.end / KIB
    };
    assert_eq!([0, 8, 12, 16, 20, 31, 32, 60].map(passed), [8, 8, 12, 32, 32, 32, 32, 99]);
}
