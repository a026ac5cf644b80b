//! Headers that are written only when what opens them then is known: key files that change, the volume as a key file.

use super::change::{NEW, OLD, bytes, change, made, narrow, opened, opens, secret};
use keyway_volume::device::storage::File;
use keyway_volume::device::stream::Meter;
use keyway_volume::kind::tcrypt::{NewKey, NewVolume, Outer, Tcrypt};
use keyway_volume::{OsRandom, UnlockOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

/// A folder of the test's own.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("keyway-careful-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The volume is sealed with what opened it, whatever the file has become.
#[test]
fn key_files_are_read_once() {
    let folder = Folder::new("once");
    let disk = File::open_rw(&folder.file("disk.hc", &made())).unwrap();
    let key = folder.file("key", b"a key file");
    let new = NewKey { key_files: Some(vec![key.clone()]), ..NewKey::default() };
    change(&disk, &narrow(false, false), (OLD, NEW), &new).unwrap();
    let of = Tcrypt { key_files: vec![key.clone()], ..narrow(false, false) };
    let header = opened(&disk, &of, NEW).unwrap();
    folder.file("key", b"another content");
    let options = UnlockOptions::default();
    header.change_key(&disk, &NewKey::default(), &secret(OLD), (&mut OsRandom, &options)).unwrap();
    assert!(!opens(&bytes(&disk), &of, OLD));
    folder.file("key", b"a key file");
    assert!(opens(&bytes(&disk), &of, OLD));

    // A pipe has its content once.
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(b"from a program").unwrap();
    drop(writer);
    let pipe = PathBuf::from(format!("/proc/self/fd/{}", reader.as_raw_fd()));
    let new = NewKey { key_files: Some(vec![pipe]), ..NewKey::default() };
    change(&disk, &of, (OLD, NEW), &new).unwrap();
    folder.file("key", b"from a program");
    assert!(opens(&bytes(&disk), &of, NEW));
}

/// By its name, by a link's, and in a folder, for changes and new volumes.
#[test]
fn the_volume_is_no_key_file_of_itself() {
    let folder = Folder::new("itself");
    let path = folder.file("disk.hc", &made());
    let links = Folder::new("links");
    std::os::unix::fs::symlink(&path, links.0.join("a link")).unwrap();
    let disk = File::open_rw(&path).unwrap();
    let before = bytes(&disk);
    for named in [&path, &folder.0, &links.0] {
        let key_files = vec![named.clone()];
        let new = NewKey { key_files: Some(key_files.clone()), ..NewKey::default() };
        let change = change(&disk, &narrow(false, false), (OLD, NEW), &new);
        let new = NewVolume { pim: Some(1), key_files, quick: true, ..NewVolume::default() };
        let make = new.make(&disk, &secret(NEW), &mut OsRandom, &Meter::new());
        let options = UnlockOptions::default();
        let outer = Outer::open(&disk, &narrow(false, false), &secret(OLD), &options).unwrap();
        let hide = outer.hide(&disk, 65536, &new, &secret(NEW), (&mut OsRandom, &options));
        for refused in [change, make, hide] {
            let why = refused.unwrap_err().to_string();
            assert!(why.contains(" is the volume itself: "), "{why}");
            assert!(bytes(&disk) == before);
        }
    }
}
