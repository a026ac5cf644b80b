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

    let line = "console=ttyS0 console=tty0 panic=-1 cryptomgr.notests=1";
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
    let tree = scratch.path("unpacked");
    let _ = fs::remove_dir_all(&tree);
    fs::create_dir(&tree).unwrap();
    let archive = fs::read(image).unwrap();
    peer("cpio", "--quiet -i -d --no-absolute-filenames keyway/keymap").stdin(archive).directory(&tree).ok();
    fs::read(tree.join("keyway/keymap")).ok()
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
    }
    let console = configured(&scratch, "console", "etc/vconsole.conf", "FONT=x\nKEYMAP=\"own-map\"\n");
    fs::create_dir_all(console.join("usr/share/kbd/keymaps/i386")).unwrap();
    fs::copy(scratch.path("swapped.map"), console.join("usr/share/kbd/keymaps/i386/own-map.map")).unwrap();
    let text = "XKBMODEL=\"pc105\"\nXKBLAYOUT=\"de,us\"\nXKBVARIANT=\"dvorak,\"\nXKBOPTIONS=\"\"\n";
    let debian = configured(&scratch, "debian", "etc/default/keyboard", text);
    let american = configured(&scratch, "american", "etc/default/keyboard", "XKBLAYOUT=us\n");
    for (root, map) in [(&console, Some(&swapped)), (&debian, Some(&dvorak)), (&american, None)] {
        made("--modules").arg(root).ok();
        assert!(map_of(&scratch, &image).as_ref() == map, "{}", root.display());
        made("--keymap none --modules").arg(root).ok();
        assert_eq!(map_of(&scratch, &image), None, "{}", root.display());
    }

    // A machine's map that cannot be translated is not the end of its image; one that was named is.
    configured(&scratch, "lost", "etc/vconsole.conf", "KEYMAP=nowhere\n");
    made("--modules lost").ok().says(
        "WARNING: the image gets no map of the keyboard, though lost/etc/vconsole.conf names one: loadkeys: Unable to open \
         file: nowhere: No such file or directory. At the prompt keys type what those of a US keyboard type.",
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
