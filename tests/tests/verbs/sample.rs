//! `luksVersion`: 1 or 2, and what it refuses.

use crate::CHEAP;
use keyway_tests::{Scratch, keyway};

#[expect(dead_code, reason = "the example of docs/VERBS.md is only compiled")]
fn it_prints_the_version() {
    let scratch = Scratch::new();
    let (volume, key) = (scratch.sized("volume", 32 << 20), scratch.file("key", "secret"));
    for version in ["1", "2"] {
        let format = keyway("luksFormat -q").args(CHEAP).arg("--type").arg(format!("luks{version}"));
        format.arg(&volume).arg(&key).ok();
        assert_eq!(keyway("luksVersion").arg(&volume).ok().quiet().text(), format!("{version}\n"));
    }
    keyway("luksVersion").arg(&key).fails(1).says("LUKS");
    keyway("luksVersion").arg(scratch.path("none")).fails(4).says("none");
}

/// What docs/VERBS.md shows as a verb's tests stands above.
#[test]
fn the_page_shows_tests_that_compile() {
    let page = include_str!("../../../docs/VERBS.md");
    let blocks = page.split("```rust,ignore").skip(1).filter_map(|rest| rest.split("```").next());
    let shown = blocks.filter(|block| block.contains("#[test]")).collect::<String>();
    let lines = |text: &'static str| text.lines().map(str::trim).filter(|line| !line.is_empty());
    let here = lines(include_str!("sample.rs"));
    let here: Vec<&str> =
        here.map(|line| if line.starts_with("#[expect(") { "#[test]" } else { line }).collect();
    let shown: Vec<&str> = shown.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert!(shown.len() > 10 && here.starts_with(&shown), "{shown:#?}");
}
