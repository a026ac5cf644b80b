//! What fio wrote through Keyway's front ends, found again by fio itself behind the kernel's dm-crypt.
//!
//! fio runs in the machine too, from a disk with fio and its libraries: it regenerates the blocks
//! and compares position, content and checksum of each, where a list of checksums made outside
//! would only say that something differs.

use crate::need_machine;
use keyway_tests::fio::{self, FrontEnd, Round, Target};
use keyway_tests::peers::CHEAP_LUKS2_PBKDF2;
use keyway_tests::vm::Machine;
use keyway_tests::{Background, Scratch, keyway, need, need_that};
use std::fs::{self, File};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// `verified KEY DISK JOBS` opens, verifies and closes.
const SCENARIO: &str = r#"
    mount -t ext4 -o ro /dev/vdc /mnt
    verified() {
        cryptsetup open --key-file /key $2 volume
        (cd /tmp; LD_LIBRARY_PATH=/mnt/lib /mnt/fio $3) >/tmp/said 2>&1 && code=0 || code=$?
        cryptsetup close volume
        echo $1=$code $(grep -c 'verify failed' /tmp/said) $(grep -m 1 issued /tmp/said)
    }
    flip() {
        dd if=$1 bs=1 skip=$2 count=1 2>/dev/null | tr '\000-\377' '\001-\377\000' >/tmp/byte
        dd if=/tmp/byte of=$1 bs=1 seek=$2 conv=notrunc,fsync 2>/dev/null
    }
    verified NBD /dev/vda /nbd.fio
    verified FUSE /dev/vdb /fuse.fio
    flip /dev/vda $(($(cryptsetup luksDump /dev/vda | sed -n 's/.*offset: \([0-9]*\) .bytes.*/\1/p') + 500000))
    verified NBD_FLIPPED /dev/vda /nbd.fio
    flip /dev/vdb $(($(cryptsetup luksDump /dev/vdb | sed -n 's/Payload offset:[^0-9]*//p') * 512 + 500000))
    verified FUSE_FLIPPED /dev/vdb /fuse.fio
"#;

#[test]
fn the_kernel_finds_what_fio_wrote_through_the_doors() {
    need_machine!();
    need!("fio", "fusermount3", "ldd");
    let fuse = File::options().read(true).write(true).open("/dev/fuse").is_ok();
    need_that!(fuse, "/dev/fuse cannot be opened");
    let scratch = Scratch::new();
    let key = scratch.file("key", "correct horse battery staple");
    let plain = scratch.random_file("plain", 171, (fio::LEN as usize).next_multiple_of(1 << 20));
    let volume = |name: &str, options: &str| {
        let path = scratch.path(name);
        keyway("build -q").args(options).arg("--key-file").arg(&key).arg(&plain).arg(&path).ok();
        path
    };
    let served = volume("served", &format!("--type luks2 --sector-size 4096 {CHEAP_LUKS2_PBKDF2}"));
    let mounted = volume("mounted", "--type luks1 --pbkdf-force-iterations 1000");
    over_nbd(&scratch, &key, &served);
    over_fuse(&scratch, &key, &mounted);

    let mapping = Target::File(Path::new("/dev/mapper/volume"));
    let machine = Machine::new().processors(2).disk(&served).disk(&mounted).disk(&fio::disk(&scratch));
    let machine = machine
        .file("key", fs::read(&key).unwrap())
        .file("nbd.fio", fio::verifying_jobs(FrontEnd::Nbd, mapping, Round::Second))
        .file("fuse.fio", fio::verifying_jobs(FrontEnd::Fuse, mapping, Round::Second));
    let report = machine.run(SCENARIO);
    for key in ["NBD", "FUSE"] {
        // "0 0 issued rwts: total=READS,WRITES,TRIMS,SYNCS …"
        let said = report.value(key);
        let reads = said.strip_prefix("0 0 issued rwts: total=").and_then(|rest| rest.split_once(','));
        let reads = reads.and_then(|(reads, _)| reads.parse::<u32>().ok());
        assert!(reads.is_some_and(|reads| reads > 200), "{key}: {said}\n{report:?}");
        let said = report.value(&format!("{key}_FLIPPED"));
        assert!(said.starts_with("1 1 "), "{key}: a changed byte is not seen: {said}");
    }
}

fn over_nbd(scratch: &Scratch, key: &Path, volume: &Path) {
    let socket = scratch.path("nbd.sock");
    let run = keyway("serve --allow-discards --key-file").arg(key).arg("--socket").arg(&socket).arg(volume);
    let mut server = Background::start(&run, || UnixStream::connect(&socket).is_ok());
    let uri = format!("nbd+unix:///?socket={}", socket.display());
    for round in [Round::First, Round::Second] {
        fio::write(scratch, Target::Nbd(&uri), round).ok();
    }
    server.asked_to_end();
}

fn over_fuse(scratch: &Scratch, key: &Path, volume: &Path) {
    let directory = scratch.path("mnt");
    fs::create_dir(&directory).unwrap();
    let file = directory.join("plain");
    let run = keyway("mount --foreground --allow-discards --writeback --key-file").arg(key);
    let mut server = Background::start(&run.arg(volume).arg(&directory), || file.exists());
    for round in [Round::First, Round::Second] {
        fio::write(scratch, Target::File(&file), round).ok();
    }
    server.asked_to_end();
}
