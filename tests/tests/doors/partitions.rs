//! Partitions of an image that are open: side by side, each by one program, and none beside the whole.

use crate::served::Volume;
use crate::session::Runtime;
use keyway_tests::nbd::listens;
use keyway_tests::run::Run;
use keyway_tests::{Background, assert_same_bytes, need, peer, random, until};
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
    // Each is named for its own partition, whichever was opened last.
    for (number, name, other) in [(1, "one", "two"), (2, "two", "one")] {
        let refused = open(number, "again").fails(5);
        refused.says(&format!("session {name})")).lacks(&format!("session {other}"));
    }
    let listed = runtime.keyway("list --json").ok().text();
    let status = |name: &str| runtime.keyway("status").arg(name).ok().text();
    for (number, name) in [(1, "one"), (2, "two")] {
        let shown = named(number).display().to_string();
        assert!(listed.contains(&format!("\"device\":\"{shown}\"")), "{listed}");
        assert!(status(name).contains(&format!("  device:  {shown}\n")), "{}", status(name));
    }
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

/// Behind an address a number means what it means behind the name of an image.
#[test]
fn a_partition_of_an_export_is_edited_written_and_served_and_nothing_beside_it() {
    need!("sfdisk", "nbdkit");
    let runtime = Runtime::new();
    let (volume, path) = image(&runtime);
    let socket = runtime.0.path("disk.sock");
    let nbdkit = peer("nbdkit", "-f -U").arg(&socket).arg("file").arg(&path);
    let _server = Background::start(&nbdkit, || listens(&socket));
    let url = format!("nbd+unix:///?socket={}", socket.display());
    let named = |number: u32| format!("{url}#{number}");
    let with_key = |line: &str| runtime.keyway(line).arg("--volume-key-file").arg(volume.key_file());

    let lines = runtime.keyway("luksDump").arg(&url).fails(1);
    let row = format!("  {}  2.0 MiB  from sector 8192, Linux", named(2));
    lines.says(&format!("Device {url} is not a valid LUKS device.")).says(&row).says(": LUKS2 volume");
    let missing = format!("Device {} does not exist: {url} has no partition 3, only 1, 2.", named(3));
    runtime.keyway("luksDump").arg(named(3)).fails(4).says(&missing).says(&row);
    runtime.keyway("luksDump").arg(format!("{url}#two")).fails(1).says("an NBD URI has no fragment");

    let before = fs::read(&path).unwrap();
    let data = runtime.0.random_file("data", 32, 1 << 20);
    with_key("write").arg(named(2)).arg(&data).ok();
    runtime.keyway("config --label second").arg(named(2)).ok();
    let after = fs::read(&path).unwrap();
    let (start, end) = (STARTS[1], STARTS[1] + LEN);
    assert_same_bytes("before it", &after[..start], "as it was", &before[..start]);
    assert_same_bytes("behind it", &after[end..], "as it was", &before[end..]);
    runtime.keyway("luksDump").arg(named(2)).ok().says("Label:         \tsecond");
    runtime.keyway("luksDump").arg(named(1)).ok().says("Label:         \t(no label)");

    with_key("open --backend nbd").arg(named(2)).arg("two").ok();
    runtime.keyway("status two").ok().says(&format!("  device:  {}\n", named(2)));
    runtime.keyway("list").ok().says(&named(2));
    let read = runtime.connect("two").read(0, 1 << 20).unwrap();
    assert_same_bytes("served", &read, "written", &fs::read(&data).unwrap());
    runtime.keyway("close two").ok();
    let whole = runtime.0.sized("whole", LEN as u64);
    with_key("write").arg(named(2)).arg(whole).fails(1);
    assert!(fs::read(&path).unwrap()[end..] == before[end..], "it has no room to grow");
}

const STARTS: [usize; 2] = [1 << 20, 4 << 20];
const LEN: usize = 2 << 20;
/// What [`Volume::new`] leaves before the data.
const HEADER: usize = 512 << 10;
