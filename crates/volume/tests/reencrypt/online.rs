//! Re-encryption of a volume that is in use: its users read what they wrote, and a power cut costs
//! nothing that they flushed.

use crate::chosen::{is_slow, seed};
use crate::disk::Disks;
use crate::{Case, Draws, Kind, key, read_volume, secret, seeded};
use keyway_crypto::Secret;
use keyway_volume::device::storage::Memory;
use keyway_volume::reencrypt::{Job, Online, Options, VolumeKeys};
use keyway_volume::{Access, Luks, Random, Storage};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

pub(crate) fn case(
    kind: Kind,
    resilience: &'static str,
    sectors: (u32, u32),
    data_len: usize,
    zone: u64,
) -> Case {
    let block = sectors.0.max(sectors.1);
    Case { kind, resilience, sectors, zone: Some(zone), data_len, block, skip: None }
}

pub(crate) fn keys(case: &Case) -> VolumeKeys {
    let (old, new) = match case.kind {
        Kind::Key { .. } | Kind::Shift => (Some(key(1)), Some(key(2))),
        Kind::Cipher => (Some(key(1)), Some(key(1))),
        Kind::Encrypt { .. } | Kind::ShiftEncrypt => (None, Some(key(1))),
        Kind::Convert { .. } => (Some(key(3)), Some(key(1))),
        Kind::Decrypt { .. } | Kind::ShiftDecrypt => (Some(key(1)), None),
    };
    VolumeKeys::new(old, new)
}

fn online(case: &Case, disks: &Disks, rng: &mut dyn Random) -> Online {
    let luks = Luks::open(disks.disk(0), Access::Write).unwrap();
    let options = Options { zone: case.zone, holds_header: case.holds_header(), ..Options::default() };
    let job = Job::resume(luks, disks.disk(case.data_disk()), &keys(case), &options, rng).unwrap();
    Online::new(job, keys(case), case.holds_header()).unwrap()
}

/// The plaintext, by the key that the volume has now.
fn plaintext(case: &Case, images: &[Vec<u8>; 2], len: usize) -> Vec<u8> {
    let luks = Luks::open(Arc::new(Memory::from(images[0].clone())), Access::Write).unwrap();
    let keyway_volume::Header::Luks2 { metadata, .. } = luks.header() else { panic!("not LUKS2") };
    let is_old = metadata.keyslots.contains_key(&0);
    let data = &images[case.data_disk()];
    let key = match case.kind {
        Kind::Decrypt { .. } | Kind::ShiftDecrypt if !is_old => return data[..len].to_vec(),
        Kind::Key { .. } | Kind::Shift if !is_old => key(2),
        _ => key(1),
    };
    read_volume(&luks, Arc::new(Memory::from(data.clone())), &key, len)
}

/// What its users wrote, when.
struct Written {
    /// Of each piece the versions in order, each with the events of its write.
    pieces: Vec<Vec<(Range<usize>, [u8; PIECE])>>,
}

/// A power cut tears nothing smaller.
const PIECE: usize = 64;

impl Written {
    fn new(plaintext: &[u8]) -> Self {
        let first = |piece: &[u8]| vec![(0..0, piece.try_into().unwrap())];
        Self { pieces: plaintext.chunks(PIECE).map(first).collect() }
    }

    fn now(&self) -> Vec<u8> {
        self.pieces.iter().flat_map(|versions| versions.last().unwrap().1).collect()
    }

    /// Writes at random places, and flushes now and then.
    fn write(&mut self, volume: &dyn Storage, disks: &Disks, rng: &mut Draws) {
        for _ in 0..rng.below(4) {
            let first = rng.below(self.pieces.len());
            let count = 1 + rng.below(200.min(self.pieces.len() - first));
            let mut bytes = vec![0; count * PIECE];
            rng.fill(&mut bytes).unwrap();
            let before = disks.events();
            volume.write_at(&bytes, (first * PIECE) as u64).unwrap();
            let events = before..disks.events();
            for (versions, piece) in self.pieces[first..].iter_mut().zip(bytes.chunks(PIECE)) {
                versions.push((events.clone(), piece.try_into().unwrap()));
            }
            if rng.below(3) == 0 {
                volume.flush().unwrap();
            }
        }
    }

    /// Panics where a piece is neither what was flushed last nor what was written since.
    fn check(&self, found: &[u8], cut_after: usize, flushed: usize, context: &str) {
        for (number, (versions, piece)) in self.pieces.iter().zip(found.chunks(PIECE)).enumerate() {
            let stable = versions.iter().rposition(|(events, _)| events.end <= flushed).unwrap_or(0);
            let begun = versions.iter().take_while(|(events, _)| events.start < cut_after.max(1)).count();
            let possible = &versions[stable..begun.max(stable + 1)];
            assert!(
                possible.iter().any(|(_, bytes)| bytes == piece),
                "{context}: piece {number} is lost; {} versions would do",
                possible.len()
            );
        }
    }
}

/// KEYWAY_SEED chooses another run, KEYWAY_SLOW=1 a long one.
#[test]
fn no_power_cut_loses_what_was_flushed() {
    let seed = seed();
    let share = if is_slow() { 1000 } else { 25 };
    let mut states = 0;
    let kinds = [
        Kind::Key { detached: false },
        Kind::Key { detached: true },
        Kind::Cipher,
        Kind::Encrypt { moves: false },
        Kind::Encrypt { moves: true },
        Kind::Decrypt { moves: false },
        Kind::Decrypt { moves: true },
        Kind::Shift,
    ];
    for kind in kinds {
        for resilience in ["checksum", "journal"] {
            for sectors in [(512, 512), (512, 4096), (4096, 512), (4096, 4096)] {
                let case = case(kind, resilience, sectors, 160 << 10, 32 << 10);
                for run in 0..2 {
                    states += cut(&case, share, seed + run);
                }
            }
        }
    }
    println!("{states} power cuts of volumes in use, 0 flushed writes lost (KEYWAY_SEED={seed})");
}

fn cut(case: &Case, share: usize, seed: u64) -> usize {
    let rng = &mut seeded(seed);
    let start = case.start(rng);
    let disks = Disks::new(start.images.clone());
    case.begin(&disks, rng).unwrap();
    let (mut written, begun) = (Written::new(&start.plaintext), disks.events());
    let volume = online(case, &disks, rng);
    loop {
        written.write(&volume, &disks, rng);
        if volume.step(rng).unwrap() {
            break;
        }
    }
    let progress = volume.progress();
    assert_eq!(progress.done, progress.len, "all is done");
    written.write(&volume, &disks, rng);
    let mut found = vec![0; start.plaintext.len()];
    volume.read_at(&mut found, 0).unwrap();
    assert!(found == written.now(), "{case:?}, seed {seed}: undisturbed");
    volume.flush().unwrap();
    assert!(plaintext(case, &disks.images(), found.len()) == written.now(), "{case:?}, seed {seed}: its end");

    let unit = if case.resilience == "checksum" { case.block as usize } else { PIECE };
    for _ in 0..share {
        let at = begun + rng.below(disks.events() + 1 - begun);
        let flushed = disks.flushed(case.data_disk(), at);
        let mut images = disks.cut(&start.images, at, unit, &mut |limit| rng.below(limit));
        let context = format!("{case:?}, seed {seed}, cut after {at} of {} events", disks.events());
        if crate::is_under_way(&images[0]) {
            let rest = Disks::new(images.clone());
            case.resume(&rest, rng).unwrap_or_else(|error| panic!("{context}: {error}"));
            images = rest.images();
        }
        written.check(&plaintext(case, &images, found.len()), at, flushed, &context);
    }
    share
}

/// Readers and writers of parts of shared sectors, all over the volume, while it changes underneath.
#[test]
fn nobody_reads_anything_but_what_was_written() {
    let kinds = [
        (Kind::Key { detached: true }, (512, 4096)),
        (Kind::Key { detached: true }, (4096, 512)),
        (Kind::Decrypt { moves: false }, (4096, 4096)),
        (Kind::Decrypt { moves: true }, (512, 512)),
        (Kind::Encrypt { moves: true }, (512, 4096)),
    ];
    for (kind, sectors) in kinds {
        let case = case(kind, "checksum", sectors, 4 << 20, 64 << 10);
        let rng = &mut seeded(3);
        let start = case.start(rng);
        let disks = Disks::new(start.images.clone());
        case.begin(&disks, rng).unwrap();
        let volume = &online(&case, &disks, rng);
        let (done, requests, plaintext) = (&AtomicBool::new(false), &AtomicUsize::new(0), &start.plaintext);
        let written: Vec<Vec<u8>> = thread::scope(|scope| {
            let users: Vec<_> = (0..CLIENTS)
                .map(|client| {
                    scope.spawn(move || use_volume(volume, client, plaintext.clone(), done, requests))
                })
                .collect();
            while !volume.step(rng).unwrap() {}
            done.store(true, Ordering::SeqCst);
            users.into_iter().map(|user| user.join().unwrap()).collect()
        });
        assert!(requests.load(Ordering::SeqCst) > 100, "{requests:?} requests");
        assert!(volume.requests() >= requests.load(Ordering::SeqCst) as u64);
        let mut expected = start.plaintext.clone();
        for (number, piece) in expected.chunks_mut(SHARE).enumerate() {
            let at = number * SHARE;
            piece.copy_from_slice(&written[number % CLIENTS][at..at + piece.len()]);
        }
        let mut found = vec![0; expected.len()];
        volume.read_at(&mut found, 0).unwrap();
        assert!(found == expected, "{kind:?}, {sectors:?}: through the volume");
        let (settled, layout, luks) = volume.finished().unwrap();
        assert_eq!(layout.segments.len(), 1);
        settled.read_at(&mut found, 0).unwrap();
        assert!(found == expected, "{kind:?}, {sectors:?}: afterwards");
        assert!(luks.check_requirements().is_ok(), "the header speaks of no reencryption");
        let is_plaintext = layout.segments[0].mapping == keyway_volume::Mapping::Linear;
        assert_eq!(is_plaintext, matches!(kind, Kind::Decrypt { .. }), "{kind:?}");
    }
}

const CLIENTS: usize = 3;
/// Each sector belongs to several clients.
const SHARE: usize = 128;

/// Uses every third share, until it is told that all is done; returns what it has seen last.
fn use_volume(
    volume: &Online,
    client: usize,
    mut known: Vec<u8>,
    done: &AtomicBool,
    requests: &AtomicUsize,
) -> Vec<u8> {
    let rng = &mut seeded(client as u64 + 10);
    while !done.load(Ordering::SeqCst) {
        let number = rng.below(known.len() / SHARE / CLIENTS) * CLIENTS + client;
        let at = number * SHARE;
        let mut found = [0; SHARE];
        volume.read_at(&mut found, at as u64).unwrap();
        assert!(found == known[at..at + SHARE], "client {client}, byte {at}");
        rng.fill(&mut known[at..at + SHARE]).unwrap();
        volume.write_at(&known[at..at + SHARE], at as u64).unwrap();
        requests.fetch_add(2, Ordering::SeqCst);
    }
    known
}

/// Where the device fails, requests to the hot zone fail and all others go on; when it works again, so
/// does the re-encryption.
#[test]
fn a_zone_that_fails_is_taken_up_again() {
    for resilience in ["checksum", "journal"] {
        let case = case(Kind::Key { detached: false }, resilience, (4096, 4096), 160 << 10, 32 << 10);
        let rng = &mut seeded(4);
        let start = case.start(rng);
        let disks = Disks::new(start.images.clone());
        case.begin(&disks, rng).unwrap();
        let volume = online(&case, &disks, rng);
        assert!(!volume.step(rng).unwrap());
        let (mut failures, mut hot) = (0, 0);
        for fuse in 1..60 {
            disks.break_after(disks.events() + fuse);
            let stepped = volume.step(rng);
            disks.mend();
            let mut part = vec![0; 4096];
            match stepped {
                Ok(true) => break,
                Ok(false) => {}
                Err(_) => {
                    failures += 1;
                    volume.read_at(&mut part, 0).unwrap();
                    assert!(part == start.plaintext[..4096], "what is done");
                    let at = volume.progress().done;
                    // All of both sides, up to the zone's borders.
                    let (before, behind) = (at as usize, (at as usize + (32 << 10)).min(160 << 10));
                    for range in [0..before, behind..160 << 10].into_iter().filter(|range| !range.is_empty())
                    {
                        let mut side = vec![0; range.len()];
                        volume.read_at(&mut side, range.start as u64).unwrap();
                        assert!(side == start.plaintext[range], "beside the zone");
                    }
                    if let Err(error) = volume.read_at(&mut part, at) {
                        hot += 1;
                        assert!(error.to_string().contains("reencrypting them has failed"), "{error}");
                        assert!(volume.write_at(&part, at).is_err());
                    }
                }
            }
        }
        assert!(failures > 4 && hot > 2, "{failures} failures, {hot} with a zone that nobody may read");
        while !volume.step(rng).unwrap() {}
        assert!(plaintext(&case, &disks.images(), start.plaintext.len()) == start.plaintext, "{resilience}");
    }
}

/// The part that moved is done last, and counts only then.
#[test]
fn progress_counts_what_moved_at_the_end() {
    let case = case(Kind::Decrypt { moves: true }, "checksum", (512, 512), 160 << 10, 32 << 10);
    let rng = &mut seeded(8);
    let disks = Disks::new(case.start(rng).images);
    case.begin(&disks, rng).unwrap();
    let volume = online(&case, &disks, rng);
    let mut done = vec![volume.progress().done];
    while !volume.step(rng).unwrap() {
        done.push(volume.progress().done);
    }
    assert_eq!(done, [0, 32 << 10, 64 << 10, 96 << 10, 128 << 10]);
    assert_eq!((volume.progress().done, volume.progress().len), (160 << 10, 160 << 10));
}

/// A zone is whole blocks, and not none.
#[test]
fn a_zone_of_no_whole_blocks_is_refused() {
    let case = case(Kind::Key { detached: true }, "checksum", (4096, 4096), 64 << 10, 32 << 10);
    let rng = &mut seeded(9);
    let disks = Disks::new(case.start(rng).images);
    case.begin(&disks, rng).unwrap();
    for (zone, is_taken) in [(0, false), (2048, false), (4096, true), (6144, false)] {
        let luks = Luks::open(disks.disk(0), Access::Write).unwrap();
        let options = Options { zone: Some(zone), ..Options::default() };
        let job = Job::resume(luks, disks.disk(1), &keys(&case), &options, rng);
        assert_eq!(job.is_ok(), is_taken, "{zone}");
        let said = job.map(drop).map_err(|error| error.to_string());
        assert!(is_taken || said.unwrap_err().contains("Hotzone size must be multiple of"), "{zone}");
    }
    // A header that is only read is not gone on with.
    let luks = Luks::open(disks.disk(0), Access::Read).unwrap();
    let job = Job::resume(luks, disks.disk(1), &keys(&case), &Options::default(), rng);
    assert!(job.map(drop).unwrap_err().to_string().contains("not opened for editing"));
}

/// Other keys do not go on with it.
#[test]
fn only_its_own_keys_are_its_keys() {
    let case = case(Kind::Key { detached: false }, "checksum", (512, 512), 64 << 10, 32 << 10);
    let rng = &mut seeded(5);
    let start = case.start(rng);
    let disks = Disks::new(start.images.clone());
    case.begin(&disks, rng).unwrap();
    let volume = online(&case, &disks, rng);
    assert!(volume.check_keys(&keys(&case)).is_ok());
    let pairs: [(Option<Secret>, Option<Secret>); 4] = [
        (Some(key(2)), Some(key(2))),
        (Some(key(1)), Some(key(1))),
        (Some(key(1)), None),
        (Some(secret("one")), Some(key(2))),
    ];
    for (old, new) in pairs {
        assert!(volume.check_keys(&VolumeKeys::new(old, new)).is_err());
    }
}
