//! What going on asks before it writes a byte, and that a job goes on after an error of its device.

use super::forged::forge;
use super::open::{in_the_zone, simple};
use super::*;
use keyway_volume::reencrypt::{VolumeKeys, protect};
use keyway_volume::{Header, Refusal};
use std::io;
use std::sync::atomic::{AtomicIsize, Ordering};

fn keys(old: u8, new: u8) -> VolumeKeys {
    VolumeKeys::new(Some(key(old)), Some(key(new)))
}

fn resume(case: &Case, disks: &Disks, keys: &VolumeKeys, holds_header: bool) -> Result<Job, Error> {
    let luks = Luks::open(disks.disk(0), Access::Write)?;
    let options = Options { zone: case.zone, holds_header, ..Options::default() };
    Job::resume(luks, disks.disk(case.data_disk()), keys, &options, &mut seeded(3))
}

/// The reason for which it does not go on; nothing was written.
fn refusal(case: &Case, images: &[Vec<u8>; 2], keys: &VolumeKeys, holds_header: bool) -> Error {
    let disks = Disks::new(images.clone());
    // A copy of the header that the cut spoiled is restored.
    Luks::open(disks.disk(0), Access::Write).unwrap();
    let (images, events) = (disks.images(), disks.events());
    let Err(error) = resume(case, &disks, keys, holds_header) else { panic!("it goes on") };
    assert!(disks.images() == images && disks.events() == events, "{error}: something was written");
    error
}

#[test]
fn other_keys_do_not_go_on() {
    let case = simple(Kind::Key { detached: false }, "checksum");
    let (images, _) = in_the_zone(&case);
    for (old, new) in [(2, 1), (1, 3), (3, 2), (1, 1)] {
        let error = refusal(&case, &images, &keys(old, new), true);
        assert!(matches!(error, Error::WrongVolumeKey), "{old} {new}: {error}");
    }
    for keys in [VolumeKeys::new(None, Some(key(2))), VolumeKeys::new(Some(key(1)), None)] {
        assert!(matches!(refusal(&case, &images, &keys, true), Error::WrongVolumeKey));
    }
}

/// All of the data is under the new key, and no keyslot has the old one any more.
#[test]
fn what_has_only_to_end_ends_with_the_new_key_alone() {
    let whole = Case { zone: Some(160 << 10), ..simple(Kind::Key { detached: false }, "checksum") };
    let (images, plaintext) = in_the_zone(&whole);
    let disks = Disks::new(images);
    drop(resume(&whole, &disks, &keys(1, 2), true).unwrap());
    let luks = Luks::open(disks.disk(0), Access::Write).unwrap();
    let Header::Luks2 { metadata, .. } = luks.header() else { panic!("not LUKS2") };
    let json = String::from_utf8(metadata.to_json()).unwrap();
    let (old, new) = (json.find("\"0\":{").unwrap(), json.find("\"1\":{").unwrap());
    let changes = [(&json[old..new], ""), ("\"keyslots\":[\"0\"]", "\"keyslots\":[]")];
    let images = forge(&disks.images(), &changes, "no old key");
    for other in [VolumeKeys::new(None, Some(key(3))), VolumeKeys::new(None, None)] {
        let error = refusal(&whole, &images, &other, true);
        assert!(matches!(error, Error::WrongVolumeKey), "{error}");
    }
    let disks = Disks::new(images);
    let mut job = resume(&whole, &disks, &VolumeKeys::new(None, Some(key(2))), true).unwrap();
    assert!(job.step(&mut seeded(4)).unwrap());
    let luks = Luks::open(disks.disk(0), Access::Read).unwrap();
    assert!(read_volume(&luks, disks.disk(0), &key(2), plaintext.len()) == plaintext);
}

#[test]
fn data_does_not_go_over_its_header() {
    let case = simple(Kind::Encrypt { moves: false }, "checksum");
    let (images, _) = in_the_zone(&case);
    let keys = VolumeKeys::new(None, Some(key(1)));
    let Error::Refused { kind: Refusal::Geometry, why } = refusal(&case, &images, &keys, true) else {
        panic!()
    };
    assert!(why.starts_with("the data would start at byte 0, over the header"), "{why}");
}

/// Somebody vouched for what cannot be protected, as `repair` does for the first version's metadata.
#[test]
fn what_cannot_be_protected_is_not_gone_on_with() {
    let rows = [
        (
            simple(Kind::Key { detached: false }, "journal"),
            ("online-reencrypt-v2", "\"size\":\"98304\""),
            keys(1, 2),
            Refusal::Geometry,
            "its hot zone has 32768 bytes, but at most 4096 can be protected",
        ),
        (
            simple(Kind::Decrypt { moves: true }, "journal"),
            ("online-reencrypt-v3", "\"size\":\"229376\""),
            VolumeKeys::new(Some(key(1)), None),
            Refusal::NoRoom,
            "Moved segment too large. Requested size 32768, available space for: 4096.",
        ),
    ];
    for (case, (version, area), keys, kind, expected) in rows {
        let (images, _) = in_the_zone(&case);
        let changes = [(version, "online-reencrypt"), (area, "\"size\":\"4096\"")];
        let disks = Disks::new(forge(&images, &changes, expected));
        protect(&mut Luks::open(disks.disk(0), Access::Write).unwrap(), &keys, &mut seeded(6)).unwrap();
        let Error::Refused { kind: found, why } = refusal(&case, &disks.images(), &keys, case.holds_header())
        else {
            panic!("{expected}")
        };
        assert_eq!((found, &*why), (kind, expected));
    }
}

/// Every access from one on fails; then the disks are as before, and the same job goes on.
#[test]
fn a_job_goes_on_after_any_error() {
    for (kind, resilience) in [
        (Kind::Key { detached: false }, "checksum"),
        (Kind::Key { detached: true }, "journal"),
        (Kind::Encrypt { moves: true }, "checksum"),
        (Kind::Decrypt { moves: true }, "journal"),
    ] {
        let case = simple(kind, resilience);
        let start = case.start(&mut seeded(7));
        let begun = || {
            let (rng, disks) = (&mut seeded(8), Disks::new(start.images.clone()));
            case.begin(&disks, rng).unwrap();
            let before = disks.events();
            (case.job(&disks, None, rng).unwrap(), disks, before)
        };
        let (mut job, disks, before) = begun();
        while !job.step(&mut seeded(9)).unwrap() {}
        for fuse in before..disks.events() {
            let context = format!("{case:?}, failing after {fuse}");
            let ((mut job, disks, _), rng) = (begun(), &mut seeded(9));
            disks.break_after(fuse);
            let failed = loop {
                match job.step(rng) {
                    Ok(true) => break false,
                    Ok(false) => {}
                    Err(_) => break true,
                }
            };
            disks.mend();
            while failed && !job.step(rng).unwrap_or_else(|e| panic!("{context}: {e}")) {}
            assert!(case.check(&disks.images(), &start, &context), "{context}: it has not ended");
        }
    }
}

/// A disk that refuses one of its writes.
struct Refusing {
    disk: Arc<dyn Storage>,
    /// How many it takes before that.
    takes: AtomicIsize,
}

impl Storage for Refusing {
    fn len(&self) -> u64 {
        self.disk.len()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.disk.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        match self.takes.fetch_sub(1, Ordering::Relaxed) {
            0 => Err(io::Error::other("refused")),
            _ => self.disk.write_at(buf, offset),
        }
    }

    fn flush(&self) -> io::Result<()> {
        self.disk.flush()
    }

    fn discard(&self, range: Range<u64>) -> io::Result<()> {
        self.disk.discard(range)
    }
}

/// The header says that a zone is being written, and nothing of it is: it is not taken for done.
#[test]
fn a_zone_whose_write_was_refused_is_written() {
    for resilience in ["checksum", "journal"] {
        let case = simple(Kind::Key { detached: true }, resilience);
        let (rng, start) = (&mut seeded(7), case.start(&mut seeded(7)));
        for takes in 0..5 {
            let disks = Disks::new(start.images.clone());
            case.begin(&disks, rng).unwrap();
            let luks = Luks::open(disks.disk(0), Access::Write).unwrap();
            let data = Arc::new(Refusing { disk: disks.disk(1), takes: AtomicIsize::new(takes) });
            let options = Options { zone: case.zone, ..Options::default() };
            let mut job = Job::resume(luks, data, &keys(1, 2), &options, rng).unwrap();
            let mut refused = 0;
            while !job.step(rng).unwrap_or_else(|_| {
                refused += 1;
                false
            }) {}
            assert_eq!(refused, 1, "{resilience}, write {takes}");
            assert!(case.check(&disks.images(), &start, &format!("{resilience}, write {takes}")));
        }
    }
}
