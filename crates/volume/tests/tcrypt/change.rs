//! Headers under another key, and their backups: every program, hash and place, what is refused, and cuts.

use super::made::{Made, cipher, kdf};
use super::{open, place};
use keyway_crypto::{CascadeMode, Secret};
use keyway_format::Bytes;
use keyway_format::tcrypt::Program;
use keyway_volume::device::storage::{Faulty, Memory};
use keyway_volume::device::stream::Meter;
use keyway_volume::kind::tcrypt::{NewKey, NewVolume, Opened, Outer, Tcrypt};
use keyway_volume::{OsRandom, Result, Storage, UnlockOptions};
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
    let known = "hash: TrueCrypt makes no volumes with \"sha256\", only with sha512, ripemd160, whirlpool";
    assert_eq!(change(Some("sha256"), None, NEW).unwrap_err(), known);
    let pim = "it is a TrueCrypt volume, but a PIM is for VeraCrypt";
    assert_eq!(change(None, Some(Some(1)), NEW).unwrap_err(), pim);
    let long = change(None, None, &"x".repeat(65)).unwrap_err();
    assert_eq!(long, "passphrase: 65 bytes, but TrueCrypt takes at most 64");
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
    assert!(refused(system, &of, keys, &same).starts_with("this header boots an encrypted system"));
    let old = Made::new(kdf(Program::TrueCrypt, "sha512", false), cipher("aes", CascadeMode::Lrw)).device();
    assert!(refused(old, &of, keys, &same).starts_with("it was created by TrueCrypt 5 or earlier"));
    let long = Made::quick().with(|it| {
        it.fields.volume_size = Bytes(196_608);
        it.fields.area_size = Bytes(196_608);
    });
    let why = "its data is bytes 131072 to 327680 of the device, and a device of 327680 bytes has room for it \
        only up to byte 196608: the header belongs to another device";
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
    let expected = "Argon2id would need about 65536 KiB at each opening, and the limit is 1024 KiB";
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
