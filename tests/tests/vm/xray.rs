//! `keyway xray` on Debian's kernel: all its drivers checked, drivers that are wrong on purpose caught (a module of ours,
//! tests/vm/keyway_wrong.c), what dm-crypt takes compared with what was said, images with and without what a volume needs, one of them
//! mkinitramfs's; and the kernel's ciphers beside Keyway's in `keyway bench` and `keyway benchmark`.

use crate::need_machine;
use keyway_tests::vm::{Machine, Report, prepared, wrong_drivers};
use keyway_tests::{Scratch, keyway, need, need_that, peers::peer};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

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

/// What the kernel has and Keyway does not, so that nothing can be compared.
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
    let report = Machine::new().with_keyway().limit(Duration::from_secs(580)).run(&format!(
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
        "This kernel tests no driver before it uses it (cryptomgr.notests)",
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
        "× slower; dm-crypt passes over it (ALLOCATES_MEMORY since Linux 5.10), others do not: blacklist keyway_wrong",
    ] {
        assert!(line.contains(text), "{text}\n{caam}");
    }
    assert!(caam.contains("aes-xts-plain64 will run on xts-aes-aesni"), "{caam}");

    // What was said is what dm-crypt does.
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
        blind.contains("not told by the kernel: this kernel has not loaded the module crypto_user"),
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

    // Debian's own tree, and the machine's image beside it: the image has no lists of what is built in.
    xray(&kernel, "--root").ok().says("It has all that this needs").says("serpent");
    let whole = prepared("initramfs.cpio.gz");
    xray(&whole, "--initramfs").ok().says("dm_crypt");
    xray(&whole, "--initramfs").arg("--root").arg(&kernel).ok().says("It has all that this needs");

    // An image with packed modules and Debian's lists, packed in every way; then without some of them.
    let root = scratch.path("root");
    let release =
        copy_modules(&kernel, &root, &["dm-mod", "dm-crypt", "xts", "ecb", "serpent_generic", "gf128mul"]);
    for packer in ["cat", "gzip -1", "xz --check=crc32 -0", "zstd -q -1", "lz4 -l -q", "xz --format=lzma -0"]
    {
        let image = pack(&scratch, &root, packer);
        let run = xray(&image, "--initramfs").ok().says("It has all that this needs").says(&release);
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
        .fails(4)
        .says("at byte 0 there is neither a cpio archive nor a packed one");
}

/// A row is there for each of Keyway's, its output checked like these; a wrong driver has no figure; and without a module the rest goes on.
#[test]
fn the_kernels_ciphers_beside_keyways() {
    need_machine!();
    need_that!(wrong_drivers().is_some(), "the module with wrong drivers could not be built");
    let module = wrong_drivers().expect("just seen");
    let report = Machine::new().with_keyway().file("keyway_wrong.ko", module).limit(Duration::from_secs(580)).run(
        "dmesg -n 1
         echo >/proc/sys/kernel/modprobe
         bench() { keyway bench --compare kernel --time 2 $2 --json >/tmp/json && echo $1_EXIT=0 || echo $1_EXIT=$?; }
         rows() { grep \"\\\"id\\\":\\\"cipher/$1/\" /tmp/json | grep -c \"$2\" || true; }
         bench XTS '-c aes-xts-plain64 -s 512'
         echo XTS_OWN=$(rows keyway '\"result\":\"measured\"')
         echo XTS_KERNEL=$(rows kernel '\"result\":\"measured\".*\"code\":\"xts-aes-aesni\"')
         bench ESSIV '-c aes-cbc-essiv:sha256 -s 256 --sector-size 512 --threads 1'
         echo ESSIV_KERNEL=$(rows kernel '\"spec\":\"aes-cbc-essiv:sha256\".*\"result\":\"measured\"')
         bench WIDE '-c xchacha12,aes-adiantum-plain64 -s 256 --sector-size 4096 --threads 1'
         echo WIDE_KERNEL=$(rows kernel 'adiantum-plain64.*\"result\":\"measured\"')
         bench LMK '-c aes:64-cbc-lmk -s 8192 --sector-size 512 --threads 1'
         echo LMK=$(grep -o 'cbc(aes) is a part of it only; dm-crypt does the rest' /tmp/json | sort -u)
         keyway benchmark -c aes-xts-plain64 -s 512 | sed 's/^/COLUMNS /'
         keyway benchmark -c aes:64-cbc-lmk -s 8192 | sed 's/^/ABSENT /'
         keyway benchmark -c serpent-xts-plain64 -s 512 --json | sed 's/^/JSON /'
         insmod /keyway_wrong.ko
         keyway bench --compare kernel --time 1 -c aes-cbc-plain64 -s 256 --sector-size 512 --threads 1 --direction encrypt | sed 's/^/WRONG /'
         rmmod keyway_wrong
         rmmod algif_skcipher
         keyway bench --compare kernel --time 1 -c aes-xts-plain64 -s 512 --sector-size 512 --threads 1 | sed 's/^/NONE /'
         keyway benchmark -c aes-xts-plain64 -s 512 | sed 's/^/NONE /'",
    );
    for suite in ["XTS", "ESSIV", "WIDE", "LMK"] {
        report.has(&format!("{suite}_EXIT"), "0");
    }
    // Two sector sizes, a sector and a run, both ways, on one core and two.
    report.has("XTS_OWN", "16");
    report.has("XTS_KERNEL", "16");
    report.has("ESSIV_KERNEL", "4");
    report.has("WIDE_KERNEL", "4");
    report.has("LMK", "cbc(aes) is a part of it only; dm-crypt does the rest");

    let columns = with(&report, "COLUMNS ");
    assert_eq!(
        columns[2],
        "# Algorithm |       Key |      Encryption |      Decryption |  Kernel encrypt |  Kernel decrypt"
    );
    assert_eq!((columns.len(), columns[3].matches(" MiB/s").count()), (4, 4), "{columns:?}");
    assert_eq!(columns[2].len(), columns[3].len(), "{columns:?}");
    let absent = with(&report, "ABSENT ");
    assert!(
        absent[3].contains(" MiB/s ") && absent[3].ends_with("               N/A               N/A"),
        "{absent:?}"
    );
    let json = with(&report, "JSON ").join("");
    assert!(json.contains("kernel_encrypt_bytes_per_second") && !json.contains("unavailable"), "{json}");

    let wrong = with(&report, "WRONG ").join("\n");
    assert!(
        wrong.contains("WRONG OUTPUT: cipher/kernel/aes-cbc-plain64/key256/sector512/message512/encrypt/"),
        "{wrong}"
    );
    assert!(wrong.contains("byte 17 is ") && wrong.contains("; blacklist keyway_wrong"), "{wrong}");
    assert!(!wrong.contains("aes-cbc-plain64 (kernel)"), "wrong work has no figure\n{wrong}");
    let none = with(&report, "NONE ").join("\n");
    for text in [
        "aes-xts-plain64 512 by kernel:",
        "this kernel has not loaded the module algif_skcipher, and could not load it when asked",
        "# Algorithm |       Key |      Encryption |      Decryption\n",
    ] {
        assert!(none.contains(text), "{text}\n{none}");
    }
    assert!(none.contains("* aes-xts-plain64  "), "the rest goes on\n{none}");
}

/// No rights are needed to look and to measure; what cannot be read is said.
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
    // cryptsetup's code and words for a device that cannot be read.
    report.has("DISK_EXIT", "4");
    let disk = with(&report, "DISK ").join("\n");
    assert!(disk.contains("/dev/vda does not exist or access denied: this user may not read it"), "{disk}");
    assert!(with(&report, "ROOT ").join("\n").contains("the running system"), "{report:?}");
    report.has("BLIND_EXIT", "0");
    let blind = with(&report, "BLIND ").join("\n");
    assert!(blind.contains("this kernel has not loaded the module crypto_user"), "{blind}");
}

/// Debian's own program makes the images: as it is set up when it is installed, and with modules that were asked for.
#[test]
fn an_image_of_mkinitramfs() {
    need_machine!();
    need!("mkinitramfs", "unshare", "zstd");
    let scratch = Scratch::new();
    let volume = scratch.sized("volume", 20 << 20);
    let build = "-q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 -c serpent-xts-plain64 -s 512";
    keyway("luksFormat").args(build).arg(&volume).stdin("x\n").ok();
    let xray = |image: &Path| keyway("xray").arg(&volume).arg("--initramfs").arg(image);

    let Some(whole) = mkinitramfs(&scratch, "whole", "dm-crypt\nxts\nserpent_generic\n") else {
        keyway_tests::skip::record(
            keyway_tests::test_name!(),
            "no user may mount a private /lib/modules here",
        );
        return;
    };
    // The release is in the image's own words.
    let release = modules_of(&whole, "modules.builtin").first().cloned().unwrap_or_default();
    let release = release.split('/').rev().nth(1).expect("lib/modules/RELEASE/modules.builtin").to_owned();
    xray(&whole).ok().says("It has all that this needs").says(&release).says("dm_crypt");
    let usual = mkinitramfs(&scratch, "usual", "").expect("it could before");
    let run = xray(&usual).fails(1).says("It cannot map this volume");
    // What xray misses is what is not there, by Debian's own listing.
    for (module, need) in [("dm-crypt", "dm_crypt"), ("dm-mod", "dm_mod"), ("serpent_generic", "serpent")] {
        let there = !modules_of(&usual, &format!("/{module}.ko")).is_empty();
        assert_eq!(run.text().contains(&format!("MISSING {need}")), !there, "{module}: {run:?}");
        assert!(!modules_of(&whole, &format!("/{module}.ko")).is_empty(), "{module}");
    }
}

/// An image of Debian's kernel, with these modules beside those that it takes by itself. mkinitramfs looks for the kernel where systems
/// have theirs: it runs as the root of a namespace of its own, where an overlay puts it there. `None` where nobody may do that.
fn mkinitramfs(scratch: &Scratch, name: &str, modules: &str) -> Option<PathBuf> {
    let (image, work) = (scratch.path(name), scratch.path(&format!("{name}.work")));
    for directory in ["upper", "inner", "config/conf.d", "config/hooks", "config/scripts"] {
        fs::create_dir_all(work.join(directory)).expect("a directory");
    }
    fs::write(work.join("config/modules"), modules).expect("a file");
    let mount = "lib=$(readlink -f /lib)
        mount -t overlay keyway -o lowerdir=$lib,upperdir=$1/upper,workdir=$1/inner $lib
        mkdir -p $lib/modules
        mount --bind $2/lib/modules $lib/modules
        mount --bind $2/boot /boot";
    let make = "cp /etc/initramfs-tools/initramfs.conf $1/config/
        mkinitramfs -d $1/config -o $3 $(ls $2/lib/modules)";
    let run = |script: &str| {
        let unshare = peer("unshare", "--map-root-user --mount sh -euc").arg(script).arg("sh");
        unshare.arg(&work).arg(prepared("kernel")).arg(&image)
    };
    if run(mount).outcome().code != Some(0) {
        return None;
    }
    // The overlay's files are another's when it is mounted again.
    for directory in ["upper", "inner"] {
        peer("rm", "-rf").arg(work.join(directory)).ok();
        fs::create_dir(work.join(directory)).expect("a directory");
    }
    run(&format!("{mount}\n{make}")).limit(Duration::from_secs(300)).ok();
    Some(image)
}

/// Files in an image whose path holds `part`, as Debian's lsinitramfs lists them.
fn modules_of(image: &Path, part: &str) -> Vec<String> {
    let listed = peer("lsinitramfs", "").arg(image).ok().text();
    listed.lines().filter(|line| line.contains(part)).map(str::to_owned).collect()
}

/// Some of Debian's modules as its packages have them, with the lists; the kernel's release.
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

/// The tree as an image, behind an archive with microcode as distributions have it.
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

fn with<'a>(report: &'a Report, prefix: &str) -> Vec<&'a str> {
    report.lines().filter_map(|line| line.strip_prefix(prefix)).collect()
}
