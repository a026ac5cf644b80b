//! New volumes: with every option, what is around their data, what is refused, and cuts.

use super::*;
use keyway_crypto::SectorSize;
use keyway_format::Bytes;
use keyway_format::bitlk::{BootSectors, Conversion, Protection};
use keyway_volume::device::storage::Faulty;
use keyway_volume::kind::bitlk::CopyState;
use keyway_volume::{Error, Mapping, Random};
use std::collections::BTreeSet;

/// The plaintext is written and read, and nothing is written over the metadata.
#[track_caller]
fn check(new: &NewBitlk, mode: (u16, usize)) -> Header {
    let (device, recovery) =
        (Arc::new(Memory::from(vec![7; LEN])), RecoveryKey::random(&mut OsRandom).unwrap());
    make(new, &*device, KEY, Some(&recovery)).unwrap();
    for key in [secret(KEY), recovery.text()] {
        let found = open(&device, &key).unwrap();
        assert_eq!(found.volume_key.len(), mode.1);
        let is_of = |mapping: &Mapping| match mapping {
            Mapping::Crypt { sector_size, .. } => *sector_size == SectorSize::new(u32::from(mode.0)).unwrap(),
            other => matches!(other, Mapping::Zero),
        };
        assert!(found.layout.segments.iter().all(|segment| is_of(&segment.mapping)));
    }
    let plain = volume(&device, &secret(KEY));
    let text: Vec<u8> = (0..ROOM as u32 / 4).flat_map(u32::to_le_bytes).collect();
    plain.write_at(&text, 0).unwrap();
    let mut found = vec![0; ROOM];
    volume(&device, &recovery.text()).read_at(&mut found, 0).unwrap();
    assert!(found == text);
    assert_eq!((plain.len(), new.room(LEN as u64).unwrap()), (LEN as u64, ROOM as u64));
    assert!(plain.write_at(&[1; 4096], ROOM as u64).is_err(), "the first copy of the metadata is there");
    Header::read(&*device).unwrap()
}

#[test]
fn every_option() {
    for (key_bits, bytes) in [(None, 32), (Some(128), 32), (Some(256), 64)] {
        for (sector_size, sector) in [(None, 512), (Some(4096), 4096)] {
            let header = check(&NewBitlk { key_bits, sector_size, ..quick() }, (sector, bytes));
            assert_eq!(header.boot.sector_size.0, u64::from(sector));
            assert_eq!(header.metadata.description.as_deref(), Some("Keyway"));
        }
    }
    let header = check(&NewBitlk { description: Some("Bücher".into()), quick: false, ..quick() }, (512, 32));
    assert_eq!(header.metadata.description.as_deref(), Some("Bücher"));
}

#[test]
fn what_the_header_says() {
    let (image, _) = made();
    let Header { metadata, copies, boot, .. } = header(&image).unwrap();
    assert_eq!(copies.map(|(_, state)| state), [CopyState::Used, CopyState::Same, CopyState::Same]);
    assert_eq!(boot.metadata, metadata.copies.map(Some));
    assert_eq!(boot.sector_size, Bytes(512));
    let moved = BootSectors { offset: Bytes((ROOM + (64 << 10)) as u64), len: Bytes(8192) };
    assert_eq!(metadata.boot_sectors, Some(moved));
    assert_eq!(metadata.copies, [ROOM, ROOM + (384 << 10), ROOM + (768 << 10)].map(|at| Bytes(at as u64)));
    let state = metadata.state;
    assert_eq!((state.now, state.then), (Conversion::Encrypted, Conversion::Encrypted));
    assert_eq!((state.encrypted, state.converting), (Bytes(LEN as u64), Bytes(0)));
    assert_eq!(protections(&metadata), [Protection::Passphrase, Protection::RecoveryPassword]);
    let [one, two] = &metadata.protectors[..] else { panic!("two protectors") };
    assert!(one.guid != two.guid && one.salt != two.salt && metadata.guid != one.guid);
    let (again, _) = made();
    let again = header(&again).unwrap().metadata;
    assert!(again.guid != metadata.guid && again.protectors[0].salt != one.salt);
    // 2020 to 2100.
    assert!((132_223_104_000_000_000..157_469_184_000_000_000).contains(&metadata.created));
}

/// A device whose last sector is cut off is used up to there.
#[test]
fn what_is_around_the_data() {
    let odd = LEN + 4096 + 100;
    let device = Memory::from(vec![7; odd]);
    make(&quick(), &device, KEY, None).unwrap();
    let image = bytes(&device);
    let found = header(&image).unwrap().metadata;
    assert_eq!(
        (found.state.encrypted, found.copies[0]),
        (Bytes(LEN as u64 + 4096), Bytes(ROOM as u64 + 4096))
    );
    let data = 8192..ROOM + 4096;
    assert!(image[data.clone()].iter().all(|byte| *byte == 7), "quick leaves the data area");
    assert_eq!((quick().fills(&device).unwrap(), quick().room(odd as u64).unwrap()), (0, data.end as u64));

    let (full, meter) = (NewBitlk::default(), Meter::new());
    let passphrase = secret(KEY);
    let keys = NewKeys { passphrase: Some(&passphrase), recovery: None };
    let options = UnlockOptions::default();
    full.make(&device, keys, (&mut OsRandom, &options), &meter).unwrap();
    let data_len = data.len() as u64;
    assert_eq!((meter.done(), full.fills(&device).unwrap()), (data_len, data_len));
    let filled = bytes(&device);
    assert!(filled[data].chunks(16).all(|block| block != [7; 16]));

    let long = NewBitlk { sector_size: Some(4096), ..NewBitlk::default() };
    assert_eq!(long.fills(&device).unwrap(), data_len, "its sectors may be longer than the device's");

    let stopped = Meter::new();
    stopped.stop();
    let why = full.make(&device, keys, (&mut OsRandom, &options), &stopped).unwrap_err();
    assert!(matches!(why, Error::Crypto(keyway_crypto::Error::Stopped)), "{why}");
    assert!(header(&bytes(&device)).is_err());
}

/// Nothing is written.
#[track_caller]
fn refused(new: &NewBitlk, len: usize, key: &str) -> String {
    let device = Memory::from(vec![7; len]);
    let why = make(new, &device, key, None).unwrap_err().to_string();
    assert!(bytes(&device).iter().all(|byte| *byte == 7));
    why
}

#[test]
fn what_windows_does_not_make() {
    let bits = |bits| NewBitlk { key_bits: Some(bits), ..quick() };
    assert_eq!(refused(&bits(512), LEN, KEY), "BitLocker's keys have 128 or 256 bits, not 512");
    let sector = NewBitlk { sector_size: Some(1024), ..quick() };
    assert_eq!(refused(&sector, LEN, KEY), "BitLocker's sectors have 512 or 4096 bytes, not 1024");
    let short = "the device has 2097151 bytes, and a BitLocker volume needs 2097152";
    assert_eq!(refused(&quick(), LEN - 1, KEY), short);
    assert_eq!(refused(&quick(), LEN, ""), "the volume needs a passphrase or a recovery password");
    let length = |units| format!("the passphrase has {units} characters, and Windows takes 8 to 256");
    assert_eq!(refused(&quick(), LEN, "sevenäö"), length(7));
    make(&quick(), &Memory::zeroed(LEN), "sevenäöü", None).unwrap();
    assert_eq!(refused(&quick(), LEN, &"x".repeat(257)), length(257));
    let digits = "471207-278498-422125-177177-561902-537405-468006-693451";
    let form = "the passphrase looks like a recovery password, and would be taken for one";
    assert_eq!(refused(&quick(), LEN, digits), form);
    let long = NewBitlk { description: Some("x".repeat(256)), ..quick() };
    let description = "description: at most 255 characters of UTF-16, none of them NUL, fit";
    assert_eq!(refused(&long, LEN, KEY), description);
    let device = Memory::zeroed(LEN);
    let keys = NewKeys { passphrase: Some(&Secret::copy_from(b"\xffnot UTF-8")), recovery: None };
    let why = quick().make(&device, keys, (&mut OsRandom, &UnlockOptions::default()), &Meter::new());
    assert_eq!(why.unwrap_err().to_string(), "the passphrase is not UTF-8, as BitLocker requires");
}

#[test]
fn a_recovery_password_is_not_printed_by_the_way() {
    assert_eq!(format!("{:?}", RecoveryKey::random(&mut OsRandom).unwrap()), "RecoveryKey(…)");
}

/// A generator that is broken gives no key.
#[test]
fn equal_halves_of_a_key_are_refused() {
    struct Same;
    impl Random for Same {
        fn fill(&mut self, buf: &mut [u8]) -> Result<()> {
            buf.fill(1);
            Ok(())
        }
    }
    let passphrase = secret(KEY);
    let keys = NewKeys { passphrase: Some(&passphrase), recovery: None };
    let costs: (&mut dyn Random, _) = (&mut Same, &UnlockOptions::default());
    let why = quick().make(&Memory::zeroed(LEN), keys, costs, &Meter::new()).unwrap_err();
    assert_eq!(
        why.to_string(),
        "both halves of an XTS key are equal: the system's random bytes are not random"
    );
}

/// At each stop the old volume is whole, or the new one, or there is none.
#[test]
fn a_cut_leaves_the_old_volume_the_new_one_or_none() {
    let old = Memory::zeroed(LEN);
    make(&NewBitlk::default(), &old, OTHER, None).unwrap();
    let before = bytes(&old);
    let (mine, other, data) = (secret(KEY), secret(OTHER), 8192..ROOM);
    for is_quick in [false, true] {
        let new = NewBitlk { quick: is_quick, ..NewBitlk::default() };
        let faulty = Faulty::new(before.clone());
        make(&new, &faulty, KEY, None).unwrap();
        let complete = faulty.image();
        assert!(faulty.image_at(*faulty.cuts().last().unwrap()) == complete, "no write waits for a flush");
        let (mut opening, mut seen) = (Opening::default(), BTreeSet::new());
        for cut in faulty.cuts() {
            let image = faulty.image_at(cut);
            let state = opening.by(&image, &[&other, &mine]);
            match state.as_deref() {
                Some([true, false]) => assert!(image[data.clone()] == before[data.clone()], "{cut:?}"),
                Some([false, true]) => {
                    assert!(image[data.clone()] == complete[data.clone()], "{cut:?}");
                    assert!(header(&image).unwrap().troubles().next().is_none(), "{cut:?}");
                }
                None => {}
                other => panic!("{cut:?}: {other:?}"),
            }
            seen.insert(state);
        }
        assert_eq!(seen.len(), 3, "{seen:?}");
        for event in 0..faulty.events().len() {
            let broken = Faulty::breaking_at(before.clone(), event, 100);
            assert!(make(&new, &broken, KEY, None).is_err(), "event {event} failed, but the volume was made");
        }
    }
}
