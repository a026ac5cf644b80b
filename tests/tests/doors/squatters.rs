//! Another user who was there first: with a directory in our place, a link, a path that others can
//! change, or a listener on our socket. Nothing is opened there, and no key is sent to that user.

use crate::served::Volume;
use crate::session::Runtime;
use keyway_tests::{Run, Scratch, need, need_that, peer, until};
use nix::fcntl::{Flock, FlockArg};
use nix::unistd::geteuid;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Child;

/// A user without XDG_RUNTIME_DIR, whose directory in /tmp somebody else may have made.
struct Victim {
    scratch: Scratch,
    program: PathBuf,
    volume: Volume,
    uid: u32,
}

impl Victim {
    fn new() -> Self {
        let scratch = Scratch::new();
        set_mode(scratch.root(), 0o755);
        let program = scratch.copy(&keyway_tests::peers::program(), "keyway");
        let volume = Volume::new(&scratch, "disk.luks", 1);
        // Separate users: tests run side by side.
        let uid = 200_000 + std::process::id() % 100_000;
        for path in [volume.path(), volume.key_file()] {
            chown(path, Some(uid), Some(uid)).unwrap();
        }
        let victim = Self { scratch, program, volume, uid };
        victim.clear();
        victim
    }

    /// `/tmp/keyway-UID`.
    fn directory(&self) -> PathBuf {
        format!("/tmp/keyway-{}", self.uid).into()
    }

    fn keyway(&self, line: &str) -> Run {
        self.runs(self.uid, &self.program).args(line)
    }

    fn runs(&self, uid: u32, program: &Path) -> Run {
        let run = peer("setpriv", &format!("--reuid={uid} --regid={uid} --clear-groups"));
        run.args("env -u XDG_RUNTIME_DIR").arg(program)
    }

    fn open(&self) -> Run {
        let run = self.keyway("open --backend nbd --volume-key-file").arg(self.volume.key_file());
        run.arg(self.volume.path()).arg("home")
    }

    /// Asserts that opening is refused for this reason, and leaves nothing behind.
    #[track_caller]
    fn is_refused(&self, why: &str) {
        let outcome = self.open().fails(4);
        outcome.says("No directory for private sockets: ").says(why).says("set XDG_RUNTIME_DIR");
        self.keyway("list").ok().says(&format!("is skipped: {why}")).lacks("home");
    }

    fn clear(&self) {
        let _ = fs::remove_file(self.directory());
        let _ = fs::remove_dir_all(self.directory());
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.keyway("close home").outcome();
        self.clear();
    }
}

#[test]
fn a_directory_that_was_there_before() {
    need!("setpriv", "env");
    need_that!(geteuid().is_root(), "only root becomes another user");
    let victim = Victim::new();
    let (directory, other_user) = (victim.directory(), victim.uid + 1);
    let shown = directory.display();

    fs::create_dir(&directory).unwrap();
    chown(&directory, Some(other_user), Some(other_user)).unwrap();
    set_mode(&directory, 0o777);
    victim.is_refused(&format!("{shown} belongs to another user ({other_user})"));
    // Everything prepared for the victim, as by a user who can change the path.
    for name in ["keyway", "keyway/home"] {
        fs::create_dir(directory.join(name)).unwrap();
        chown(directory.join(name), Some(victim.uid), Some(victim.uid)).unwrap();
        set_mode(&directory.join(name), 0o700);
    }
    victim.is_refused(&format!("{shown} belongs to another user ({other_user})"));
    assert_eq!(fs::read_dir(directory.join("keyway/home")).unwrap().count(), 0);
    victim.clear();

    let own = victim.scratch.path("own");
    fs::create_dir(&own).unwrap();
    chown(&own, Some(victim.uid), Some(victim.uid)).unwrap();
    set_mode(&own, 0o700);
    symlink(&own, &directory).unwrap();
    victim.is_refused(&format!("{shown} is a symbolic link"));
    assert_eq!(fs::read_dir(&own).unwrap().count(), 0);
    victim.clear();

    fs::create_dir(&directory).unwrap();
    chown(&directory, Some(victim.uid), Some(victim.uid)).unwrap();
    set_mode(&directory, 0o770);
    victim.is_refused(&format!("{shown} can be written to by others (mode 0770)"));
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);

    // And now with the right permissions.
    set_mode(&directory, 0o700);
    victim.open().ok().says("home is open");
    victim.keyway("status home").ok().says("is active");
    victim.keyway("close home").ok();
}

#[test]
fn a_way_that_others_can_change() {
    need!("setpriv", "env");
    need_that!(geteuid().is_root(), "only root becomes another user");
    let victim = Victim::new();
    let way = victim.scratch.path("way");
    let named = way.join("runtime");
    fs::create_dir_all(&named).unwrap();
    chown(&named, Some(victim.uid), Some(victim.uid)).unwrap();
    set_mode(&named, 0o700);
    set_mode(&way, 0o777);
    let run = |line: &str| {
        let run = peer("setpriv", &format!("--reuid={0} --regid={0} --clear-groups", victim.uid));
        let run = run.arg("env").arg(format!("XDG_RUNTIME_DIR={}", named.display())).arg(&victim.program);
        run.args(line)
    };
    let open = || {
        run("open --backend nbd --volume-key-file")
            .arg(victim.volume.key_file())
            .arg(victim.volume.path())
            .arg("home")
    };
    // The next directory is used, and the message says why.
    let why = format!("{} can be written to by others (mode 0777)", way.display());
    let opened = open().ok();
    opened.says(&format!("is skipped: {why}")).says(&victim.directory().display().to_string());
    run("close home").ok();
    assert_eq!(fs::read_dir(&named).unwrap().count(), 0);
    // If that one is unsuitable too, the message names both.
    fs::remove_dir_all(victim.directory()).unwrap();
    fs::write(victim.directory(), "").unwrap();
    open().fails(4).says(&why).says(&format!("{} is not a directory", victim.directory().display()));
    // A sticky directory is acceptable in the path: others cannot replace its entries.
    victim.clear();
    set_mode(&way, 0o1777);
    open().ok().lacks("is skipped").says(&named.display().to_string());
    run("close home").ok();
}

/// A socket of ours on which another user listens.
struct Squatter(Child, PathBuf);

impl Squatter {
    /// Records all input, each connection in brackets.
    fn listens(scratch: &Scratch, socket: &Path) -> Self {
        let record = scratch.file("record", "");
        chown(&record, Some(UID), Some(UID)).unwrap();
        set_mode(scratch.root(), 0o755);
        let directory = socket.parent().unwrap();
        set_mode(directory, 0o777);
        let program = "use IO::Socket::UNIX; unlink $ARGV[0]; open my $r, '>>', $ARGV[1] or die; $| = 1; \
                       my $s = IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 5) or die; chmod 0666, $ARGV[0]; \
                       print \"listening\\n\"; while (my $c = $s->accept) { syswrite $r, '['; \
                       while (sysread $c, my $b, 4096) { syswrite $r, $b } syswrite $r, ']' }";
        let run = peer("setpriv", &format!("--reuid={UID} --regid={UID} --clear-groups"));
        let child = run.arg("perl").arg("-e").arg(program).arg(socket).arg(&record).spawn().unwrap();
        until("the squatter listens", || keyway_tests::nbd::listens(socket));
        set_mode(directory, 0o700);
        Self(child, record)
    }

    /// The input since the last call, once its connection has ended.
    fn got(&self) -> String {
        let read = || fs::read_to_string(&self.1).unwrap_or_default();
        until("a connection is over", || read().ends_with(']'));
        let got = read();
        File::options().write(true).truncate(true).open(&self.1).unwrap();
        got
    }
}

impl Drop for Squatter {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn no_key_goes_to_another_users_listener() {
    need!("setpriv", "perl");
    need_that!(geteuid().is_root(), "only root becomes another user");
    let runtime = Runtime::new();
    let volume = Volume::new(&runtime.0, "disk.luks", 1);
    runtime.open(&volume, "--backend nbd", "home").ok();
    runtime.kill("home");
    // Its directory stays, and another process holds its lock: to all appearances a live session.
    let directory = runtime.directory("home");
    set_mode(&directory.join("facts"), 0o644);
    let lock = File::options().write(true).open(directory.join("lock")).unwrap();
    let _lock = Flock::lock(lock, FlockArg::LockExclusive).expect("nobody's lock");
    let public = Scratch::new();
    for directory in [runtime.0.root(), directory.parent().unwrap()] {
        set_mode(directory, 0o755);
    }
    let squatter = Squatter::listens(&public, &directory.join("control"));
    let other = format!("the socket's other end belongs to another user ({UID}, process ");
    for (line, stdin) in [("luksResume home", "secret"), ("close home", ""), ("status home", "")] {
        runtime.keyway(line).stdin(stdin).fails(4).says("home (process ").says(&other);
        assert_eq!(squatter.got(), "[]", "{line}");
    }
    drop(squatter);

    // And a session's data.
    let squatter = Squatter::listens(&public, &directory.join("nbd"));
    let uri = format!("nbd+unix:///?socket={}", directory.join("nbd").display());
    runtime.keyway("luksDump").arg(&uri).fails(4).says(&other);
    assert_eq!(squatter.got(), "[]");
}

/// Whatever happens to its permissions.
#[test]
fn a_sessions_sockets_obey_nobody_else() {
    need!("setpriv", "nbdinfo");
    need_that!(geteuid().is_root(), "only root becomes another user");
    let runtime = Runtime::new();
    let volume = Volume::new(&runtime.0, "disk.luks", 1);
    runtime.open(&volume, "--backend nbd", "home").ok();
    let directory = runtime.directory("home");
    for path in [runtime.0.root(), directory.parent().unwrap(), &directory] {
        set_mode(path, 0o755);
    }
    set_mode(&directory.join("nbd"), 0o777);
    let uri = format!("nbd+unix:///?socket={}", directory.join("nbd").display());
    peer("nbdinfo", "--size").arg(&uri).ok().says(&volume.size().to_string());
    let other_user = peer("setpriv", &format!("--reuid={UID} --regid={UID} --clear-groups")).arg("nbdinfo");
    let refused = other_user.arg("--size").arg(&uri).fails(1);
    refused.lacks(&volume.size().to_string());
    assert_eq!(runtime.connect("home").size, volume.size());
    runtime.keyway("close home").ok();
    // The owner may share a server's own socket.
    let socket = runtime.0.path("shared.sock");
    let mut served = crate::served::Served::start(&volume.serve().arg("--socket").arg(&socket));
    served.ready();
    set_mode(&socket, 0o777);
    let uri = format!("nbd+unix:///?socket={}", socket.display());
    let other_user = peer("setpriv", &format!("--reuid={UID} --regid={UID} --clear-groups")).arg("nbdinfo");
    other_user.arg("--size").arg(&uri).ok().says(&volume.size().to_string());
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Another user.
const UID: u32 = 12345;
