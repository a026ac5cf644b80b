//! Maps of keyboards: a binary one gives as many values as its tables have; whatever an image holds, looking for its map
//! ends with one that can be used, or a reason.
#![no_main]

use keyway_boot::initramfs::writer::{Node, Tree};
use keyway_boot::keymap::{Keymap, Map, of_image};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(keymap) = Keymap::parse(bytes) {
        assert_eq!(keymap.values().count() % 128, 0);
        let _ = (keymap.types('z'), keymap.untyped(bytes));
    }
    let _ = of_image(bytes).map(check);
    // The same bytes as the files of an image: name, content, name, content, apart by zeros.
    let mut parts = bytes.split(|byte| *byte == 0);
    let mut tree = Tree::default();
    while let (Some(name), Some(content)) = (parts.next(), parts.next()) {
        let name = String::from_utf8_lossy(name);
        let name =
            name.split('/').filter(|part| !matches!(*part, "" | "." | "..")).collect::<Vec<_>>().join("/");
        if !name.is_empty() {
            tree.add(&name, Node::file(0o644, content));
        }
    }
    if let Some(archive) = tree.archive() {
        let _ = of_image(&archive).map(check);
    }
});

fn check(found: Option<keyway_boot::keymap::Found>) {
    match found.map(|found| found.map) {
        Some(Ok(Map::Binary(bytes))) => drop(Keymap::parse(&bytes).expect("a map")),
        Some(Ok(Map::Text(text))) => {
            let includes = |line: &str| line.trim_start().starts_with("include \"");
            assert!(!text.lines().any(includes));
        }
        Some(Err(why)) => assert!(!why.to_string().is_empty()),
        None => {}
    }
}
