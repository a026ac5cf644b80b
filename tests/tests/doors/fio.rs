//! fio writes, trims and flushes through the front ends, unaligned and from several jobs at once, and
//! finds all its data again: immediately, and after reopening the volume; but not where a byte of
//! the image was changed.

use crate::mounted::Mounted;
use crate::served::{Served, Volume};
use keyway_tests::fio::{self, FrontEnd, Round, Target};
use keyway_tests::{Run, Scratch, assert_same_bytes, need, need_that, random};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

#[test]
fn over_nbd() {
    need!("fio");
    let scratch = Scratch::new();
    let volume = Volume::new(&scratch, "disk.luks", 17);
    let before = random(21, volume.size() as usize);
    volume.write(0, &before);
    let socket = scratch.path("nbd.sock");
    let uri = format!("nbd+unix:///?socket={}", socket.display());
    let (target, run) = (Target::Nbd(&uri), volume.serve().args("--allow-discards --socket").arg(&socket));

    let full = allocated(volume.path());
    let mut served = Served::start(&run);
    served.ready();
    for round in [Round::First, Round::Second] {
        fio::write(&scratch, target, round).ok();
    }
    served.terminate();
    assert_eq!(served.wait(), Some(0));
    assert!(allocated(volume.path()) < full - (2 << 20), "nothing was given back by trims");

    let opened_anew = |verify: &dyn Fn()| {
        let mut served = Served::start(&run);
        served.ready();
        verify();
    };
    opened_anew(&|| {
        fio::verify(&scratch, FrontEnd::Nbd, target, Round::Second).ok();
        // The previous round was overwritten everywhere.
        finds_a_difference(fio::verify(&scratch, FrontEnd::Nbd, target, Round::First));
    });
    let behind = volume.read(fio::LEN, (volume.size() - fio::LEN) as usize);
    assert_same_bytes("behind it", &behind, "as before", &before[fio::LEN as usize..]);
    flip(volume.path(), fs::metadata(volume.path()).unwrap().len() - volume.size() + 500_000);
    opened_anew(&|| {
        finds_a_difference(fio::verify(&scratch, FrontEnd::Nbd, target, Round::Second));
    });
}

#[test]
fn over_fuse() {
    need!("fio", "fusermount3");
    need_that!(has_fuse(), "/dev/fuse cannot be opened");
    for options in ["--allow-discards", "--allow-discards --writeback", "--allow-discards --direct"] {
        eprintln!("mount {options}");
        let m = Mounted::with(options);
        let file = m.file();
        let target = Target::File(&file);
        for round in [Round::First, Round::Second] {
            fio::write(&m.scratch, target, round).ok();
        }
        m.unmount();

        let holds = m.read();
        for range in fio::trimmed(FrontEnd::Fuse, Round::Second) {
            assert!(holds[range.clone()].iter().all(|byte| *byte == 0), "{range:?} is not trimmed");
        }
        let behind = fio::LEN as usize;
        assert_same_bytes("behind it", &holds[behind..], "as before", &m.plaintext[behind..]);
        m.mount("").ok();
        fio::verify(&m.scratch, FrontEnd::Fuse, target, Round::Second).ok();
        finds_a_difference(fio::verify(&m.scratch, FrontEnd::Fuse, target, Round::First));
        m.unmount();
        flip(&m.volume, fs::metadata(&m.volume).unwrap().len() - holds.len() as u64 + 500_000);
        m.mount("").ok();
        finds_a_difference(fio::verify(&m.scratch, FrontEnd::Fuse, target, Round::Second));
        m.unmount();
    }
}

/// fio's exit code is the number of jobs that failed before it gave up.
#[track_caller]
fn finds_a_difference(verify: Run) {
    let outcome = verify.outcome();
    assert_ne!(outcome.code, Some(0), "{outcome}");
    outcome.says("verify");
}

/// Flips one bit.
fn flip(image: &Path, at: u64) {
    let file = OpenOptions::new().read(true).write(true).open(image).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 1], at).unwrap();
}

fn allocated(file: &Path) -> u64 {
    fs::metadata(file).unwrap().blocks() * 512
}

fn has_fuse() -> bool {
    File::options().read(true).write(true).open("/dev/fuse").is_ok()
}
