//! Backups and a re-encryption that is under way.

use super::*;
use crate::reencrypt::{Begin, Job, NewSlot, Options, Terms, begin};

const LEN: u64 = (2 << 20) + 4096;

/// Header and data on one device: as it was, prepared, in the middle, at the end.
fn states() -> [Vec<u8>; 4] {
    let before = luks2(&params2());
    let storage = Arc::new(Memory::from(before.clone()));
    let mut luks = Luks::open(storage.clone(), Access::Write).unwrap();
    let (old, new, passphrase) = (key(256), Secret::copy_from(&[9; 32]), secret("old"));
    let options = edit::AddKey { kdf: cheap(), ..edit::AddKey::default() };
    let slots = [NewSlot { passphrase: &passphrase, options, replaces: Some(0) }];
    let what = Begin::Reencrypt { cipher: "aes-xts-plain64", sector_size: 4096, new: Some((&new, &slots)) };
    let terms = Terms { holds_header: true, kdf: cheap(), ..Terms::default() };
    let keys = begin(&mut luks, &*storage, &old, what, &terms, &mut OsRandom).unwrap();
    let prepared = storage.to_vec();
    let options = Options { zone: Some(64 << 10), holds_header: true, ..Options::default() };
    let mut job = Job::resume(luks, storage.clone(), &keys, &options, &mut OsRandom).unwrap();
    assert!(!job.step(&mut OsRandom).unwrap());
    let middle = storage.to_vec();
    while !job.step(&mut OsRandom).unwrap() {}
    [before, prepared, middle, storage.to_vec()]
}

fn allowed(target: &[u8], backup: &[u8]) -> Vec<Warning> {
    let (target, backup) = (Arc::new(Memory::from(target.to_vec())), Memory::from(backup.to_vec()));
    let restore = Restore::prepare(target, &backup, Locking::default(), Midway::Warn).unwrap();
    restore.warnings().to_vec()
}

#[test]
fn in_the_middle_nothing_is_backed_up_or_restored() {
    let [before, prepared, middle, after] = states();
    for (image, is_settled) in [(&before, true), (&prepared, false), (&middle, false), (&after, true)] {
        assert_eq!(check_settled(&header(image)).is_ok(), is_settled);
    }
    let on_device = "The volume on the device is in the middle of a reencryption:";
    let in_backup = "The backup was made in the middle of a reencryption that may have gone further since:";
    for (target, backup, says) in [
        (&middle, &before, on_device),
        (&middle, &after, on_device),
        (&prepared, &after, on_device),
        (&middle, &middle, in_backup),
        (&middle, &prepared, in_backup),
        (&after, &middle, in_backup),
        (&before, &prepared, in_backup),
    ] {
        let why = refused(target.clone(), backup);
        assert!(why.starts_with(says) && why.ends_with("Nothing was changed."), "{why}");
    }
    let other = luks2(&Luks2Params { uuid: None, ..params2() });
    assert!(refused(prepared.clone(), &other).starts_with(on_device), "another volume's header");
    let empty = refused(vec![0; LEN as usize], &middle);
    assert!(empty.contains("fits the data only if nothing was written to the device since"), "{empty}");
}

#[test]
fn a_backup_from_before_cancels_what_was_only_prepared() {
    let [before, prepared, ..] = states();
    let target = Arc::new(Memory::from(prepared));
    let backup = Memory::from(before.clone());
    let restore = Restore::prepare(target.clone(), &backup, Locking::default(), Midway::Refuse).unwrap();
    assert!(restore.warnings().contains(&Warning::CancelsReencryption));
    restore.run().unwrap();
    assert!(target.to_vec() == before);
}

/// Between the question and the answer somebody goes on.
#[test]
fn what_has_begun_meanwhile_is_not_overwritten() {
    let [before, prepared, middle, after] = states();
    for (first, then) in [(&prepared, &middle), (&after, &middle)] {
        let target = Arc::new(Memory::from(first.clone()));
        let backup = Memory::from(before.clone());
        let restore = Restore::prepare(target.clone(), &backup, Locking::default(), Midway::Refuse).unwrap();
        target.write_at(then, 0).unwrap();
        let why = restore.run().err().unwrap().to_string();
        assert!(why.starts_with("The volume on the device is in the middle"), "{why}");
        assert!(target.to_vec() == *then);
    }
}

#[test]
fn another_volume_key_is_said() {
    let [before, _, _, after] = states();
    let warns = |target: &[u8], backup: &[u8]| {
        let restore = prepare(target.to_vec(), backup).unwrap();
        restore.warnings().contains(&Warning::OtherVolumeKey)
    };
    assert!(warns(&after, &before) && warns(&before, &after));
    assert!(!warns(&after, &after) && !warns(&before, &before));
    // Of another volume, that is said already.
    let other = luks2(&Luks2Params { uuid: None, ..params2() });
    assert!(!warns(&after, &other));
    // LUKS1, formatted again under the same UUID.
    let (one, again) = (luks1(&params1()), luks1(&params1()));
    assert!(warns(&one, &again) && !warns(&one, &one));
}

#[test]
fn as_cryptsetup_all_of_that_is_a_warning() {
    let [before, prepared, middle, _] = states();
    assert!(allowed(&middle, &before).contains(&Warning::InReencryption));
    let both = allowed(&middle, &prepared);
    assert!(both.contains(&Warning::InReencryption) && both.contains(&Warning::BackupInReencryption));
    assert!(allowed(&prepared, &before).contains(&Warning::CancelsReencryption));
}

#[test]
fn luks1_that_was_taken_out_of_use_keeps_its_header() {
    let image = luks1(&params1());
    let mut marked = image.clone();
    marked[..6].copy_from_slice(b"LUKS\xde\xad");
    let why = refused(marked.clone(), &image);
    assert!(why.starts_with("The LUKS1 volume on the device is in the middle of a reencryption"), "{why}");
    assert!(allowed(&marked, &image).contains(&Warning::InReencryption));
}
