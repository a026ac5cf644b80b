//! Other protectors: added, replaced, removed; what is refused; cuts.

use super::*;
use keyway_format::bitlk::Draft;
use keyway_volume::device::storage::Faulty;
use keyway_volume::kind::bitlk::{CopyState, NewKey, Opened};
use std::collections::BTreeSet;

pub(super) fn opened(device: &Arc<impl Storage + 'static>, key: &Secret) -> Result<Opened> {
    Opened::open(device.clone(), Key::Passphrase(key), &UnlockOptions::default())
}

pub(super) fn add(
    device: &Arc<impl Storage + 'static>,
    with: &Secret,
    key: NewKey<'_>,
    replaces: bool,
) -> Result<usize> {
    opened(device, with)?.add(key, replaces, (&mut OsRandom, &UnlockOptions::default()))
}

pub(super) fn remove(device: &Arc<impl Storage + 'static>, with: &Secret, number: usize) -> Result<()> {
    opened(device, with)?.remove(number, &mut OsRandom)
}

/// Of a volume that only its passphrase opens.
fn plain() -> Vec<u8> {
    let device = Memory::zeroed(LEN);
    make(&quick(), &device, KEY, None).unwrap();
    bytes(&device)
}

/// Where two images differ.
fn changed(before: &[u8], after: &[u8]) -> Vec<usize> {
    (0..LEN).filter(|at| before[*at] != after[*at]).collect()
}

#[test]
fn what_is_added_opens_the_same_volume_and_what_is_removed_does_not() {
    let (key, other) = (secret(KEY), secret(OTHER));
    let (before, recovery) = (plain(), RecoveryKey::random(&mut OsRandom).unwrap());
    let device = Arc::new(Memory::from(before.clone()));
    volume(&device, &key).write_at(b"written", 1000).unwrap();
    assert_eq!(add(&device, &key, NewKey::Recovery(&recovery), false).unwrap(), 1);
    assert_eq!(opened(&device, &recovery.text()).unwrap().protector(), 1);
    assert_eq!(add(&device, &recovery.text(), NewKey::Passphrase(&other), true).unwrap(), 1);
    assert!(!opens(&bytes(&*device), &key), "it was replaced");
    let found = header(&bytes(&*device)).unwrap();
    assert_eq!(protections(&found.metadata), [Protection::RecoveryPassword, Protection::Passphrase]);
    assert_eq!(found.troubles().count(), 0);
    remove(&device, &other, 0).unwrap();
    let after = bytes(&*device);
    assert!(!opens(&after, &recovery.text()));
    let mut text = [0; 7];
    volume(&device, &other).read_at(&mut text, 1000).unwrap();
    assert_eq!(&text, b"written");
    let is_metadata = |at: &usize| (0..3).any(|copy| in_copy(*at, copy));
    // The first sectors are behind the first copy.
    let written = ROOM + (64 << 10) + 512..ROOM + (64 << 10) + 1536;
    assert!(changed(&before, &after).iter().all(|at| is_metadata(at) || written.contains(at)));
}

fn in_copy(at: usize, copy: usize) -> bool {
    (ROOM + copy * (384 << 10)..ROOM + copy * (384 << 10) + (64 << 10)).contains(&at)
}

/// Nothing of what was removed is left in the metadata.
#[test]
fn no_copy_keeps_what_was_removed() {
    let (before, recovery) = made();
    let removed = header(&before).unwrap().metadata.protectors[1].guid.0;
    let holds = |image: &[u8]| image.windows(16).filter(|window| *window == removed).count();
    let device = Arc::new(Memory::from(before.clone()));
    remove(&device, &secret(KEY), 1).unwrap();
    assert_eq!((holds(&before), holds(&bytes(&*device))), (3, 0));
    assert!(!opens(&bytes(&*device), &recovery.text()));
}

/// Under the master key, and after a write that was cut off, too.
#[test]
fn no_nonce_is_used_twice() {
    let (before, recovery) = (plain(), RecoveryKey::random(&mut OsRandom).unwrap());
    let mut nonces = BTreeSet::new();
    for _ in 0..2 {
        let device = Arc::new(Memory::from(before.clone()));
        add(&device, &secret(KEY), NewKey::Recovery(&recovery), false).unwrap();
        let metadata = header(&bytes(&*device)).unwrap().metadata;
        let first = Draft::of(&header(&before).unwrap().metadata).next_nonce();
        assert_eq!(Draft::of(&metadata).next_nonce(), first + 4, "three of the protector, one of the digest");
        let copy = metadata.to_bytes();
        let digest: [u8; 12] = copy[metadata.as_bytes().len() + 16..][..12].try_into().unwrap();
        let salt = metadata.protectors[1].salt;
        let entry = copy.windows(16).position(|window| window == salt).unwrap();
        let password: [u8; 12] = copy[entry + 16 + 8..][..12].try_into().unwrap();
        assert_eq!((digest[7] & 0x80, password[7] & 0x80), (0x80, 0));
        assert!(nonces.insert(digest) && nonces.insert(password));
    }
}

/// Nothing is written.
#[track_caller]
pub(super) fn refused(image: &[u8], change: impl FnOnce(&Arc<Memory>) -> Result<()>) -> String {
    let device = Arc::new(Memory::from(image.to_vec()));
    let why = change(&device).unwrap_err().to_string();
    assert!(bytes(&*device) == image);
    why
}

#[test]
fn a_storage_that_cannot_be_flushed_is_left_alone() {
    let unsure = Arc::new(Unflushable(Memory::from(plain())));
    let before = bytes(&*unsure);
    let why = "it cannot be flushed: a power failure might lose data";
    assert_eq!(remove(&unsure, &secret(KEY), 0).unwrap_err().to_string(), why);
    assert_eq!(make(&quick(), &*unsure, OTHER, None).unwrap_err().to_string(), why);
    assert!(bytes(&*unsure) == before);
}

#[test]
fn what_is_refused_changes_nothing() {
    let (key, other, image) = (secret(KEY), secret(OTHER), plain());
    let second = "a passphrase opens it already (protector 0), and Windows takes only one";
    let adding = |new: &Secret| refused(&image, |it| add(it, &key, NewKey::Passphrase(new), false).map(drop));
    assert_eq!(adding(&other), second);
    let short = secret("short");
    let why = refused(&image, |it| add(it, &key, NewKey::Passphrase(&short), true).map(drop));
    assert_eq!(why, "the passphrase has 5 characters, and Windows takes 8 to 256");
    let last = "protector 0 (passphrase) is the last that opens the volume: add another one first";
    assert_eq!(refused(&image, |it| remove(it, &key, 0)), last);
    assert_eq!(refused(&image, |it| remove(it, &key, 1)), "there is no protector 1");
    let wrong = refused(&image, |it| remove(it, &other, 0));
    assert_eq!(wrong, keyway_volume::Error::WrongPassphrase.to_string());
    let volume_key = Secret::zeroed(32);
    let by_key = |it: &Arc<Memory>| {
        Opened::open(it.clone(), Key::Volume(&volume_key), &UnlockOptions::default()).map(drop)
    };
    let why = "a volume key does not open the metadata: use a passphrase, recovery password or start-up key";
    assert_eq!(refused(&image, by_key), why);
}

/// At each stop the volume opens, by the old protectors or the new ones.
#[track_caller]
fn check_cuts(
    before: &[u8],
    keys: &[&Secret],
    (old, new): (&[bool], &[bool]),
    change: impl Fn(&Arc<Faulty>) -> Result<()>,
) {
    let faulty = Arc::new(Faulty::new(before.to_vec()));
    change(&faulty).unwrap();
    assert_eq!(header(&faulty.image()).unwrap().troubles().count(), 0);
    assert!(faulty.image_at(*faulty.cuts().last().unwrap()) == faulty.image(), "no write waits for a flush");
    let (mut opening, mut seen) = (Opening::default(), BTreeSet::new());
    for cut in faulty.cuts() {
        let image = faulty.image_at(cut);
        let state = opening.by(&image, keys).unwrap_or_else(|| panic!("{cut:?}: no copy is left"));
        assert!(state == old || state == new, "{cut:?}: {state:?}");
        let copies = header(&image).unwrap().copies;
        let damaged = copies.iter().filter(|(_, state)| matches!(state, CopyState::Damaged(_)));
        let before = header(before).unwrap().copies;
        let at_first = before.iter().filter(|(_, state)| matches!(state, CopyState::Damaged(_)));
        assert!(damaged.count() <= at_first.count().max(1), "{cut:?}");
        seen.insert(state);
    }
    assert_eq!(seen.len(), 2, "{seen:?}");
    for event in 0..faulty.events().len() {
        let broken = Arc::new(Faulty::breaking_at(before.to_vec(), event, 100));
        assert!(change(&broken).is_err(), "event {event}");
        assert!(
            opening.by(&broken.image(), keys).is_some_and(|state| state == old || state == new),
            "event {event}"
        );
    }
}

#[test]
fn a_cut_leaves_the_old_protectors_or_the_new_ones() {
    let (key, other) = (secret(KEY), secret(OTHER));
    let (both, recovery) = made();
    let text = recovery.text();
    let keys = [&key, &text, &other];
    check_cuts(&both, &keys, (&[true, true, false], &[true, false, false]), |it| remove(it, &key, 1));
    check_cuts(&both, &keys, (&[true, true, false], &[false, true, true]), |it| {
        add(it, &text, NewKey::Passphrase(&other), true).map(drop)
    });
    let one = plain();
    check_cuts(&one, &keys, (&[true, false, false], &[true, true, false]), |it| {
        add(it, &key, NewKey::Recovery(&recovery), false).map(drop)
    });
}

/// The only copy that is left is written last.
#[test]
fn damaged_copies_cost_nothing() {
    let (key, (mut both, recovery)) = (secret(KEY), made());
    for copy in [0, 2] {
        both[ROOM + copy * (384 << 10)..][..512].fill(7);
    }
    let text = recovery.text();
    check_cuts(&both, &[&key, &text], (&[true, true], &[true, false]), |it| {
        match remove(it, &key, 1).unwrap_err() {
            why if why.to_string().starts_with(DIFFERED) => remove(it, &key, 1),
            other => Err(other),
        }
    });
}

const DIFFERED: &str = "the copies of its metadata differed (an interrupted change, or damage): ";

/// Before anything else is done: a number is that of another protector once one before it was removed.
#[test]
fn what_was_cut_off_is_made_whole_first() {
    let (key, (before, first)) = (secret(KEY), made());
    let faulty = Arc::new(Faulty::new(before));
    let second = RecoveryKey::random(&mut OsRandom).unwrap();
    assert_eq!(add(&faulty, &key, NewKey::Recovery(&second), false).unwrap(), 2);
    let before = faulty.image();
    let protectors = header(&before).unwrap().metadata.protectors;
    let [_, removed, stays] = [0, 1, 2].map(|number| protectors[number].guid.0);
    let faulty = Arc::new(Faulty::new(before.clone()));
    remove(&faulty, &key, 1).unwrap();
    let after = faulty.image();
    let holds = |guid: [u8; 16]| after.windows(16).any(|window| window == guid);
    assert!(!holds(removed) && holds(stays));
    let (mut seen, gone) = (BTreeSet::new(), first.text());
    for cut in faulty.cuts() {
        let device = Arc::new(Memory::from(faulty.image_at(cut)));
        let found = header(&bytes(&*device)).unwrap();
        if !found.is_whole() {
            let why = remove(&device, &key, 1).unwrap_err().to_string();
            assert!(why.starts_with(DIFFERED), "{cut:?}: {why}");
        }
        let is_to_do = found.metadata.protectors.len() == 3;
        let whole = if is_to_do { &before } else { &after };
        assert!(bytes(&*device) == *whole, "{cut:?}");
        seen.insert((found.is_whole(), is_to_do));
    }
    assert_eq!(seen.len(), 4, "cut off or not, before the change and after it");

    // What was removed makes nothing whole.
    let is_half = |image: &Vec<u8>| header(image).is_ok_and(|it| !it.is_whole()) && !opens(image, &gone);
    let half = faulty.cuts().into_iter().rev().map(|cut| faulty.image_at(cut)).find(is_half).unwrap();
    let why = refused(&half, |it| remove(it, &gone, 1));
    assert_eq!(why, keyway_volume::Error::WrongPassphrase.to_string());
}
