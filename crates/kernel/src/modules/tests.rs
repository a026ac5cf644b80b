//! Lists and modules in the format of Debian's 6.1.

use super::*;
use flate2::write::GzEncoder;
use keyway_boot::initramfs::writer::{Node, Tree};
use std::io::Write;
use std::path::Path;

fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tree = Tree::default();
    files.iter().for_each(|(name, content)| tree.add(name, Node::file(0o644, *content)));
    tree.archive().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn listed(lists: &[(&str, &str)], files: &[&str]) -> Inventory {
    let mut inventory = Inventory::default();
    for (name, content) in lists {
        inventory.add_list(name, content.as_bytes());
    }
    inventory.files = files.iter().map(|name| (normal(name), format!("{name}.ko"))).collect();
    inventory
}

#[test]
fn lists_of_a_kernel() {
    let inventory = listed(
        &[
            (
                "modules.alias",
                "# made by depmod\nalias crypto-xts xts\nalias crypto-aes aesni_intel\nalias fs-ext4 ext4\n",
            ),
            (
                "modules.dep",
                "kernel/drivers/md/dm-crypt.ko.xz: kernel/drivers/md/dm-mod.ko.xz\nkernel/a.ko: kernel/lost.ko\n",
            ),
            ("modules.builtin", "kernel/crypto/cbc.ko\n"),
            ("modules.builtin.modinfo", "aes_generic.alias=crypto-aes\0cbc.alias=crypto-cbc\0"),
        ],
        &["xts", "dm-crypt", "dm-mod", "a"],
    );
    assert_eq!(inventory.module("dm-crypt"), Found::Module("dm_crypt".into()));
    assert_eq!(inventory.module("cbc"), Found::BuiltIn("cbc".into()));
    assert_eq!(inventory.module("loop"), Found::Missing);
    assert_eq!(inventory.module("a"), Found::Incomplete { module: "a".into(), without: "lost".into() });
    assert_eq!(inventory.algorithm("xts"), Found::Module("xts".into()));
    assert_eq!(inventory.algorithm("aes"), Found::BuiltIn("aes_generic".into()));
    assert_eq!(inventory.algorithm("essiv"), Found::Missing);
    assert!(inventory.implementations("aes").is_empty(), "named, but its file is not there");
}

#[test]
fn without_lists_the_modules_speak_for_themselves() {
    let object = b"\x7fELF\0\0alias=crypto-xts\0alias=xts\0depends=ecb,gf128mul\0vermagic=6.1.0-48 SMP\0";
    let image = archive(&[
        ("lib/xts.ko.gz", &gzip(object)),
        ("lib/ecb.ko", b"alias=crypto-ecb"),
        ("init", b"xts.ko"),
    ]);
    let inventory = Inventory::of_image(&gzip(&image)).unwrap();
    assert_eq!((inventory.len(), &inventory.release[..]), (2, "6.1.0-48"));
    assert_eq!(inventory.algorithm("xts"), Found::Module("xts".into()));
    assert_eq!(inventory.algorithm("aes"), Found::Unknown, "it may be built in");
    let mut told = inventory.clone();
    told.learn_built_in(&listed(&[("modules.builtin.modinfo", "aes_generic.alias=crypto-aes\0")], &[]));
    assert_eq!(told.algorithm("aes"), Found::BuiltIn("aes_generic".into()));
    assert_eq!(told.algorithm("xts"), Found::Incomplete { module: "xts".into(), without: "gf128mul".into() });
}

#[test]
fn an_image_without_modules() {
    assert!(matches!(Inventory::of_image(&archive(&[("init", b"#!")])), Err(Error::NoModules)));
    assert!(matches!(Inventory::of_image(b"nothing"), Err(Error::Image(_))));
    assert!(matches!(Inventory::of_root(Path::new("/nonexistent")), Err(Error::NoModules)));
}

#[test]
fn a_root_with_two_kernels() {
    let root = std::env::temp_dir().join(format!("keyway-inventory-{}", std::process::id()));
    for (release, module) in [("6.9.1", "xts.ko.xz"), ("6.12.3", "essiv.ko")] {
        let directory = root.join("usr/lib/modules").join(release);
        std::fs::create_dir_all(directory.join("kernel")).unwrap();
        std::fs::write(directory.join("kernel").join(module), "alias=crypto-essiv\0").unwrap();
        std::fs::write(directory.join("modules.builtin"), "").unwrap();
    }
    let found = Inventory::of_root(&root);
    std::fs::remove_dir_all(&root).unwrap();
    let found = found.unwrap();
    assert_eq!((&found[0].release[..], &found[1].release[..]), ("6.12.3", "6.9.1"));
    assert_eq!(found[0].algorithm("essiv"), Found::Module("essiv".into()));
    assert_eq!(found[1].algorithm("xts"), Found::Module("xts".into()), "by its file's name");
}

#[test]
fn lists_and_modules_have_ceilings() {
    let aliases: String = (0..300_000).map(|number| format!("alias crypto-{number} m{number}\n")).collect();
    let built_in: String = (0..300_000).map(|number| format!("k/b{number}.ko\n")).collect();
    let depends: String = (0..300_000).map(|number| format!("k/d{number}.ko: k/e{number}.ko\n")).collect();
    let long = format!("alias crypto-{} x\nalias crypto-xts xts\n", "n".repeat(257));
    let inventory = listed(&[("modules.alias", &long), ("modules.alias", &aliases)], &["xts"]);
    assert_eq!(inventory.algorithm("xts"), Found::Module("xts".into()));
    assert_eq!(inventory.crypto.len(), MOST_FACTS);
    assert_eq!(listed(&[("modules.builtin", &built_in)], &[]).built_in.len(), MOST_FACTS);
    let depending = listed(&[("modules.dep", &depends)], &[]).depends;
    assert_eq!(depending.values().map(|before| 1 + before.len()).sum::<usize>(), MOST_FACTS);
    // A module that unpacks to gigabytes is present, and is read up to the limit for a module.
    let mut packed = Vec::new();
    let mut encoder = GzEncoder::new(&mut packed, flate2::Compression::fast());
    encoder.write_all(b"alias=crypto-xts\0depends=ecb\0").unwrap();
    (0..80).for_each(|_| encoder.write_all(&[0; 1 << 20]).unwrap());
    encoder.write_all(b"\0alias=crypto-late\0").unwrap();
    encoder.finish().unwrap();
    let (mut inventory, mut left) = (Inventory::default(), 100 << 20);
    inventory.add_object("xts", &packed, &mut left).unwrap();
    assert_eq!(left, (100 << 20) - object::LARGEST);
    assert!(inventory.crypto.contains_key("xts") && !inventory.crypto.contains_key("late"));
    inventory.add_object("other", &packed, &mut left).unwrap();
    assert_eq!(left, 0, "all modules together unpack to so much");
}
