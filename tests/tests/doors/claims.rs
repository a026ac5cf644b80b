//! A process that overwrites a whole file or device claims it before any prompt and holds the claim
//! until the last write: of several Keyway processes one continues, nothing can be mounted
//! meanwhile, and the others report which process holds it.

use keyway_tests::peers::CHEAP_PBKDF2;
use keyway_tests::timeouts;
use keyway_tests::{Outcome, Run, Scratch, Terminal, keyway, need, need_that, peer, random, until};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

/// A loop device, detached on drop.
struct Loop(PathBuf);

impl Loop {
    /// `None` if this user has no loop devices.
    fn over(file: &Path) -> Option<Self> {
        let attached = peer("losetup", "--find --show").arg(file).outcome();
        (attached.code == Some(0)).then(|| Self(PathBuf::from(attached.text().trim())))
    }

    fn mount(&self, place: &Path) -> Outcome {
        peer("mount", "-t ext4").arg(&self.0).arg(place).outcome()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        peer("losetup", "--detach").arg(&self.0).outcome();
    }
}

/// luksFormat, which waits for its passphrase on standard input.
fn formatting(target: &Path) -> Child {
    let run = keyway("luksFormat -q --type luks1").args(CHEAP_PBKDF2).arg(target).arg("-");
    run.spawn().unwrap()
}

/// Whether somebody has claimed the volume: /proc/locks, which every user may read, has a lock on it.
fn is_claimed(volume: &Path) -> bool {
    let inode = format!(":{} ", fs::metadata(volume).unwrap().ino());
    let locks = fs::read_to_string("/proc/locks").unwrap();
    locks.lines().any(|lock| lock.contains(" OFDLCK ") && lock.contains(&inode))
}

/// What a refusal calls the process that has claimed the volume. The files of one that protects its keys are
/// shown to root alone.
fn in_words(holder: &Child) -> String {
    match keyway_tests::skip::is_root() {
        true => format!("in use (open in keyway, process {})", holder.id()),
        false => "in use (already mapped or mounted, or open in QEMU or another Keyway)".to_owned(),
    }
}

fn has_open(child: &Child, path: &Path) -> bool {
    let entries = fs::read_dir(format!("/proc/{}/fd", child.id())).into_iter().flatten().flatten();
    entries.filter_map(|entry| fs::read_link(entry.path()).ok()).any(|open| open == path)
}

/// Sends the passphrase; the process must exit successfully.
fn goes_on(mut child: Child) {
    child.stdin.take().unwrap().write_all(b"a passphrase").unwrap();
    let status = child.wait().unwrap();
    assert!(status.success(), "{status}");
}

fn opens(volume: &Path) {
    keyway("open --test-passphrase").arg(volume).stdin("a passphrase").ok();
}

#[test]
fn of_many_formats_at_once_one_goes_on() {
    let scratch = Scratch::new();
    let volume = scratch.sized("volume", 8 << 20);
    let (mut going, mut ended): (Vec<Child>, Vec<Child>) =
        ((0..5).map(|_| formatting(&volume)).collect(), vec![]);
    let deadline = timeouts::within(timeouts::EVENT);
    while going.len() > 1 || !is_claimed(&volume) {
        assert!(Instant::now() < deadline, "{} are still there", going.len());
        let over = going.iter_mut().position(|child| child.try_wait().unwrap().is_some());
        ended.extend(over.map(|index| going.remove(index)));
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(going.len(), 1, "nobody has it");
    for child in ended {
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(5), "{errors}");
        assert!(errors.contains(&in_words(&going[0])), "{errors}");
    }
    going.into_iter().for_each(goes_on);
    opens(&volume);
}

#[test]
fn other_verbs_are_refused_while_one_formats() {
    let scratch = Scratch::new();
    let volume = scratch.sized("volume", 8 << 20);
    let (raw, key) = (scratch.file("raw", random(9, 1 << 20)), scratch.file("key", "a passphrase"));
    let backup = scratch.path("backup");
    keyway("luksFormat -q --type luks1").args(CHEAP_PBKDF2).arg(&volume).arg(&key).ok();
    keyway("luksHeaderBackup").arg(&volume).arg("--header-backup-file").arg(&backup).ok();
    let before = fs::read(&volume).unwrap();
    let format = formatting(&volume);
    until("it claims", || is_claimed(&volume));
    let restore = keyway("luksHeaderRestore -q --header-backup-file").arg(&backup).arg(&volume);
    let convert = keyway("convert -q --type luks2").arg(&volume);
    let replaced = keyway("build -q --force -d").arg(&key).arg(&raw).arg(&volume);
    let written = keyway("write -d").arg(&key).arg(&volume).arg(&raw);
    let bench = keyway("bench disk -q --time 1").arg(&volume);
    let header = keyway("luksFormat -q --type luks1 --header").arg(&volume).arg(&raw).arg(&key);
    for run in [restore, convert, replaced, written, bench, header] {
        run.fails(5).says(&in_words(&format));
    }
    assert!(fs::read(&volume).unwrap() == before);
    // A key may be added, as with an open volume.
    keyway("luksAddKey -q -d").arg(&key).args(CHEAP_PBKDF2).arg(&volume).arg(&key).ok();
    goes_on(format);
    opens(&volume);
}

#[test]
fn a_volume_is_claimed_before_its_passphrase_is_asked_for() {
    let scratch = Scratch::new();
    let (volume, key) = (scratch.sized("volume", 8 << 20), scratch.file("key", "a passphrase"));
    let (old, new) = (scratch.file("old", random(1, 4096)), scratch.file("new", random(2, 4096)));
    let plain = "--type plain -c aes-xts-plain64 -s 512 -h sha256";
    keyway("luksFormat -q --type luks1").args(CHEAP_PBKDF2).arg(&volume).arg(&key).ok();
    for (kind, blank) in [("", false), (plain, true)] {
        let at = |verb: &str| keyway(verb).args(kind).arg(&volume);
        if blank {
            fs::write(&volume, vec![0; 1 << 20]).unwrap();
        }
        at("write -q").arg(&old).stdin("a passphrase").ok();
        let waiting = at("write -q").arg(&new).spawn().unwrap();
        until("it claims", || is_claimed(&volume));
        let refused = in_words(&waiting);
        at("write -q").arg(&new).stdin("a passphrase").fails(5).says(&refused).lacks("--shared");
        let read = at("read --length 4096").stdin("a passphrase").ok();
        assert!(read.stdout == fs::read(&old).unwrap(), "{kind}: readers are not kept away");
        goes_on(waiting);
        let read = at("read --length 4096").stdin("a passphrase").ok();
        assert!(read.stdout == fs::read(&new).unwrap(), "{kind}");
    }
}

#[test]
fn nobody_mounts_what_is_being_formatted_nor_the_file_behind_it() {
    need!("losetup", "mke2fs", "mount", "umount");
    let scratch = Scratch::new();
    let (file, place) = (scratch.sized("file", 8 << 20), scratch.path("place"));
    fs::create_dir(&place).unwrap();
    peer("mke2fs", "-q -F -t ext4").arg(&file).ok();
    let device = Loop::over(&file);
    need_that!(device.is_some(), "loop devices cannot be had here");
    let device = device.unwrap();
    need_that!(device.mount(&place).code == Some(0), "this user mounts nothing");
    peer("umount", "").arg(&place).ok();
    for target in [&file, &device.0] {
        let format = formatting(target);
        // The last target: for the file the loop device, and the other way round.
        let last = if target == &file { &device.0 } else { &file };
        until("it claims both", || has_open(&format, last));
        let mounted = device.mount(&place);
        assert!(
            mounted.code != Some(0) && mounted.errors().contains("already mounted or mount point busy"),
            "{mounted}"
        );
        for other in [&file, &device.0] {
            keyway("luksFormat -q").arg(other).stdin("x").fails(5).says("in use (");
        }
        goes_on(format);
        opens(target);
        peer("mke2fs", "-q -F -t ext4").arg(&file).ok();
    }
}

#[test]
fn what_cryptsetup_formats_by_its_name_stays_possible() {
    need!("losetup");
    let scratch = Scratch::new();
    let file = scratch.sized("file", 8 << 20);
    let device = Loop::over(&file);
    need_that!(device.is_some(), "loop devices cannot be had here");
    let device = device.unwrap();
    let name = scratch.path("cryptsetup");
    symlink(keyway_tests::peers::program(), &name).unwrap();
    // Neither of them is mounted or mapped.
    for target in [&file, &device.0] {
        Run::new(&name, "luksFormat -q --type luks1")
            .args(CHEAP_PBKDF2)
            .arg(target)
            .stdin("a passphrase")
            .ok();
        opens(target);
    }
}

#[test]
fn read_asks_before_a_device_gets_plaintext() {
    need!("losetup", "setsid");
    let scratch = Scratch::new();
    let (raw, key) = (scratch.file("raw", random(4, 1 << 20)), scratch.file("key", "a passphrase"));
    let volume = scratch.path("volume");
    keyway("build --type luks1").args(CHEAP_PBKDF2).arg("-d").arg(&key).arg(&raw).arg(&volume).ok();
    let file = scratch.file("file", random(5, 2 << 20));
    let device = Loop::over(&file);
    need_that!(device.is_some(), "loop devices cannot be had here");
    let device = device.unwrap();
    let read = keyway("read -d").arg(&key).arg(&volume).arg("-o").arg(&device.0);
    let asked = Terminal::start(&read)
        .expect("irrevocably, with plaintext")
        .expect("capital letters")
        .type_line("no");
    let ending = asked.finish();
    assert_eq!(ending.code, Some(1), "{}", ending.screen);
    assert!(ending.screen.contains("Operation aborted."), "{}", ending.screen);
    assert!(fs::read(&device.0).unwrap() == random(5, 2 << 20));
    keyway("read -q -d").arg(&key).arg(&volume).arg("-o").arg(&device.0).ok();
    assert!(fs::read(&device.0).unwrap()[..1 << 20] == random(4, 1 << 20));
}

/// A key may be on a device, or in the file behind one.
#[test]
fn a_device_that_the_key_is_read_from_is_not_overwritten() {
    need!("losetup");
    let scratch = Scratch::new();
    let raw = scratch.file("raw", random(7, 1 << 20));
    let key = scratch.file("key", random(8, 4 << 20));
    let volume = scratch.path("volume");
    keyway("build --type luks1").args(CHEAP_PBKDF2).arg("-d").arg(&key).arg(&raw).arg(&volume).ok();
    let device = Loop::over(&key);
    need_that!(device.is_some(), "loop devices cannot be had here");
    let device = device.unwrap();
    let tries = [
        keyway("build -q --type luks1 -d").arg(&key).args(CHEAP_PBKDF2).arg(&raw).arg(&device.0),
        keyway("copy -q --to raw -d").arg(&key).arg(&volume).arg(&device.0),
        keyway("read -q -d").arg(&key).arg(&volume).arg("-o").arg(&device.0),
    ];
    for run in tries {
        run.fails(1).says("key is an input of this command; name another file.");
        assert!(fs::read(&key).unwrap() == random(8, 4 << 20));
    }
}

#[test]
fn a_file_is_not_copied_onto_a_device_that_it_is_behind() {
    need!("losetup");
    let scratch = Scratch::new();
    let content = random(6, 4 << 20);
    let (file, key) = (scratch.file("file", &content), scratch.file("key", "a passphrase"));
    let device = Loop::over(&file);
    need_that!(device.is_some(), "loop devices cannot be had here");
    let device = device.unwrap();
    for (from, to) in [(&file, &device.0), (&device.0, &device.0)] {
        // build may replace its image, but no device while it reads from it; copy replaces no input.
        for (verb, why) in [
            ("build -q -d", "would be overwritten while it is read"),
            ("copy -q --new-keyfile", "is an input of this command; name another file."),
        ] {
            keyway(verb).arg(&key).arg(from).arg(to).fails(1).says(why);
        }
    }
    assert!(fs::read(&file).unwrap() == content);
}

/// Runs it in a new mount namespace, whose /run is `run`.
fn with_run(setup: &str, command: &Run) -> Run {
    let words =
        std::iter::once(command.program().as_os_str()).chain(command.arguments().iter().map(|it| &**it));
    let line = words.map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ");
    let script = format!(
        "mount -t tmpfs -o mode=755 run /run && {setup} && {line}; code=$?; stat -c '%a %u' /run/cryptsetup; exit $code"
    );
    peer("unshare", "--mount sh -c").arg(script)
}

#[test]
fn a_block_device_is_edited_under_cryptsetups_lock_or_not_at_all() {
    need!("losetup", "unshare", "mount", "stat");
    let scratch = Scratch::new();
    let (file, key) = (scratch.sized("file", 4 << 20), scratch.file("key", "a passphrase"));
    let device = Loop::over(&file);
    need_that!(device.is_some(), "loop devices cannot be had here");
    let device = device.unwrap();
    keyway("luksFormat -q --type luks1").args(CHEAP_PBKDF2).arg(&device.0).arg(&key).ok();
    let add = |options: &str| {
        keyway("luksAddKey -q").args(options).args(CHEAP_PBKDF2).arg("-d").arg(&key).arg(&device.0).arg(&key)
    };
    need_that!(
        peer("unshare", "--mount true").outcome().code == Some(0),
        "this user has no mount namespaces"
    );

    // The directory is missing: it is created, for root only.
    with_run("true", &add("")).ok().says("700 0");
    for unfit in ["mount -o remount,ro /run", "mkdir -m 777 /run/cryptsetup", "touch /run/cryptsetup"] {
        let before = fs::read(&device.0).unwrap();
        let refused = with_run(unfit, &add("")).fails(1);
        refused.says("/run/cryptsetup cannot be used").says("--disable-locks");
        assert!(fs::read(&device.0).unwrap() == before, "{unfit}");
        with_run(unfit, &keyway("luksDump").arg(&device.0)).ok().says("Key Slot 0: ENABLED");
        with_run(unfit, &add("--disable-locks")).ok();
    }
    // A file is locked itself.
    let copy = scratch.file("copy", fs::read(&device.0).unwrap());
    with_run("mount -o remount,ro /run", &keyway("luksKillSlot -q").arg(&copy).args("1")).ok();
    assert_eq!(fs::metadata("/run").unwrap().uid(), 0);
}
