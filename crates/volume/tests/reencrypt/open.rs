//! Volumes in the middle of a re-encryption, opened as they are wherever they were cut: they read as
//! the plaintext, nothing is written by reading, and what is written to them is there when the
//! re-encryption has ended.

use super::*;
use keyway_volume::reencrypt::Purpose;
use keyway_volume::{Admitted, DataDevice, Refusal, SecondKey, Terms as Accepted};

/// Opens it, with both keys.
pub(crate) fn open(case: &Case, disks: &Disks, purpose: Purpose) -> Result<Volume, Error> {
    let access = if purpose == Purpose::Read { Access::Probe } else { Access::Read };
    let luks = Luks::open(disks.disk(0), access)?;
    let data = disks.disk(case.data_disk());
    let device = DataDevice { len: data.len(), holds_header: case.holds_header() };
    let judged = Admitted::judge(luks, Some(device), &Accepted::default())?;
    let under_way = judged.under_way().expect("a re-encryption is under way").clone();
    let (first, second) = match case.kind {
        Kind::Convert { .. } => (key(3), key(1)),
        _ => (key(1), key(2)),
    };
    let second = under_way.second_digest().map(|digest| SecondKey { key: second, digest });
    let opened = judged.open_with(first, under_way.first_digest().unwrap(), second)?;
    let (opened, data) = opened.onto(data, purpose, &mut seeded(3))?;
    let volume = Volume::new(data, opened.layout(), opened.keys(), Cpu::detect())?;
    assert_eq!(volume.is_read_only(), purpose == Purpose::Read && under_way.hot_zone().is_some());
    Ok(volume)
}

pub(crate) fn all(volume: &Volume) -> Vec<u8> {
    let mut found = vec![0; volume.len() as usize];
    // In pieces of odd lengths, which start and end inside of sectors and blocks.
    let mut at = 0;
    for len in [700, 1, 4097, 30_000, 511, 100_001].into_iter().cycle() {
        let end = found.len().min(at + len);
        volume.read_at(&mut found[at..end], at as u64).unwrap();
        at = end;
        if at == found.len() {
            return found;
        }
    }
    found
}

#[test]
fn every_state_in_between_reads_and_takes_writes() {
    let seed = seed();
    let share = if is_slow() { 200 } else { 6 };
    let (mut states, mut hot) = (0, 0);
    for case in cases() {
        let rng = &mut seeded(seed);
        let start = case.start(rng);
        let disks = Disks::new(start.images.clone());
        case.begin(&disks, rng).unwrap();
        let begun = disks.events();
        case.resume(&disks, rng).unwrap();
        let events = disks.events();
        for _ in 0..share {
            let at = begun + rng.below(events - begun + 1);
            let unit = if case.resilience == "checksum" { case.block as usize } else { 64 };
            let images = disks.cut(&start.images, at, unit, &mut |limit| rng.below(limit));
            if !is_under_way(&images[0]) {
                continue;
            }
            let context = format!("{case:?}, seed {seed}, cut after {at} of {events} events");
            let (is_hot, plaintext) = visit(&case, images, start.plaintext.clone(), rng, &context);
            states += 1;
            hot += usize::from(is_hot);
            assert_eq!(plaintext.len(), start.plaintext.len());
        }
    }
    println!("{states} states in between, {hot} with a hot zone, 0 sectors lost (KEYWAY_SEED={seed})");
    assert!(states > 300 && hot > 100, "{states} states, {hot} of them hot");
}

/// Reads, writes, and goes on to the end.
fn visit(
    case: &Case,
    images: [Vec<u8>; 2],
    mut plaintext: Vec<u8>,
    rng: &mut Draws,
    context: &str,
) -> (bool, Vec<u8>) {
    let disks = Disks::new(images.clone());
    let volume = open(case, &disks, Purpose::Read).unwrap_or_else(|e| panic!("{context}: {e}"));
    assert!(all(&volume) == plaintext, "{context}: read as it is");
    let is_hot = volume.is_read_only();
    if is_hot {
        assert!(volume.write_at(&[1], 0).is_err() && volume.discard(0..4096).is_err(), "{context}");
    }
    drop(volume);
    assert_eq!((disks.events(), disks.images() == images), (0, true), "{context}: reading has written");

    let volume = open(case, &disks, Purpose::Write).unwrap_or_else(|e| panic!("{context}: {e}"));
    assert!(all(&volume) == plaintext, "{context}: opened for writing");
    for _ in 0..6 {
        let start = rng.below(plaintext.len());
        let end = plaintext.len().min(start + 1 + rng.below(60_000));
        rng.fill(&mut plaintext[start..end]).unwrap();
        volume.write_at(&plaintext[start..end], start as u64).unwrap();
    }
    volume.flush().unwrap();
    assert!(all(&volume) == plaintext, "{context}: written");
    drop(volume);
    let volume = open(case, &disks, Purpose::Read).unwrap_or_else(|e| panic!("{context}: {e}"));
    assert!(!volume.is_read_only() && all(&volume) == plaintext, "{context}: opened again");
    drop(volume);
    case.resume(&disks, rng).unwrap_or_else(|e| panic!("{context}: {e}"));
    assert!(
        case.check(&disks.images(), &Start::of(plaintext.clone()), context),
        "{context}: it has not ended"
    );
    (is_hot, plaintext)
}

/// A case that is cut while its hot zone is written.
pub(crate) fn in_the_zone(case: &Case) -> ([Vec<u8>; 2], Vec<u8>) {
    let rng = &mut seeded(5);
    let start = case.start(rng);
    let disks = Disks::new(start.images.clone());
    case.begin(&disks, rng).unwrap();
    let mut at = disks.events();
    case.resume(&disks, rng).unwrap();
    loop {
        let images = disks.cut(&start.images, at, 512, &mut |_| 1);
        let header = Arc::new(Memory::from(images[0].clone()));
        let luks = Luks::open(header, Access::Probe).unwrap();
        let found = keyway_volume::reencrypt::UnderWay::of(luks.header()).unwrap();
        if found.is_some_and(|found| found.hot_zone().is_some()) {
            return (images, start.plaintext);
        }
        at += 1;
    }
}

pub(crate) fn simple(kind: Kind, resilience: &'static str) -> Case {
    let (sectors, zone, data_len) = ((512, 512), Some(32 << 10), 160 << 10);
    Case { kind, resilience, sectors, zone, data_len, block: 512, skip: None }
}

#[test]
fn what_nothing_protects_is_refused_and_named() {
    let case = simple(Kind::Key { detached: false }, "none");
    let (images, _) = in_the_zone(&case);
    let disks = Disks::new(images.clone());
    for purpose in [Purpose::Read, Purpose::Write] {
        let Err(Error::Refused { kind: Refusal::NotRecoverable, why }) = open(&case, &disks, purpose) else {
            panic!("{purpose:?}: opened")
        };
        assert!(why.starts_with("bytes 0 to 32768 of the volume were being written"), "{why}");
    }
    assert!(disks.images()[0][HEADER..] == images[0][HEADER..], "nothing was changed");
}

#[test]
fn keys_that_are_missing_or_others_open_nothing() {
    let case = simple(Kind::Key { detached: false }, "checksum");
    let (images, _) = in_the_zone(&case);
    let open_with = |first: Secret, second: Option<SecondKey>| {
        let luks = Luks::open(Arc::new(Memory::from(images[0].clone())), Access::Probe).unwrap();
        Admitted::judge(luks, None, &Accepted::default()).unwrap().open_with(first, 0, second).map(drop)
    };
    let second = |byte, digest| Some(SecondKey { key: key(byte), digest });
    open_with(key(1), second(2, 1)).unwrap();
    for (first, other) in [(key(1), None), (key(1), second(2, 2)), (key(2), second(1, 0))] {
        assert!(matches!(open_with(first, other), Err(Error::WrongVolumeKey)));
    }
    // Keys that the caller says were verified, and were not.
    for (first, other) in [(key(1), second(1, 1)), (key(2), second(2, 1)), (key(2), second(1, 1))] {
        assert!(matches!(open_with(first, other), Err(Error::Refused { kind: Refusal::Forged, .. })));
    }
}

#[test]
fn a_device_that_shrank_is_refused_before_a_key_is_asked_for() {
    let case = simple(Kind::Key { detached: true }, "journal");
    let (images, _) = in_the_zone(&case);
    let judge = |len: u64| {
        let luks = Luks::open(Arc::new(Memory::from(images[0].clone())), Access::Probe).unwrap();
        let device = DataDevice { len, holds_header: false };
        Admitted::judge(luks, Some(device), &Accepted::default()).map(drop)
    };
    judge(160 << 10).unwrap();
    let why = judge(16 << 10).unwrap_err().to_string();
    assert_eq!(why, "its segments end after the 16384 bytes of data");
    assert!(judge(0).is_err());
}
