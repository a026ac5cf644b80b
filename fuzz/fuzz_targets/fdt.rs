//! Device trees and FIT images: what is read is written again as the
//! same tree, and that to the same bytes.
#![no_main]

use keyway_boot::fdt::Tree;
use keyway_boot::fit::Fit;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|blob: &[u8]| {
    let _ = Fit::read(blob);
    if let Ok(tree) = Tree::parse(blob) {
        let written = tree.to_blob().expect("it was short enough");
        assert_eq!(Tree::parse(&written).as_ref(), Ok(&tree));
        assert_eq!(tree.to_blob().expect("as before"), written);
    }
});
