//! The FUSE front end over storage in memory, used through the kernel.

use keyway_attach::fuse::{Mount, Options};
use keyway_attach::{Error, Export, FrontEnd, Refusal};
use keyway_volume::device::storage::Memory;
use keyway_volume::{Rights, Storage};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[test]
fn bytes_go_both_ways_and_the_file_keeps_its_size() {
    let Some(at) = mount_point("bytes") else { return };
    let storage = Arc::new(Memory::zeroed(LEN as usize));
    let mount = Mount::new(export(&storage), &at, Options::default()).unwrap();
    let path = PathBuf::from(mount.place());
    assert_eq!(fs::metadata(&path).unwrap().len(), LEN);
    assert_eq!(fs::read_dir(&at).unwrap().count(), 1);

    let file = File::options().read(true).write(true).open(&path).unwrap();
    file.write_all_at(&[7; 5000], 1_000_001).unwrap();
    let mut seen = [0; 5002];
    file.read_exact_at(&mut seen, 1_000_000).unwrap();
    assert!(seen[0] == 0 && seen[1..5001].iter().all(|b| *b == 7) && seen[5001] == 0);
    assert!(file.write_all_at(&[1; 2], LEN - 1).is_err(), "a write beyond the end");
    assert!(file.set_len(LEN - 1).is_err() && file.set_len(LEN + 1).is_err());
    file.set_len(LEN).unwrap();
    assert!(File::create_new(at.join("other")).is_err());
    assert!(fs::remove_file(&path).is_err());

    assert!(matches!(mount.stop(), Err(Error::Busy(_))), "the file is open");
    drop(file);
    mount.stop().unwrap();
    mount.wait().unwrap();
    assert_eq!(fs::read_dir(&at).unwrap().count(), 0);
    let mut stored = [0; 5000];
    storage.read_at(&mut stored, 1_000_001).unwrap();
    assert!(stored.iter().all(|b| *b == 7));
    assert_eq!(Arc::strong_count(&storage), 1, "a mount that is gone holds on to nothing");
    fs::remove_dir(&at).unwrap();
}

#[test]
fn a_detached_mount_serves_those_who_have_it_open() {
    let Some(at) = mount_point("detached") else { return };
    let storage = Arc::new(Memory::zeroed(LEN as usize));
    let mount = Mount::new(export(&storage), &at, Options::default()).unwrap();
    let file = File::options().read(true).write(true).open(mount.place()).unwrap();
    mount.detach().unwrap();
    assert_eq!(fs::read_dir(&at).unwrap().count(), 0);
    file.write_all_at(&[9; 4096], 8192).unwrap();
    drop(file);
    mount.wait().unwrap();
    let mut stored = [0; 4096];
    storage.read_at(&mut stored, 8192).unwrap();
    assert_eq!(stored, [9; 4096]);
    fs::remove_dir(&at).unwrap();
}

#[test]
fn directories_that_cannot_be_mounted_on_are_refused_by_name() {
    let Some(at) = mount_point("refused") else { return };
    let storage = Arc::new(Memory::zeroed(LEN as usize));
    let mount = |dir: &Path| Mount::new(export(&storage), dir, Options::default());
    assert!(matches!(mount(&at.join("absent")), Err(Error::NotFound(_))));
    let file = at.join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(mount(&file), Err(Error::Refused { kind: Refusal::MountPoint, .. })));
    assert!(matches!(mount(&at), Err(Error::Refused { kind: Refusal::MountPoint, .. })), "not empty");
    fs::remove_file(&file).unwrap();
    let first = mount(&at).unwrap();
    assert!(matches!(mount(&at), Err(Error::Busy(_))), "mounted already");
    first.stop().unwrap();
    fs::remove_dir(&at).unwrap();
}

fn export(storage: &Arc<Memory>) -> Export {
    Export {
        name: String::new(),
        description: String::new(),
        storage: storage.clone(),
        rights: Rights::default(),
    }
}

/// An empty directory; `None`, with a line, where nothing can be mounted.
fn mount_point(name: &str) -> Option<PathBuf> {
    if File::options().read(true).write(true).open("/dev/fuse").is_err() {
        eprintln!("left out: /dev/fuse cannot be opened here");
        return None;
    }
    let path = std::env::temp_dir().join(format!("keyway-fuse-{name}-{}", std::process::id()));
    fs::create_dir(&path).unwrap();
    Some(path)
}

const LEN: u64 = (4 << 20) + 512;
