//! README's first screen: its commands, typed in a checkout, print what it shows.

use keyway_tests::{Scratch, need, peer};
use std::fs;
use std::os::unix::fs::symlink;

#[test]
fn the_first_commands_of_the_readme_print_what_it_shows() {
    need!("sh");
    let readme = include_str!("../../../README.md");
    let shown = readme.split("## Try it").nth(1).unwrap().split("```").nth(1).unwrap();
    let scratch = Scratch::new();
    fs::write(scratch.path("README.md"), readme).unwrap();
    fs::create_dir(scratch.path("target")).unwrap();
    let program = fs::canonicalize(keyway_tests::peers::program()).unwrap();
    symlink(program, scratch.path("target/keyway")).unwrap();
    let mut commands = 0;
    for part in shown.split("$ ").skip(1) {
        let (command, output) = part.split_once('\n').unwrap();
        let run = peer("sh", "-c").arg(command).directory(scratch.root()).stdin("secret").ok();
        let output: Vec<&str> = output.lines().filter(|line| !is_prompt(line)).collect();
        let printed = run.errors() + &run.text();
        assert_eq!(labels(&printed), labels(&output.join("\n")), "{command}\n{printed}");
        commands += 1;
    }
    assert_eq!(commands, 3);
}

/// Prompts appear on a terminal only.
fn is_prompt(line: &str) -> bool {
    line.ends_with("passphrase:") || line.contains("passphrase for")
}

/// The first word of each line: the rest is a UUID, a size or a time.
fn labels(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.split_whitespace().next()).collect()
}
