//! Image sources: an image that can be read, or a reason with its line.
#![no_main]

use keyway_boot::fit::{Fit, Layout, image, tree_of};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|source: &str| {
    let mut include = |name: &str| match name {
        "missing" => Err("it is not there".to_owned()),
        name => Ok(name.as_bytes().to_vec()),
    };
    let Ok(tree) = tree_of(source, &mut include) else { return };
    assert!(tree.to_blob().is_some());
    let external = source.len().is_multiple_of(2).then_some(4);
    if let Ok(image) = image(tree, Layout { time: 1, external }) {
        let fit = Fit::read(&image).expect("made here");
        assert!(!fit.is_damaged());
    }
});
