//! What may be destroyed, and the proof required first: every row of docs/EFFECTS.md is tried on a
//! block device that is mounted and on the file behind it. Nothing may change, and the message says
//! what uses it.

use super::CHEAP;
use keyway_tests::{Outcome, Run, Scratch, keyway, need, peer, random};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// An ext4 file system in a file, mounted through a loop device.
struct Mounted {
    scratch: Scratch,
    file: PathBuf,
    device: PathBuf,
    place: PathBuf,
}

impl Mounted {
    /// `None` if this user or kernel cannot do that.
    fn new() -> Option<Self> {
        let scratch = Scratch::new();
        let (file, place) = (scratch.sized("in use.ext4", 12 << 20), scratch.path("a place"));
        fs::create_dir(&place).unwrap();
        peer("mke2fs", "-q -F -t ext4").arg(&file).ok();
        let attached = peer("losetup", "--find --show").arg(&file).outcome();
        if attached.code != Some(0) {
            return None;
        }
        let device = PathBuf::from(attached.text().trim());
        let mounted = Self { scratch, file, device, place };
        // Read-only and without its journal: any change is then not the kernel's.
        let done = peer("mount", "-t ext4 -o ro,noload").arg(&mounted.device).arg(&mounted.place).outcome();
        (done.code == Some(0)).then_some(mounted)
    }

    /// All its bytes, through the file and the device.
    fn bytes(&self) -> [Vec<u8>; 2] {
        [&self.device, &self.file].map(|path| fs::read(path).unwrap())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        peer("umount", "").arg(&self.place).outcome();
        peer("losetup", "--detach").arg(&self.device).outcome();
    }
}

/// A row of the table.
struct Row {
    command: String,
    proof: String,
    attempt: String,
}

fn rows() -> Vec<Row> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/EFFECTS.md");
    let page = fs::read_to_string(page).unwrap();
    let table = page.split("| Command | At risk |").nth(1).unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|')).map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let ["", command, _, _, proof, attempt, ""] = cells[..] else { panic!("{line}") };
        let [command, proof, attempt] = [command, proof, attempt.trim_matches('`')].map(str::to_owned);
        Row { command, proof, attempt }
    });
    rows.collect()
}

/// The other files that the attempts name.
struct Things {
    volume: PathBuf,
    backup: PathBuf,
    key: PathBuf,
    raw: PathBuf,
}

impl Things {
    fn new(scratch: &Scratch) -> Self {
        let key = scratch.file("key", "a passphrase");
        let raw = scratch.file("raw", random(3, 4 << 20));
        fs::create_dir(scratch.path("empty")).unwrap();
        let (volume, backup) = (scratch.path("volume"), scratch.path("backup"));
        keyway("build --type luks1").args(CHEAP).arg("-d").arg(&key).arg(&raw).arg(&volume).ok();
        keyway("luksHeaderBackup").arg(&volume).arg("--header-backup-file").arg(&backup).ok();
        Self { volume, backup, key, raw }
    }

    /// The attempt on `target`.
    fn run(&self, attempt: &str, target: &Path, mounted: &Mounted) -> Run {
        let (fresh, empty) = (mounted.scratch.path("new"), mounted.scratch.path("empty"));
        attempt.split(' ').fold(keyway(""), |run, word| match word {
            "TARGET" => run.arg(target),
            "VOLUME" => run.arg(&self.volume),
            "BACKUP" => run.arg(&self.backup),
            "KEY" => run.arg(&self.key),
            "RAW" => run.arg(&self.raw),
            "PLACE" => run.arg(&mounted.place),
            "EMPTY" => run.arg(&empty),
            "NEW" => run.arg(&fresh),
            word => run.arg(word),
        })
    }
}

#[test]
fn no_command_touches_what_is_mounted() {
    need!("losetup", "mke2fs", "mount", "umount");
    let Some(mounted) = Mounted::new() else {
        return keyway_tests::skip::record("no_command_touches_what_is_mounted", "this user mounts nothing");
    };
    let things = Things::new(&mounted.scratch);
    let before = mounted.bytes();
    let kept = [&things.volume, &things.backup, &things.key, &things.raw].map(|path| fs::read(path).unwrap());
    let rows = rows();
    let destroys: BTreeSet<&str> = rows.iter().map(|row| row.command.as_str()).collect();
    assert!(destroys.len() > 25, "{destroys:?}");
    let tried = rows.iter().filter(|row| !row.attempt.is_empty());
    assert!(tried.clone().filter(|row| row.proof == "Claim").count() >= 12);
    for row in tried {
        for target in [&mounted.device, &mounted.file] {
            let outcome = things.run(&row.attempt, target, &mounted).outcome();
            refused(row, target, &mounted, &outcome);
            for (now, before) in mounted.bytes().iter().zip(&before) {
                assert!(now == before, "it changed\n{outcome}");
            }
        }
    }
    let now = [&things.volume, &things.backup, &things.key, &things.raw].map(|path| fs::read(path).unwrap());
    assert!(now == kept, "what was read changed");
}

fn refused(row: &Row, target: &Path, mounted: &Mounted, outcome: &Outcome) {
    assert!(outcome.code.is_some_and(|code| code != 0), "not refused\n{outcome}");
    let errors = outcome.errors();
    // The message for an invalid command line would prove nothing.
    assert!(!errors.contains("Usage") && !errors.contains("nknown option"), "{outcome}");
    if row.proof == "Claim" {
        let place = mounted.place.display();
        let says = errors.contains("in use (") && errors.contains(&format!("mounted on {place}"));
        // An existing file is not replaced by a new one, in use or not.
        let exists = target == mounted.file && errors.contains("already exists");
        assert!(says || exists, "{outcome}");
        assert_eq!(outcome.code, Some(5), "{outcome}");
    }
}
