//! What others may have put where a command writes: links, names of files elsewhere, files of
//! theirs. Only root can make what belongs to another user.

use super::{CHEAP, plaintext, volume_of};
use keyway_tests::{Run, Scratch, keyway, need_that, random};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};

/// A volume of root's, its key, and a directory like /tmp.
struct Shared {
    scratch: Scratch,
    volume: PathBuf,
    key: PathBuf,
    place: PathBuf,
}

impl Shared {
    fn new() -> Self {
        let scratch = Scratch::new();
        let key = scratch.file("key", "secret");
        let volume = volume_of(&scratch, &random(61, 65536), &key, "--type luks2");
        keyway("token add --key-description x").arg(&volume).ok();
        let place = scratch.path("shared");
        fs::create_dir(&place).unwrap();
        set_mode(&place, 0o1777);
        Self { scratch, volume, key, place }
    }

    /// A link of this user's in the directory, to the volume.
    fn link(&self, name: &str, user: u32) -> PathBuf {
        let link = self.place.join(name);
        symlink(&self.volume, &link).unwrap();
        lchown(&link, Some(user), Some(user)).unwrap();
        link
    }

    /// Every way to change the volume at `path` in place.
    fn edits(&self, path: &Path) -> Vec<Run> {
        let (key, header) = (&self.key, self.scratch.path("backup"));
        if !header.exists() {
            keyway("luksHeaderBackup").arg(&self.volume).arg("--header-backup-file").arg(&header).ok();
        }
        let detached = self.scratch.sized("detached", 1 << 20);
        vec![
            keyway("luksFormat -q").args(CHEAP).arg("-d").arg(key).arg(path),
            keyway("luksFormat -q").args(CHEAP).arg("-d").arg(key).arg(detached).arg("--header").arg(path),
            keyway("erase -q").arg(path),
            keyway("write -d").arg(key).arg(path).stdin("x"),
            keyway("convert -q --type luks1").arg(path),
            keyway("reencrypt -q").args(CHEAP).arg("-d").arg(key).arg(path),
            keyway("luksHeaderRestore -q").arg(path).arg("--header-backup-file").arg(header),
            keyway("luksAddKey").args(CHEAP).arg("-d").arg(key).arg(path).arg(key),
            keyway("luksRemoveKey -q").arg(path).arg(key),
            keyway("token remove --token-id 0").arg(path),
            keyway("config --label x").arg(path),
            keyway("repair -q").arg(path),
            keyway("seal -d").arg(key).arg(path),
        ]
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

const NOBODY: u32 = 65_534;

#[test]
fn a_volume_is_edited_through_no_link_of_others() {
    need_that!(rustix::process::getuid().is_root(), "only root makes other users' links");
    let shared = Shared::new();
    let link = shared.link("theirs", NOBODY);
    let before = fs::read(&shared.volume).unwrap();
    for mode in [0o1777, 0o777, 0o775] {
        set_mode(&shared.place, mode);
        for run in shared.edits(&link) {
            run.fails(4)
                .says("is a symbolic link in a directory that others can write to, and is not followed");
            assert!(fs::read(&shared.volume).unwrap() == before, "{mode:o}");
        }
    }
    // What is only read is not led anywhere where it could do harm.
    keyway("luksDump").arg(&link).ok();
    assert!(plaintext(&link, &shared.key) == random(61, 65536));
    assert!(fs::read(&shared.volume).unwrap() == before);
    // The caller's own link, that of the directory's owner, and a directory that nobody else may
    // write to: as the kernel's fs.protected_symlinks has it.
    let write = |path: &Path| keyway("write -d").arg(&shared.key).arg(path).stdin("x");
    write(&shared.link("own", 0)).ok();
    set_mode(&shared.place, 0o755);
    write(&link).ok();
    set_mode(&shared.place, 0o1777);
    chown(&shared.place, Some(NOBODY), Some(NOBODY)).unwrap();
    write(&link).ok();
}

#[test]
fn a_name_of_a_file_elsewhere_is_not_written_to() {
    need_that!(rustix::process::getuid().is_root(), "only root makes other users' files");
    let shared = Shared::new();
    let name = shared.place.join("name");
    fs::hard_link(&shared.volume, &name).unwrap();
    let before = fs::read(&shared.volume).unwrap();
    let refused =
        "name is one of several names of a file (hard links) in a directory that others can write to";
    for run in shared.edits(&name) {
        run.fails(4).says(refused);
        assert!(fs::read(&shared.volume).unwrap() == before);
    }
    let export = |to: &Path| keyway("token export --token-id 0 --json-file").arg(to).arg(&shared.volume);
    let precious = shared.scratch.file("precious", "precious");
    let other = shared.place.join("other");
    fs::hard_link(&precious, &other).unwrap();
    export(&other).fails(1).says("is one of several names of a file");
    assert_eq!(fs::read(&precious).unwrap(), b"precious");
    // A file of somebody else's, who could read what is written.
    let theirs = shared.place.join("theirs");
    fs::write(&theirs, "theirs").unwrap();
    chown(&theirs, Some(NOBODY), Some(NOBODY)).unwrap();
    export(&theirs)
        .fails(1)
        .says("theirs is a file of another user's in a directory that others can write to");
    assert_eq!(fs::read(&theirs).unwrap(), b"theirs");
    // One's own, and a new one.
    export(&shared.scratch.file("own", "longer than any token could be".repeat(100))).ok();
    export(&shared.place.join("new")).ok();
    let [own, new] = [shared.scratch.path("own"), shared.place.join("new")].map(|it| fs::read(it).unwrap());
    assert!(own == new && own.starts_with(b"{"));
}
