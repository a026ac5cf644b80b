//! A device that is longer or shorter than when its re-encryption was begun: a part of a sector is not part of the
//! volume, and whether it once was a whole one nobody but its owner knows.

use crate::session::Open;
use crate::{Fixture, PLAIN};
use keyway_tests::{keyway, need};
use std::fs::File;
use std::path::Path;

/// Makes a file longer by so many bytes, or shorter.
fn lengthen(path: &Path, by: i64) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_len(file.metadata().unwrap().len().checked_add_signed(by).unwrap()).unwrap();
}

/// What is refused where `rest` bytes are behind `len` of whole sectors.
fn refusal(sector: u32, len: u64, rest: u64) -> String {
    format!(
        "device ends inside a sector of {sector} bytes: restore the device's length or, if the volume is not \
         open, leave out its last {rest} bytes with --device-size {len}. Nothing was changed."
    )
}

/// The whole sectors of a volume with `by` more bytes than at the beginning, and what is behind them.
fn parts(sector: u64, by: i64) -> (u64, u64) {
    let all = (PLAIN as u64).checked_add_signed(by).unwrap();
    (all - all % sector, all % sector)
}

#[test]
fn a_part_of_a_sector_is_left_out_by_whoever_reads_and_asked_for_by_whoever_goes_on() {
    need!("prlimit");
    for cut in [false, true] {
        let f = Fixture::volume();
        if cut {
            f.cut_off("--hotzone-size 256K")
        } else {
            drop(f.reencrypt(keyway, "--init-only").ok())
        }
        let begun = std::fs::read(&f.device).unwrap();
        for by in [512, -512, 4096 + 512, -3584, 100] {
            let context = format!("{by} bytes longer, cut off: {cut}");
            std::fs::write(&f.device, &begun).unwrap();
            lengthen(&f.device, by);
            let before = std::fs::read(&f.device).unwrap();
            let (len, rest) = parts(4096, by);
            let found = keyway("read --key-file").arg(&f.key).arg(&f.device).ok().stdout;
            let kept = PLAIN.min(len as usize);
            assert!(found.len() as u64 == len && found[..kept] == f.plain[..kept], "{context}");
            f.reencrypt(keyway, "--resume-only").fails(1).says(&refusal(4096, len, rest));
            assert!(std::fs::read(&f.device).unwrap() == before, "{context}: something was changed");
            // Either way goes on.
            f.reencrypt(keyway, &format!("--resume-only --device-size {len}")).ok();
            let after = std::fs::read(&f.device).unwrap();
            assert!(
                after[after.len() - rest as usize..] == before[before.len() - rest as usize..],
                "{context}"
            );
            let found = keyway("read --key-file").arg(&f.key).arg(&f.device).ok().stdout;
            assert!(found.len() as u64 == len && found[..kept] == f.plain[..kept], "{context}");
            if by > 0 {
                std::fs::write(&f.device, &before).unwrap();
                lengthen(&f.device, -by);
                f.reencrypt(keyway, "--resume-only").ok();
                f.is_whole(false);
            }
        }
    }
}

#[test]
fn whole_sectors_more_or_less_go_on() {
    let f = Fixture::volume();
    f.reencrypt(keyway, "--init-only").ok();
    let begun = std::fs::read(&f.device).unwrap();
    for by in [4096, -4096] {
        std::fs::write(&f.device, &begun).unwrap();
        lengthen(&f.device, by);
        f.reencrypt(keyway, "--resume-only").ok();
        let found = keyway("read --key-file").arg(&f.key).arg(&f.device).ok().stdout;
        let (len, kept) = (parts(4096, by).0, PLAIN - 4096);
        assert!(found.len() as u64 == len && found[..kept] == f.plain[..kept], "{by}");
    }
}

/// A header that says how long the volume is does not care how long the device is.
#[test]
fn what_has_a_size_of_its_own_goes_on() {
    let f = Fixture::volume();
    f.reencrypt(keyway, "--init-only --device-size 16M").ok();
    lengthen(&f.device, 512);
    f.reencrypt(keyway, "--resume-only").ok();
    f.reads(false);
}

#[test]
fn so_it_is_with_plaintext_before_or_after() {
    // Plaintext has sectors of 512 bytes.
    let f = Fixture::plaintext(0);
    f.reencrypt(keyway, "--encrypt --init-only --header").ok();
    let line = |options: &str| keyway(options).arg(f.header()).arg("--key-file").arg(&f.key).arg(&f.device);
    lengthen(&f.device, 100);
    assert!(line("read --header").ok().stdout == f.plain);
    f.reencrypt(keyway, "--resume-only --header").fails(1).says(&refusal(512, PLAIN as u64, 100));
    f.reencrypt(keyway, &format!("--resume-only --device-size {PLAIN} --header")).ok();
    assert!(line("read --header").ok().stdout == f.plain);

    lengthen(&f.device, -100);
    line("reencrypt -q --force-offline-reencrypt --decrypt --init-only --header").ok();
    lengthen(&f.device, 100);
    assert!(line("read --header").ok().stdout == f.plain);
    let resume = "reencrypt -q --force-offline-reencrypt --resume-only --header";
    line(resume).fails(1).says(&refusal(512, PLAIN as u64, 100));
    lengthen(&f.device, -100);
    line(resume).ok();
    f.is_plaintext();
}

/// What is open goes on once it is closed and somebody has said how long it is.
#[test]
fn what_is_open_is_refused_as_well_and_goes_on_closed() {
    let f = Fixture::volume();
    f.reencrypt(keyway, "--init-only").ok();
    lengthen(&f.device, 512);
    let before = std::fs::read(&f.device).unwrap();
    let open = Open::new(&f, "nbd");
    assert!(open.client("nbd").read(0, PLAIN) == f.plain);
    open.reencrypt("--resume-only").fails(1).says(&refusal(4096, PLAIN as u64, 512));
    assert!(std::fs::read(&f.device).unwrap() == before);
    open.keyway("close home").ok();
    f.reencrypt(keyway, &format!("--resume-only --device-size {PLAIN}")).ok();
    f.reads(false);
}

/// LUKS1, too, and whatever begins.
#[test]
fn luks1_and_what_begins_say_the_same() {
    let f = Fixture::volume();
    lengthen(&f.device, 512);
    let before = std::fs::read(&f.device).unwrap();
    for line in ["", "--estimate"] {
        f.reencrypt(keyway, line).fails(1).says(&refusal(4096, PLAIN as u64, 512));
    }
    assert!(std::fs::read(&f.device).unwrap() == before);
    f.reencrypt(keyway, &format!("--device-size {PLAIN}")).ok();
    f.reads(false);

    let f = Fixture::plaintext(0);
    let format = keyway("luksFormat -q --type luks1 --pbkdf-force-iterations 1000");
    format.arg(&f.device).arg(&f.key).ok();
    let cheap = "reencrypt -q --pbkdf-force-iterations 1000 --key-file key";
    let line = |options: &str| keyway(cheap).args(options).directory(f.scratch.root()).arg(&f.device);
    line("--init-only").ok();
    lengthen(&f.device, 100);
    let before = std::fs::read(&f.device).unwrap();
    let len = PLAIN - (2 << 20);
    line("--resume-only").fails(1).says(&refusal(512, len as u64, 100));
    assert!(std::fs::read(&f.device).unwrap() == before);
    line(&format!("--resume-only --device-size {len}")).ok();
    keyway("open --test-passphrase --key-file").arg(&f.key).arg(&f.device).ok();
}
