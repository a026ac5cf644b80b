//! `keyway mount`: the plaintext as a file, used by the kernel, by
//! file systems without root, by QEMU and fio.

use crate::mounted::{Mounted, PLAINTEXT};
use keyway_tests::{Run, assert_same_bytes, fusermount, need, need_that, peer, random, until};
use rustix::fs::{FallocateFlags, fallocate};
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Child;

#[test]
fn bytes_go_both_ways_and_unmounting_brings_them_to_the_volume() {
    need!("fusermount3", "nbdkit", "nbdcopy");
    need_that!(has_fuse(), "/dev/fuse cannot be opened");
    for options in ["", "--writeback", "--direct"] {
        eprintln!("mount {options}");
        let m = Mounted::with(options);
        let found = fs::metadata(m.file()).unwrap();
        assert_eq!((found.len(), found.mode() & 0o7777), (PLAINTEXT as u64, 0o600));
        assert_eq!(found.uid(), rustix::process::getuid().as_raw());
        assert_same_bytes("the file", &fs::read(m.file()).unwrap(), "original", &m.plaintext);

        // Starts and ends inside sectors.
        let mut expected = m.plaintext.clone();
        let file = File::options().read(true).write(true).open(m.file()).unwrap();
        for (seed, offset, len) in
            [(1, 70_001, 10_001), (2, 0, 3), (3, PLAINTEXT - 700, 700), (4, 5 << 20, 3 << 20)]
        {
            let patch = random(seed, len);
            file.write_all_at(&patch, offset as u64).unwrap();
            expected[offset..offset + len].copy_from_slice(&patch);
        }
        drop(file);
        m.unmount();
        assert_same_bytes("keyway read", &m.read(), "expected", &expected);
        let other = peer("nbdkit", "-U - --filter=luks file").arg(&m.volume);
        let other =
            other.arg(format!("passphrase=+{}", m.key.display())).args("--run").arg("nbdcopy $uri -").ok();
        assert_same_bytes("nbdkit", &other.stdout, "expected", &expected);
    }
}

#[test]
fn the_plaintext_file_cannot_be_resized_renamed_or_removed() {
    need!("fusermount3");
    need_that!(has_fuse(), "/dev/fuse cannot be opened");
    let m = Mounted::with("");
    let file = File::options().read(true).write(true).open(m.file()).unwrap();
    assert!(file.set_len(PLAINTEXT as u64 - 1).is_err(), "cut");
    assert!(file.set_len(PLAINTEXT as u64 + 1).is_err(), "extended");
    file.set_len(PLAINTEXT as u64).unwrap();
    assert!(File::create(m.file()).is_err(), "cut by opening");
    assert!(file.write_all_at(&[1; 2], PLAINTEXT as u64 - 1).is_err(), "beyond the end");
    assert!(File::create(m.directory.join("another")).is_err());
    assert!(fs::create_dir(m.directory.join("another")).is_err());
    assert!(fs::remove_file(m.file()).is_err());
    assert!(fs::rename(m.file(), m.directory.join("another")).is_err());
    assert_eq!(fs::read_dir(&m.directory).unwrap().count(), 1);
    let space = rustix::fs::statvfs(&m.directory).unwrap();
    assert_eq!(space.f_blocks * space.f_frsize, PLAINTEXT as u64);
    assert_eq!(space.f_bfree, 0);
    drop(file);
    m.unmount();
    assert_same_bytes(
        "keyway read",
        &m.read()[..PLAINTEXT - 512],
        "original",
        &m.plaintext[..PLAINTEXT - 512],
    );
}

#[test]
fn a_read_only_mount_takes_no_writes() {
    need!("fusermount3");
    need_that!(has_fuse(), "/dev/fuse cannot be opened");
    let m = Mounted::with("--readonly");
    assert_eq!(fs::metadata(m.file()).unwrap().mode() & 0o7777, 0o400);
    assert!(File::options().write(true).open(m.file()).is_err());
    assert_same_bytes("the file", &fs::read(m.file()).unwrap(), "original", &m.plaintext);
    m.unmount();
}

#[test]
fn holes_are_refused_or_read_as_zeros() {
    need!("fusermount3");
    need_that!(has_fuse(), "/dev/fuse cannot be opened");
    let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    let zero = FallocateFlags::ZERO_RANGE;
    for allowed in [false, true] {
        let m = Mounted::with(if allowed { "--allow-discards" } else { "" });
        let mut expected = m.plaintext.clone();
        let file = File::options().read(true).write(true).open(m.file()).unwrap();
        assert_eq!(fallocate(&file, punch, 1_000_001, 300_003).is_ok(), allowed);
        if allowed {
            expected[1_000_001..1_300_004].fill(0);
        }
        fallocate(&file, zero, 5_000_000, 4096).unwrap();
        expected[5_000_000..5_004_096].fill(0);
        fallocate(&file, FallocateFlags::empty(), 0, PLAINTEXT as u64).unwrap();
        assert!(fallocate(&file, FallocateFlags::empty(), 0, PLAINTEXT as u64 + 1).is_err());
        drop(file);
        assert_same_bytes("the file", &fs::read(m.file()).unwrap(), "expected", &expected);
        m.unmount();
        assert_same_bytes("keyway read", &m.read(), "expected", &expected);
    }
}

#[test]
fn holes_give_room_back_only_where_somebody_vouches_for_it() {
    need!("fusermount3");
    need_that!(has_fuse(), "/dev/fuse cannot be opened");
    let m = Mounted::new();
    m.mount("--discard-holes").fails(1).says("Option --discard-holes needs --allow-discards");
    m.mount("--allow-discards --discard-holes").ok();
    let before = room_of(&m.volume);
    let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    let hole = (1 << 20)..(9 << 20);
    let file = File::options().read(true).write(true).open(m.file()).unwrap();
    fallocate(&file, punch, hole.start, hole.end - hole.start).unwrap();
    drop(file);
    m.unmount();
    // Ranges that do not fill a block of the image's file system stay allocated.
    let after = room_of(&m.volume);
    assert!(after <= before - (8 << 20) + 8192, "{before} bytes, then {after}");
    let read = m.read();
    let (start, end) = (hole.start as usize, hole.end as usize);
    assert!(read[..start] == m.plaintext[..start] && read[end..] == m.plaintext[end..]);
    assert!(read[start..end] != m.plaintext[start..end]);
}

/// Loop devices issue the same call for a discard and for zeros that ext4 requests. The range must
/// read as zeros, at the cost of space; space is freed if the file system was told to write its
/// zeros itself.
#[test]
fn trimming_through_a_loop_device_harms_no_file_system() {
    need!("fusermount3", "losetup", "mke2fs", "e2fsck", "mount", "fstrim");
    need_that!(has_fuse(), "/dev/fuse cannot be opened");
    need_that!(rustix::process::getuid().is_root(), "only root mounts loop devices");
    for (options, mounting, gives_back) in [
        ("", "loop", false),
        ("--allow-discards", "loop", false),
        ("--allow-discards --discard-holes", "loop,noinit_itable", true),
    ] {
        eprintln!("mount {options}");
        let m = Mounted::new();
        let image = m.scratch.sized("ext4", PLAINTEXT as u64);
        // All inode tables are written now, and none is left for the kernel to clear.
        peer("mke2fs", "-q -F -t ext4 -E lazy_itable_init=0").arg(&image).ok();
        m.keyway("write").arg(&m.volume).arg(&image).ok();
        m.mount(options).ok();
        let inside = m.scratch.path("inside");
        fs::create_dir(&inside).unwrap();
        let tried = peer("mount", "-o").arg(mounting).arg(m.file()).arg(&inside).outcome();
        need_that!(tried.code == Some(0), "loop devices cannot be mounted here");
        let content = random(8, 3 << 20);
        let written = fs::write(inside.join("stays"), &content)
            .and_then(|()| fs::write(inside.join("goes"), random(9, 6 << 20)))
            .and_then(|()| fs::remove_file(inside.join("goes")));
        peer("sync", "-f").arg(&inside).outcome();
        let before = room_of(&m.volume);
        let trimmed = peer("fstrim", "").arg(&inside).outcome();
        peer("umount", "").arg(&inside).ok();
        written.unwrap();
        // A refusal is no error for it either.
        assert_eq!(trimmed.code, Some(0), "{trimmed}");
        until("the loop device lets go", || !is_open(&m.file()));
        m.unmount();
        let after = room_of(&m.volume);
        assert_eq!(after < before - (8 << 20), gives_back, "{before} bytes, then {after}");
        let image = m.scratch.file("image", m.read());
        peer("e2fsck", "-f -n").arg(&image).ok();
        let found = peer("debugfs", "-R").arg("cat stays").arg(&image).ok().stdout;
        assert_same_bytes("debugfs", &found, "content", &content);
    }
}

#[test]
fn the_kernel_mounts_a_file_system_in_it() {
    need!("fusermount3", "losetup", "mke2fs", "e2fsck", "mount");
    need_that!(has_fuse(), "/dev/fuse cannot be opened");
    need_that!(rustix::process::getuid().is_root(), "only root mounts loop devices");
    let m = Mounted::with("");
    peer("mke2fs", "-q -F -t ext4").arg(m.file()).ok();
    let inside = m.scratch.path("inside");
    fs::create_dir(&inside).unwrap();
    let tried = peer("mount", "-o loop").arg(m.file()).arg(&inside).outcome();
    need_that!(tried.code == Some(0), "loop devices cannot be mounted here");
    let content = random(5, 3 << 20);
    let written = fs::write(inside.join("content"), &content);
    peer("umount", "").arg(&inside).ok();
    written.unwrap();
    m.unmount();
    let image = m.scratch.file("image", m.read());
    peer("e2fsck", "-f -n").arg(&image).ok();
    let found = peer("debugfs", "-R").arg("cat content").arg(&image).ok().stdout;
    assert_same_bytes("debugfs", &found, "content", &content);
}

#[test]
fn file_systems_without_root_work_in_it() {
    need!("fusermount3", "fuse2fs", "mke2fs", "e2fsck");
    need_that!(has_fuse(), "/dev/fuse cannot be opened");
    let m = Mounted::with("");
    peer("mke2fs", "-q -F -t ext4").arg(m.file()).ok();
    let inside = m.scratch.path("inside");
    fs::create_dir(&inside).unwrap();
    peer("fuse2fs", "-o fakeroot,rw").arg(m.file()).arg(&inside).ok();
    let content = random(6, 3 << 20);
    let written = fs::write(inside.join("content"), &content);
    fusermount(&inside);
    written.unwrap();
    until("fuse2fs lets go", || !is_open(&m.file()));
    peer("e2fsck", "-f -n").arg(m.file()).ok();
    m.unmount();
}

#[test]
fn qemu_and_fio_work_on_it() {
    need!("fusermount3", "qemu-img", "qemu-io", "fio");
    need_that!(has_fuse(), "/dev/fuse cannot be opened");
    let m = Mounted::with("");
    let copy = m.scratch.path("copy");
    peer("qemu-img", "convert -f raw -O raw").arg(m.file()).arg(&copy).ok();
    assert_same_bytes("qemu-img", &fs::read(&copy).unwrap(), "original", &m.plaintext);
    let mut expected = m.plaintext.clone();
    peer("qemu-io", "-f raw -c").arg("write -P 0x5a 1M 64k").arg(m.file()).ok();
    expected[1 << 20..(1 << 20) + 65536].fill(0x5a);
    assert_same_bytes("the file", &fs::read(m.file()).unwrap(), "expected", &expected);
    for engine in ["--ioengine=psync --fsync=64", "--ioengine=libaio --iodepth=16 --direct=1"] {
        peer("fio", "--name=verify --rw=randrw --bsrange=512-64k --blockalign=512 --size=16m --verify=crc32c --verify_fatal=1")
            .args("--allow_file_create=0 --verify_state_save=0 --randseed=9 --overwrite=1 --output-format=terse")
            .args(engine)
            .arg(format!("--filename={}", m.file().display()))
            .ok();
    }
    m.unmount();
}

#[test]
fn other_users_stay_out_unless_they_are_let_in() {
    need!("fusermount3", "setpriv", "cat");
    need_that!(has_fuse(), "/dev/fuse cannot be opened");
    need_that!(rustix::process::getuid().is_root(), "only root becomes another user");
    let m = Mounted::with("");
    as_nobody("cat").arg(m.file()).fails(1).says("Permission denied");
    m.unmount();
    m.mount("--allow-other").ok();
    let seen = as_nobody("cat").arg(m.file()).ok().stdout;
    assert_same_bytes("nobody", &seen, "original", &m.plaintext);
    m.unmount();
}

#[test]
fn an_ordinary_user_mounts_or_hears_why_not() {
    need!("fusermount3", "setpriv", "cat");
    need_that!(rustix::process::getuid().is_root(), "only root becomes another user");
    let m = Mounted::new();
    let program = m.scratch.copy(m.mount("").program(), "keyway");
    for path in [m.scratch.root(), &m.volume, &m.key, &m.directory] {
        std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let mount = as_nobody_runs(&program).args("mount --key-file").arg(&m.key);
    let mount = mount.arg(&m.volume).arg(&m.directory).env("XDG_RUNTIME_DIR", m.scratch.root());
    let device = fs::metadata("/dev/fuse").map_or(0, |device| device.permissions().mode());
    if device & 0o006 != 0o006 {
        mount.fails(2).says("/dev/fuse cannot be opened by this user").says(NBD);
        return;
    }
    mount.ok().says("is mounted");
    let seen = as_nobody("cat").arg(m.file()).ok().stdout;
    assert_same_bytes("its owner", &seen, "original", &m.plaintext);
    peer("cat", "").arg(m.file()).fails(1).says("Permission denied");
    as_nobody("fusermount3").arg("-u").arg(&m.directory).ok();
    until("it is unmounted", || !m.file().exists());
}

#[test]
fn what_cannot_be_mounted_on_is_refused_by_name() {
    need!("fusermount3");
    need_that!(has_fuse(), "/dev/fuse cannot be opened");
    let m = Mounted::new();
    let absent = m.scratch.path("absent");
    let mount = || m.keyway("mount").arg(&m.volume);
    mount().arg(&absent).fails(4).says("absent does not exist; make it with mkdir.");
    mount().arg(&m.key).fails(1).says("key is not a directory.");
    mount().arg(m.scratch.root()).fails(1).says("is not empty");
    m.mount("").ok();
    m.mount("--shared").fails(5).says("Something is already mounted on");
    m.unmount();
}

#[test]
fn a_machine_without_fuse_is_told_what_it_lacks() {
    need!("unshare", "mount", "sh");
    need_that!(rustix::process::getuid().is_root(), "only root hides /dev");
    let m = Mounted::new();
    let line = format!(
        "mount -t tmpfs none /dev && exec {} mount --foreground --key-file {} {} {}",
        m.mount("").program().display(),
        m.key.display(),
        m.volume.display(),
        m.directory.display(),
    );
    let tried = peer("unshare", "-m sh -c").arg(line).outcome();
    need_that!(!tried.errors().contains("unshare:"), "mount namespaces cannot be made here");
    assert_eq!(tried.code, Some(1), "{tried}");
    tried.says("No FUSE here: /dev/fuse").says("modprobe fuse").says(NBD);
}

/// What works without FUSE.
const NBD: &str =
    "\nNBD needs neither FUSE nor root: \"keyway open --backend nbd VOLUME NAME\", or keyway serve.\n";

#[test]
fn an_ordinary_user_without_fusermount_is_shown_another_front_end() {
    need!("setpriv");
    need_that!(rustix::process::getuid().is_root(), "only root becomes another user");
    need_that!(has_fuse(), "/dev/fuse cannot be opened");
    let m = Mounted::new();
    let program = m.scratch.copy(m.mount("").program(), "keyway");
    for path in [m.scratch.root(), &m.volume, &m.key, &m.directory] {
        std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let run = |line: &str| {
        let run = as_nobody_runs(&program).args(line).arg("--key-file").arg(&m.key).arg(&m.volume);
        run.env("XDG_RUNTIME_DIR", m.scratch.root()).env("PATH", "/nonexistent")
    };
    for refused in [run("mount").arg(&m.directory), run("open --backend fuse").arg("home")] {
        let refused = refused.outcome();
        assert!(matches!(refused.code, Some(1 | 2)), "{refused}");
        refused.says(NBD);
    }
    run("mount --allow-other").arg(&m.directory).outcome().lacks("NBD");
}

#[test]
fn a_signal_unmounts_and_a_killed_process_leaves_what_can_be_cleared() {
    need!("fusermount3", "kill");
    need_that!(has_fuse(), "/dev/fuse cannot be opened");
    let m = Mounted::new();
    let mut child = in_foreground(&m);
    File::options().write(true).open(m.file()).unwrap().write_all_at(&[3; 4096], 8192).unwrap();
    peer("kill", "-TERM").arg(child.id().to_string()).ok();
    assert!(child.wait().unwrap().success());
    assert!(!m.file().exists());
    assert_eq!(m.read()[8192..12288], [3; 4096]);

    let mut child = in_foreground(&m);
    child.kill().unwrap();
    child.wait().unwrap();
    // For one second the kernel still uses its cached attributes of the directory.
    m.mount("").fails(5).says("whose process was killed");
    let not_connected = Some(rustix::io::Errno::NOTCONN.raw_os_error());
    let code = || fs::metadata(&m.directory).err().and_then(|e| e.raw_os_error());
    until("the directory is dead", || code() == not_connected);
    m.mount("").fails(5).says("whose process was killed").says("fusermount3 -u");
    fusermount(&m.directory);
    m.mount("").ok();
    m.unmount();
}

/// `keyway mount --foreground`, mounted.
fn in_foreground(m: &Mounted) -> Child {
    let child = m.mount("--foreground").spawn().unwrap();
    until("it is mounted", || m.file().exists());
    child
}

/// The space allocated to a file, in bytes.
fn room_of(path: &Path) -> u64 {
    fs::metadata(path).unwrap().blocks() * 512
}

fn as_nobody(program: &str) -> Run {
    as_nobody_runs(&keyway_tests::skip::find(program).unwrap())
}

fn as_nobody_runs(program: &Path) -> Run {
    peer("setpriv", "").args(&format!("--reuid={NOBODY} --regid={NOBODY} --clear-groups")).arg(program)
}

fn has_fuse() -> bool {
    File::options().read(true).write(true).open("/dev/fuse").is_ok()
}

/// Whether a process of this user has the file open.
fn is_open(path: &Path) -> bool {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let descriptors = processes.filter_map(|process| fs::read_dir(process.path().join("fd")).ok()).flatten();
    let targets = descriptors.flatten().filter_map(|fd| fs::read_link(fd.path()).ok());
    targets.into_iter().any(|target: PathBuf| target == path)
}

/// The user with the fewest rights.
const NOBODY: u32 = 65534;
