//! Runs an operation once on storage that records, then checks the image at every possible stop.

use keyway_crypto::Secret;
use keyway_tests::{Scratch, cryptsetup, skip};
use keyway_volume::device::storage::{Faulty, Memory};
use keyway_volume::unlock;
use keyway_volume::{Access, Cost, KdfChoice, Luks, OsRandom, Random, UnlockOptions};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What must hold at every stop of an operation.
#[derive(Default)]
pub(crate) struct Promise<'a> {
    /// Passphrases that open at every stop.
    pub(crate) always: &'a [&'a str],
    /// Passphrases of which at least one opens at every stop.
    pub(crate) one_of: &'a [&'a str],
    /// Passphrases that open once the operation is complete.
    pub(crate) opens_after: &'a [&'a str],
    /// Passphrases that no longer open once the operation is complete.
    pub(crate) gone_after: &'a [&'a str],
    /// Until the operation is complete there need not be a header at all (a volume being created).
    pub(crate) may_be_nothing: bool,
}

/// Runs `operation` on a recording of `image` and checks every stop. Returns the image of the
/// completed operation.
pub(crate) fn every_cut(
    name: &str,
    image: Vec<u8>,
    volume_key: &Secret,
    promise: &Promise<'_>,
    operation: impl FnOnce(Arc<Faulty>),
) -> Vec<u8> {
    let faulty = Arc::new(Faulty::new(image));
    operation(faulty.clone());
    let complete = faulty.image();
    for passphrase in promise.always.iter().chain(promise.opens_after) {
        assert!(
            opens(&complete, passphrase, volume_key),
            "{name}: complete, but \"{passphrase}\" does not open"
        );
    }
    for passphrase in promise.gone_after {
        assert!(
            !opens(&complete, passphrase, volume_key),
            "{name}: complete, but \"{passphrase}\" opens still"
        );
    }

    let cuts = faulty.cuts();
    let mut seen = HashSet::new();
    let mut images = Vec::new();
    for cut in &cuts {
        let image = faulty.image_at(*cut);
        if seen.insert(hash(&image)) {
            examine(&format!("{name}, {cut:?}"), &image, volume_key, promise);
            images.push(image);
        }
    }
    ask_cryptsetup(name, &images, promise);
    report(name, cuts.len(), images.len());
    complete
}

/// Breaks the storage at every event in turn: the operation must end in an error, never in a panic
/// or a false success.
pub(crate) fn every_breakdown(
    image: &[u8],
    mut operation: impl FnMut(Arc<Faulty>) -> keyway_volume::Result<()>,
) {
    let sound = Arc::new(Faulty::new(image.to_vec()));
    operation(sound.clone()).expect("the operation on sound storage");
    for event in 0..sound.events().len() {
        let broken = Arc::new(Faulty::breaking_at(image.to_vec(), event, 100));
        let outcome = operation(broken);
        assert!(outcome.is_err(), "event {event} failed, but the operation did not");
    }
}

fn examine(place: &str, image: &[u8], volume_key: &Secret, promise: &Promise<'_>) {
    let storage = Arc::new(Memory::from(image.to_vec()));
    let luks = match Luks::open(storage, Access::Read) {
        Ok(luks) => luks,
        Err(_) if promise.may_be_nothing => return,
        Err(error) => panic!("{place}: the header is lost: {error}"),
    };
    for passphrase in promise.always {
        let opened = opens_with(&luks, passphrase, volume_key);
        assert!(opened, "{place}: \"{passphrase}\" no longer opens");
    }
    let one_of = promise.one_of;
    let any = one_of.iter().any(|passphrase| opens_with(&luks, passphrase, volume_key));
    assert!(one_of.is_empty() || any, "{place}: none of {one_of:?} opens");
}

fn opens(image: &[u8], passphrase: &str, volume_key: &Secret) -> bool {
    let storage = Arc::new(Memory::from(image.to_vec()));
    Luks::open(storage, Access::Read).is_ok_and(|luks| opens_with(&luks, passphrase, volume_key))
}

fn opens_with(luks: &Luks, passphrase: &str, volume_key: &Secret) -> bool {
    let options = UnlockOptions { threads: 1, ..UnlockOptions::default() };
    unlock(luks, &secret(passphrase), &options)
        .is_ok_and(|unlocked| unlocked.volume_key.ct_eq(volume_key.expose()))
}

/// cryptsetup checks some of the images: evenly spread, including the first and the last.
fn ask_cryptsetup(name: &str, images: &[Vec<u8>], promise: &Promise<'_>) {
    if promise.may_be_nothing || (promise.always.is_empty() && promise.one_of.is_empty()) {
        return;
    }
    if skip::find("cryptsetup").is_none() {
        skip::record(&format!("faults: {name} with cryptsetup"), "cryptsetup is not installed");
        return;
    }
    let scratch = Scratch::new();
    let step = images.len().div_ceil(CRYPTSETUP_SAMPLES).max(1);
    let sampled = |index: usize| index.is_multiple_of(step) || index + 1 == images.len();
    for (index, image) in images.iter().enumerate().filter(|(index, _)| sampled(*index)) {
        let file = scratch.file("image", image);
        let opens = |passphrase: &&&str| {
            let run = cryptsetup("open --test-passphrase -q -d -").arg(&file).stdin(passphrase.as_bytes());
            run.outcome().code == Some(0)
        };
        for passphrase in promise.always {
            assert!(
                opens(&passphrase),
                "{name}, image {index}: cryptsetup does not open with \"{passphrase}\""
            );
        }
        let one_of = promise.one_of;
        let any = one_of.is_empty() || one_of.iter().any(|passphrase| opens(&passphrase));
        assert!(any, "{name}, image {index}: cryptsetup opens with none of {one_of:?}");
    }
}

/// Bypasses the test harness's capture, which shows what a test prints only when it fails.
fn report(name: &str, cuts: usize, images: usize) {
    let total = TOTAL.fetch_add(cuts, Ordering::Relaxed) + cuts;
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{name}: {cuts} cut points, {images} images");
    let _ = writeln!(out, "faults: {total} cut points, 0 lost");
}

fn hash(image: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    image.hash(&mut hasher);
    hasher.finish()
}

pub(crate) fn secret(text: &str) -> Secret {
    Secret::copy_from(text.as_bytes())
}

pub(crate) fn random_key(len: usize) -> Secret {
    let mut key = Secret::zeroed(len);
    OsRandom.fill(key.expose_mut()).unwrap();
    key
}

/// The cheapest KDF that cryptsetup accepts.
pub(crate) fn cheap() -> KdfChoice {
    KdfChoice::Pbkdf2 { hash: "sha256".into(), cost: Cost::Forced(1000) }
}

static TOTAL: AtomicUsize = AtomicUsize::new(0);
const CRYPTSETUP_SAMPLES: usize = 24;
