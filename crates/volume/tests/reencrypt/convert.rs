//! What was no LUKS volume: headers before its data, which counts its IVs from behind them, and copies after it.

use super::forged::{Row, VOUCH, check};
use super::open::{in_the_zone, open, simple};
use super::*;
use keyway_crypto::{CipherSpec, SectorSize};
use keyway_volume::reencrypt::{Conversion, Foreign, Plan, Planned, Purpose};
use keyway_volume::{Layout, MappedSegment, Mapping};

/// VeraCrypt's headers, and as much behind the data.
pub(crate) const HEADERS: usize = 128 << 10;
/// What its headers consist of here.
pub(crate) const MARK: &[u8] = b"a header that opens what has gone";

/// The data, on a device of its own.
pub(crate) fn device(headers: usize, sector_size: u32, plaintext: &[u8]) -> Vec<u8> {
    let behind = if headers == HEADERS { HEADERS } else { 0 };
    let len = headers + plaintext.len() + behind;
    let image: Vec<u8> = MARK.iter().copied().cycle().take(len).collect();
    let storage = Arc::new(Memory::from(image));
    let layout = layout(headers, sector_size, plaintext.len());
    let volume = Volume::new(storage.clone(), &layout, &key(3), Cpu::detect()).unwrap();
    volume.write_at(plaintext, 0).unwrap();
    storage.to_vec()
}

fn layout(headers: usize, sector_size: u32, len: usize) -> Layout {
    Layout::new(vec![MappedSegment {
        plaintext_start: 0,
        length: (headers == HEADERS).then_some(len as u64),
        storage_offset: headers as u64,
        mapping: Mapping::Crypt {
            spec: CipherSpec::parse("aes-xts-plain64").unwrap(),
            sector_size: SectorSize::new(sector_size).unwrap(),
            iv_tweak: headers as u64 / 512,
            iv_large_sectors: false,
        },
        second_key: false,
    }])
}

pub(crate) fn foreign(headers: usize, sector_size: u32, len: usize, device: u64) -> Result<Foreign, Error> {
    Foreign::new(&layout(headers, sector_size, len), key(3), device)
}

pub(crate) fn with_slot<'a>(old: &'a Foreign, passphrase: &'a Secret) -> Conversion<'a> {
    let options = AddKey { kdf: kdf(), ..AddKey::default() };
    Conversion { old, slot: NewSlot { passphrase, options, replaces: None } }
}

/// Nothing of the old headers is left on the device.
pub(crate) fn check_headers_are_gone(image: &[u8]) {
    assert!(!image.windows(MARK.len()).any(|bytes| bytes == MARK), "an old header is still there");
}

/// Whether a header says that something is under way.
pub(crate) fn is_under_way(header: &[u8]) -> bool {
    let luks = Luks::open(Arc::new(Memory::from(header.to_vec())), Access::Write).unwrap();
    luks.check_requirements().is_err()
}

/// Whether that is the cipher of a segment.
pub(crate) fn is_encrypted_with(segment: &keyway_format::luks2::Segment, cipher: &str) -> bool {
    matches!(&segment.kind, keyway_format::luks2::SegmentKind::Crypt { encryption, .. } if encryption == cipher)
}

/// From its beginning on nothing opens by the old headers, and what they were is overwritten once: the data that is
/// there later stays.
#[test]
fn old_headers_go_before_the_data_moves() {
    let case = Case {
        kind: Kind::Convert { headers: HEADERS },
        resilience: "journal",
        sectors: (512, 512),
        zone: Some(32 << 10),
        data_len: 160 << 10,
        block: 512,
        skip: None,
    };
    let rng = &mut seeded(3);
    let start = case.start(rng);
    let disks = Disks::new(start.images.clone());
    case.begin(&disks, rng).unwrap();
    assert!(disks.images()[1] == start.images[1], "beginning writes nothing to the data's device");
    let mut job = case.job(&disks, None, rng).unwrap();
    check_headers_are_gone(&disks.images()[1]);
    let data = HEADERS..HEADERS + case.data_len;
    assert!(disks.images()[1][data.clone()] == start.images[1][data], "the data has not moved yet");
    assert!(!job.step(rng).unwrap());
    drop(job);
    let before = disks.images();
    drop(case.job(&disks, None, rng).unwrap());
    let (now, data) = (disks.images(), 0..HEADERS + case.data_len);
    assert!(now[1][data.clone()] == before[1][data], "nothing but what is behind the data is written again");
    case.resume(&disks, rng).unwrap();
    assert!(case.check(&disks.images(), &start, "in the end"));
}

/// What a repair writes, and what opening a volume does: the zone that was cut off, and nothing else on the device.
#[test]
fn what_only_recovers_leaves_the_old_headers_alone() {
    let case = simple(Kind::Convert { headers: HEADERS }, "journal");
    let rng = &mut seeded(3);
    // The power failed when the header had appeared, before the old ones became noise.
    let disks = Disks::new(case.start(rng).images);
    case.begin(&disks, rng).unwrap();
    let (begun, events) = (disks.images(), disks.events());
    recover(&case, &disks);
    assert!(disks.images() == begun && disks.events() == events, "nothing was cut off");
    // And in the first zone.
    let (images, _) = in_the_zone(&case);
    let (mut with_headers, behind) = (images, HEADERS + case.data_len);
    with_headers[1][behind..].copy_from_slice(&begun[1][behind..]);
    for recovers in [recover as fn(&Case, &Disks), open_to_write] {
        let disks = Disks::new(with_headers.clone());
        recovers(&case, &disks);
        let (now, zone) = (disks.images(), case.zone.unwrap() as usize);
        assert!(now[1][zone..] == with_headers[1][zone..], "only the zone was written");
        let luks = Luks::open(disks.disk(0), Access::Probe).unwrap();
        let state = keyway_volume::UnderWay::of(luks.header()).unwrap().unwrap();
        assert!(state.hot_zone().is_none(), "the header says that the zone is whole");
    }
}

fn recover(case: &Case, disks: &Disks) {
    let luks = Luks::open(disks.disk(0), Access::Write).unwrap();
    let limits = UnlockOptions { threads: 1, ..UnlockOptions::default() };
    let keys = unlock(&luks, &secret("one"), &limits).unwrap();
    let options = Options { zone: case.zone, only_recovers: true, ..Options::default() };
    Job::resume(luks, disks.disk(1), &keys, &options, &mut seeded(4)).unwrap();
}

fn open_to_write(case: &Case, disks: &Disks) {
    open(case, disks, Purpose::Write).unwrap();
}

/// What LUKS2 has no words for, each with its reason.
#[test]
fn what_cannot_be_described_is_refused() {
    let device = (2 * HEADERS + 4096) as u64;
    let of = |change: &dyn Fn(&mut MappedSegment)| {
        let mut layout = layout(HEADERS, 512, 4096);
        change(&mut layout.segments[0]);
        Foreign::check(&layout, device).map_err(|error| error.to_string())
    };
    let crypt = |segment: &mut MappedSegment, first: u64| match &mut segment.mapping {
        Mapping::Crypt { iv_tweak, .. } => *iv_tweak = first,
        _ => unreachable!("it is encrypted"),
    };
    assert_eq!(of(&|_| {}), Ok(()));
    let said = |found: Result<(), String>, words: &str| {
        let error = found.expect_err(words);
        assert!(error.contains(words), "{error}");
    };
    said(of(&|segment| crypt(segment, 0)), "begins at byte 131072 with sector 0");
    said(of(&|segment| crypt(segment, 257)), "begins at byte 131072 with sector 257");
    said(
        of(&|segment| {
            segment.storage_offset = 4096;
            crypt(segment, 8);
        }),
        "begins at byte 4096 with sector 8",
    );
    said(of(&|segment| segment.length = Some(4096 - 512)), "131584 bytes that are not its own");
    said(of(&|segment| segment.length = Some(device)), "it ends at byte 266240");
    let chain = Mapping::Chain {
        ciphers: "aes-twofish".into(),
        mode: keyway_crypto::CascadeMode::Xts,
        iv_tweak: 256,
    };
    said(of(&|segment| segment.mapping = chain.clone()), "a chain of ciphers (aes-twofish)");
    let mut two = layout(HEADERS, 512, 4096);
    two.segments.push(two.segments[0].clone());
    said(Foreign::check(&two, device).map_err(|e| e.to_string()), "amid the data");
}

/// Without its key: of those that were described, the ones that LUKS2 has words for, in their order.
#[test]
fn a_plan_names_each_cipher_that_it_may_be() {
    let case = simple(Kind::Convert { headers: HEADERS }, "journal");
    let start = case.start(&mut seeded(3));
    let of = |cipher: &str| {
        let mut layout = layout(HEADERS, 512, case.data_len);
        match &mut layout.segments[0].mapping {
            Mapping::Crypt { spec, .. } => *spec = CipherSpec::parse(cipher).unwrap(),
            _ => unreachable!("it is encrypted"),
        }
        layout
    };
    let mut elsewhere = of("twofish-xts-plain64");
    elsewhere.segments[0].storage_offset = 4096;
    let layouts = [of("serpent-xts-plain64"), elsewhere, of("aes-xts-plain64")];
    let luks = Luks::open(Arc::new(Memory::from(start.images[0].clone())), Access::Write).unwrap();
    let planned = Planned::Convert { layouts: &layouts };
    let plan = Plan::new(&luks, planned, &Terms::default(), start.images[1].len() as u64).unwrap();
    assert_eq!(plan.may_be(), ["serpent-xts-plain64", "aes-xts-plain64"]);
}

#[test]
fn every_field_of_a_conversion() {
    check(&simple(Kind::Convert { headers: HEADERS }, "journal"), FORGED);
}

const FORGED: &[Row] = &[
    (&[(",\"keyway-conversion\"", "")], "256 is not 0"),
    (&[("keyway-conversion", "keyway-other")], "requirement \"keyway-other\" is unknown"),
    (
        &[("\"iv_tweak\":\"256\"", "\"iv_tweak\":\"264\""), ("\"iv_tweak\":\"320\"", "\"iv_tweak\":\"328\"")],
        VOUCH,
    ),
    (
        &[
            ("\"type\":\"crypt\",\"offset\":\"131072\"", "\"type\":\"crypt\",\"offset\":\"131584\""),
            ("\"type\":\"crypt\",\"offset\":\"163840\"", "\"type\":\"crypt\",\"offset\":\"164352\""),
        ],
        VOUCH,
    ),
    (&[("\"iv_tweak\":\"320\"", "\"iv_tweak\":\"64\"")], "segments.1: is not what forward"),
    (&[("\"mode\":\"reencrypt\"", "\"mode\":\"decrypt\"")], "does not fit the backup segments"),
    (&[("\"online-reencrypt-v2\",", "")], "but no reencryption is under way"),
    (&[("\"type\":\"journal\"", "\"type\":\"none\"")], "does not do what"),
    (&[("\"forward\"", "\"backward\"")], "does not do what"),
    (&[("online-reencrypt-v2", "online-reencrypt")], "does not do what"),
    // The length of the data, behind which noise goes over the old headers' copies.
    (
        &[("\"size\":\"163840\"", "\"size\":\"159744\"")],
        "they have 163840 bytes, but the old data had 159744",
    ),
    (
        &[
            ("\"size\":\"163840\"", "\"size\":\"159744\""),
            ("\"size\":\"131072\",\"iv", "\"size\":\"126976\",\"iv"),
        ],
        VOUCH,
    ),
];
