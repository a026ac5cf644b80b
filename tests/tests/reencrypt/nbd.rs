//! Volumes behind NBD servers: as on a disk, as long as the server can flush.

use crate::{Fixture, PLAIN};
use keyway_tests::nbd::listens;
use keyway_tests::peers::CHEAP_LUKS2_PBKDF2;
use keyway_tests::{Background, Run, keyway, need, peer, until};

/// nbdkit, which serves a fixture's device.
fn serve(f: &Fixture, name: &str, line: &str) -> (Background, String) {
    let socket = f.scratch.path(name);
    let run = peer("nbdkit", "-f -U").arg(&socket).args(line);
    let run = if line.contains("eval") { run.directory(f.scratch.root()) } else { run.arg(&f.device) };
    let server = Background::start(&run, || listens(&socket));
    (server, format!("nbd+unix:///?socket={}", socket.display()))
}

fn reencrypt(f: &Fixture, uri: &str, options: &str) -> Run {
    let cheap = if options.contains("--resume-only") { "" } else { CHEAP_LUKS2_PBKDF2 };
    let run = keyway("reencrypt -q").directory(f.scratch.root());
    run.args(cheap).args(options).arg("--key-file").arg(&f.key).arg(uri)
}

/// The server dies in the middle: it goes on with the next one.
#[test]
fn a_server_that_dies_costs_nothing() {
    need!("nbdkit");
    for resilience in ["checksum", "journal"] {
        let f = Fixture::volume();
        let (server, uri) = serve(&f, "first", "file");
        let options = format!("--resilience {resilience} --hotzone-size 16K --timeout 1 --limit-rate 1M");
        let child = reencrypt(&f, &uri, &options).spawn().unwrap();
        until("the header says what is under way", || f.says("\"in-reencryption\""));
        server.kill();
        let output = child.wait_with_output().unwrap();
        assert!(!output.status.success());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("Nothing is lost."), "{said}");
        assert!(f.says("\"online-reencrypt"), "it died in the middle");
        let (_server, uri) = serve(&f, "second", "file");
        reencrypt(&f, &uri, "--resume-only").ok();
        f.is_whole(false);
    }
}

#[test]
fn a_server_without_flush_is_refused_unless_told() {
    need!("nbdkit");
    let f = Fixture::volume();
    let before = std::fs::read(&f.device).unwrap();
    let size = format!("get_size=echo {}", before.len());
    let socket = f.scratch.path("unsafe");
    let run = peer("nbdkit", "-f -U").arg(&socket).arg("eval").arg(size).directory(f.scratch.root());
    let run = ["can_write=exit 0", "can_flush=exit 3"].into_iter().fold(run, Run::arg);
    let path = f.device.display();
    let run = run
        .arg(format!("pread=dd if={path} skip=$4 count=$3 iflag=count_bytes,skip_bytes status=none"))
        .arg(format!("pwrite=dd of={path} seek=$4 conv=notrunc oflag=seek_bytes status=none"));
    let _server = Background::start(&run, || listens(&socket));
    let uri = format!("nbd+unix:///?socket={}", socket.display());
    for options in ["", "--encrypt --reduce-device-size 32M"] {
        reencrypt(&f, &uri, options)
            .fails(1)
            .says("cannot be flushed (its NBD server offers no flush)")
            .says("Nothing was changed.")
            .says("--without-flush reencrypts it anyway.");
    }
    assert!(std::fs::read(&f.device).unwrap() == before, "something was written");
    reencrypt(&f, &uri, "--without-flush").ok();
    assert!(std::fs::read(&f.device).unwrap()[..] != before[..PLAIN]);
    f.is_whole(false);
}
