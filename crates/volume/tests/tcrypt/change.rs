//! Headers under another key, and their backups: every program, hash and place, what is refused, and cuts.

use super::made::{Made, cipher, kdf};
use super::{open, place};
use keyway_crypto::{CascadeMode, Secret};
use keyway_format::Bytes;
use keyway_format::tcrypt::Program;
use keyway_volume::device::storage::{Faulty, Memory};
use keyway_volume::device::stream::Meter;
use keyway_volume::kind::tcrypt::{NewKey, NewVolume, Opened, Outer, Restore, Tcrypt};
use keyway_volume::{Error, OsRandom, Result, Storage, UnlockOptions};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

/// What opens the outer volume.
pub(super) const OLD: &str = "correct horse battery staple";
/// What is to open it.
pub(super) const NEW: &str = "another one, of 20 bytes";
/// What opens the hidden one.
pub(super) const HIDDEN: &str = "what opens the volume in it";
/// Bytes of the device.
pub(super) const LEN: usize = 512 << 10;

pub(super) fn secret(text: &str) -> Secret {
    Secret::copy_from(text.as_bytes())
}

/// What opens volumes of [`made`].
pub(super) fn narrow(hidden: bool, backup: bool) -> Tcrypt {
    Tcrypt { pim: Some(1), hash: Some("sha512".into()), ..place(hidden, backup) }
}

/// Has no memory for Argon2id: what nothing may open yet is looked for by every other KDF, in a tenth of the time.
pub(super) fn without_argon2id() -> UnlockOptions {
    UnlockOptions { memory_budget_kib: 1024, ..UnlockOptions::default() }
}

/// An outer volume and a hidden one.
pub(super) fn made() -> Vec<u8> {
    let device = Memory::zeroed(LEN);
    let new = NewVolume { pim: Some(1), quick: true, ..NewVolume::default() };
    new.make(&device, &secret(OLD), &mut OsRandom, &Meter::new()).unwrap();
    let options = without_argon2id();
    let outer = Outer::open(&device, &narrow(false, false), &secret(OLD), &options).unwrap();
    outer.hide(&device, 65536, &new, &secret(HIDDEN), (&mut OsRandom, &options)).unwrap();
    bytes(&device)
}

pub(super) fn bytes(device: &dyn Storage) -> Vec<u8> {
    let mut bytes = vec![0; device.len() as usize];
    device.read_at(&mut bytes, 0).unwrap();
    bytes
}

pub(super) fn opened(device: &dyn Storage, of: &Tcrypt, key: &str) -> Result<Opened> {
    Opened::open(device, of, &secret(key), &UnlockOptions::default())
}

pub(super) fn change(
    device: &dyn Storage,
    of: &Tcrypt,
    (old, new): (&str, &str),
    key: &NewKey,
) -> Result<()> {
    let is_argon2id = |hash: &Option<String>| hash.as_deref() == Some("argon2id");
    let options = match is_argon2id(&of.hash) || is_argon2id(&key.hash) {
        true => UnlockOptions::default(),
        false => without_argon2id(),
    };
    opened(device, of, old)?.change_key(device, key, &secret(new), (&mut OsRandom, &options))
}

pub(super) fn opens(image: &[u8], of: &Tcrypt, key: &str) -> bool {
    open(of, &Arc::new(Memory::from(image.to_vec())), key).is_ok()
}

pub(super) fn decrypted(image: &[u8], of: &Tcrypt, key: &str) -> Vec<u8> {
    let unlocked = open(of, &Arc::new(Memory::from(image.to_vec())), key).unwrap();
    unlocked.header.to_bytes().expose().to_vec()
}

/// The same fields and keys in both copies, under fresh salts; nothing else changes.
#[test]
fn both_copies_get_the_new_key_and_keep_the_volume_key() {
    let before = made();
    for (hidden, old, at) in [(false, OLD, 0), (true, HIDDEN, 65536)] {
        let device = Memory::from(before.clone());
        change(&device, &narrow(hidden, false), (old, NEW), &NewKey::default()).unwrap();
        let after = bytes(&device);
        let header = decrypted(&before, &narrow(hidden, false), old);
        for backup in [false, true] {
            let of = narrow(hidden, backup);
            assert_eq!(decrypted(&after, &of, NEW), header);
            assert!(!opens(&after, &of, old));
        }
        let (copy, len) = (LEN - 131_072 + at, 512);
        assert_ne!(after[at..at + 64], after[copy..copy + 64], "each has a salt of its own");
        let changed = (0..LEN).filter(|it| before[*it] != after[*it]);
        let is_header = |it: &usize| (at..at + len).contains(it) || (copy..copy + len).contains(it);
        assert!(changed.into_iter().all(|it| is_header(&it)), "only the headers change");
    }
}

/// What is not named stays; hash, PIM and key files may all be others.
#[test]
fn hash_pim_and_key_files_change_alone_and_together() {
    let path = std::env::temp_dir().join(format!("keyway-change-{}", std::process::id()));
    std::fs::write(&path, b"a key file").unwrap();
    let (device, files) = (Memory::from(made()), Some(vec![path.clone()]));
    let new = NewKey { hash: Some("SHA-256".into()), pim: Some(Some(2)), key_files: files };
    change(&device, &narrow(false, false), (OLD, ""), &new).unwrap_err();
    change(&device, &narrow(false, false), (OLD, NEW), &new).unwrap();
    let with_file = Tcrypt {
        pim: Some(2),
        hash: Some("sha256".into()),
        key_files: vec![path.clone()],
        ..place(false, false)
    };
    assert!(opens(&bytes(&device), &with_file, NEW));
    // Only the passphrase: the rest stays.
    change(&device, &with_file, (NEW, OLD), &NewKey::default()).unwrap();
    assert!(opens(&bytes(&device), &with_file, OLD));
    let without = NewKey { pim: Some(Some(1)), key_files: Some(Vec::new()), hash: Some("sha512".into()) };
    change(&device, &with_file, (OLD, NEW), &without).unwrap();
    assert!(opens(&bytes(&device), &narrow(false, false), NEW));
    std::fs::remove_file(&path).unwrap();
}

/// TrueCrypt's volumes stay TrueCrypt's.
#[test]
fn truecrypt_has_its_own_hashes_and_no_pim() {
    let device = Memory::from(Made::quick().device());
    let of = Tcrypt { hash: Some("sha512".into()), ..place(false, false) };
    let change = |hash: Option<&str>, pim, key: &str| {
        let new = NewKey { hash: hash.map(Into::into), pim, key_files: None };
        change(&device, &of, ("correct horse", key), &new).map_err(|error| error.to_string())
    };
    let known = "hash: TrueCrypt makes no volumes with \"sha256\", but with sha512, ripemd160, whirlpool";
    assert_eq!(change(Some("sha256"), None, NEW).unwrap_err(), known);
    let pim = "it is a TrueCrypt volume, and a PIM is VeraCrypt's";
    assert_eq!(change(None, Some(Some(1)), NEW).unwrap_err(), pim);
    let long = change(None, None, &"x".repeat(65)).unwrap_err();
    assert_eq!(long, "passphrase: 65 bytes, and TrueCrypt takes at most 64");
    change(Some("whirlpool"), Some(None), "short").unwrap();
    for backup in [false, true] {
        let of = Tcrypt { hash: Some("whirlpool".into()), ..place(false, backup) };
        let unlocked = open(&of, &Arc::new(Memory::from(bytes(&device))), "short").unwrap();
        assert_eq!((unlocked.kdf.program, unlocked.header.program), (Program::TrueCrypt, Program::TrueCrypt));
    }
}

/// Nothing is written.
#[test]
fn what_is_refused_changes_nothing() {
    let refused = |device: Vec<u8>, of: &Tcrypt, keys: (&str, &str), new: &NewKey| {
        let storage = Memory::from(device.clone());
        let why = change(&storage, of, keys, new).unwrap_err();
        assert!(bytes(&storage) == device);
        why.to_string()
    };
    let (outer, hidden, same) = (narrow(false, false), narrow(true, false), NewKey::default());
    assert_eq!(
        refused(made(), &outer, (OLD, HIDDEN), &same),
        "a hidden volume opens with this passphrase already"
    );
    assert_eq!(
        refused(made(), &hidden, (HIDDEN, OLD), &same),
        "the outer volume opens with this passphrase already"
    );
    let short = "PIM: VeraCrypt takes one below 485 only with a passphrase of 20 bytes or more";
    assert_eq!(refused(made(), &outer, (OLD, "short"), &same), short);
    let pim = NewKey { pim: Some(Some(2_147_469)), ..NewKey::default() };
    assert_eq!(refused(made(), &outer, (OLD, NEW), &pim), "PIM: 2147469 is not one of 1 to 2147468");
    let ripemd = NewKey { hash: Some("ripemd160".into()), ..NewKey::default() };
    assert!(
        refused(made(), &outer, (OLD, NEW), &ripemd).starts_with("hash: VeraCrypt makes no volumes with")
    );
    let none = NewKey { pim: Some(None), ..NewKey::default() };
    assert_eq!(refused(made(), &outer, (OLD, ""), &none), "an empty passphrase needs key files");
    let lost = NewKey { key_files: Some(vec![PathBuf::from("/none")]), ..NewKey::default() };
    assert!(refused(made(), &outer, (OLD, NEW), &lost).starts_with("reading key file /none"));

    let of = Tcrypt { hash: Some("sha512".into()), ..place(false, false) };
    let keys = ("correct horse", NEW);
    let system = Made::quick().with(|it| it.fields.flags = 1).device();
    assert!(
        refused(system, &of, keys, &same).starts_with("its system is encrypted, and boots by this header")
    );
    let old = Made::new(kdf(Program::TrueCrypt, "sha512", false), cipher("aes", CascadeMode::Lrw)).device();
    assert!(refused(old, &of, keys, &same).starts_with("it was created by TrueCrypt 5 or earlier"));
    let long = Made::quick().with(|it| {
        it.fields.volume_size = Bytes(196_608);
        it.fields.area_size = Bytes(196_608);
    });
    let why = "its data is bytes 131072 to 327680 of the device, and a device of 327680 bytes has room for it only up to \
               byte 196608: the header is another device's";
    assert_eq!(refused(long.device(), &of, keys, &same), why);
}

/// What a new key costs has the limits that opening has.
#[test]
fn a_new_key_that_costs_too_much_is_refused() {
    let device = Memory::from(made());
    let opened = opened(&device, &narrow(false, false), OLD).unwrap();
    let options = without_argon2id();
    let new = NewKey { hash: Some("argon2id".into()), pim: Some(Some(1)), ..NewKey::default() };
    let why = opened.change_key(&device, &new, &secret(NEW), (&mut OsRandom, &options)).unwrap_err();
    let expected =
        "Argon2id would need about 65536 KiB whenever the volume is opened, and the limit is 1024 KiB";
    assert_eq!(why.to_string(), expected);
    assert!(opens(&bytes(&device), &narrow(false, false), OLD));
}

/// At each stop one of the copies opens, with the old key or the new one, and the old one is gone in the end.
#[track_caller]
fn check_cuts(before: &[u8], hidden: bool, from: bool, (old, new): (&str, &str)) {
    let faulty = Faulty::new(before.to_vec());
    change(&faulty, &narrow(hidden, from), (old, new), &NewKey::default()).unwrap();
    let opening =
        |image: &[u8], key: &str| [false, true].map(|backup| opens(image, &narrow(hidden, backup), key));
    assert_eq!(opening(&faulty.image(), old), [false, false]);
    assert_eq!(opening(&faulty.image(), new), [true, true]);
    let (mut seen, mut states) = (BTreeSet::new(), BTreeSet::new());
    for cut in faulty.cuts() {
        let image = faulty.image_at(cut);
        if !seen.insert(image.clone()) {
            continue;
        }
        let state = (opening(&image, old), opening(&image, new));
        assert!(state.0.contains(&true) || state.1.contains(&true), "{cut:?}: neither opens");
        states.insert(state);
    }
    let mixed = match from {
        false => ([true, false], [false, true]),
        true => ([false, true], [true, false]),
    };
    assert!(states.contains(&mixed) && states.len() > 3, "{states:?}");
}

#[test]
fn a_cut_leaves_a_header_that_opens() {
    let before = made();
    check_cuts(&before, false, false, (OLD, NEW));
    check_cuts(&before, true, false, (HIDDEN, NEW));
    // By the copy, when it alone is left.
    let mut damaged = before;
    damaged[..512].fill(7);
    check_cuts(&damaged, false, true, (OLD, NEW));
}

/// A copy that does not open is the first that is written.
#[test]
fn a_damaged_copy_costs_nothing() {
    let mut before = made();
    before[LEN - 131_072..LEN - 130_560].fill(7);
    check_cuts(&before, false, false, (OLD, NEW));
}

#[test]
fn a_write_that_fails_leaves_a_header_that_opens() {
    let before = made();
    let whole = Faulty::new(before.clone());
    change(&whole, &narrow(false, false), (OLD, NEW), &NewKey::default()).unwrap();
    for event in 0..whole.events().len() {
        let broken = Faulty::breaking_at(before.clone(), event, 100);
        assert!(change(&broken, &narrow(false, false), (OLD, NEW), &NewKey::default()).is_err());
        let image = broken.image();
        let any = [false, true].into_iter().any(|backup| {
            let of = narrow(false, backup);
            opens(&image, &of, OLD) || opens(&image, &of, NEW)
        });
        assert!(any, "event {event}");
    }
}

pub(super) fn backup_file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("keyway-header-{name}-{}", std::process::id()))
}

pub(super) fn restore(
    device: &dyn Storage,
    backup: Option<&dyn Storage>,
    hidden: bool,
    key: &str,
) -> Result<Restore> {
    Restore::prepare(device, backup, &narrow(hidden, false), &secret(key), &UnlockOptions::default())
}

/// VeraCrypt's file: both headers, each under a salt of its own, and noise.
#[test]
fn a_backup_is_veracrypts_file_and_restores_both_headers() {
    let (before, file) = (made(), backup_file("both"));
    let device = Memory::from(before.clone());
    let (outer, hidden) = (
        opened(&device, &narrow(false, false), OLD).unwrap(),
        opened(&device, &narrow(true, false), HIDDEN).unwrap(),
    );
    outer.back_up(Some(&hidden), &file, &mut OsRandom).unwrap();
    let again = outer.back_up(None, &file, &mut OsRandom).unwrap_err().to_string();
    assert_eq!(again, format!("Requested header backup file {} already exists.", file.display()));
    let content = std::fs::read(&file).unwrap();
    assert_eq!(content.len(), 131_072);
    assert_eq!(
        decrypted(&content, &narrow(false, false), OLD),
        decrypted(&before, &narrow(false, false), OLD)
    );
    assert_eq!(
        decrypted(&content, &narrow(true, false), HIDDEN),
        decrypted(&before, &narrow(true, false), HIDDEN)
    );
    assert_ne!(content[..64], before[..64], "its salt is fresh");
    assert!(content.chunks(64).all(|chunk| chunk.iter().any(|byte| *byte != chunk[0])));
    let backup = Memory::from(content);
    let damaged = Memory::zeroed(LEN);
    for (is_hidden, key) in [(false, OLD), (true, HIDDEN)] {
        let restore = restore(&damaged, Some(&backup), is_hidden, key).unwrap();
        assert_eq!((restore.other_key, restore.leaves_room), (false, None));
        restore.run(&damaged, &mut OsRandom).unwrap();
        for copy in [false, true] {
            let of = narrow(is_hidden, copy);
            assert_eq!(decrypted(&bytes(&damaged), &of, key), decrypted(&before, &of, key));
        }
    }
    std::fs::remove_file(&file).unwrap();

    outer.back_up(None, &file, &mut OsRandom).unwrap();
    let alone = Memory::from(std::fs::read(&file).unwrap());
    let none = restore(&damaged, Some(&alone), true, HIDDEN).err().unwrap();
    assert!(matches!(none, Error::WrongPassphrase), "{none}");
    std::fs::remove_file(&file).unwrap();
}

/// The copy at the end puts the first header back, and is not touched.
#[test]
fn the_copy_at_the_end_restores_the_first_header() {
    let before = made();
    for (hidden, key, at) in [(false, OLD, 0), (true, HIDDEN, 65536)] {
        let mut damaged = before.clone();
        damaged[at..at + 512].fill(7);
        let faulty = Faulty::new(damaged.clone());
        restore(&faulty, None, hidden, key).unwrap().run(&faulty, &mut OsRandom).unwrap();
        let of = narrow(hidden, false);
        assert_eq!(decrypted(&faulty.image(), &of, key), decrypted(&before, &of, key));
        assert!(faulty.image()[at + 512..] == damaged[at + 512..], "only the header is written");
        for cut in faulty.cuts() {
            assert!(opens(&faulty.image_at(cut), &narrow(hidden, true), key), "{cut:?}");
        }
    }
}

/// What opens stays until the other copy does.
#[test]
fn a_cut_while_a_backup_is_restored_leaves_what_opened() {
    let (before, file) = (made(), backup_file("cuts"));
    let of = |copy| narrow(false, copy);
    opened(&Memory::from(before.clone()), &of(false), OLD)
        .unwrap()
        .back_up(None, &file, &mut OsRandom)
        .unwrap();
    let backup = Memory::from(std::fs::read(&file).unwrap());
    std::fs::remove_file(&file).unwrap();
    for damaged in [None, Some(0), Some(LEN - 131_072)] {
        let mut image = before.clone();
        if let Some(at) = damaged {
            image[at..at + 512].fill(7);
        }
        let faulty = Faulty::new(image);
        restore(&faulty, Some(&backup), false, OLD).unwrap().run(&faulty, &mut OsRandom).unwrap();
        assert!([false, true].into_iter().all(|copy| opens(&faulty.image(), &of(copy), OLD)));
        for cut in faulty.cuts() {
            let image = faulty.image_at(cut);
            assert!(
                [false, true].into_iter().any(|copy| opens(&image, &of(copy), OLD)),
                "{damaged:?} {cut:?}"
            );
        }
    }
}

#[test]
fn what_a_restore_says_before_it_writes() {
    let (before, file) = (made(), backup_file("says"));
    let device = Memory::from(before.clone());
    opened(&device, &narrow(false, false), OLD).unwrap().back_up(None, &file, &mut OsRandom).unwrap();
    let backup = Memory::from(std::fs::read(&file).unwrap());
    std::fs::remove_file(&file).unwrap();
    let wrong = restore(&device, Some(&backup), false, NEW).err().unwrap();
    assert!(matches!(wrong, Error::WrongPassphrase), "{wrong}");
    // Made again with the same passphrase: another volume key.
    let other = Memory::from(made());
    assert!(restore(&other, Some(&backup), false, OLD).unwrap().other_key);
    // Another device.
    let short = restore(&Memory::zeroed(LEN - 4096), Some(&backup), false, OLD).err().unwrap().to_string();
    assert!(
        short.starts_with("its data is bytes 131072 to 393216 of the device, and a device of 520192 bytes"),
        "{short}"
    );
    let larger = restore(&Memory::zeroed(LEN + 4096), Some(&backup), false, OLD).unwrap();
    assert_eq!(larger.leaves_room, Some((LEN as u64 - 262_144, LEN as u64 - 258_048)));
    let lengths =
        |len: usize| restore(&device, Some(&Memory::zeroed(len)), false, OLD).err().unwrap().to_string();
    assert_eq!(
        lengths(131_071),
        "no header backup of TrueCrypt or VeraCrypt has 131071 bytes: theirs have 131072"
    );
    assert!(lengths(1024).starts_with("it is a header backup of TrueCrypt 5 or earlier"));
    assert!(bytes(&device) == before);
}
