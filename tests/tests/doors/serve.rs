//! `keyway serve`: what it prints, whom it serves, and how it ends.

use crate::served::{Served, Volume};
use keyway_tests::nbd::{Nbd, READ_ONLY};
use keyway_tests::timeouts;
use keyway_tests::{Scratch, keyway, need, peer, random};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_client_reads_and_writes_and_sigterm_ends_it_cleanly() {
    let scratch = Scratch::new();
    let volume = Volume::new(&scratch, "disk.luks", 1);
    let socket = scratch.path("nbd.sock");
    let mut served = Served::start(&volume.serve().arg("--socket").arg(&socket));
    let said = served.ready();
    assert!(
        said.contains("read/write") && said.contains("nbdinfo") && said.contains("qemu-system"),
        "{said}"
    );
    let mode = fs::metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let mut client = Nbd::connect(&socket, "").unwrap();
    assert_eq!(client.size, volume.size());
    let block = random(2, 10_000);
    client.write(12_345, &block).unwrap();
    assert_eq!(client.read(12_345, block.len()).unwrap(), block);

    served.terminate();
    assert_eq!(served.wait(), Some(0));
    assert!(!socket.exists(), "the socket stays");
    assert_eq!(volume.read(12_345, block.len()), block);
}

#[test]
fn several_volumes_are_exports_by_name() {
    let scratch = Scratch::new();
    let (one, two) = (Volume::new(&scratch, "one.luks", 1), Volume::new(&scratch, "two.luks", 1));
    let socket = scratch.path("nbd.sock");
    two.write(0, b"this is two");
    let run = keyway("serve --export first --export second --socket").arg(&socket);
    let run = run.arg("--volume-key-file").arg(one.key_file()).arg(one.path()).arg(two.path());
    let mut served = Served::start(&run);
    let said = served.ready();
    assert!(said.contains("first?socket=") && said.contains("-N 'second'"), "{said}");
    assert_eq!(Nbd::connect(&socket, "second").unwrap().read(0, 11).unwrap(), b"this is two");
    assert_ne!(Nbd::connect(&socket, "first").unwrap().read(0, 11).unwrap(), b"this is two");
    assert!(Nbd::connect(&socket, "third").is_err());
    served.terminate();
    assert_eq!(served.wait(), Some(0));
}

#[test]
fn read_only_exports_take_no_writes() {
    let scratch = Scratch::new();
    let volume = Volume::new(&scratch, "disk.luks", 1);
    let socket = scratch.path("nbd.sock");
    let mut served = Served::start(&volume.serve().args("--readonly --socket").arg(&socket));
    assert!(served.ready().contains("read-only"));
    let mut client = Nbd::connect(&socket, "").unwrap();
    assert_ne!(client.flags & READ_ONLY, 0);
    assert!(client.write(0, &[1; 512]).is_err());
}

#[test]
fn a_dead_servers_socket_is_replaced_and_a_live_ones_refused() {
    let scratch = Scratch::new();
    let volume = Volume::new(&scratch, "disk.luks", 1);
    let other = Volume::new(&scratch, "other.luks", 1);
    let socket = scratch.path("nbd.sock");
    let run = volume.serve().arg("--socket").arg(&socket);
    let mut served = Served::start(&run);
    served.ready();
    other.serve().arg("--socket").arg(&socket).fails(5).says("listen");
    served.kill();
    assert!(socket.exists(), "a killed server cannot clean up");
    let mut again = Served::start(&run);
    again.ready();
    assert_eq!(Nbd::connect(&socket, "").unwrap().size, volume.size());
}

#[test]
fn what_lies_at_the_sockets_path_in_the_end_stays() {
    let scratch = Scratch::new();
    let volume = Volume::new(&scratch, "disk.luks", 1);
    let socket = scratch.path("nbd.sock");
    let mut served = Served::start(&volume.serve().arg("--socket").arg(&socket));
    served.ready();
    fs::rename(&socket, scratch.path("moved")).unwrap();
    fs::write(&socket, "precious").unwrap();
    served.terminate();
    assert_eq!(served.wait(), Some(0));
    assert_eq!(fs::read(&socket).unwrap(), b"precious");
}

#[test]
fn a_network_is_served_in_the_clear_only_if_that_is_said() {
    let scratch = Scratch::new();
    let volume = Volume::new(&scratch, "disk.luks", 1);
    for address in ["0.0.0.0", "::", "::ffff:0.0.0.0"] {
        // Refused before anything is unlocked: there is no key.
        let run = keyway("serve --port 0 --address").arg(address).arg(volume.path());
        run.fails(1).says("without TLS").says("--insecure-network");
    }
    let run = volume.serve().args("--port 0 --address 0.0.0.0 --insecure-network");
    let mut served = Served::start(&run);
    served.ready();
    served.terminate();
    assert_eq!(served.wait(), Some(0));
    assert!(served.errors().contains("WARNING: 0.0.0.0:0 is served without TLS"));
    // Local users need no such option.
    let mut served = Served::start(&volume.serve().args("--port 0 --address localhost"));
    served.ready();
    served.terminate();
    assert_eq!(served.wait(), Some(0));
    assert_eq!(served.errors(), "");
}

/// 128 connections that send a byte now and then.
#[test]
fn silent_connections_keep_nobody_out() {
    need!("nbdinfo");
    let scratch = Scratch::new();
    let volume = Volume::new(&scratch, "disk.luks", 1);
    let mut served = Served::start(&volume.serve().args("--port 0"));
    let said = served.ready();
    let uri = said.split_whitespace().find(|word| word.starts_with("nbd://127.0.0.1:")).expect("a URI");
    let address = uri.split('/').nth(2).unwrap();
    let mut silent: Vec<TcpStream> = (0..128).map(|_| TcpStream::connect(address).unwrap()).collect();
    for _ in 0..3 {
        silent.iter_mut().for_each(|stream| drop(stream.write_all(&[0])));
        peer("nbdinfo", "--size").arg(uri).ok().says(&volume.size().to_string());
    }
    // They have ten seconds in total.
    for stream in &mut silent {
        stream.set_read_timeout(Some(timeouts::scaled(timeouts::EVENT))).unwrap();
        let ended = stream.read_to_end(&mut Vec::new());
        assert!(ended.is_ok() || ended.is_err_and(|e| e.kind() == ErrorKind::ConnectionReset));
    }
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_asked() {
    let scratch = Scratch::new();
    let volume = Volume::new(&scratch, "disk.luks", 1);
    let refused = |line: &str| keyway(line).arg(volume.path()).arg(volume.path()).fails(1);
    refused("serve --export one").says("1 names for 2 volumes");
    refused("serve --export one --export one").says("Two exports would be called \"one\"");
    refused("serve").says("Two exports would be called \"disk.luks\"");
    keyway("serve --socket x --port 10809").arg(volume.path()).fails(1).says("mutually exclusive");
    keyway("serve --address 127.0.0.1").arg(volume.path()).fails(1).says("goes with --port");
}

#[test]
fn a_tcp_port_takes_clients() {
    need!("nbdinfo");
    let scratch = Scratch::new();
    let volume = Volume::new(&scratch, "disk.luks", 1);
    let mut served = Served::start(&volume.serve().args("--port 0"));
    let said = served.ready();
    let uri = said.split_whitespace().find(|word| word.starts_with("nbd://127.0.0.1:")).expect("a URI");
    peer("nbdinfo", "--size").arg(uri).ok().says(&volume.size().to_string());
}

/// The command lines that `serve` prints, as far as they need no virtual machine and no root.
#[test]
fn the_lines_it_prints_work() {
    need!("nbdinfo", "nbdcopy", "qemu-img");
    let scratch = Scratch::new();
    let volume = Volume::new(&scratch, "a disk.luks", 1);
    let data = random(3, 1 << 20);
    volume.write(0, &data);
    let run = volume.serve().env("XDG_RUNTIME_DIR", scratch.root());
    fs::set_permissions(scratch.root(), fs::Permissions::from_mode(0o700)).unwrap();
    let mut served = Served::start(&run);
    let said = served.ready();
    let lines =
        said.lines().map(str::trim).filter(|line| line.starts_with("nbdinfo") || line.starts_with("nbdcopy"));
    let mut count = 0;
    for line in lines {
        peer("sh", "-c").arg(line).directory(scratch.root()).ok();
        count += 1;
    }
    assert_eq!(count, 2, "{said}");
    assert!(fs::read(scratch.path("copy.img")).unwrap().starts_with(&data));
    let uri = said.split('\'').nth(1).expect("a URI in quotes");
    peer("qemu-img", "info -f raw").arg(uri).ok().says("virtual size");
}
