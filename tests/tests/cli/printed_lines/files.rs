//! The files that printed lines name: made once, and copied for each block that reads them.

use super::ROOT;
use keyway_format::tcrypt::Program;
use keyway_tests::bitlk::{self, Bitlk, Protector};
use keyway_tests::fvault2::{self, Fvault2};
use keyway_tests::peers::CHEAP_ARGON2;
use keyway_tests::{Scratch, keyway, peer, random, tcrypt};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The originals.
pub(super) struct Files(Scratch);

/// Names in lines, and the original that they are copies of.
const NAMES: &[(&str, &str)] = &[
    ("disk.luks", "luks2"),
    ("disk.img", "luks2"),
    ("old.luks", "luks2"),
    ("vm.luks", "luks2"),
    ("root.luks", "luks2"),
    ("data.luks", "luks2"),
    ("rootfs.luks", "luks2"),
    ("rootfs.ext4", "rootfs.ext4"),
    ("disk.img.gz", "disk.img.gz"),
    ("vm.qcow2", "vm.qcow2"),
    ("scratch.img", "scratch.img"),
    ("key", "key"),
    ("seed", "seed"),
    ("patch.bin", "seed"),
    ("fleet.toml", "fleet.toml"),
    ("disk.header", "luks2"),
    ("initrd.img", "initrd.img"),
    ("initrd", "initrd.img"),
    ("board.initrd", "initrd.img"),
    ("Image", "Image"),
    ("board.dtb", "board.dtb"),
    ("image.its", "image.its"),
    ("boot.scr.txt", "boot.scr.txt"),
    ("board.txt", "board.txt"),
    ("before.json", "results.json"),
    ("after.json", "results.json"),
    ("host1.json", "results.json"),
    ("host2.json", "results.json"),
    ("host3.json", "results.json"),
    ("rates.json", "results.json"),
    ("disk.hc", "disk.hc"),
    ("windows.img", "windows.img"),
    ("vista.img", "vista.img"),
    ("mac.img", "mac.img"),
    ("loop.img", "scratch.img"),
    ("loop.keys", "loop.keys"),
    ("plain-disk.img", "scratch.img"),
];

/// Directories that lines use.
const DIRECTORIES: &[&str] = &["rootfs", "mnt", "disk", "files"];

/// Part of a block that needs a LUKS1 volume.
const LUKS1: &[&str] = &[
    "-S 1 --pbkdf pbkdf2 --pbkdf-force-iterations",
    "convert --type luks2",
    "keyway boot check",
    "luksChangeKey disk.luks --key-slot",
];

impl Files {
    pub(super) fn new() -> Self {
        let files = Self(Scratch::new());
        files.make_volumes();
        files.make_boot_files();
        files
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    fn make_volumes(&self) {
        self.0.file("key", "secret");
        self.0.file("answers", "secret\n".repeat(8));
        self.0.file("long", "a long secret\n");
        self.0.file("replaced", "secret\na long secret\n");
        self.0.file("seed", random(1, 64));
        self.0.sized("scratch.img", 64 << 20);
        self.0.file("disk.hc", tcrypt::made_around_hidden(Program::TrueCrypt, "sha512"));
        let windows = Bitlk { protectors: vec![Protector::Passphrase("secret")], ..Bitlk::default() };
        self.0.file("windows.img", windows.make(&random(3, bitlk::LEN)));
        let vista = Bitlk { vista: true, method: 0x8000, ..windows };
        self.0.file("vista.img", vista.make(&random(3, bitlk::LEN)));
        self.0.file("loop.keys", (0..65).map(|line| format!("a key, {line:02}\n")).collect::<String>());
        self.make_mac();
        let content = self.path("content");
        fs::create_dir(&content).unwrap();
        fs::write(content.join("hello"), "hello\n").unwrap();
        let image = self.0.sized("rootfs.ext4", 8 << 20);
        peer("mke2fs", "-q -F -t ext4 -b 4096 -d").arg(&content).arg(&image).ok();
        let gz = peer("gzip", "-c").arg(&image).ok().stdout;
        self.0.file("disk.img.gz", gz);
        let small = format!("--type luks2 --luks2-metadata-size 16k --luks2-keyslots-size 2M {CHEAP_ARGON2}");
        for (name, kind) in [("luks2", &small[..]), ("luks1", "--type luks1 --pbkdf-force-iterations 1000")] {
            let build = keyway("build -q").args(kind).arg("--uuid").arg(UUID).arg("--key-file");
            build.arg(self.path("key")).arg(&image).arg(self.path(name)).ok();
        }
        let with_key =
            |line: &str| keyway(line).arg(self.path("luks2")).arg("--key-file").arg(self.path("key"));
        with_key("luksAddKey -q").args(CHEAP_ARGON2).arg(self.path("key")).ok();
        with_key("token import --json-file -").stdin(r#"{"type":"printed","keyslots":[]}"#).ok();
        with_key("seal").ok();
        peer("qemu-img", "create -q -f qcow2").arg(self.path("vm.qcow2")).arg("64M").ok();
        let policy = fs::read_to_string(Path::new(ROOT).join("docs/RECIPES.md")).unwrap();
        let policy =
            policy.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a policy");
        self.0.file("fleet.toml", policy.replace("\"1GiB\"", "\"32KiB\""));
        let bench = keyway("bench -c aes-xts-plain64 -s 512 --time 1 --pbkdf pbkdf2 --hash sha256 --save");
        bench.arg(self.path("results.json")).ok();
    }

    /// Its second partition is the volume.
    fn make_mac(&self) {
        let disk = self.0.sized("mac.img", 8 << 20);
        let table = format!("label: gpt\nsize=2048\nstart=4096, size={}\n", fvault2::DEVICE_LEN / 512);
        peer("sfdisk", "-q").arg(&disk).stdin(&table).ok();
        let volume = Fvault2 { passphrases: vec!["secret"], ..Fvault2::default() };
        let file = fs::OpenOptions::new().write(true).open(&disk).unwrap();
        file.write_all_at(&volume.make(&random(4, fvault2::LEN)), 2 << 20).unwrap();
    }

    fn make_boot_files(&self) {
        self.0.file("Image", random(2, 100_001));
        self.0.file("boot.scr.txt", "echo hello\n");
        self.0.file("board.txt", BOARD);
        self.0.file("image.its", IMAGE);
        peer("dtc", "-q -I dts -O dtb -o")
            .arg(self.path("board.dtb"))
            .stdin("/dts-v1/; / { compatible = \"x\"; };")
            .ok();
        peer("sh", "-c").arg(INSTALLED).directory(self.0.root()).ok();
    }

    /// Copies what the lines read before they write it.
    pub(super) fn provide(&self, lines: &[String], scratch: &Scratch) {
        let luks1 = lines.iter().any(|line| LUKS1.iter().any(|text| line.contains(text)));
        let mut seen: Vec<&str> = Vec::new();
        for line in lines {
            let words: Vec<&str> = line.split_whitespace().collect();
            for (at, word) in words.iter().enumerate() {
                let name =
                    word.trim_start_matches("~/").split(['/', '\'', '"', '#']).next().unwrap_or_default();
                let is_new = !seen.contains(&name) && !is_output(&words, at) && words[0] != "mkdir";
                seen.push(name);
                if is_new {
                    self.provide_one(name, luks1, scratch);
                }
            }
            if line.contains("image.its") {
                self.provide_one("Image", luks1, scratch);
            }
        }
    }

    fn provide_one(&self, name: &str, luks1: bool, scratch: &Scratch) {
        if DIRECTORIES.contains(&name) {
            fs::create_dir_all(scratch.path(name)).unwrap();
        } else if let Some((_, original)) = NAMES.iter().find(|(known, _)| *known == name)
            && !scratch.path(name).exists()
        {
            let original = if luks1 && *original == "luks2" { "luks1" } else { original };
            scratch.copy(&self.path(original), name);
        }
    }
}

/// Whether the word at this place is a file that the line makes.
fn is_output(words: &[&str], at: usize) -> bool {
    let after = at.checked_sub(1).map_or("", |before| words[before]);
    let makes = |verb: &str| words.windows(2).any(|pair| pair == ["keyway", verb]);
    let operands: Vec<usize> = (0..words.len()).filter(|i| is_operand(words, *i)).collect();
    ["-o", "--save", "--html", "--json-lines", "--volume-key-file"].contains(&after)
        || words[at].starts_with('>')
        || makes("luksHeaderBackup") && after == "--header-backup-file"
        || makes("build") && operands.get(1) == Some(&at)
        || makes("copy") && operands.get(1) == Some(&at)
        || words[0] == "nbdcopy" && at + 1 == words.len()
        || words[0] == "mke2fs" && words[at] == "rootfs.ext4"
        || words[0] == "truncate" && words[at] == "disk.img"
}

/// Whether the word follows `keyway VERB` and is neither an option nor an option's value.
fn is_operand(words: &[&str], at: usize) -> bool {
    let is_option = |word: &str| word.len() > 1 && word.starts_with('-');
    let verb = words.iter().position(|word| *word == "keyway").map_or(0, |program| program + 1);
    at > verb && !is_option(words[at]) && !is_option(words[at - 1])
}

/// A system whose kernel has all built in that a volume needs, and its initramfs.
const INSTALLED: &str = "mkdir installed && cd installed && mkdir -p lib/modules/6.1.0 sbin && cd lib/modules/6.1.0
for name in drivers/md/dm-mod drivers/md/dm-crypt crypto/xts crypto/ecb crypto/aes_generic; do echo kernel/$name.ko; done >modules.builtin
touch modules.dep modules.order modules.alias && cd ../../..
for program in init sbin/cryptsetup; do echo '#!/bin/sh' >$program && chmod 755 $program; done
find . | cpio -o -H newc --quiet >../initrd.img";

/// A board's /proc/crypto.
const BOARD: &str = "name         : xts(aes)\ndriver       : xts-aes-ce\nmodule       : aes_ce_blk\n\
priority     : 300\nselftest     : passed\ntype         : skcipher\n\n";

/// A source of a FIT image with one kernel.
const IMAGE: &str = r#"/dts-v1/;
/ {
    images { kernel {
        data = /incbin/("Image"); type = "kernel"; arch = "arm64"; os = "linux"; compression = "none";
        load = <0x200000>; entry = <0x200000>; hash { algo = "sha256"; };
    }; };
    configurations { default = "one"; one { kernel = "kernel"; }; };
};
"#;

const UUID: &str = "21a8e8fa-0b01-4d12-b8f4-bfc562aa82a4";
