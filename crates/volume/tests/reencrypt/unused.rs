//! Re-encryption that leaves out what the file system inside does not use: what it uses must survive every
//! power cut, whoever goes on with or without leaving anything out.

use super::{Case, Draws, Kind, Start, seeded};
use crate::chosen::{is_slow, seed};
use crate::disk::Disks;
use crate::simulator::cut;
use keyway_volume::reencrypt::Unused;
use keyway_volume::{Access, Error, Luks, Refusal};
use std::ops::Range;

/// A file system with random blocks in use, all of them with random content.
fn ext2(len: usize, block: usize, draws: &mut Draws) -> (Vec<u8>, Vec<Range<usize>>) {
    let (first, blocks) = (usize::from(block == 1024), len / block - 1);
    let mut image = vec![0; len];
    keyway_volume::Random::fill(draws, &mut image).unwrap();
    let metadata = first + 6;
    // Runs of blocks in use, as files are.
    let mut used = vec![true; metadata - first];
    while used.len() < blocks - first {
        let (state, run) = (draws.below(3) == 0, 1 + draws.below(40));
        used.extend((0..run).map(|_| state));
    }
    used.truncate(blocks - first);
    let free = used.iter().filter(|used| !**used).count() as u32;
    let mut put = |at: usize, bytes: &[u8]| image[at..at + bytes.len()].copy_from_slice(bytes);
    put(1024, &[0; 1024]);
    let fields: [(usize, u32); 10] = [
        (0x04, blocks as u32),
        (0x0c, free),
        (0x14, first as u32),
        (0x18, (block / 1024).trailing_zeros()),
        (0x20, 8 * block as u32), // blocks a group
        (0x28, 16),               // inodes a group
        (0x38, 0x1_ef53),         // magic, clean
        (0x4c, 1),                // revision
        (0x58, 128),              // bytes an inode
        (0x60, 2),                // filetype
    ];
    for (at, value) in fields {
        put(1024 + at, &value.to_le_bytes());
    }
    let group = (first + 1) * block;
    put(group, &[0; 32]);
    for (at, number) in [(0x00, first + 2), (0x04, first + 3), (0x08, first + 4)] {
        put(group + at, &(number as u32).to_le_bytes());
    }
    put(group + 0x0c, &(free as u16).to_le_bytes());
    let mut bitmap = vec![0xff; block];
    for (bit, used) in used.iter().enumerate() {
        bitmap[bit / 8] &= !(u8::from(!used) << (bit % 8));
    }
    put((first + 2) * block, &bitmap);
    let mut ranges = vec![0..first * block, blocks * block..len];
    let in_use = used.iter().enumerate().filter(|(_, used)| **used);
    ranges.extend(in_use.map(|(bit, _)| (first + bit) * block..(first + bit + 1) * block));
    (image, ranges)
}

fn cases() -> Vec<(Case, usize)> {
    let mut cases = Vec::new();
    for kind in [
        Kind::Key { detached: false },
        Kind::Key { detached: true },
        Kind::Cipher,
        Kind::Encrypt { moves: false },
    ] {
        for resilience in ["checksum", "journal"] {
            for (sectors, block, fs_block) in [
                ((512, 512), 512, 1024),
                ((512, 4096), 4096, 1024),
                ((4096, 512), 4096, 4096),
                ((4096, 4096), 4096, 4096),
            ] {
                for (unused, zone) in [
                    (Unused::Noise, Some(32 << 10)),
                    (Unused::Discard, Some(64 << 10)),
                    (Unused::Noise, None),
                ] {
                    let data_len = 720 << 10;
                    let skip = Some(unused);
                    cases.push((Case { kind, resilience, sectors, zone, data_len, block, skip }, fs_block));
                }
            }
        }
    }
    cases
}

fn start(case: &Case, fs_block: usize, draws: &mut Draws) -> Start {
    let (image, used) = ext2(case.data_len, fs_block, draws);
    Start { used, ..case.start_with(image, draws) }
}

#[test]
fn no_power_cut_loses_a_used_block() {
    let seed = seed();
    let share = if is_slow() { 60 } else { 5 };
    let mut states = 0;
    for (case, fs_block) in cases() {
        for seed in seed..seed + 3 {
            let start = start(&case, fs_block, &mut seeded(seed + 100));
            states += cut(&case, &start, share, seed);
        }
    }
    println!("{states} power cuts while unused blocks are left out, 0 used blocks lost (KEYWAY_SEED={seed})");
}

/// Nothing of what was there may survive.
#[test]
fn what_is_unused_is_noise_or_discarded() {
    for (case, fs_block) in cases() {
        let draws = &mut seeded(3);
        let start = start(&case, fs_block, draws);
        let disks = Disks::new(start.images.clone());
        case.begin(&disks, draws).unwrap();
        let (mut job, keys) = case.job_with_keys(&disks, draws).unwrap();
        let before = disks.images()[case.data_disk()].clone();
        let skipped = job.skip_unused(case.skip.unwrap(), &keys, draws).unwrap();
        assert_eq!(job.progress().done, 0, "{case:?}");
        // The first step fills all that is unused, and nothing else.
        assert!(!job.step(draws).unwrap());
        assert_eq!(job.progress().done, skipped, "{case:?}");
        let filled = disks.images()[case.data_disk()].clone();
        let mut done = skipped;
        while !job.step(draws).unwrap() {
            assert!(job.progress().done > done, "{case:?}: {:?} after {done}", job.progress());
            done = job.progress().done;
        }
        assert_eq!(job.progress().done, job.progress().len);
        assert!(case.check(&disks.images(), &start, &format!("{case:?}")), "{case:?} has not ended");
        let after = disks.images()[case.data_disk()].clone();
        let offset = after.len() - case.data_len;
        // Less than a page counts as used.
        let unit = 4096;
        let is_used =
            |unit: Range<usize>| start.used.iter().any(|used| used.start < unit.end && unit.start < used.end);
        assert!(before[..offset] == filled[..offset], "{case:?}: before the data");
        let (mut free, mut noise) = (0, std::collections::HashSet::new());
        for at in (0..case.data_len).step_by(unit) {
            let (old, new) = (&before[offset + at..][..unit], &after[offset + at..][..unit]);
            if is_used(at..at + unit) {
                assert!(filled[offset + at..][..unit] == *old, "{case:?}: {at} is used, and was filled");
                continue;
            }
            free += unit;
            assert!(filled[offset + at..][..unit] == *new, "{case:?}: {at} was filled and re-encrypted");
            match case.skip {
                Some(Unused::Discard) => {
                    assert!(new.iter().all(|byte| *byte == 0), "{case:?}: not discarded")
                }
                _ => {
                    assert!(
                        new.chunks(16).zip(old.chunks(16)).all(|(new, old)| new != old),
                        "{case:?}: left"
                    );
                    assert!(
                        new.chunks(16).all(|bytes| noise.insert(bytes.to_vec())),
                        "{case:?}: the same noise twice"
                    );
                }
            }
        }
        assert_eq!(skipped, free as u64, "{case:?}");
        assert!(free > case.data_len / 4, "{case:?}: {free} bytes were left out");
    }
}

/// Where each block is written where another one is read, and where the volume becomes plaintext.
#[test]
fn other_ways_are_refused_before_anything_is_written() {
    let case = |kind| Case {
        kind,
        resilience: "checksum",
        sectors: (4096, 4096),
        zone: Some(64 << 10),
        data_len: 484 << 10,
        block: 4096,
        skip: None,
    };
    let ways = [
        (Kind::Encrypt { moves: true }, "where the data moves"),
        (Kind::Shift, "where the data moves"),
        (Kind::ShiftEncrypt, "where the data moves"),
        (Kind::Decrypt { moves: false }, "becomes plaintext"),
        (Kind::Decrypt { moves: true }, "becomes plaintext"),
        (Kind::Cipher, "does not hold just an ext2"),
    ];
    for (kind, why) in ways {
        let (case, draws) = (case(kind), &mut seeded(4));
        let disks = Disks::new(case.start(draws).images);
        case.begin(&disks, draws).unwrap();
        let before = disks.images();
        match case.job(&disks, Some(Unused::Noise), draws).map(drop) {
            Err(Error::Refused { kind: Refusal::Unusable, why: found }) => {
                assert!(found.contains(why), "{found}")
            }
            other => panic!("{kind:?}: {other:?}"),
        }
        assert!(disks.images() == before, "{kind:?}: something was written");
    }
}

/// A file system is taken at its word only where it agrees with itself.
#[test]
fn a_file_system_that_is_in_doubt_is_refused() {
    let case = &cases()[0].0;
    let journal = "its journal has to be replayed";
    let contradiction = "contradicts itself";
    let spoils: [(usize, &[u8], &str); 10] = [
        (1024 + 0x38, &[0], "does not hold just an ext2"),
        (1024 + 0x3a, &[0], "was not unmounted cleanly"),
        (1024 + 0x3a, &[3], "has errors"),
        (1024 + 0x194, &[1], "has errors"),
        (1024 + 0xe8, &[12], "was not unmounted cleanly"),
        (1024 + 0x60, &[6], journal),
        (1024 + 0x66, &[1], "was not unmounted cleanly"),
        (1024 + 0x60, &[0x12], "features that are not handled"),
        (1024 + 0x64, &[0x80], "features that are not handled"),
        (1024 + 0x0c, &[0xff], contradiction),
    ];
    for (at, bytes, why) in spoils {
        let draws = &mut seeded(5);
        let mut image = ext2(case.data_len, 1024, draws).0;
        image[at..at + bytes.len()].copy_from_slice(bytes);
        let disks = Disks::new(case.start_with(image, draws).images);
        let before = disks.images();
        // Before it begins, and when it has begun.
        let luks = Luks::open(disks.disk(0), Access::Read).unwrap();
        let checked = keyway_volume::reencrypt::check_unused(
            &luks,
            disks.disk(case.data_disk()),
            Some(&super::key(1)),
            None,
        );
        assert!(checked.unwrap_err().to_string().contains(why), "{at:#x}");
        assert!(disks.images() == before);
        case.begin(&disks, draws).unwrap();
        let before = disks.images();
        let error = case.job(&disks, Some(Unused::Noise), draws).map(drop).unwrap_err().to_string();
        assert!(error.contains(why), "{at:#x}: {error}");
        assert!(disks.images() == before, "{at:#x}: something was written");
    }
}
