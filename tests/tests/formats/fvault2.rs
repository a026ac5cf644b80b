//! FileVault 2 volumes that are made from the specification: cryptsetup says the same of them, and they open through the
//! library and the program. (`vm` has the kernel's mapping.)

use keyway_crypto::{Cpu, Hash, Secret};
use keyway_tests::fvault2::{DATA, DEVICE_LEN, Fvault2, LABEL, LEN, METADATA, PASSPHRASE, forge, sealed};
use keyway_tests::{Scratch, cryptsetup, keyway, need, random};
use keyway_volume::device::storage::Memory;
use keyway_volume::kind::fvault2::{self, Header, JudgedFvault2};
use keyway_volume::kind::{Judged, Key, Kind, Subject, Takes, WayCost};
use keyway_volume::{Result, Storage, UnlockOptions, Volume};
use std::fs;
use std::sync::Arc;

fn plaintext() -> Vec<u8> {
    random(77, LEN)
}

fn storage(volume: &[u8]) -> Arc<dyn Storage> {
    Arc::new(Memory::from(volume.to_vec()))
}

fn judge(data: &Arc<dyn Storage>) -> Result<JudgedFvault2> {
    let on = Subject { data, device: "volume", writes: false, weak_ciphers: false };
    JudgedFvault2::new(Header::read(&**data)?, &on)
}

/// What the volume opens as by a passphrase.
fn opened(volume: &[u8], passphrase: &str) -> Result<Vec<u8>> {
    let secret = Secret::copy_from(passphrase.as_bytes());
    opened_by(volume, Key::Passphrase(&secret), &UnlockOptions::default())
}

fn opened_by(volume: &[u8], key: Key<'_>, options: &UnlockOptions) -> Result<Vec<u8>> {
    let data = storage(volume);
    let found = judge(&data)?.open(key, options)?;
    let volume = Volume::new(data.clone(), &found.layout, &found.volume_key, Cpu::detect())?;
    let mut read = vec![0; volume.len() as usize];
    volume.read_at(&mut read, 0).unwrap();
    Ok(read)
}

/// One with a block of its metadata changed.
fn forged(number: usize, change: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut volume = Fvault2::default().make(&vec![0; LEN]);
    forge(&mut volume, number, change);
    volume
}

fn set(at: usize, value: u32) -> impl Fn(&mut Vec<u8>) {
    move |block| block[at..at + 4].copy_from_slice(&value.to_le_bytes())
}

/// Another size in the volume's property list.
fn of_size(size: &str) -> impl Fn(&mut Vec<u8>) {
    move |block| {
        let at = block.windows(8).position(|bytes| bytes == b"0x100000").unwrap();
        block[at..at + 8].copy_from_slice(size.as_bytes());
    }
}

#[track_caller]
fn assert_refused(volume: &[u8], why: &str) {
    let said = opened(volume, PASSPHRASE).map_or_else(|error| error.to_string(), |_| "opened".into());
    assert!(said.contains(why), "{said}");
}

#[test]
fn every_passphrase_opens_it_and_the_newest_metadata_count() {
    let plain = plaintext();
    let several = Fvault2 { passphrases: vec!["one", "two"], ..Fvault2::default() }.make(&plain);
    assert!(opened(&several, "one").unwrap() == plain && opened(&several, "two").unwrap() == plain);
    assert!(matches!(opened(&several, "three"), Err(keyway_volume::Error::WrongPassphrase)));
    let older = Fvault2 { has_older: true, ..Fvault2::default() };
    let copy = Fvault2 { only_copy: true, ..Fvault2::default() };
    for made in [older, copy] {
        assert!(opened(&made.make(&plain), PASSPHRASE).unwrap() == plain, "{made:?}");
    }
}

#[test]
fn damage_is_got_over_or_named() {
    let plain = plaintext();
    let made = Fvault2::default().make(&plain);
    let damaged = |places: &[usize]| {
        let mut volume = made.clone();
        places.iter().for_each(|at| volume[*at] ^= 1);
        volume
    };
    let end = DEVICE_LEN - 512;
    // The header has a copy at the end, the metadata have one behind them; the label has none here.
    assert!(opened(&damaged(&[20]), PASSPHRASE).unwrap() == plain);
    assert!(opened(&damaged(&[METADATA[0] + 2 * 8192]), PASSPHRASE).unwrap() == plain);
    assert_refused(&damaged(&[20, end + 20]), "checksum does not match");
    assert_refused(&damaged(&[88, end + 88]), "volume header: it is not Core Storage's");
    assert_refused(&damaged(&[LABEL + 100]), "the label of Core Storage at byte 4096 is damaged");
    let blocks = |number: usize| METADATA.map(|at| at + number * 8192);
    assert_refused(&damaged(&blocks(2)), "the metadata of Core Storage describe no logical volume");
    assert_refused(
        &damaged(&blocks(1)),
        "logical volume family: no valid block of type 0x19 describes object 10",
    );
    assert_refused(
        &damaged(&blocks(0)),
        "places of a logical volume: no valid block of type 0x305 describes object 8",
    );
    assert_refused(
        &made[..DATA + LEN - 512],
        "it ends at byte 1310208, but its header describes data up to byte 1310720",
    );
}

#[test]
fn what_is_not_read_here_is_refused_by_name() {
    let plain = vec![0; LEN];
    let default = Fvault2::default;
    for (made, why) in [
        (Fvault2 { passphrases: vec![], ..default() }, "list no user"),
        (Fvault2 { conversion: "Converting", ..default() }, "its conversion is \"Converting\", not complete"),
        (Fvault2 { extents: vec![[0, 100, 64], [100, 156, 164]], ..default() }, "its data are in 2 places"),
        (
            Fvault2 { extents: vec![[0, 256, 0]], ..default() },
            "its data are on another disk (a Fusion Drive)",
        ),
        (
            Fvault2 { extents: vec![[0, 255, 64]], ..default() },
            "its metadata give it 1048576 bytes, but its place on the disk has 1044480 at byte 0",
        ),
        (
            Fvault2 { extents: vec![[1, 256, 64]], ..default() },
            "but its place on the disk has 1048576 at byte 4096",
        ),
        (
            Fvault2 { extents: vec![[0, 256, 1 << 60]], ..default() },
            "block 1152921504606846976 is beyond every device",
        ),
        (
            Fvault2 { extents: vec![[0, 256, 1 << 40]], ..default() },
            "its header describes data up to byte 4503599628419072",
        ),
        (Fvault2 { extents: vec![], ..default() }, "its data are in 0 places"),
        (
            Fvault2 { volumes: 3, ..default() },
            "Core Storage has 3 logical volumes here, but only one is supported",
        ),
    ] {
        assert_refused(&made.make(&plain), why);
    }
    assert_refused(&forged(0, set(64, 204)), "places of a logical volume: 204 are more than fit");
    assert_refused(&forged(0, set(64, 203)), "its data are in 203 places");
    assert_refused(&forged(2, set(128, 8100)), "are beyond its block");
    assert_refused(&forged(2, set(128, u32::MAX)), "are beyond its block");
    let list = "property list: it is packed or goes on in another block";
    // How long it is packed, unpacked, and in this block.
    for (at, len) in [(104, 10), (108, 10), (108, 5000), (116, 10)] {
        assert_refused(&forged(1, set(at, len)), list);
    }
    // What is behind it is not a part of it.
    for size in ["0x000000", "0x0ffe01"] {
        let bytes = u32::from_str_radix(&size[2..], 16).unwrap();
        let why =
            format!("its metadata give it {bytes} bytes, but its place on the disk has 1048576 at byte 0");
        assert_refused(&forged(2, of_size(size)), &why);
    }
    assert_refused(&forged(2, set(128, 0x100)), "property list: ");
    assert_refused(&forged(2, set(64, 77)), "no valid block of type 0x19 describes object 77");
    // The header's own fields.
    let header = |at: usize, value: u32| {
        let mut volume = default().make(&plain);
        let mut bytes = volume[..512].to_vec();
        set(at, value)(&mut bytes);
        let bytes = sealed(bytes);
        volume[..512].copy_from_slice(&bytes);
        volume[DEVICE_LEN - 512..].copy_from_slice(&bytes);
        volume
    };
    for (at, value, why) in [
        (90, 2, "algorithm of the checksums: 2 is not 1"),
        (168, 32, "bytes in the key: 32 is not 16"),
        (172, 1, "cipher: 1 is not 2"),
        (96, 5000, "bytes in a block: 5000"),
        (96, 0, "bytes in a block: 0"),
        (100, 8000, "needs 8240 bytes, has 8000"),
        (104, 0, "names no label"),
        (104, 1 << 30, "a label of Core Storage would be at byte"),
        (108, u32::MAX, "is beyond every device"),
    ] {
        assert_refused(&header(at, value), why);
    }
}

/// The rest of its place is not the volume's.
#[test]
fn a_volume_may_be_smaller_than_its_place() {
    let plain = plaintext();
    let mut volume = Fvault2::default().make(&plain);
    forge(&mut volume, 2, of_size("0x0ffe00"));
    assert!(opened(&volume, PASSPHRASE).unwrap() == plain[..LEN - 512]);
}

/// Of two that are equally new, the first.
#[test]
fn a_block_gives_way_to_newer_ones_alone() {
    let plain = plaintext();
    let mut volume = Fvault2 { has_older: true, ..Fvault2::default() }.make(&plain);
    forge(&mut volume, 5, set(16, 6));
    assert!(opened(&volume, PASSPHRASE).unwrap() == plain);
    forge(&mut volume, 5, set(16, 7));
    assert_refused(
        &volume,
        "its metadata give it 1048576 bytes, but its place on the disk has 4096 at byte 0",
    );
}

#[test]
fn places_are_counted_in_blocks() {
    let made = Fvault2 { extents: vec![[0, 100, 64], [100, 156, 0], [256, 7, 164]], ..Fvault2::default() };
    let extents = Header::read(&*storage(&made.make(&vec![0; LEN]))).unwrap().logical.extents;
    let found = extents.iter().map(|it| [Some(it.start.0), Some(it.len.0), it.at.map(|at| at.0)]);
    let expected =
        [[0, 100, 64], [100, 156, 0], [256, 7, 164]].map(|it| it.map(|blocks| Some(4096 * blocks)));
    let [one, [start, len, _], three] = expected;
    assert_eq!(found.collect::<Vec<_>>(), [one, [start, len, None], three]);
}

#[test]
fn a_volume_key_opens_its_own_volume() {
    let plain = plaintext();
    let volume = Fvault2::default().make(&plain);
    let own = Fvault2::volume_key();
    let by = |key: &[u8]| opened_by(&volume, Key::Volume(&Secret::copy_from(key)), &UnlockOptions::default());
    assert!(by(own.expose()).unwrap() == plain);
    let own = own.expose();
    let mut others = vec![own[..31].to_vec(), [own, &[0]].concat(), vec![]];
    for at in [0, 15, 16, 31] {
        let mut other = own.to_vec();
        other[at] ^= 1;
        others.push(other);
    }
    for other in others {
        assert_eq!(by(&other).unwrap_err().to_string(), "Volume key does not match the volume.");
    }
}

#[test]
fn a_chosen_user_is_tried_alone() {
    let plain = plaintext();
    let volume = Fvault2 { passphrases: vec!["one", "two"], ..Fvault2::default() }.make(&plain);
    let opens = |text: &str, user: u32| {
        let options = UnlockOptions { keyslot: Some(user), ..UnlockOptions::default() };
        let secret = Secret::copy_from(text.as_bytes());
        opened_by(&volume, Key::Passphrase(&secret), &options).is_ok_and(|read| read == plain)
    };
    assert_eq!(
        [opens("one", 0), opens("one", 1), opens("two", 0), opens("two", 1)],
        [true, false, false, true]
    );
}

#[test]
fn what_is_known_without_a_key() {
    let mut volume = Fvault2 { passphrases: vec!["one", "two"], ..Fvault2::default() }.make(&plaintext());
    let known = fvault2::Fvault2.known(&*storage(&volume)).unwrap();
    assert_eq!(known.ciphers, ["aes-xts-plain64"]);
    let ways: Vec<_> = known.ways.iter().map(|way| (&*way.name, way.takes, way.cost.clone())).collect();
    let cost = |iterations| WayCost::Pbkdf2 { hash: Hash::Sha256, iterations, derived: 16, telling: 16 };
    let expected = [("user 0", Takes::Passphrase, cost(1001)), ("user 1", Takes::Passphrase, cost(1002))];
    assert_eq!(ways, expected);
    let judged = judge(&storage(&volume)).unwrap();
    assert_eq!(judged.uuid(), Some("33a76caa-1481-4bc5-8d04-1ac1707c19c0"));
    assert_eq!((judged.volume_key_len(), judged.notes()), (Some(32), vec![]));
    volume[20] ^= 1;
    let note = "The header of Core Storage is damaged (header checksum does not match): its copy at the end is used.";
    assert_eq!(judge(&storage(&volume)).unwrap().notes(), [note]);
}

#[test]
fn the_program_reads_writes_serves_and_shows_it() {
    let scratch = Scratch::new();
    let plain = plaintext();
    let volume = scratch.file("volume", Fvault2::default().make(&plain));
    let read = || keyway("read --type fvault2").arg(&volume);
    let key = scratch.file("key", PASSPHRASE);
    for run in [read().stdin(PASSPHRASE), read().arg("-d").arg(&key)] {
        assert!(run.ok().quiet().stdout == plain);
    }
    assert_eq!(read().stdin("wrong").fails(2).errors(), "No key available with this passphrase.\n");
    let whole = scratch.file("whole-key", Fvault2::volume_key().expose());
    assert!(read().arg("--volume-key-file").arg(&whole).ok().quiet().stdout == plain);
    let refused = read().args("--skip 1").stdin(PASSPHRASE).fails(1).errors();
    assert_eq!(refused, "keyway: --skip does not apply to FileVault volumes.\n");

    let new = scratch.file("new", random(3, 5000));
    keyway("write --type fvault2 --offset 100").arg(&volume).arg(&new).stdin(PASSPHRASE).ok();
    assert!(read().stdin(PASSPHRASE).ok().stdout[100..5100] == fs::read(&new).unwrap());

    let runtime = scratch.path("run");
    fs::create_dir(&runtime).unwrap();
    let program = |line: &str| keyway(line).env("XDG_RUNTIME_DIR", &runtime);
    program("fvault2Open --backend nbd").arg(&volume).arg("mac").stdin(PASSPHRASE).ok();
    let status = program("status mac").ok().text();
    assert!(status.contains("  type:    FVAULT2\n"), "{status}");
    program("fvault2Close mac").ok();
    program("open --type fvault2 --test-passphrase").arg(&volume).stdin(PASSPHRASE).ok().quiet();
    program("open --type fvault2 --test-passphrase").arg(&volume).stdin("wrong").fails(2);
}

#[test]
fn the_dump_is_cryptsetups() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    let volume = scratch.file("volume", Fvault2::default().make(&plaintext()));
    let theirs = cryptsetup("fvault2Dump").arg(&volume).ok().text();
    assert_eq!(keyway("fvault2Dump").arg(&volume).ok().quiet().text(), theirs);
    let with_key =
        |run: keyway_tests::Run| run.args("-q --dump-volume-key").arg(&volume).stdin(PASSPHRASE).ok().text();
    assert_eq!(with_key(keyway("fvault2Dump")), with_key(cryptsetup("fvault2Dump")));
    keyway("fvault2Dump -q --dump-volume-key").arg(&volume).stdin("wrong").fails(2);
    let stored = |run: keyway_tests::Run, key: &str| {
        let run = run
            .args("-q --dump-volume-key --volume-key-file")
            .arg(key)
            .arg(&volume)
            .directory(scratch.root());
        (run.stdin(PASSPHRASE).ok().text(), fs::read(scratch.path(key)).unwrap())
    };
    assert_eq!(stored(keyway("fvault2Dump"), "ours"), stored(cryptsetup("fvault2Dump"), "theirs"));
    let other = scratch.file("other", vec![0; 4096]);
    let said = keyway("fvault2Dump").arg(&other).fails(1).errors();
    assert!(said.contains("volume header: it is not Core Storage's"), "{said}");
}
