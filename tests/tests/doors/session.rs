//! Rootless opens: a background process that outlives its terminal, is found by its name, and ends
//! on request.

use crate::served::Volume;
use keyway_tests::memory::Memory;
use keyway_tests::nbd::Nbd;
use keyway_tests::run::Run;
use keyway_tests::{Scratch, Terminal, keyway, need, need_that, peer, random, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A user's runtime directory; sessions that are still open when the test ends are killed.
pub(crate) struct Runtime(pub(crate) Scratch);

impl Runtime {
    pub(crate) fn new() -> Self {
        let scratch = Scratch::new();
        fs::set_permissions(scratch.root(), fs::Permissions::from_mode(0o700)).unwrap();
        Self(scratch)
    }

    pub(crate) fn keyway(&self, line: &str) -> Run {
        keyway(line).env("XDG_RUNTIME_DIR", self.0.root())
    }

    pub(crate) fn open(&self, volume: &Volume, options: &str, name: &str) -> Run {
        let run = self.keyway("open").args(options).arg("--volume-key-file").arg(volume.key_file());
        run.arg(volume.path()).arg(name)
    }

    pub(crate) fn directory(&self, name: &str) -> PathBuf {
        self.0.path("keyway").join(name)
    }

    pub(crate) fn connect(&self, name: &str) -> Nbd {
        Nbd::connect(&self.directory(name).join("nbd"), "").expect("an open session")
    }

    pub(crate) fn pid(&self, name: &str) -> u32 {
        let facts = fs::read_to_string(self.directory(name).join("facts")).expect("an open session");
        facts.lines().find_map(|line| line.strip_prefix("pid ")?.parse().ok()).expect("its process")
    }

    pub(crate) fn kill(&self, name: &str) {
        let pid = self.pid(name);
        kill(Pid::from_raw(pid as i32), Signal::SIGKILL).expect("a process of ours");
        until("the process is gone", || !is_running(pid) && threads(pid) <= 1);
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        for entry in fs::read_dir(self.0.path("keyway")).into_iter().flatten().flatten() {
            if let Ok(facts) = fs::read_to_string(entry.path().join("facts"))
                && let Some(pid) = facts.lines().find_map(|line| line.strip_prefix("pid ")?.parse().ok())
            {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
        }
        let _ = self.keyway("list").outcome();
    }
}

/// A zombie that has not been reaped does not count as running.
fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
}

/// The threads of a process; its files are open until the last of them is gone.
fn threads(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count)
}

#[test]
fn close_takes_several_names_and_closes_what_it_can() {
    let runtime = Runtime::new();
    for name in ["one", "two", "three"] {
        let volume = Volume::new(&runtime.0, &format!("{name}.luks"), 1);
        runtime.open(&volume, "--backend nbd", name).ok();
    }
    runtime.keyway("close nothing one neither two").fails(4).says("nothing").says("neither");
    let list = runtime.keyway("list --json").ok().text();
    assert!(list.starts_with("{\n  \"version\":1,\n  \"volumes\":[\n") && list.ends_with("]\n}\n"), "{list}");
    assert!(list.contains("\"name\":\"three\"") && !list.contains("\"name\":\"one\""), "{list}");
    runtime.keyway("close three").ok().quiet();
    assert_eq!(runtime.keyway("list --json").ok().text(), "{\n  \"version\":1,\n  \"volumes\":[\n  ]\n}\n");
}

#[test]
fn open_list_use_close() {
    let runtime = Runtime::new();
    let volume = Volume::new(&runtime.0, "disk.luks", 1);
    runtime.open(&volume, "--backend nbd", "home").ok().says("home is open through nbd");
    runtime.open(&volume, "--backend nbd", "home").fails(5).says("Device home already exists.");
    runtime.keyway("list").ok().says("home").says("disk.luks").says(&volume.size().to_string());
    runtime.keyway("list --json").ok().says("\"cipher\":\"aes-xts-plain64\"").says("\"clients\":0");
    runtime.keyway("status home").ok().says("is active").says("aes-xts-plain64");
    let block = random(1, 5000);
    runtime.connect("home").write(777, &block).unwrap();
    let pid = runtime.pid("home");
    runtime.keyway("close home").ok();
    assert!(!is_running(pid), "close returns when the process has ended");
    assert!(!runtime.directory("home").exists());
    runtime.keyway("status home").fails(4).says("inactive");
    runtime.keyway("close home").fails(4).says("home");
    runtime.keyway("list").ok().lacks("home");
    assert_eq!(volume.read(777, block.len()), block);
}

#[test]
fn it_outlives_its_terminal() {
    need!("setsid");
    let runtime = Runtime::new();
    let volume = Volume::new(&runtime.0, "disk.luks", 1);
    // A terminal's programs get their environment from env(1): Terminal has none of its own.
    let run = peer("env", "").arg(format!("XDG_RUNTIME_DIR={}", runtime.0.root().display()));
    let run =
        run.arg(keyway_tests::peers::program()).args("open --backend nbd").arg(volume.path()).arg("home");
    let ending = Terminal::start(&run).expect("Enter passphrase").type_secretly("secret").finish();
    assert_eq!(ending.code, Some(0), "{}", ending.screen);
    assert!(ending.screen.contains("home is open"), "{}", ending.screen);
    // The terminal is gone with `finish`: every process on it got SIGHUP.
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(runtime.connect("home").size, volume.size());
    runtime.keyway("close home").ok();
}

#[test]
fn a_wrong_passphrase_leaves_nothing_behind() {
    let runtime = Runtime::new();
    let volume = Volume::new(&runtime.0, "disk.luks", 1);
    let run = runtime.keyway("open --backend nbd").arg(volume.path()).arg("home").stdin("wrong");
    run.fails(2).says("No key available with this passphrase.");
    assert!(!runtime.directory("home").exists());
    runtime.keyway("list").ok().lacks("home");
}

#[test]
fn what_a_killed_session_left_goes_when_it_is_looked_for() {
    let runtime = Runtime::new();
    let volume = Volume::new(&runtime.0, "disk.luks", 1);
    runtime.open(&volume, "--backend nbd", "home").ok();
    runtime.kill("home");
    assert!(runtime.directory("home").exists());
    runtime.keyway("status home").fails(4).says("inactive");
    assert!(!runtime.directory("home").exists());
    runtime.open(&volume, "--backend nbd", "home").ok();
    runtime.kill("home");
    runtime.open(&volume, "--backend nbd", "home").ok();
    runtime.keyway("close home").ok();
}

#[test]
fn a_dead_mount_is_taken_away() {
    need!("fusermount3");
    need_that!(Path::new("/dev/fuse").exists(), "there is no /dev/fuse");
    let runtime = Runtime::new();
    let volume = Volume::new(&runtime.0, "disk.luks", 1);
    runtime.open(&volume, "--backend fuse", "home").ok();
    let mounted = || {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        mounts.contains(runtime.directory("home").to_str().unwrap())
    };
    assert!(mounted());
    runtime.kill("home");
    assert!(mounted(), "the kernel keeps a dead mount");
    runtime.keyway("list").ok().lacks("home");
    assert!(!mounted() && !runtime.directory("home").exists());
    runtime.open(&volume, "--backend fuse", "home").ok();
    runtime.keyway("close home").ok();
    assert!(!mounted());
}

/// Data acknowledged before `close` is there afterwards, even without a flush request.
#[test]
fn close_waits_for_a_writing_client() {
    let runtime = Runtime::new();
    let volume = Volume::new(&runtime.0, "disk.luks", 1);
    let blocks = volume.size() / 4096;
    runtime.open(&volume, "--backend nbd", "home").ok();
    let mut client = runtime.connect("home");
    let written = std::thread::scope(|scope| {
        let writer = scope.spawn(move || {
            let number = |n: u64| random(n, 4096);
            (0..).take_while(|n| client.write(n % blocks * 4096, &number(*n)).is_ok()).last().unwrap_or(0)
        });
        std::thread::sleep(Duration::from_millis(200));
        runtime.keyway("close home").ok();
        writer.join().expect("a writer")
    });
    assert!(written > 10, "{written} blocks");
    let plaintext = volume.read(0, volume.size() as usize);
    for n in written.saturating_sub(blocks - 2)..=written {
        let block = &plaintext[(n % blocks) as usize * 4096..][..4096];
        // The next one may have been written although its answer was not received.
        assert!(
            block == random(n, 4096) || block == random(n + blocks, 4096),
            "block {n} of {written} is lost"
        );
    }
}

#[test]
fn deferred_means_when_the_last_client_goes() {
    let runtime = Runtime::new();
    let volume = Volume::new(&runtime.0, "disk.luks", 1);
    runtime.open(&volume, "--backend nbd", "home").ok();
    let mut client = runtime.connect("home");
    runtime.keyway("close --deferred home").ok();
    client.write(0, b"still open").unwrap();
    runtime.keyway("list --json").ok().says("\"closing\":true");
    drop(client);
    until("it closes", || !runtime.directory("home").exists());
    assert_eq!(volume.read(0, 10), b"still open");
}

/// A signal to a session in use is not forgotten: it closes as soon as nobody uses it.
#[test]
fn a_signal_closes_a_session_in_use_when_its_last_user_goes() {
    need!("fusermount3");
    need_that!(Path::new("/dev/fuse").exists(), "there is no /dev/fuse");
    let runtime = Runtime::new();
    let volume = Volume::new(&runtime.0, "disk.luks", 1);
    runtime.open(&volume, "--backend fuse", "home").ok();
    let file = fs::File::open(runtime.directory("home").join("fuse/plain")).unwrap();
    let pid = Pid::from_raw(runtime.pid("home") as i32);
    kill(pid, Signal::SIGTERM).unwrap();
    until("it is about to close", || runtime.keyway("list --json").ok().text().contains("\"closing\":true"));
    drop(file);
    until("it closes", || !runtime.directory("home").exists());
}

/// Scripts name volumes by the path that dm-crypt would have given them.
#[test]
fn a_path_below_dev_mapper_names_a_session() {
    let runtime = Runtime::new();
    let volume = Volume::new(&runtime.0, "disk.luks", 1);
    runtime.open(&volume, "--backend nbd", "home").ok();
    runtime.keyway("status /dev/mapper/home").ok().says("is active");
    runtime.keyway("resize /dev/mapper/home").ok();
    runtime.keyway("close /dev/mapper/home").ok();
    runtime.keyway("status /dev/mapper/home").fails(4).says("/dev/mapper/home is inactive.");
}

#[test]
fn suspended_means_without_the_key() {
    let runtime = Runtime::new();
    let volume = Volume::new(&runtime.0, "disk.luks", 1);
    runtime.open(&volume, "--backend nbd", "home").ok();
    let mut client = runtime.connect("home");
    client.write(0, b"before").unwrap();
    runtime.keyway("luksSuspend home").ok();
    if let Ok(memory) = Memory::of(runtime.pid("home")) {
        assert!(memory.holding(&Volume::key()[..16]).is_empty(), "the key is still there");
    }
    let reader = std::thread::spawn(move || client.read(0, 6));
    std::thread::sleep(Duration::from_millis(100));
    assert!(!reader.is_finished(), "it reads without a key");
    runtime.keyway("luksResume home").stdin("wrong").fails(2);
    runtime.keyway("luksResume home").stdin("secret").ok();
    assert_eq!(reader.join().unwrap().unwrap(), b"before");
    runtime.keyway("close home").ok();
}

#[test]
fn another_user_sees_and_reaches_nothing() {
    need!("setpriv", "nbdinfo");
    need_that!(geteuid().is_root(), "only root can become another user");
    let runtime = Runtime::new();
    let volume = Volume::new(&runtime.0, "disk.luks", 1);
    runtime.open(&volume, "--backend nbd", "home").ok();
    let public = Scratch::new();
    let program = public.copy(&keyway_tests::peers::program(), "keyway");
    let other_user = |line: &str| {
        let run = peer("setpriv", "--reuid=65534 --regid=65534 --clear-groups").arg("env");
        run.arg(format!("XDG_RUNTIME_DIR={}", runtime.0.root().display())).args(line)
    };
    let keyway = program.display();
    other_user(&format!("{keyway} list")).ok().lacks("home");
    other_user(&format!("{keyway} status home")).fails(4).says("inactive");
    other_user(&format!("{keyway} close home")).fails(4).says("home");
    let uri = format!("nbd+unix:///?socket={}", runtime.directory("home").join("nbd").display());
    other_user(&format!("nbdinfo {uri}")).fails(1).says("Permission denied");
    assert_eq!(runtime.connect("home").size, volume.size());
    runtime.keyway("close home").ok();
}
