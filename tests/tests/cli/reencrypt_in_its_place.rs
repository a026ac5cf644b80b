//! `reencrypt` called as cryptsetup.

use crate::in_cryptsetups_place::{Beside, CHEAP};
use keyway_tests::{cryptsetup, keyway, need, random};

/// Its progress is cryptsetup's, on standard output.
#[test]
fn progress_of_reencrypt_is_on_standard_output() {
    let beside = Beside::new();
    beside.scratch.sized("disk", 20 << 20);
    beside.scratch.file("key", "secret");
    beside.named(&format!("luksFormat -q {CHEAP} disk key")).ok();
    let reencrypt = format!("reencrypt -q --force-offline-reencrypt {CHEAP} -d key");
    let json = beside.named(&format!("{reencrypt} --progress-json disk")).ok();
    let last = json.text().lines().last().unwrap().to_owned();
    assert!(last.starts_with("{\"device\":\"disk\",\"device_bytes\":\"4194304\""), "{json}");
    assert!(json.stderr.is_empty(), "{json}");
    let lines = beside.named(&format!("{} --progress-frequency 1 disk", reencrypt.replace(" -q", ""))).ok();
    assert!(lines.text().contains("Finished, time 00m00s, "), "{lines}");
}

/// cryptsetup, which cannot look inside, leaves sectors as they are unless it is told twice.
#[test]
fn sectors_of_a_closed_volume_grow_only_by_force() {
    let beside = Beside::new();
    beside.scratch.sized("disk", 20 << 20);
    beside.scratch.file("key", "secret");
    beside.named(&format!("luksFormat -q --sector-size 512 {CHEAP} disk key")).ok();
    let before = std::fs::read(beside.scratch.path("disk")).unwrap();
    let line = format!("reencrypt -q {CHEAP} -d key disk --sector-size");
    let refused = beside.named(&format!("{line} 1024")).fails(1);
    refused.says("Encryption sector size increase on offline device is not supported.");
    assert!(std::fs::read(beside.scratch.path("disk")).unwrap() == before, "nothing was changed");
    beside.named(&format!("{line} 4096 --force-offline-reencrypt")).ok();
    beside.named(&format!("{line} 512")).ok();
}

/// As in cryptsetup, `--offset` takes what it needs of `--reduce-device-size`.
#[test]
fn the_data_begins_where_it_is_said() {
    need!("cryptsetup");
    let encrypt = format!("reencrypt -q --force-offline-reencrypt --encrypt {CHEAP} -d key");
    for (offset, outcome) in [("4096", Some(2 << 20)), ("8192", Some(4 << 20)), ("8193", None)] {
        let beside = Beside::new();
        beside.scratch.random_file("disk", 5, 20 << 20);
        beside.scratch.file("key", "secret");
        std::fs::copy(beside.scratch.path("disk"), beside.scratch.path("other")).unwrap();
        let line = format!("{encrypt} --offset {offset} --reduce-device-size 8M");
        let theirs = cryptsetup(&format!("{line} other")).directory(beside.scratch.root()).outcome();
        let ours = beside.named(&format!("{line} disk")).outcome();
        assert_eq!(ours.code, theirs.code, "{ours}{theirs}");
        let Some(start) = outcome else {
            assert!(std::fs::read(beside.scratch.path("disk")).unwrap() == random(5, 20 << 20));
            ours.says("Requested data offset must be less than or equal to half of --reduce-device-size");
            continue;
        };
        for file in ["disk", "other"] {
            let found = keyway(&format!("read -d key {file}")).directory(beside.scratch.root()).ok().stdout;
            assert_eq!(found.len(), (20 << 20) - start, "{file}");
            assert!(found[..found.len() - start] == random(5, 20 << 20)[..found.len() - start], "{file}");
        }
    }
}
