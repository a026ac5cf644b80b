//! Volumes in the partitions of an image, `disk.img#2`: what cryptsetup made there Keyway opens, edits
//! and re-encrypts, and cryptsetup opens what it left; nothing outside of the partition changes.

use keyway_tests::peers::CHEAP_LUKS2_PBKDF2;
use keyway_tests::{Scratch, assert_same_bytes, cryptsetup, keyway, need, peer, random};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// An image of two partitions: fdisk's commands, the sector size, the numbers, and their bytes.
struct Table {
    name: &'static str,
    sector: &'static str,
    commands: &'static str,
    numbers: [u32; 2],
    places: [Range<usize>; 2],
}

const TABLES: &[Table] = &[
    Table {
        name: "GPT",
        sector: "512",
        commands: "g\nn\n1\n2048\n+6M\nn\n2\n14336\n+6M\nw\n",
        numbers: [1, 2],
        places: [MIB..7 * MIB, 7 * MIB..13 * MIB],
    },
    Table {
        name: "GPT in sectors of 4096 bytes",
        sector: "4096",
        commands: "g\nn\n1\n256\n+6M\nn\n2\n1792\n+6M\nw\n",
        numbers: [1, 2],
        places: [MIB..7 * MIB, 7 * MIB..13 * MIB],
    },
    Table {
        name: "MBR with a logical partition",
        sector: "512",
        commands: "o\nn\np\n1\n2048\n+6M\nn\ne\n2\n16384\n\nn\nl\n18432\n+6M\nw\n",
        numbers: [1, 5],
        places: [MIB..7 * MIB, 9 * MIB..15 * MIB],
    },
    Table {
        name: "MBR in sectors of 4096 bytes",
        sector: "4096",
        commands: "o\nn\np\n1\n256\n+6M\nn\ne\n2\n2048\n\nn\nl\n2304\n+6M\nw\n",
        numbers: [1, 5],
        places: [MIB..7 * MIB, 9 * MIB..15 * MIB],
    },
];

/// An image with a volume of cryptsetup's in its second partition, and what is in that.
struct Image {
    scratch: Scratch,
    path: PathBuf,
    table: &'static Table,
    key: PathBuf,
    plaintext: Vec<u8>,
}

impl Image {
    fn new(table: &'static Table) -> Self {
        let scratch = Scratch::new();
        let (key, path) = (scratch.file("key", "correct horse battery staple"), scratch.path("disk.img"));
        let volume = scratch.sized("volume", table.places[1].len() as u64);
        cryptsetup("luksFormat -q --type luks2 --luks2-metadata-size 16k --luks2-keyslots-size 768k --sector-size 512")
            .args(CHEAP_LUKS2_PBKDF2)
            .arg(&volume)
            .arg(&key)
            .ok();
        let plaintext = random(21, table.places[1].len() - MIB);
        let content = scratch.file("plaintext", &plaintext);
        keyway("write --key-file").arg(&key).arg(&volume).arg(&content).ok();

        // What is beside the partitions is not empty either.
        let mut disk = random(22, 24 * MIB);
        disk[..MIB].fill(0);
        disk[23 * MIB..].fill(0);
        fs::write(&path, disk).unwrap();
        peer("fdisk", "-w never -b").arg(table.sector).arg(&path).stdin(table.commands).ok();
        let image = Self { scratch, path, table, key, plaintext };
        image.put(1, &fs::read(volume).unwrap());
        image
    }

    fn named(&self, index: usize) -> PathBuf {
        format!("{}#{}", self.path.display(), self.table.numbers[index]).into()
    }

    fn put(&self, index: usize, bytes: &[u8]) {
        let mut disk = fs::read(&self.path).unwrap();
        disk[self.table.places[index].clone()].copy_from_slice(bytes);
        fs::write(&self.path, disk).unwrap();
    }

    /// A copy of the partition, as a file.
    fn taken_out(&self, index: usize) -> PathBuf {
        let disk = fs::read(&self.path).unwrap();
        self.scratch.file("taken", &disk[self.table.places[index].clone()])
    }

    /// Runs what may write to a partition alone.
    fn changing(&self, index: usize, change: impl FnOnce(&Path)) {
        let before = fs::read(&self.path).unwrap();
        change(&self.named(index));
        let after = fs::read(&self.path).unwrap();
        let place = self.table.places[index].clone();
        assert_same_bytes("before it", &after[..place.start], "as it was", &before[..place.start]);
        assert_same_bytes("behind it", &after[place.end..], "as it was", &before[place.end..]);
        assert!(after[place.clone()] != before[place], "the partition changes");
    }

    fn opens_for_cryptsetup(&self, index: usize, key: &Path) {
        cryptsetup("open --test-passphrase --key-file").arg(key).arg(self.taken_out(index)).ok();
    }

    fn reads(&self, index: usize, key: &Path, expected: &[u8]) {
        let read = keyway("read --key-file").arg(key).arg(self.named(index)).ok();
        assert_same_bytes(self.table.name, &read.stdout, "what was written", expected);
    }
}

#[test]
fn a_volume_of_cryptsetups_in_a_partition_is_looked_at_read_and_written() {
    need!("cryptsetup", "fdisk");
    for table in TABLES {
        eprintln!("{}", table.name);
        let image = Image::new(table);
        let (volume, key) = (image.named(1), &image.key);
        let theirs = cryptsetup("luksUUID").arg(image.taken_out(1)).ok().text();
        assert_eq!(keyway("luksUUID").arg(&volume).ok().text(), theirs);
        keyway("inspect").arg(&volume).ok().says("LUKS2");
        let ours = keyway("luksDump").arg(&volume).ok().text();
        assert_eq!(ours, cryptsetup("luksDump").arg(image.taken_out(1)).ok().text());
        image.reads(1, key, &image.plaintext);

        let patch = image.scratch.random_file("patch", 23, 5000);
        image.changing(1, |volume| {
            keyway("write --offset 12345 --key-file").arg(key).arg(volume).arg(&patch).ok();
        });
        let mut expected = image.plaintext.clone();
        expected[12345..17345].copy_from_slice(&fs::read(&patch).unwrap());
        image.reads(1, key, &expected);
        // It ends where the partition does.
        let long = image.scratch.sized("long", 6 * MIB as u64);
        keyway("write --key-file").arg(key).arg(&volume).arg(long).fails(1);
        image.reads(1, key, &expected);
    }
}

#[test]
fn a_header_in_a_partition_is_edited_saved_repaired_and_reencrypted() {
    need!("cryptsetup", "fdisk");
    for table in TABLES {
        eprintln!("{}", table.name);
        let image = Image::new(table);
        let (key, other) = (&image.key, image.scratch.file("other", "another"));
        let saved = image.scratch.path("saved");
        keyway("luksHeaderBackup --header-backup-file").arg(&saved).arg(image.named(1)).ok();
        cryptsetup("open --test-passphrase --key-file").arg(key).arg("--header").arg(&saved).arg(&saved).ok();

        image.changing(1, |volume| {
            let run = keyway("luksAddKey -q --key-file").arg(key).args(CHEAP_LUKS2_PBKDF2);
            run.arg(volume).arg(&other).ok();
        });
        image.opens_for_cryptsetup(1, &other);
        // The first copy of the header is lost.
        let mut partition = fs::read(image.taken_out(1)).unwrap();
        partition[..4096].fill(0);
        image.put(1, &partition);
        image.changing(1, |volume| drop(keyway("repair -q").arg(volume).ok()));
        image.opens_for_cryptsetup(1, &other);
        image.changing(1, |volume| {
            let run = keyway("reencrypt -q --key-file").arg(&other).args(CHEAP_LUKS2_PBKDF2);
            run.arg("--key-slot").arg("1").arg(volume).ok();
        });
        image.opens_for_cryptsetup(1, &other);
        image.reads(1, &other, &image.plaintext);
        image.changing(1, |volume| {
            keyway("luksHeaderRestore -q --header-backup-file").arg(&saved).arg(volume).fails(0);
        });
    }
}

#[test]
fn a_new_volume_stays_in_its_partition() {
    need!("cryptsetup", "fdisk");
    let small = "--type luks2 --luks2-metadata-size 16k --luks2-keyslots-size 768k";
    for table in TABLES {
        eprintln!("{}", table.name);
        let image = Image::new(table);
        let key = &image.key;
        image.changing(0, |volume| {
            keyway("luksFormat -q").args(small).args(CHEAP_LUKS2_PBKDF2).arg(volume).arg(key).ok();
        });
        image.opens_for_cryptsetup(0, key);
        let content = image.scratch.random_file("content", 24, 2 * MIB);
        image.changing(0, |volume| {
            let run =
                keyway("build --force --verify --key-file").arg(key).args(CHEAP_LUKS2_PBKDF2).args(small);
            run.arg(&content).arg(volume).ok();
        });
        image.opens_for_cryptsetup(0, key);
        let read = keyway("read --length 2M --key-file").arg(key).arg(image.named(0)).ok();
        assert_same_bytes(table.name, &read.stdout, "what was built", &fs::read(&content).unwrap());
        // It is not overwritten while it is read.
        for source in [image.named(0), image.path.clone()] {
            let run = keyway("build --force -q --key-file").arg(key).args(CHEAP_LUKS2_PBKDF2);
            let before = fs::read(&image.path).unwrap();
            run.arg(source).arg(image.named(0)).fails(1);
            assert!(fs::read(&image.path).unwrap() == before, "nothing was changed");
        }
    }
}

#[test]
fn what_partitions_there_are_is_said_where_none_is_named() {
    need!("cryptsetup", "fdisk");
    for table in TABLES {
        let image = Image::new(table);
        let shown = image.path.display();
        let [first, second] = table.numbers;
        let sector = table.places[1].start / table.sector.parse::<usize>().unwrap();
        let row = format!("  {shown}#{second}  6.0 MiB  from sector {sector}, Linux");
        let command = format!("\"keyway inspect '{shown}#{second}'\" shows one:");
        let rest = ": LUKS2 volume";
        let bare = keyway("luksDump").arg(&image.path).fails(1);
        let lines = bare.says(&format!("Device {shown} is not a valid LUKS device."));
        lines.says(&command).says(&row).says(rest).says(&format!("{shown}#{first}  6.0 MiB"));
        let missing = format!("{shown}#3");
        let why =
            format!("Device {missing} does not exist: {shown} has no partition 3, only {first}, {second}.");
        for command in ["luksDump", "luksUUID", "luksKillSlot -q", "luksFormat -q", "inspect"] {
            let run = keyway(command).arg(&missing);
            let run = if command.contains("Kill") { run.arg("0") } else { run };
            run.fails(4).says(&why).says(&row);
        }
        // A file of that name wins.
        let literal = image.scratch.copy(&image.taken_out(1), &format!("disk.img#{first}"));
        keyway("isLuks").arg(&literal).ok();
    }
    let scratch = Scratch::new();
    let file = scratch.random_file("file", 25, 4096);
    let message = format!("Device {0}#1 does not exist: {0} has no partition table.", file.display());
    keyway("luksDump").arg(format!("{}#1", file.display())).fails(4).says(&message);
}

const MIB: usize = 1 << 20;
