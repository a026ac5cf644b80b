//! A second user, without rights: refused at every front end and at its files and processes, even if a
//! directory was left open to everybody.

use crate::mounted::Mounted;
use crate::served::{Served, Volume};
use crate::session::Runtime;
use crate::tls::{Pki, free_port};
use keyway_tests::{Background, Run, Scratch, need, need_that, peer};
use std::fs::{self, File, Permissions};
use std::net::TcpStream;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;

#[test]
fn a_servers_socket_and_process() {
    need!("setpriv", "nbdinfo", "nbdcopy", "cat", "kill");
    need_that!(rustix::process::getuid().is_root(), "only root becomes another user");
    let scratch = Scratch::new();
    let volume = Volume::new(&scratch, "disk.luks", 1);
    let socket = scratch.path("nbd.sock");
    let mut served = Served::start(&volume.serve().arg("--socket").arg(&socket));
    served.ready();
    open_to_everybody(scratch.root());
    let uri = format!("nbd+unix:///?socket={}", socket.display());
    nobody("nbdinfo").arg(&uri).fails(1).says("Permission denied");
    nobody("nbdcopy").arg(&uri).arg("-").fails(1).says("Permission denied");
    let of = |what: &str| format!("/proc/{}/{what}", served.pid());
    for what in ["mem", "maps", "environ", "auxv"] {
        nobody("cat").arg(of(what)).fails(1).says("Permission denied");
    }
    nobody("kill").arg(served.pid().to_string()).fails(1).says("not permitted");
    // The intended user succeeds.
    peer("nbdinfo", "--size").arg(&uri).ok().says(&volume.size().to_string());
}

/// What is not this user's ends with 2; called as cryptsetup, with cryptsetup's codes: 4 for what cannot be
/// read, else 1.
#[test]
fn missing_permission_has_one_code() {
    need!("setpriv", "cryptsetup");
    need_that!(rustix::process::getuid().is_root(), "only root becomes another user");
    let scratch = Scratch::new();
    let program = scratch.copy(&keyway_tests::peers::program(), "keyway");
    std::os::unix::fs::symlink(&program, scratch.path("cryptsetup")).unwrap();
    let volume = Volume::new(&scratch, "hidden", 1);
    let hidden = volume.path().to_owned();
    for (name, mode) in [("shown", 0o644), ("key", 0o600), ("readable", 0o644)] {
        let path = scratch.copy(if name == "shown" { &hidden } else { volume.key_file() }, name);
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    fs::set_permissions(&hidden, Permissions::from_mode(0o600)).unwrap();
    open_to_everybody(scratch.root());
    let as_nobody = |program: &Path, line: &str| {
        let run = peer("setpriv", AS_NOBODY).arg(program).args(line).directory(scratch.root());
        run.env("XDG_RUNTIME_DIR", scratch.root())
    };
    let theirs = keyway_tests::skip::find("cryptsetup").unwrap();
    for (line, code) in [
        ("luksDump hidden", 4),
        ("isLuks hidden", 4),
        ("luksUUID hidden", 4),
        ("open --test-passphrase -d readable hidden", 4),
        ("luksFormat -q shown readable", 1),
        ("luksKillSlot -q shown 0", 1),
        ("open --test-passphrase -d key shown", 1),
        ("luksHeaderBackup shown --header-backup-file /root/keyway-test-backup", 1),
    ] {
        as_nobody(&theirs, line).fails(code);
        as_nobody(&scratch.path("cryptsetup"), line).fails(code);
        as_nobody(&program, line).fails(2);
    }
    for line in [
        "inspect hidden",
        "read -d readable hidden",
        "read -d readable --require key shown",
        "write -d readable shown readable",
        "read -d readable shown -o /root/keyway-test-output",
        "boot fit --list key",
        "xray --proc-crypto key",
        "bench diff key key",
    ] {
        as_nobody(&program, line).fails(2);
    }
}

/// The owner's other processes cannot debug it either.
#[test]
fn the_same_user_reads_no_memory() {
    need!("setpriv", "cat", "nbdinfo");
    need_that!(rustix::process::getuid().is_root(), "only root becomes another user");
    let scratch = Scratch::new();
    let volume = Volume::new(&scratch, "disk.luks", 1);
    let program = scratch.copy(&keyway_tests::peers::program(), "keyway");
    for path in [scratch.root(), volume.path(), volume.key_file()] {
        std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let socket = scratch.path("nbd.sock");
    let run = peer("setpriv", AS_NOBODY).arg(&program).args("serve --volume-key-file");
    let run = run.arg(volume.key_file()).arg(volume.path()).arg("--socket").arg(&socket);
    let mut served = Served::start(&run);
    served.ready();
    for what in ["mem", "maps", "environ"] {
        nobody("cat").arg(format!("/proc/{}/{what}", served.pid())).fails(1).says("Permission denied");
    }
    let uri = format!("nbd+unix:///?socket={}", socket.display());
    nobody("nbdinfo").arg("--size").arg(&uri).ok().says(&volume.size().to_string());
}

#[test]
fn a_sessions_files_and_sockets() {
    need!("setpriv", "nbdinfo", "ls", "cat", "perl");
    need_that!(rustix::process::getuid().is_root(), "only root becomes another user");
    let runtime = Runtime::new();
    let volume = Volume::new(&runtime.0, "disk.luks", 1);
    runtime.open(&volume, "--backend nbd", "home").ok();
    let directory = runtime.directory("home");
    nobody("ls").arg(&directory).fails(2).says("Permission denied");

    // Every directory on the way, and every socket, left open to everybody.
    for path in [runtime.0.root(), directory.parent().unwrap(), &directory] {
        open_to_everybody(path);
    }
    let uri = format!("nbd+unix:///?socket={}", directory.join("nbd").display());
    nobody("nbdinfo").arg(&uri).fails(1).says("Permission denied");
    let sockets = fs::read_dir(&directory).unwrap().flatten();
    let sockets: Vec<_> = sockets.filter(|e| e.file_type().unwrap().is_socket()).map(|e| e.path()).collect();
    assert_eq!(sockets.len(), 2, "{sockets:?}");
    let control = directory.join("control");
    fs::set_permissions(&control, Permissions::from_mode(0o777)).unwrap();
    for question in ["status", "close", "suspend", "resume 64", "reencrypt stop", "reencrypt 64 0 0 64"] {
        assert_eq!(ask(nobody("perl"), &control, question), "", "{question}");
    }
    let answer = ask(peer("perl", ""), &control, "status");
    assert!(answer.starts_with("ok"), "its owner is answered: {answer}");
    assert_eq!(runtime.connect("home").size, volume.size());
    runtime.keyway("status home").ok().says("is active").lacks("suspended");
    runtime.keyway("close home").ok();
}

/// The answer to a request sent to a socket.
fn ask(perl: Run, socket: &Path, question: &str) -> String {
    let program = "use IO::Socket::UNIX; $SIG{PIPE} = 'IGNORE'; my $s = IO::Socket::UNIX->new($ARGV[0]) or exit 3; \
                   $s->autoflush(1); print $s \"$ARGV[1]\\n\", 'k' x 64; print <$s>;";
    perl.arg("-e").arg(program).arg(socket).arg(question).ok().text()
}

#[test]
fn another_users_mount() {
    need!("fusermount3", "setpriv", "cat", "ls", "dd", "umount");
    need_that!(rustix::process::getuid().is_root(), "only root becomes another user");
    need_that!(
        File::options().read(true).write(true).open("/dev/fuse").is_ok(),
        "/dev/fuse cannot be opened"
    );
    let m = Mounted::with("");
    open_to_everybody(m.scratch.root());
    for path in [&m.directory, &m.file()] {
        nobody("ls").arg(path).fails(2).says("Permission denied");
    }
    nobody("cat").arg(m.file()).fails(1).says("Permission denied");
    let to = format!("of={}", m.file().display());
    nobody("dd").args("if=/dev/zero count=1 conv=notrunc").arg(to).fails(1).says("Permission denied");
    assert_ne!(nobody("fusermount3").arg("-u").arg(&m.directory).outcome().code, Some(0));
    assert_ne!(nobody("umount").arg(&m.directory).outcome().code, Some(0));
    assert!(m.file().exists());
    m.unmount();
    assert!(m.read() == m.plaintext);
}

/// A TCP port has no owner: certificates decide who may connect.
#[test]
fn a_port_that_wants_certificates() {
    need!("setpriv", "nbdinfo", "certtool");
    need_that!(rustix::process::getuid().is_root(), "only root becomes another user");
    let scratch = Scratch::new();
    let pki = Pki::new(&scratch, "pki");
    let volume = Volume::new(&scratch, "disk.luks", 1);
    let port = free_port();
    let run = volume.serve().arg(format!("--port={port}"));
    let run = run.args("--tls require --tls-verify-peer --tls-certificates").arg(pki.path());
    let _served = Background::start(&run, || TcpStream::connect(("127.0.0.1", port)).is_ok());
    // The owner's keys cannot be read; only the CA is public.
    let public = scratch.path("public");
    fs::create_dir(&public).unwrap();
    fs::copy(pki.path().join("ca-cert.pem"), public.join("ca-cert.pem")).unwrap();
    open_to_everybody(scratch.root());
    open_to_everybody(&public);
    fs::set_permissions(pki.path(), Permissions::from_mode(0o700)).unwrap();
    let uri =
        |certificates: &Path| format!("nbds://localhost:{port}/?tls-certificates={}", certificates.display());
    nobody("nbdinfo").arg(uri(pki.path())).fails(1).lacks("export-size");
    nobody("nbdinfo").arg(uri(&public)).fails(1).lacks("export-size");
    nobody("nbdinfo").arg(format!("nbd://localhost:{port}/")).fails(1).lacks("export-size");
    peer("nbdinfo", "").arg(uri(pki.path())).ok().says("export-size");
}

fn nobody(program: &str) -> Run {
    let program = keyway_tests::skip::find(program).unwrap();
    peer("setpriv", AS_NOBODY).arg(program)
}

fn open_to_everybody(directory: &Path) {
    fs::set_permissions(directory, Permissions::from_mode(0o755)).unwrap();
}

/// The user with the fewest rights.
const NOBODY: u32 = 65534;
const AS_NOBODY: &str = "--reuid=65534 --regid=65534 --clear-groups";
