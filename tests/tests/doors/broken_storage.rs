//! Storage that is full, and storage that fails midway: the requester gets the specific error, no
//! other client does, nothing else is written, and acknowledged data is there afterwards.

use crate::served::{Served, Volume};
use keyway_tests::nbd::{Nbd, listens};
use keyway_tests::{Background, Run, Scratch, assert_same_bytes, keyway, need, need_that, peer, random};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

#[test]
fn a_full_disk_over_nbd() {
    need_that!(rustix::process::getuid().is_root(), "only root mounts file systems");
    let scratch = Scratch::new();
    let small = SmallDisk::new(&scratch);
    let (volume, other) = small.volumes(&scratch);
    let before = fs::read(volume.path()).unwrap();
    let socket = scratch.path("nbd.sock");
    let run = keyway("serve --export full --export other --socket").arg(&socket);
    let run = run.arg("--volume-key-file").arg(volume.key_file()).arg(volume.path()).arg(other.path());
    let mut served = Served::start(&run);
    served.ready();

    let mut client = Nbd::connect(&socket, "full").unwrap();
    let mut reader = Nbd::connect(&socket, "full").unwrap();
    let mut elsewhere = Nbd::connect(&socket, "other").unwrap();
    let (written, error) = fill(|at, data| client.write(at, data));
    assert_eq!(error.raw_os_error(), Some(Errno::NOSPC.raw_os_error()), "{error}");
    assert!((1..STEPS).contains(&written), "{written} blocks fit");

    // The same connection, another connection to the same volume, and one to another volume.
    assert_eq!(client.read(place(0), STEP).unwrap(), content(0));
    assert_eq!(reader.read(place(written - 1), STEP).unwrap(), content(written - 1));
    let again = client.write(place(STEPS - 1), &content(STEPS - 1)).unwrap_err();
    assert_eq!(again.raw_os_error(), Some(Errno::NOSPC.raw_os_error()), "{again}");
    client.write(place(0), &content(100)).unwrap();
    elsewhere.write(4321, &content(101)).unwrap();
    elsewhere.flush().unwrap();
    client.flush().unwrap();
    drop((client, reader, elsewhere));
    served.terminate();
    assert_eq!(served.wait(), Some(0));

    let holds = |number| if number == 0 { content(100) } else { content(number) };
    for number in 0..written {
        assert_same_bytes("read", &volume.read(place(number), STEP), "written", &holds(number));
    }
    assert_eq!(other.read(4321, STEP), content(101));
    let touched = (0..=written).chain([STEPS - 1]);
    assert_only_changed(&volume, &before, touched.map(place).collect());

    // Once there is room, writing works again.
    small.grow();
    let mut served = Served::start(&volume.serve().arg("--socket").arg(&socket));
    served.ready();
    let mut client = Nbd::connect(&socket, "").unwrap();
    client.write(place(written), &content(written)).unwrap();
    client.flush().unwrap();
    assert_eq!(client.read(place(written), STEP).unwrap(), content(written));
}

#[test]
fn a_full_disk_over_fuse() {
    need!("fusermount3");
    need_that!(rustix::process::getuid().is_root(), "only root mounts file systems");
    need_that!(has_fuse(), "/dev/fuse cannot be opened");
    let scratch = Scratch::new();
    let small = SmallDisk::new(&scratch);
    let (volume, other) = small.volumes(&scratch);
    let before = fs::read(volume.path()).unwrap();
    let full = Mount::new(&scratch, "full", &volume, volume.path());
    let good = Mount::new(&scratch, "good", &other, other.path());

    let file = full.file();
    let (written, error) = fill(|at, data| file.write_all_at(data, at));
    assert_eq!(error.raw_os_error(), Some(Errno::NOSPC.raw_os_error()), "{error}");
    assert!((1..STEPS).contains(&written), "{written} blocks fit");
    assert_eq!(read(&full.file(), place(written - 1)).unwrap(), content(written - 1));
    file.write_all_at(&content(100), place(0)).unwrap();
    file.sync_all().unwrap();
    good.file().write_all_at(&content(101), 4321).unwrap();
    drop(file);
    drop((full, good));

    assert_eq!(volume.read(place(0), STEP), content(100));
    for number in 1..written {
        assert_same_bytes("read", &volume.read(place(number), STEP), "written", &content(number));
    }
    assert_eq!(other.read(4321, STEP), content(101));
    assert_only_changed(&volume, &before, (0..=written).map(place).collect());
}

#[test]
fn errors_of_the_storage_over_nbd() {
    need!("nbdkit");
    let scratch = Scratch::new();
    let behind = Failing::new(&scratch);
    let other = Volume::new(&scratch, "other.luks", 1);
    let socket = scratch.path("nbd.sock");
    let run = keyway("serve --export failing --export other --socket").arg(&socket);
    let run = run.arg("--volume-key-file").arg(behind.volume.key_file()).arg(&behind.uri).arg(other.path());
    let mut served = Served::start(&run);
    served.ready();
    let mut client = Nbd::connect(&socket, "failing").unwrap();
    let mut second = Nbd::connect(&socket, "failing").unwrap();
    let mut elsewhere = Nbd::connect(&socket, "other").unwrap();
    client.write(place(1), &content(1)).unwrap();

    behind.fails("reads");
    let error = client.read(place(1), STEP).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(Errno::IO.raw_os_error()), "{error}");
    // The write begins inside a sector, which would have to be read.
    let error = second.write(place(2) + 1, &content(2)).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(Errno::IO.raw_os_error()), "{error}");
    elsewhere.write(77, &content(3)).unwrap();
    second.write(place(4), &content(4)[..WHOLE]).unwrap();
    behind.works("reads");
    assert_eq!(client.read(place(1), STEP).unwrap(), content(1));

    behind.fails("writes");
    let error = client.write(place(5), &content(5)).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(Errno::IO.raw_os_error()), "{error}");
    assert_eq!(second.read(place(4), WHOLE).unwrap(), content(4)[..WHOLE]);
    assert_eq!(elsewhere.read(77, STEP).unwrap(), content(3));
    behind.works("writes");
    client.write(place(6), &content(6)).unwrap();
    client.flush().unwrap();
    drop((client, second, elsewhere));
    served.terminate();
    assert_eq!(served.wait(), Some(0));

    let written = [1, 4, 6];
    for (number, len) in written.into_iter().zip([STEP, WHOLE, STEP]) {
        assert_same_bytes(
            "read",
            &behind.volume.read(place(number), len),
            "written",
            &content(number)[..len],
        );
    }
    assert_eq!(other.read(77, STEP), content(3));
    assert_only_changed(&behind.volume, &behind.before, written.map(place).to_vec());
}

#[test]
fn errors_of_the_storage_over_fuse() {
    need!("nbdkit", "fusermount3");
    need_that!(has_fuse(), "/dev/fuse cannot be opened");
    let scratch = Scratch::new();
    let behind = Failing::new(&scratch);
    let mount = Mount::with(&scratch, "failing", &behind.volume, Path::new(&behind.uri), "--direct");
    let file = mount.file();
    file.write_all_at(&content(1), place(1)).unwrap();
    behind.fails("reads");
    let error = read(&file, place(1)).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(Errno::IO.raw_os_error()), "{error}");
    behind.works("reads");
    assert_eq!(read(&file, place(1)).unwrap(), content(1));
    behind.fails("writes");
    let error = file.write_all_at(&content(2), place(2)).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(Errno::IO.raw_os_error()), "{error}");
    assert_eq!(read(&mount.file(), place(1)).unwrap(), content(1));
    behind.works("writes");
    file.write_all_at(&content(3), place(3)).unwrap();
    file.sync_all().unwrap();
    drop(file);
    drop(mount);
    for number in [1, 3] {
        assert_same_bytes("read", &behind.volume.read(place(number), STEP), "written", &content(number));
    }
    assert_only_changed(&behind.volume, &behind.before, [1, 3].map(place).to_vec());
}

/// Writes one block after another until a write fails; returns how many were written, and the
/// error.
fn fill(mut write: impl FnMut(u64, &[u8]) -> io::Result<()>) -> (u64, io::Error) {
    for number in 0..STEPS {
        if let Err(error) = write(place(number), &content(number)) {
            return (number, error);
        }
    }
    panic!("the disk is not too small")
}

/// Asserts that the image changed only in the sectors of these blocks.
fn assert_only_changed(volume: &Volume, before: &[u8], places: Vec<u64>) {
    let mut now = fs::read(volume.path()).unwrap();
    let header = before.len() - volume.size() as usize;
    for place in places {
        let first = place as usize / SECTOR * SECTOR;
        let last = (place as usize + STEP).next_multiple_of(SECTOR);
        now[header + first..header + last].copy_from_slice(&before[header + first..header + last]);
    }
    assert_same_bytes("the rest", &now, "before", before);
}

fn read(file: &File, at: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; STEP];
    file.read_exact_at(&mut bytes, at).map(|()| bytes)
}

/// Adjacent blocks are half a megabyte apart, so each uses separate pages.
fn place(number: u64) -> u64 {
    number << 19
}

fn content(number: u64) -> Vec<u8> {
    random(number + 7000, STEP)
}

/// A file system of four megabytes.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn new(scratch: &Scratch) -> Self {
        let directory = scratch.path("small");
        fs::create_dir(&directory).unwrap();
        peer("mount", "-t tmpfs -o size=4m none").arg(&directory).ok();
        Self(directory)
    }

    /// A sparse volume that is larger than its disk, and one elsewhere.
    fn volumes(&self, scratch: &Scratch) -> (Volume, Volume) {
        let name = self.0.join("disk.luks");
        (Volume::new(scratch, name.to_str().unwrap(), 32), Volume::new(scratch, "other.luks", 1))
    }

    fn grow(&self) {
        peer("mount", "-o remount,size=64m").arg(&self.0).ok();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        peer("umount", "-l").arg(&self.0).outcome();
    }
}

/// nbdkit in front of a volume's image. It fails while a certain file exists.
struct Failing {
    directory: PathBuf,
    volume: Volume,
    /// The initial content of the image.
    before: Vec<u8>,
    uri: String,
    _server: Background,
}

impl Failing {
    fn new(scratch: &Scratch) -> Self {
        let volume = Volume::new(scratch, "disk.luks", 8);
        let socket = scratch.path("nbdkit.sock");
        let run = peer("nbdkit", "-f -U").arg(&socket).args("--filter=error file").arg(volume.path());
        let run = run.args("error=EIO error-pread-rate=100% error-pwrite-rate=100%");
        let run = run.arg(format!("error-pread-file={}", scratch.path("reads").display()));
        let run = run.arg(format!("error-pwrite-file={}", scratch.path("writes").display()));
        let _server = Background::start(&run, || listens(&socket));
        Self {
            directory: scratch.root().to_owned(),
            before: fs::read(volume.path()).unwrap(),
            volume,
            uri: format!("nbd+unix:///?socket={}", socket.display()),
            _server,
        }
    }

    fn fails(&self, what: &str) {
        File::create(self.directory.join(what)).unwrap();
    }

    fn works(&self, what: &str) {
        fs::remove_file(self.directory.join(what)).unwrap();
    }
}

/// `keyway mount` of storage with a volume's key, unmounted on drop.
struct Mount {
    directory: PathBuf,
    runtime: PathBuf,
}

impl Mount {
    fn new(scratch: &Scratch, name: &str, key: &Volume, storage: &Path) -> Self {
        Self::with(scratch, name, key, storage, "")
    }

    fn with(scratch: &Scratch, name: &str, key: &Volume, storage: &Path, options: &str) -> Self {
        let mount = Self { directory: scratch.path(name), runtime: scratch.root().to_owned() };
        fs::create_dir(&mount.directory).unwrap();
        let run = mount.keyway("mount").args(options).arg("--volume-key-file").arg(key.key_file());
        run.arg(storage).arg(&mount.directory).ok().says("is mounted");
        mount
    }

    fn keyway(&self, line: &str) -> Run {
        keyway(line).env("XDG_RUNTIME_DIR", &self.runtime)
    }

    fn file(&self) -> File {
        OpenOptions::new().read(true).write(true).open(self.directory.join("plain")).unwrap()
    }
}

impl Drop for Mount {
    /// Returns once the process has released the volume.
    fn drop(&mut self) {
        peer("fusermount3", "-u -q -z").arg(&self.directory).outcome();
        let name = self.directory.display().to_string();
        for _ in 0..1000 {
            if !self.keyway("list").outcome().text().contains(&name) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

fn has_fuse() -> bool {
    File::options().read(true).write(true).open("/dev/fuse").is_ok()
}

/// The size of a written block, neither end of which is at a sector boundary.
const STEP: usize = 200_003;
/// As many blocks as fit on the volume; they do not fit on the disk.
const STEPS: u64 = 60;
const SECTOR: usize = 4096;
/// The part of a block that fills whole sectors.
const WHOLE: usize = STEP / SECTOR * SECTOR;
