//! What clients and users of `keyway serve` see if the store behind it is gone, has been replaced,
//! or hangs.

use crate::served::{Served, Volume};
use keyway_tests::nbd::{Nbd, listens};
use keyway_tests::timeouts;
use keyway_tests::{Background, Scratch, keyway, need, peer};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// nbdkit with `image` on the socket "store".
fn store(scratch: &Scratch, image: &Path) -> Background {
    let socket = scratch.path("store");
    let _ = std::fs::remove_file(&socket);
    let run = peer("nbdkit", "-f -U").arg(&socket).arg("file").arg(image);
    Background::start(&run, || listens(&socket))
}

/// `keyway serve` of what nbdkit exports, and a client for it.
fn serve(scratch: &Scratch, volume: &Volume, line: &str) -> (Served, Nbd) {
    let socket = scratch.path("served");
    let url = format!("nbd+unix:///?socket={}", scratch.path("store").display());
    let run = keyway("serve").args(line).arg(url).arg("--volume-key-file").arg(volume.key_file());
    let mut served = Served::start(&run.arg("--socket").arg(&socket));
    served.ready();
    (served, Nbd::connect(&socket, "").unwrap())
}

#[test]
fn another_volume_behind_the_url_is_refused_and_said_once() {
    need!("nbdkit");
    let scratch = Scratch::new();
    let (volume, other) = (Volume::new(&scratch, "a.luks", 4), Volume::new(&scratch, "b.luks", 4));
    volume.write(0, &[7; 8192]);
    let first = store(&scratch, volume.path());
    let (mut served, mut client) = serve(&scratch, &volume, "");
    assert_eq!(client.read(0, 8192).unwrap(), [7; 8192]);

    // A restarted server with the same volume, edited in between, goes unnoticed.
    first.kill();
    keyway("config --label changed").arg(volume.path()).ok();
    let second = store(&scratch, volume.path());
    assert_eq!(client.read(4096, 4096).unwrap(), [7; 4096]);

    second.kill();
    let third = store(&scratch, other.path());
    for at in [0, 512, 1 << 20] {
        let error = client.read(at, 512).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(5), "{error}");
    }
    assert!(client.write(0, &[1; 4096]).is_err() && client.write(512, &[1; 512]).is_err());
    served.terminate();
    // A write has failed, and so does the last flush.
    assert_eq!(served.wait(), Some(4));
    let errors = served.errors();
    for doing in ["reading failed", "writing failed"] {
        let told = errors.lines().filter(|line| line.contains(doing));
        assert!(told.clone().all(|line| line.contains("this address now serves another volume")));
        assert_eq!(told.count(), 1, "{errors}");
    }
    drop(third);
    let untouched = other.read(0, 4096);
    assert_ne!(untouched, [1; 4096]);
}

#[test]
fn a_hung_store_does_not_keep_a_server_that_has_nothing_to_write() {
    need!("nbdkit");
    let scratch = Scratch::new();
    let volume = Volume::new(&scratch, "disk.luks", 4);
    let hanging = store(&scratch, volume.path());
    let (mut served, mut client) = serve(&scratch, &volume, "");
    client.write(0, &[5; 4096]).unwrap();
    client.flush().unwrap();
    hanging.stop();
    let reader = thread::spawn(move || client.read(1 << 20, 4096).is_err());
    thread::sleep(Duration::from_millis(300));
    let asked = Instant::now();
    served.terminate();
    assert_eq!(served.wait(), Some(0));
    // (Without this it takes the store's timeout of two minutes.)
    assert!(timeouts::is_within(timeouts::LATE, asked), "{:?}", asked.elapsed());
    assert!(reader.join().unwrap());
    drop(hanging);
    assert_eq!(volume.read(0, 4096), [5; 4096]);
}
