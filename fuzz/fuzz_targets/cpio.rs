//! Archives written from whatever the fuzzer thinks of: read again they are the same,
//! appended to whatever else they are found behind it.
#![no_main]

use arbitrary::Arbitrary;
use keyway_boot::initramfs::cpio::Archive;
use keyway_boot::initramfs::writer::{Node, Tree};
use keyway_boot::initramfs::{Listing, Original, append};
use libfuzzer_sys::fuzz_target;
use std::io::Read;

#[derive(Debug, Arbitrary)]
struct Input {
    files: Vec<(String, u32, Vec<u8>)>,
    original: Vec<u8>,
}

fuzz_target!(|input: Input| {
    let (mut tree, mut all_plain) = (Tree::default(), true);
    for (name, mode, content) in input.files {
        let is_name =
            !name.contains('\0') && !name.trim_matches('/').is_empty() && !name.contains("TRAILER!!!");
        if is_name && !name.starts_with("./") && name.len() < 4000 {
            tree.add(&name, Node::file(mode, content));
            all_plain &= is_plain(name.trim_start_matches("./").trim_matches('/'));
        }
    }
    let archive = tree.archive().expect("small");
    let mut again = Tree::default();
    let mut reader = Archive::new(&archive[..]);
    while let Some(entry) = reader.next_entry().expect("written here") {
        let mut content = Vec::new();
        reader.read_to_end(&mut content).expect("written here");
        again.add(&entry.name, Node { mode: entry.mode, content, device: entry.special });
    }
    assert!(again.archive().expect("small") == archive || !all_plain);
    let _ = (Original::of(&input.original), Listing::of(&input.original, true));
    if let Ok(appended) = append(input.original.clone(), &archive) {
        assert_eq!(&appended.image[appended.at..], archive);
    }
});

/// A name in a tree that the reader leaves as it is.
fn is_plain(name: &str) -> bool {
    !name.starts_with("./") && !name.contains("//")
}
