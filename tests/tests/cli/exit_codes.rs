//! Exit codes: one table in help, man pages and docs, and what provokes each of its rows.

use keyway_tests::peers::CHEAP_PBKDF2;
use keyway_tests::{Scratch, keyway};
use std::fs;

/// The codes and meanings that the program lists.
fn listed() -> Vec<(i32, String)> {
    let text = keyway("help exit-codes").ok().quiet().text();
    let rows = text.lines().filter_map(|line| line.strip_prefix("  ")?.split_once("  "));
    rows.map(|(code, meaning)| (code.parse().expect("a code"), meaning.to_owned())).collect()
}

#[test]
fn help_man_pages_and_docs_have_one_table() {
    let listed = listed();
    assert_eq!(listed.iter().map(|(code, _)| *code).collect::<Vec<_>>(), (0..=6).collect::<Vec<_>>());
    let docs = include_str!("../../../docs/FEATURES.md");
    let section = docs.split("\n## ").find_map(|part| part.strip_prefix("Exit codes\n")).expect("a section");
    let rows =
        section.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "));
    let documented: Vec<(i32, String)> =
        rows.filter_map(|(code, meaning)| Some((code.parse().ok()?, meaning.to_owned()))).collect();
    assert_eq!(documented, listed);
    let scratch = Scratch::new();
    keyway("man --output").arg(scratch.root()).ok();
    for page in ["keyway.8", "keyway-open.8", "keyway-build.8"] {
        let text = fs::read_to_string(scratch.path(page)).unwrap();
        let section = text.split("\n.SH ").find_map(|part| part.strip_prefix("EXIT STATUS\n"));
        let items = section.expect("a section").split(".TP\n.B ").skip(1);
        let items: Vec<(i32, String)> = items
            .map(|item| {
                let (code, meaning) = item.split_once('\n').expect("a code and its meaning");
                let meaning = meaning.lines().next().unwrap_or_default().replace("\\-", "-");
                (code.parse().expect("a code"), meaning)
            })
            .collect();
        assert_eq!(items, listed, "{page}");
    }
    assert!(keyway("--help").ok().text().contains("keyway help exit-codes"));
}

/// Each code, by a command line that it is the answer to.
#[test]
fn each_code_is_returned() {
    let scratch = Scratch::new();
    let run = |line: &str| keyway(line).directory(scratch.root()).stdin("secret");
    for volume in ["volume", "luks1"] {
        scratch.sized(volume, 20 << 20);
    }
    scratch.file("wrong", "wrong");
    run("luksFormat -q volume --pbkdf argon2id --pbkdf-memory 65536 --pbkdf-parallel 1")
        .args("--pbkdf-force-iterations 4")
        .ok();
    run("luksFormat -q --type luks1 luks1").args(CHEAP_PBKDF2).ok();
    let held = fs::File::open(scratch.path("volume")).unwrap();
    let mut provoked = Vec::new();
    for (code, line) in [
        (0, "isLuks volume"),
        (0, "open --test-passphrase luks1"),
        (1, "isLuks wrong"),
        (1, "luksDump wrong"),
        (1, "boot fit --list wrong"),
        (1, "boot initramfs --list wrong"),
        (1, "bench diff wrong wrong"),
        (1, "xray --proc-crypto wrong"),
        (4, "boot fit --list absent"),
        (4, "xray --initramfs absent"),
        (1, "luksDump --no-such-option volume"),
        (2, "open --test-passphrase luks1 -d wrong"),
        (3, "open --test-passphrase --memory-budget 1M volume"),
        (4, "luksDump absent"),
        (4, "status nothing-is-open-under-this-name"),
        (5, "config --label x volume"),
        (6, "open --test-passphrase --require sealed luks1"),
    ] {
        if code == 5 {
            held.lock().unwrap();
        }
        run(line).fails(code);
        held.unlock().unwrap();
        provoked.push(code);
    }
    provoked.sort_unstable();
    provoked.dedup();
    assert_eq!(provoked, listed().into_iter().map(|(code, _)| code).collect::<Vec<_>>());
}
