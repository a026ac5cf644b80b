//! `keyway xray` on Debian's kernel: all its drivers checked, deliberately wrong drivers detected
//! (the module tests/vm/keyway_wrong.c), dm-crypt's choices compared with the prediction, and
//! images with and without the modules a volume needs.

use crate::need_machine;
use keyway_tests::timeouts;
use keyway_tests::vm::{Machine, Report, prepared, wrong_drivers};
use keyway_tests::{Scratch, keyway, need, need_that, peers::peer};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Ciphers that make the kernel load and instantiate its drivers.
const SPECS: &[&str] = &[
    "aes-xts-plain64",
    "aes-cbc-essiv:sha256",
    "aes-ctr-plain64",
    "aes-lrw-benbi",
    "aes-pcbc-plain64",
    "aes-cfb-plain64",
    "aes-ofb-plain64",
    "aes-ecb",
    "aes-hctr2-plain64",
    "xchacha12,aes-adiantum-plain64",
    "xchacha20,aes-adiantum-plain64",
    "serpent-xts-plain64",
    "serpent-cbc-plain64",
    "twofish-xts-plain64",
    "twofish-cbc-plain64",
    "camellia-xts-plain64",
    "camellia-cbc-plain64",
    "cast6-xts-plain64",
    "cast6-cbc-plain64",
    "cast5-cbc-plain64",
    "blowfish-cbc-plain64",
    "des3_ede-cbc-plain64",
    "sm4-xts-plain64",
    "aria-xts-plain64",
    "anubis-cbc-plain64",
    "khazad-cbc-plain64",
    "xtea-cbc-plain64",
    "seed-cbc-plain64",
    "fcrypt-pcbc-plain64",
];

/// Algorithms that the kernel has and Keyway does not, so they cannot be compared.
const NOT_OURS: &[&str] =
    &["rfc3686(ctr(aes))", "cts(cbc(aes))", "chacha20", "xchacha20", "xchacha12", "ecb(arc4)"];

#[test]
fn every_driver_of_the_kernel_is_right() {
    need_machine!();
    let asks: String = SPECS
        .iter()
        .map(|spec| {
            format!("keyway xray {spec} >/tmp/text || {{ echo 'BAD={spec}'; sed 's/^/BAD /' /tmp/text; }}\n")
        })
        .collect();
    let report = Machine::new().with_keyway().limit(timeouts::LONG_MACHINE).run(&format!(
        "dmesg -n 1
         echo >/proc/sys/kernel/modprobe
         {asks}
         keyway xray aes-xts-plain64 | sed 's/^/AES /'
         keyway xray --all >/tmp/all && echo EXIT=0 || echo EXIT=$?
         sed 's/^/ALL /' /tmp/all"
    ));
    let all: Vec<&str> = with(&report, "ALL ");
    assert!(!report.lines().any(|line| line.starts_with("BAD")), "{report:?}");
    report.has("EXIT", "0");
    let right = all.iter().filter(|line| line.contains("right (")).count();
    let unchecked: BTreeSet<&str> = all
        .iter()
        .filter(|line| line.contains("not checked"))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| !NOT_OURS.contains(name))
        .collect();
    assert!(unchecked.is_empty(), "nobody checked {unchecked:?}\n{}", all.join("\n"));
    assert!(right >= 50, "{right} drivers were checked\n{}", all.join("\n"));
    println!("{right} drivers of Debian's kernel are right");
    let aes = with(&report, "AES ").join("\n");
    for text in [
        "aes-xts-plain64 is xts(aes) to the kernel",
        "> xts-aes-aesni",
        "aes-xts-plain64 will run on xts-aes-aesni, at ",
        "This kernel does not test drivers before it uses them (cryptomgr.notests)",
        "Adiantum would be ",
    ] {
        assert!(aes.contains(text), "{text}\n{aes}");
    }
}

#[test]
fn wrong_drivers_are_caught_and_engines_named() {
    need_machine!();
    need_that!(wrong_drivers().is_some(), "the module with wrong drivers could not be built");
    let module = wrong_drivers().expect("just seen");
    let report = Machine::new().with_keyway().file("keyway_wrong.ko", module).run(
        "dmesg -n 1
         echo >/proc/sys/kernel/modprobe
         look() { keyway xray $2 >/tmp/text && echo $1_EXIT=0 || echo $1_EXIT=$?; sed \"s/^/$1 /\" /tmp/text; }
         # The driver whose reference count says that dm-crypt holds it.
         held() {
             cat /proc/crypto >/tmp/before
             head -c 64 /dev/urandom >/tmp/key
             cryptsetup open --type plain --key-file /tmp/key -c aes-xts-plain64 -s 512 /dev/ram0 $1
             grep -E '^(driver|refcnt)' /proc/crypto | paste - - | awk '$3 ~ /^xts/ && $6 > 1 { print $3 }' >/tmp/held
             grep -E '^(driver|refcnt)' /tmp/before | paste - - | awk '$6 > 1 { print $3 }' >/tmp/were
             echo HELD_$1=$(grep -vxFf /tmp/were /tmp/held | grep -v '^__')
             cryptsetup close $1
         }
         held before
         insmod /keyway_wrong.ko
         look xts aes-xts-plain64
         look cbc aes-cbc-plain64
         keyway xray aes-xts-plain64 --json >/tmp/json || true
         tr -d ' \\n\\t' </tmp/json | grep -o '\"wrong\",\"at\":[0-9]*' | sed 's/^/JSON=/'
         held wrong
         rmmod keyway_wrong
         insmod /keyway_wrong.ko only=xts-aes-caam
         look caam aes-xts-plain64
         held caam
         rmmod keyway_wrong algif_skcipher
         look none aes-xts-plain64
         rmmod crypto_user
         keyway xray --no-measure | sed 's/^/blind /'",
    );
    report.has("xts_EXIT", "1");
    let xts = with(&report, "xts ").join("\n");
    let line = xts.lines().find(|line| line.contains("xts-aes-keyway-wrong is wrong")).unwrap_or_default();
    for text in [
        "X xts-aes-keyway-wrong is wrong: byte 17 is ",
        ", encrypting sector ",
        ": blacklist keyway_wrong. dm-crypt would use it",
    ] {
        assert!(line.contains(text), "{text}\n{xts}");
    }
    assert!(xts.contains("> xts-aes-keyway-wrong") && xts.contains("WRONG from byte 17"), "{xts}");
    assert!(xts.contains("xts-aes-aesni") && xts.contains("right ("), "the others are right\n{xts}");
    report.has("JSON", "\"wrong\",\"at\":17");
    report.has("cbc_EXIT", "1");
    let cbc = with(&report, "cbc ").join("\n");
    assert!(cbc.contains("X cbc-aes-keyway-wrong is wrong: byte 17 is "), "{cbc}");

    report.has("caam_EXIT", "0");
    let caam = with(&report, "caam ").join("\n");
    let line = caam.lines().find(|line| line.contains("The CAAM engine")).unwrap_or_default();
    for text in [
        "! The CAAM engine (xts-aes-caam) has a higher priority (5000) and is ",
        "× slower; dm-crypt skips it (ALLOCATES_MEMORY since Linux 5.10), others do not: blacklist keyway_wrong",
    ] {
        assert!(line.contains(text), "{text}\n{caam}");
    }
    assert!(caam.contains("aes-xts-plain64 will run on xts-aes-aesni"), "{caam}");

    // The prediction matches what dm-crypt does.
    for (when, driver, other) in [
        ("HELD_before", "xts-aes-aesni", "keyway"),
        ("HELD_wrong", "xts-aes-keyway-wrong", "aesni"),
        ("HELD_caam", "xts-aes-aesni", "caam"),
    ] {
        let held = report.value(when);
        assert!(held.contains(driver) && !held.contains(other), "{when}: {held}");
    }

    report.has("none_EXIT", "0");
    let none = with(&report, "none ").join("\n");
    assert!(
        none.contains("Nothing was measured: this kernel has not loaded the module algif_skcipher"),
        "{none}"
    );
    assert!(
        none.contains("will run on xts-aes-aesni") && none.contains("Keyway, "),
        "the rest goes on\n{none}"
    );
    let blind = with(&report, "blind ").join("\n");
    assert!(
        blind.contains("not reported by the kernel: this kernel has not loaded the module crypto_user"),
        "{blind}"
    );
}

#[test]
fn images_and_roots_hold_what_a_volume_needs_or_not() {
    need_machine!();
    need!("cpio", "xz", "zstd", "lz4", "gzip");
    let scratch = Scratch::new();
    let volume = scratch.sized("volume", 20 << 20);
    let build = "-q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 -c serpent-xts-plain64 -s 512";
    keyway("luksFormat").args(build).arg(&volume).stdin("x\n").ok();
    let kernel = prepared("kernel");
    let xray = |place: &Path, option: &str| keyway("xray").arg(&volume).arg(option).arg(place);

    // Debian's own tree, and the machine's image beside it: the image has no lists of built-in
    // modules.
    xray(&kernel, "--root").ok().says("It has everything that this needs").says("serpent");
    let whole = prepared("initramfs.cpio.gz");
    xray(&whole, "--initramfs").ok().says("dm_crypt");
    xray(&whole, "--initramfs").arg("--root").arg(&kernel).ok().says("It has everything that this needs");

    // An image with packed modules and Debian's lists, in every compression format; then without
    // some of them.
    let root = scratch.path("root");
    let release =
        copy_modules(&kernel, &root, &["dm-mod", "dm-crypt", "xts", "ecb", "serpent_generic", "gf128mul"]);
    for packer in ["cat", "gzip -1", "xz --check=crc32 -0", "zstd -q -1", "lz4 -l -q", "xz --format=lzma -0"]
    {
        let image = pack(&scratch, &root, packer);
        let run = xray(&image, "--initramfs").ok().says("It has everything that this needs").says(&release);
        assert!(run.text().contains(": 6 modules"), "{packer}: {run:?}");
    }
    for gone in ["xts", "serpent_generic", "dm-mod"] {
        let module = find(&root, &format!("{gone}.ko.xz"));
        fs::remove_file(&module).expect("a module goes");
        let image = pack(&scratch, &root, "gzip -1");
        let name = gone.split('_').next().unwrap_or(gone).replace('-', "_");
        xray(&image, "--initramfs")
            .fails(1)
            .says(&format!("MISSING {name}"))
            .says("It cannot map this volume");
        copy_modules(&kernel, &root, &[gone]);
    }
    xray(&scratch.file("rubbish", b"neither"), "--initramfs")
        .fails(1)
        .says("at byte 0 there is no cpio archive, compressed or not");
}

/// Inspecting and measuring need no privileges; anything unreadable is reported.
#[test]
fn an_ordinary_user_sees_the_same() {
    need_machine!();
    let scratch = Scratch::new();
    let volume = scratch.sized("volume", 20 << 20);
    let build = "-q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 -c aes-xts-plain64 -s 512";
    keyway("luksFormat").args(build).arg(&volume).stdin("x\n").ok();
    let report = Machine::new().with_keyway().disk(&volume).run(
        "dmesg -n 1
         echo >/proc/sys/kernel/modprobe
         mkdir -p /etc && echo 'user:x:1000:1000::/tmp:/bin/sh' >/etc/passwd
         chmod 600 /dev/vda
         as_user() { su user -c \"keyway $2\" >/tmp/text 2>&1 && echo $1_EXIT=0 || echo $1_EXIT=$?; sed \"s/^/$1 /\" /tmp/text; }
         echo ID=$(su user -c 'id -u')
         as_user SPEC 'xray aes-xts-plain64'
         as_user DISK 'xray /dev/vda'
         keyway xray /dev/vda | sed 's/^/ROOT /'
         rmmod crypto_user
         as_user BLIND 'xray --no-measure'",
    );
    report.has("ID", "1000");
    report.has("SPEC_EXIT", "0");
    let spec = with(&report, "SPEC ").join("\n");
    for text in ["right (", "> xts-aes-aesni", "will run on xts-aes-aesni, at "] {
        assert!(spec.contains(text), "{text}\n{spec}");
    }
    // cryptsetup's message for a device that cannot be read.
    report.has("DISK_EXIT", "2");
    let disk = with(&report, "DISK ").join("\n");
    assert!(disk.contains("/dev/vda does not exist or access denied: this user may not read it"), "{disk}");
    assert!(with(&report, "ROOT ").join("\n").contains("the running system"), "{report:?}");
    report.has("BLIND_EXIT", "0");
    let blind = with(&report, "BLIND ").join("\n");
    assert!(blind.contains("this kernel has not loaded the module crypto_user"), "{blind}");
}

/// Some of Debian's modules as in its packages, with the lists; returns the kernel's release.
fn copy_modules(kernel: &Path, root: &Path, modules: &[&str]) -> String {
    let tree = kernel.join("lib/modules");
    let release = fs::read_dir(&tree).expect("prepared").flatten().next().expect("one kernel").file_name();
    let (from, to) = (tree.join(&release), root.join("usr/lib/modules").join(&release));
    fs::create_dir_all(to.join("kernel")).expect("a directory");
    for list in ["modules.alias", "modules.dep", "modules.builtin", "modules.builtin.modinfo"] {
        fs::copy(from.join(list), to.join(list)).expect("a list");
    }
    for module in modules {
        let copy = to.join("kernel").join(format!("{module}.ko"));
        fs::copy(find(&from, &format!("{module}.ko")), &copy).expect("a module");
        peer("xz", "-f --check=crc32 --lzma2=dict=1MiB").arg(&copy).ok();
    }
    release.to_string_lossy().into_owned()
}

fn find(directory: &Path, name: &str) -> PathBuf {
    let found = peer("find", "").arg(directory).arg("-name").arg(name).ok().text();
    PathBuf::from(found.lines().next().unwrap_or_else(|| panic!("no {name} below {}", directory.display())))
}

/// The tree as an image, after an archive with microcode, as in distributions' images.
fn pack(scratch: &Scratch, root: &Path, packer: &str) -> PathBuf {
    let image = scratch.path("image");
    let script = format!(
        "mkdir -p early/kernel/x86/microcode && echo code >early/kernel/x86/microcode/GenuineIntel.bin
         (cd early && find . | cpio --quiet -o -H newc) >'{0}'
         (cd '{1}' && find . | sort | cpio --quiet -o -H newc | {packer}) >>'{0}'",
        image.display(),
        root.display()
    );
    peer("sh", "-eu -c").arg(script).directory(scratch.root()).ok();
    image
}

/// The scenario's output after `prefix`.
pub(super) fn with<'a>(report: &'a Report, prefix: &str) -> Vec<&'a str> {
    report.lines().filter_map(|line| line.strip_prefix(prefix)).collect()
}
