//! The passphrase is typed on a German keyboard: its map is in the image, and loaded before the first prompt.

use crate::root::{self, PASSPHRASE};
use keyway_tests::peers::CHEAP_ARGON2;
use keyway_tests::vm::{is_prepared, prepared};
use keyway_tests::{Board, Scratch, keyway, need, need_that, peer};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Letters that a US keyboard has elsewhere, and two that it does not have.
const TYPED: &str = "zür§y";
/// The keys that type it on a German keyboard, as a US keyboard calls them.
const KEYS: &str = "y bracket_left r shift-3 z ret";

/// A PC whose console is its own screen and keyboard; the kernel's messages are on the serial line as well.
#[test]
fn a_german_keyboard_types_what_its_keys_show() {
    need!("busybox", "mke2fs", "qemu-system-x86_64", "loadkeys", "ckbcomp");
    need_that!(is_prepared(), "the virtual machine's kernel was not fetched (./dev test vm)");
    let scratch = Scratch::new();
    let ext4 = root::ext4(&scratch, Path::new("/bin/busybox"));
    let volume = root::encrypted(&scratch, &ext4, "volume", "");
    let typed = scratch.file("typed", TYPED);
    keyway("luksChangeKey -q --key-file")
        .arg(scratch.file("old", PASSPHRASE))
        .args(CHEAP_ARGON2)
        .arg(&volume)
        .arg(typed)
        .ok();
    let image = scratch.path("image");
    root::boot_initramfs(&image).args("--volume /dev/vda --keymap de --modules").arg(prepared("kernel")).ok();

    let line = "console=ttyS0 no_timer_check console=tty0 panic=-1 cryptomgr.notests=1";
    let board = Board::pc().args("-vga std").kernel(&prepared("vmlinuz")).initrd(&image).append(line);
    let mut console = board.disk(&volume).start();
    for (prompt, keys) in [(1, "caps_lock x ret"), (2, "x ret"), (3, "x ret"), (4, "caps_lock")] {
        console.expect_on_screen("Enter passphrase for /dev/vda:", prompt).presses(keys);
    }
    console.expect_on_screen("Caps Lock is on.\nThe next attempt is possible in 2 s.", 1).presses(KEYS);
    console.expect("EXT4-fs (dm-0): mounted filesystem");
    console.ends();
}

/// A root file system whose configuration names this keyboard.
fn configured(scratch: &Scratch, name: &str, file: &str, text: &str) -> PathBuf {
    let tree = scratch.path(name);
    fs::create_dir_all(tree.join("etc/default")).unwrap();
    symlink(fs::canonicalize(prepared("kernel/lib")).unwrap(), tree.join("lib")).unwrap();
    fs::write(tree.join(file), text).unwrap();
    tree
}

/// The map that an image has.
fn map_of(scratch: &Scratch, image: &Path) -> Option<Vec<u8>> {
    unpacked(scratch, image, "keyway/keymap")
}

/// A file in an image.
fn unpacked(scratch: &Scratch, image: &Path, name: &str) -> Option<Vec<u8>> {
    let tree = scratch.path("unpacked");
    let _ = fs::remove_dir_all(&tree);
    fs::create_dir(&tree).unwrap();
    let archive = fs::read(image).unwrap();
    let take = peer("cpio", "--quiet -i -d --no-absolute-filenames").arg(name);
    take.stdin(archive).directory(&tree).ok();
    fs::read(tree.join(name)).ok()
}

#[test]
fn the_map_is_the_machines_or_the_one_that_is_named() {
    need!("busybox", "cpio", "sh", "loadkeys", "ckbcomp");
    need_that!(is_prepared(), "the virtual machine's kernel was not fetched (./dev test vm)");
    let scratch = Scratch::new();
    let image = scratch.path("image");
    let made = |options: &str| {
        let make = keyway("boot initramfs --force --program /bin/busybox --volume UUID=1 -o")
            .arg(&image)
            .args(options);
        make.directory(scratch.root())
    };
    let translated = |line: &str| peer("sh", "-c").arg(line).ok().stdout;
    let german = translated("ckbcomp -compact -layout de | loadkeys --bkeymap --unicode -");
    let dvorak = translated(
        "ckbcomp -compact -model pc105 -layout de,us -variant dvorak, | loadkeys --bkeymap --unicode -",
    );
    scratch.file("german.bmap", &german);
    scratch.file("swapped.map", "keymaps 0-1\nkeycode 21 = z\nkeycode 44 = y\n");
    let swapped =
        translated(&format!("loadkeys --bkeymap --unicode {}", scratch.path("swapped.map").display()));

    let named = [("de", &german), ("german.bmap", &german), ("swapped.map", &swapped)];
    for (name, map) in named {
        made(&format!("--modules none --keymap {name}")).ok();
        assert!(map_of(&scratch, &image).as_ref() == Some(map), "{name}");
        // A file's map has no name that a command line could have.
        let called = unpacked(&scratch, &image, "keyway/keymap.name");
        assert_eq!(called.as_deref(), (name == "de").then_some(&b"de"[..]), "{name}");
    }
    let console = configured(&scratch, "console", "etc/vconsole.conf", "FONT=x\nKEYMAP=\"own-map\"\n");
    fs::create_dir_all(console.join("usr/share/kbd/keymaps/i386")).unwrap();
    fs::copy(scratch.path("swapped.map"), console.join("usr/share/kbd/keymaps/i386/own-map.map")).unwrap();
    let text = "XKBMODEL=\"pc105\"\nXKBLAYOUT=\"de,us\"\nXKBVARIANT=\"dvorak,\"\nXKBOPTIONS=\"\"\n";
    let debian = configured(&scratch, "debian", "etc/default/keyboard", text);
    let american = configured(&scratch, "american", "etc/default/keyboard", "XKBLAYOUT=us\n");
    for (root, map, name) in
        [(&console, Some(&swapped), Some("own-map")), (&debian, Some(&dvorak), None), (&american, None, None)]
    {
        made("--modules").arg(root).ok();
        assert!(map_of(&scratch, &image).as_ref() == map, "{}", root.display());
        let called = unpacked(&scratch, &image, "keyway/keymap.name");
        assert_eq!(called.as_deref(), name.map(str::as_bytes), "{}", root.display());
        made("--keymap none --modules").arg(root).ok();
        assert_eq!(map_of(&scratch, &image), None, "{}", root.display());
    }

    // A machine's map that cannot be translated is not the end of its image; one that was named is.
    configured(&scratch, "lost", "etc/vconsole.conf", "KEYMAP=nowhere\n");
    made("--modules lost").ok().says(
        "WARNING: the image gets no keymap, though lost/etc/vconsole.conf names one: loadkeys: Unable to open \
         file: nowhere: No such file or directory. The keyboard will have the US layout.",
    );
    assert_eq!(map_of(&scratch, &image), None);
    fs::remove_file(&image).unwrap();
    scratch.file("short.bmap", &german[..1000]);
    for (name, why) in [
        ("nowhere", "loadkeys: Unable to open file: nowhere: No such file or directory; ckbcomp: "),
        ("short.bmap", " bytes, and it has 1000; no image is made."),
        ("image/none", "Cannot read image/none"),
    ] {
        let code = if name.contains('/') { 4 } else { 1 };
        made(&format!("--modules none --keymap {name}")).fails(code).says(why);
        assert!(!image.exists(), "{name}");
    }
    // A name is never an option of theirs.
    made("--modules none --keymap=--version").fails(1).says("loadkeys: Unable to open file: --version: ");
    // Without the programs that translate.
    let empty = scratch.path("empty");
    fs::create_dir(&empty).unwrap();
    fs::set_permissions(&empty, Permissions::from_mode(0o755)).unwrap();
    made("--modules none --keymap de")
        .env("PATH", &empty)
        .fails(1)
        .says("--keymap de: loadkeys is not installed; ");
}

/// Names and contents.
type Files<'a> = &'a [(&'a str, &'a [u8])];

/// An archive of these files by the real cpio.
fn packed(scratch: &Scratch, files: Files<'_>) -> PathBuf {
    let tree = scratch.path("tree");
    let _ = fs::remove_dir_all(&tree);
    for (name, content) in [("init", &b"#!/bin/sh\n"[..])].iter().chain(files) {
        let path = tree.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let archive =
        peer("sh", "-c").arg("find . | LC_ALL=C sort | cpio --quiet -o -H newc").directory(&tree).ok();
    scratch.file("original", archive.stdout)
}

/// The machine says nothing of its keyboard: the map is the one that the image has for its own prompt.
#[test]
fn a_wrapped_image_brings_its_own_map() {
    need!("busybox", "cpio", "sh", "gzip", "loadkeys", "ckbcomp");
    need_that!(is_prepared(), "the virtual machine's kernel was not fetched (./dev test vm)");
    let scratch = Scratch::new();
    let image = scratch.path("image");
    let silent = configured(&scratch, "silent", "etc/vconsole.conf", "FONT=x\n");
    let american = [("etc/default/keyboard", "XKBLAYOUT=\"us\"\n"), ("etc/vconsole.conf", "KEYMAP=us\n")]
        .map(|(file, text)| configured(&scratch, &file.replace('/', "-"), file, text));
    let german = configured(&scratch, "german", "etc/default/keyboard", "XKBLAYOUT=de\n");
    let wrapped = |original: &Path, machine: &Path, options: &str| {
        let make = keyway("boot initramfs --force --program /bin/busybox -o").arg(&image).args(options);
        make.args("--modules").arg(machine).arg(original)
    };
    let translated = |line: &str| peer("sh", "-c").arg(line).directory(scratch.root()).ok().stdout;
    let text = translated("ckbcomp -compact -layout fr");
    let french = translated("ckbcomp -compact -layout fr | loadkeys --bkeymap --unicode -");
    let packed_text = translated("ckbcomp -compact -layout fr | gzip");
    scratch.file("swapped.map", "keymaps 0-1\nkeycode 21 = z\nkeycode 44 = y\n");
    let swapped = translated("loadkeys --bkeymap --unicode swapped.map");

    let script =
        b"#!/bin/sh\nkbd_mode '-u' \nloadkeys '/etc/console-setup/tmpkbd.UR5wf0' > '/dev/null' \nexit 0\n";
    let layout = gzipped(b"include \"letters\"\nkeycode 44 = y\n");
    let of_dracut: [(&str, &[u8]); 3] = [
        ("etc/vconsole.conf", b"KEYMAP=\"own-map\"\n"),
        ("usr/lib/kbd/keymaps/legacy/i386/qwertz/own-map.map.gz", &layout),
        ("usr/lib/kbd/keymaps/legacy/i386/include/letters.inc", b"keymaps 0-1\nkeycode 21 = z\n"),
    ];
    let of_debian: [(&str, &[u8]); 2] =
        [("usr/bin/setupcon", script), ("etc/console-setup/tmpkbd.UR5wf0", &text)];
    let cases: [(&str, Files<'_>, &Vec<u8>); 5] = [
        ("usr/bin/setupcon", &of_debian, &french),
        ("etc/boottime.kmap.gz", &[("etc/boottime.kmap.gz", &packed_text)], &french),
        ("keymap.bin", &[("keymap.bin", &french)], &french),
        ("etc/keymap/fr.bmap.gz", &[("etc/keymap/fr.bmap.gz", &gzipped(&french))], &french),
        ("etc/vconsole.conf", &of_dracut, &swapped),
    ];
    for (file, files, map) in cases {
        let original = packed(&scratch, files);
        wrapped(&original, &silent, "")
            .ok()
            .says(&format!("The image gets the keymap of its own prompt: {file} in {}.", original.display()));
        assert!(map_added(&scratch, &original, &image).as_ref() == Some(map), "{file}");
        // The machine's own goes before it, a US keyboard too, and none is none.
        wrapped(&original, &german, "").ok().says("german/etc/default/keyboard names.");
        assert!(map_added(&scratch, &original, &image).as_ref() != Some(map), "{file}");
        for (machine, options) in
            [(&silent, "--keymap none"), (&german, "--keymap us"), (&american[0], ""), (&american[1], "")]
        {
            assert!(!wrapped(&original, machine, options).ok().to_string().contains(" keymap"));
            assert_eq!(map_added(&scratch, &original, &image), None, "{file} {options}");
        }
    }
    // Without a program that translates: a binary map needs none, for the machine's the image's is taken.
    let empty = scratch.path("empty");
    fs::create_dir(&empty).unwrap();
    let original = packed(&scratch, &[("keymap.bin", &french)]);
    wrapped(&original, &german, "").env("PATH", &empty).ok().says("own prompt: keymap.bin in ");
    assert!(map_added(&scratch, &original, &image).as_ref() == Some(&french));
    let original = packed(&scratch, &of_debian);
    wrapped(&original, &silent, "").env("PATH", &empty).ok().says(&format!(
        "WARNING: the image gets no keymap, though usr/bin/setupcon in {} names one: loadkeys is not installed.",
        original.display()
    ));
    let original = packed(&scratch, &of_dracut[..2]);
    wrapped(&original, &silent, "")
        .ok()
        .says("names one: the map includes letters, which is not in the image.");
    assert_eq!(map_added(&scratch, &original, &image), None);
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    peer("gzip", "-c").stdin(bytes).ok().stdout
}

/// The map in what was added to an image.
fn map_added(scratch: &Scratch, original: &Path, image: &Path) -> Option<Vec<u8>> {
    let (before, after) = (fs::read(original).unwrap(), fs::read(image).unwrap());
    let added = &after[before.len()..];
    let start = added.iter().position(|byte| *byte != 0).unwrap();
    map_of(scratch, &scratch.file("added", &added[start..]))
}

/// What `boot check` says of a passphrase: with Keyway's map in the image, with the image's own, without one.
#[test]
fn a_passphrase_that_cannot_be_typed_is_told() {
    need!("busybox", "cpio", "sh", "gzip", "loadkeys", "ckbcomp");
    let scratch = Scratch::new();
    let (volume, image) = (scratch.sized("volume", 32 << 20), scratch.path("image"));
    keyway("luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000").arg(&volume).stdin(TYPED).ok();
    let add = |passphrase: &str| {
        let add = keyway("luksAddKey -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --key-file");
        add.arg(scratch.file("old", TYPED)).arg(&volume).arg(scratch.file("new", passphrase)).ok();
    };
    // A German keyboard has dead keys, and ł.
    let (polish, swedish, ascii) = ("zażółć", "ångström", "lazy");
    add(polish);
    add(swedish);
    add(ascii);
    let check = |image: &Path, passphrase: &str, options: &str| {
        let check = keyway("boot check --loader initramfs --key-file - --image").arg(image);
        check.arg(&volume).args(options).stdin(passphrase)
    };
    let made = |options: &str| {
        keyway("boot initramfs --force --modules none --volume UUID=1 -o").arg(&image).args(options).ok();
    };
    made("--keymap de");
    check(&image, TYPED, "").ok();
    check(&image, ascii, "--keyboard de").ok();
    check(&image, polish, "").fails(1).says(
        "  X The passphrase: the keymap in the image (keyway/keymap) has no key for 2 of its characters.\n  \
         It does not open with this passphrase, typed there.\n",
    );
    // It has a dead ring, too, of which the kernel makes nothing.
    check(&image, swedish, "").fails(1).says("(keyway/keymap) has no key for 1 of its characters.");
    check(&image, polish, "--as-key-file").ok();
    check(&image, "wrong", "").fails(1).says("  The passphrase opens no keyslot.\n");
    made("--keymap none");
    check(&image, ascii, "").ok();
    check(&image, ascii, "--keyboard de").fails(1).says(
        "The passphrase: 2 of its characters are on other keys of a US keyboard, and the image has no other \
         keymap (de).",
    );
    check(&image, TYPED, "").fails(1).says(
        "The passphrase: a US keyboard has no key for 2 of its characters, and the image has no other keymap.",
    );
    // The image's own map is loaded after Keyway asked; without Keyway it counts.
    let german =
        peer("sh", "-c").arg("ckbcomp -compact -layout de | loadkeys --bkeymap --unicode -").ok().stdout;
    let original = packed(&scratch, &[("keymap.bin", &german), ("sbin/cryptsetup", b"")]);
    check(&original, TYPED, "").ok();
    check(&original, polish, "--json")
        .fails(1)
        .says("\"keymap\":\"keymap.bin\"")
        .says("has no key for 2 of its characters");
    keyway("boot initramfs --force --keymap none -o").arg(&image).arg(&original).ok();
    check(&image, TYPED, "").fails(1).says("a US keyboard has no key for 2 of its characters");
    // Nothing that is no map decides.
    let broken = packed(&scratch, &[("keymap.bin", &german[..900]), ("sbin/cryptsetup", b"")]);
    check(&broken, TYPED, "").ok().says("! The keymap (keymap.bin) cannot be judged: a keyboard map of ");
}
