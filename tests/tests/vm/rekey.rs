//! Clones of one image get volume keys of their own at their first boot: on Debian's kernel, with Keyway
//! as the first process of the ramdisk.

use crate::need_machine;
use crate::unlock::machine;
use keyway_tests::console::{Board, Console};
use keyway_tests::peers::CHEAP_LUKS2_PBKDF2;
use keyway_tests::timeouts;
use keyway_tests::vm::Machine;
use keyway_tests::{Scratch, assert_same_bytes, cryptsetup, keyway, peer, random};
use std::fs;
use std::path::{Path, PathBuf};

const PASSPHRASE: &str = "correct horse battery staple";
/// The share that is done when the power fails, in percent.
const CUTS: [f64; 3] = [8.0, 33.0, 58.0];
/// Bytes a second of the disk of the machine that is killed.
const SLOW: u64 = 10 << 20;

/// An image that is built once, of a file system with a file in it.
fn image(scratch: &Scratch, key: &Path, content: &[u8]) -> PathBuf {
    let tree = scratch.path("tree");
    fs::create_dir(&tree).unwrap();
    fs::write(tree.join("original"), content).unwrap();
    let (plain, image) = (scratch.path("plain"), scratch.path("image"));
    peer("mke2fs", "-q -t ext4 -d").arg(tree).arg(&plain).arg("48M").ok();
    let build = keyway("build -q --rekey-at-first-boot").args(CHEAP_LUKS2_PBKDF2).arg("-d").arg(key);
    build.arg(plain).arg(&image).ok();
    image
}

/// The volume key, as cryptsetup finds it.
fn volume_key(scratch: &Scratch, volume: &Path, key: &Path) -> Vec<u8> {
    let file = scratch.path("volume-key");
    let dump = cryptsetup("luksDump -q --dump-volume-key --key-file").arg(key).arg("--volume-key-file");
    dump.arg(&file).arg(volume).ok();
    let found = fs::read(&file).unwrap();
    fs::remove_file(file).unwrap();
    found
}

/// What a dump says of cipher, sectors, key sizes and costs of keyslots.
fn encryption(dump: &str) -> Vec<&str> {
    let said = ["cipher:", "sector:", "Key:", "Cipher key:", "PBKDF:", "Iterations:"];
    let lines = dump
        .split("Digests:")
        .next()
        .unwrap()
        .lines()
        .map(str::trim)
        .filter(|line| said.iter().any(|it| line.starts_with(it)));
    lines.collect()
}

/// A machine with this clone, whose root is looked at once it is open.
struct Boots {
    kernel: PathBuf,
    initrd: PathBuf,
}

impl Boots {
    fn new(scratch: &Scratch) -> Self {
        let config = "root /dev/vda /keyway/keys/root\n";
        let machine = machine(config).file("keyway/keys/root", PASSPHRASE).file("keyway/original-init", INIT);
        let (kernel, initrd) = machine.into_boot_files();
        Self { kernel: scratch.file("vmlinuz", kernel), initrd: scratch.file("initrd", initrd) }
    }

    fn start(&self, clone: &Path, rate: Option<u64>) -> Console {
        let board = Board::pc().kernel(&self.kernel).initrd(&self.initrd).kept_disk(clone, rate);
        let mut console =
            board.append("console=ttyS0 no_timer_check panic=-1 quiet cryptomgr.notests=1").start();
        console.limit(timeouts::MACHINE);
        console
    }
}

#[test]
fn each_clone_gets_its_own_volume_key_though_the_power_fails_three_times() {
    need_machine!();
    let scratch = Scratch::new();
    let (key, content) = (scratch.file("key", PASSPHRASE), random(400, 20_000_001));
    let image = image(&scratch, &key, &content);
    let clones = ["one", "two"].map(|name| scratch.copy(&image, name));
    let boots = Boots::new(&scratch);

    for (number, cut) in CUTS.iter().enumerate() {
        let mut console = boots.start(&clones[0], Some(SLOW));
        console.expect(if number == 0 { "root: first boot: " } else { "root: the reencryption " });
        console.expect_that("so much done", |seen| percents(seen).any(|percent| percent > *cut));
        assert!(!console.transcript().contains("LOOKED"), "{}", console.transcript());
        drop(console);
        keyway("luksDump").arg(&clones[0]).ok().says("online-reencrypt").says("keyway-rekey");
    }
    for (clone, begins) in clones.iter().zip(["root: the reencryption ", "root: first boot: "]) {
        let mut console = boots.start(clone, None);
        console.expect(begins).expect("root: it has its own volume key now.").expect("MOUNTED=yes");
        console.expect("LOOKED");
        let said = console.ends();
        let sum = peer("sha256sum", "").stdin(&content).ok().text();
        let sum = sum.split(' ').next().unwrap();
        assert!(said.contains(&format!("SUM={sum} ")), "{said}");
    }

    let keys = [&image, &clones[0], &clones[1]].map(|volume| volume_key(&scratch, volume, &key));
    assert!(keys[0] != keys[1] && keys[0] != keys[2] && keys[1] != keys[2]);
    for clone in &clones {
        let dump = cryptsetup("luksDump").arg(clone).ok().text();
        assert!(!dump.contains("keyway-rekey") && !dump.contains("online-reencrypt"), "{dump}");
        assert_eq!(encryption(&dump), encryption(&cryptsetup("luksDump").arg(&image).ok().text()));
        cryptsetup("open --test-passphrase --key-file").arg(&key).arg(clone).ok();
        let plain = scratch.file("seen", keyway("read -d").arg(&key).arg(clone).ok().stdout);
        peer("e2fsck", "-fn").arg(&plain).ok();
        let file = peer("debugfs", "-R").arg("cat /original").arg(&plain).ok().stdout;
        assert_same_bytes("clone", &file, "image", &content);
    }
}

/// " 45.2%  12 MiB of …": what was drawn.
fn percents(seen: &str) -> impl Iterator<Item = f64> {
    let before = seen.split('%').filter_map(|text| text.rsplit(['K', ' ', '\n']).next());
    before.filter_map(|text| text.parse().ok())
}

/// The image's own /init: looks at what was opened.
const INIT: &str = "#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t devtmpfs dev /dev
mount -t ext4 -o ro /dev/mapper/root /mnt && echo MOUNTED=yes
echo SUM=$(sha256sum </mnt/original)
echo LOOKED
poweroff -f
";

/// What prevents it is said, changes nothing, and does not keep the volume from being opened.
#[test]
fn a_marked_volume_opens_whatever_prevents_its_own_key() {
    need_machine!();
    let scratch = Scratch::new();
    let (key, content) = (scratch.file("key", PASSPHRASE), random(401, 4 << 20));
    let (plain, image) = (scratch.file("plain", &content), scratch.path("image"));
    let build = keyway("build -q --rekey-at-first-boot").args(CHEAP_LUKS2_PBKDF2).arg("-d").arg(&key);
    build.arg(&plain).arg(&image).ok();
    let disks = ["one", "two"].map(|name| scratch.copy(&image, name));
    let machine = Machine::new().with_keyway().disk(&disks[0]).disk(&disks[1]);
    let machine = machine.file("k", PASSPHRASE).file("other", "other").file("plain", &content);
    let report = machine.limit(timeouts::MACHINE).run(SCENARIO);

    let kept = "root: it keeps the volume key of its image for now: ";
    for (what, why) in [
        ("NO", String::new()),
        ("WORD", format!("{kept}x-keyway.rekey=later is none of yes, before, after and no.")),
        ("READONLY", format!("{kept}it is opened for reading only.")),
        ("SLOT", format!("{kept}its entry names keyslot 0, and the new ones have other numbers.")),
        ("OTHERS", format!("{kept}keyslot 1 has another passphrase.")),
        ("SEALED", format!("{kept}its header is sealed with the volume key that will be replaced.")),
        (
            "AFTER",
            "root: it still has the volume key of its image: \"keyway reencrypt --if-marked --active-name \
             root\" gives it its own while it is in use."
                .to_owned(),
        ),
    ] {
        report.has(what, format!("0 {why}").trim_end());
        report.has(&format!("{what}_OPEN"), "same");
        report.has(&format!("{what}_HEADER"), "same");
    }
    assert!(report.value("WRONG").starts_with("2 No key available with this passphrase."), "{report:?}");
    report.has("UNMET", &format!("6 Device /dev/vda: {UNSEALED}"));
    report.has("REFUSED_HEADER", "same");
    report.has("UNIT", "0");
    report.has("UNIT_MARK", "0");
    report.has("UNIT_CONTENT", "same");
    report.has("UNIT_AGAIN", "0");
    report.has("UNIT_AGAIN_HEADER", "same");
    report.has("STALE", "0");
    report.has("STALE_BEFORE", "1");
    report.has("STALE_MARK", "0");
    report.has("STALE_CONTENT", "same");
    let keys = [&image, &disks[0], &disks[1]].map(|volume| volume_key(&scratch, volume, &key));
    assert!(keys[0] != keys[1] && keys[0] != keys[2]);
}

const SCENARIO: &str = r#"
    CHEAP='--pbkdf pbkdf2 --pbkdf-force-iterations 1000'
    U='keyway.device=/dev/vda keyway.key=/k'
    unlock() { code=0; keyway unlock --cmdline "$1" </dev/null >/tmp/out 2>&1 || code=$?; echo "$code $(tr '\n' ' ' </tmp/out)" | sed 's/ *$//'; }
    header() { dd if=/dev/vda bs=1M count=16 2>/dev/null | sha256sum; }
    content() { cmp /plain /dev/mapper/root && echo same; }
    mark() { keyway luksDump $1 | grep -c keyway-rekey || true; }
    opens() {
        before=$(header)
        echo "$1=$(unlock "$2")"
        echo $1_OPEN=$(content)
        keyway close root
        [ "$(header)" = "$before" ] && echo $1_HEADER=same
    }
    opens NO "$U keyway.rekey=no"
    opens WORD "$U keyway.rekey=later"
    opens READONLY "$U keyway.options=readonly"
    opens SLOT "$U keyway.options=key-slot=0"
    keyway luksAddKey -q $CHEAP -d /k /dev/vda /other
    opens OTHERS "$U"
    keyway luksRemoveKey -q /dev/vda /other
    keyway seal -q -d /k /dev/vda
    opens SEALED "$U"
    keyway seal -q --remove /dev/vda
    before=$(header)
    echo WRONG="$(unlock 'keyway.device=/dev/vda keyway.key=/other')"
    echo UNMET="$(unlock "$U keyway.require=sealed")"
    [ "$(header)" = "$before" ] && echo REFUSED_HEADER=same
    opens AFTER "$U keyway.rekey=after"

    # What a unit of the running system does, at every boot.
    unlock "$U keyway.rekey=after" >/dev/null
    unit() { code=0; keyway reencrypt -q --no-header-backup --if-marked --active-name root -d /k >/tmp/out 2>&1 || code=$?; cat /tmp/out >&2; }
    unit
    echo UNIT=$code; echo UNIT_MARK=$(mark /dev/vda); echo UNIT_CONTENT=$(content)
    before=$(header); unit; echo UNIT_AGAIN=$code
    [ "$(header)" = "$before" ] && echo UNIT_AGAIN_HEADER=same
    keyway close root

    # cryptsetup replaces the key, and leaves the mark.
    cryptsetup reencrypt -q $CHEAP -d /k /dev/vdb >/tmp/out 2>&1 || cat /tmp/out >&2
    echo STALE_BEFORE=$(mark /dev/vdb)
    echo STALE="$(unlock 'keyway.device=/dev/vdb keyway.key=/k')"; echo STALE_MARK=$(mark /dev/vdb); echo STALE_CONTENT=$(content)
    keyway close root
"#;

/// What a demand of a table or of the kernel's command line says of a volume without a seal.
const UNSEALED: &str =
    "x-keyway.require=sealed: it is not sealed; if it is the volume that you mean, \"keyway seal\" seals it.";
