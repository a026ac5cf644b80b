//! PE images: sections can be added or not; where they can, the image is one, and holds them.
#![no_main]

use keyway_boot::pe::{Image, NewSection, append, uname};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    let _ = uname(file);
    if Image::parse(file).is_err() {
        return;
    }
    if let Ok(made) = append(file, &[NewSection { name: ".added", content: b"content" }]) {
        let image = Image::parse(&made).expect("made here");
        assert_eq!(image.content(&made, ".added"), Some(&b"content"[..]));
        assert!(append(&made, &[NewSection { name: ".added", content: b"" }]).is_err());
    }
});
