//! Partitions of an image that are open: side by side, each by one program, and none beside the whole.

use crate::served::Volume;
use crate::session::Runtime;
use keyway_tests::nbd::listens;
use keyway_tests::run::Run;
use keyway_tests::{assert_same_bytes, need, peer, random, until};
use std::fs;
use std::path::PathBuf;

/// An image whose partitions 1 and 2 are the same volume.
fn image(runtime: &Runtime) -> (Volume, PathBuf) {
    let volume = Volume::new(&runtime.0, "volume", 1);
    let path = runtime.0.sized("disk.img", 8 << 20);
    peer("sfdisk", "-q").arg(&path).stdin("label: gpt\nstart=2048,size=4096\nstart=8192,size=4096\n").ok();
    let mut disk = fs::read(&path).unwrap();
    let bytes = fs::read(volume.path()).unwrap();
    for start in STARTS {
        disk[start..start + bytes.len()].copy_from_slice(&bytes);
    }
    fs::write(&path, disk).unwrap();
    (volume, path)
}

#[test]
fn partitions_are_open_side_by_side_and_each_only_once() {
    need!("sfdisk", "qemu-img");
    let runtime = Runtime::new();
    let (volume, path) = image(&runtime);
    let named = |number: u32| PathBuf::from(format!("{}#{number}", path.display()));
    let with_key = |run: Run| run.arg("--volume-key-file").arg(volume.key_file());
    let open =
        |number, name: &str| with_key(runtime.keyway("open --backend nbd")).arg(named(number)).arg(name);
    open(1, "one").ok();
    let refused = open(1, "again").fails(5);
    refused.says("in use").says("session one");
    open(2, "two").ok();
    let whole = with_key(runtime.keyway("open --backend nbd --type plain -c aes-xts-plain64 -s 512"));
    whole.arg(&path).arg("whole").fails(5).says("in use");
    // A reader of the whole would see what is being written.
    peer("qemu-img", "convert -O raw").arg(&path).arg(runtime.0.path("copy")).fails(1).says("lock");
    runtime.keyway("list").ok().says(&format!("{}", named(2).display()));

    let before = fs::read(&path).unwrap();
    let data = random(31, 1 << 20);
    let mut client = runtime.connect("two");
    client.write(0, &data).unwrap();
    client.flush().unwrap();
    drop(client);
    // It has no room to grow.
    let resized = runtime.keyway("resize --device-size 4M two").outcome();
    assert_ne!(resized.code, Some(0), "{resized}");
    runtime.keyway("luksDump").arg(named(2)).ok().says("LUKS header information");
    runtime.keyway("close two").ok();
    runtime.keyway("close one").ok();

    let after = fs::read(&path).unwrap();
    let (start, end) = (STARTS[1], STARTS[1] + LEN);
    assert_same_bytes("before it", &after[..start], "as it was", &before[..start]);
    assert_same_bytes("behind it", &after[end..], "as it was", &before[end..]);
    let read = with_key(runtime.keyway("read")).arg(named(2)).ok();
    assert_eq!(read.stdout.len(), LEN - HEADER);
    assert_same_bytes("read", &read.stdout[..1 << 20], "written", &data);
}

#[test]
fn a_partition_is_not_used_beside_qemu_on_its_image() {
    need!("sfdisk", "qemu-io", "qemu-nbd");
    let runtime = Runtime::new();
    let (volume, path) = image(&runtime);
    let close = || runtime.keyway("close part").ok();
    let open = |options: &str| {
        let run = runtime.keyway("open --backend nbd --readonly").args(options);
        let run = run.arg("--volume-key-file").arg(volume.key_file());
        run.arg(format!("{}#1", path.display())).arg("part")
    };
    let socket = runtime.0.path("qemu.sock");
    let qemu = |options: &str| {
        let _ = fs::remove_file(&socket);
        let run = peer("qemu-nbd", "-f raw --persistent").args(options).arg("--socket").arg(&socket);
        let child = run.arg(&path).spawn().unwrap();
        until("QEMU has the image", || listens(&socket));
        child
    };
    let mut writer = qemu("");
    let refused = open("").outcome();
    open("--shared").ok();
    close();
    writer.kill().unwrap();
    writer.wait().unwrap();
    assert_eq!(refused.code, Some(5), "{refused}");
    refused.says("in use (open in qemu-nbd, process ");
    // Readers do not exclude each other.
    let mut reader = qemu("--read-only");
    let reading = open("").outcome();
    reader.kill().unwrap();
    reader.wait().unwrap();
    assert_eq!(reading.code, Some(0), "{reading}");
    peer("qemu-io", "-f raw -c").arg("write 7M 512").arg(&path).fails(1).says("lock");
    close();
}

const STARTS: [usize; 2] = [1 << 20, 4 << 20];
const LEN: usize = 2 << 20;
/// What [`Volume::new`] leaves before the data.
const HEADER: usize = 512 << 10;
