//! Standard output and error that cannot be written.

use keyway_tests::{Scratch, keyway, need, need_that, peer};
use std::fs;
use std::path::{Path, PathBuf};

/// The exit code is unchanged: there is no way to report more, and nothing aborts (134).
#[test]
fn a_full_standard_error_ends_nothing() {
    need!("sh");
    need_that!(Path::new("/dev/full").exists(), "there is no /dev/full");
    let scratch = Scratch::new();
    let volume = scratch.sized("volume", 20 << 20);
    let key = scratch.file("key", "secret");
    let cheap = "--pbkdf pbkdf2 --pbkdf-force-iterations 1000";
    keyway("luksFormat -q").args(cheap).arg(&volume).arg(&key).ok();
    let (volume, key) = (volume.display(), key.display());
    let plain = format!("open --type plain --test-passphrase --key-file {key} {volume}");
    let lines = [
        "luksDump /nonexistent".to_owned(),
        "--nonsense".to_owned(),
        "nonsense".to_owned(),
        format!("luksFormat -q {cheap} --key-file {key} {volume} {key}"),
        format!("open --test-passphrase {volume} --key-file /dev/null"),
        format!("-v open --test-passphrase {volume} --key-file {key}"),
        plain,
        format!("read {volume} --key-file {key} --progress-frequency 1 -o /dev/null"),
        "list".to_owned(),
        "close nothing".to_owned(),
        "umount /nonexistent".to_owned(),
    ];
    let program = keyway_tests::peers::program();
    for line in lines {
        let code = |redirected: &str| {
            let script = format!("exec '{}' {line} {redirected} </dev/null", program.display());
            peer("sh", "-c").arg(script).outcome().code
        };
        let expected = code("");
        for redirected in ["2>/dev/full", "2>&-", "2>/dev/full 1>&2"] {
            let found = code(redirected);
            assert!(found.is_some_and(|code| code < 100), "{line} {redirected}: {found:?}");
            // If the output could not be printed, that is an error in itself.
            assert!(
                found == expected || redirected.contains("1>&2"),
                "{line} {redirected}: {found:?}, {expected:?}"
            );
        }
    }
}

/// A closed reader is no reason to abort either.
#[test]
fn a_reader_that_has_gone_ends_nothing() {
    need!("bash");
    let program = keyway_tests::peers::program();
    let script = format!("'{}' luksDump /nonexistent 2> >(exec true); sleep 0.1; exit $?", program.display());
    peer("bash", "-c").arg(script).ok();
    let script = format!(
        "exec 3>&1; {{ sleep 0.2; '{}' luksDump /nonexistent 2>&1 >/dev/null; echo $? >&3; }} | true",
        program.display()
    );
    assert_eq!(peer("bash", "-c").arg(script).ok().text(), "4\n");
}

/// The macros of the standard library that panic if they cannot print.
#[test]
fn no_line_of_ours_panics_when_it_cannot_be_written() {
    let crates = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../crates"));
    let mut files = Vec::new();
    for krate in fs::read_dir(crates).unwrap().flatten() {
        sources(&krate.path().join("src"), &mut files);
    }
    assert!(files.len() > 300, "{} files", files.len());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        // Unit tests are at the end of a file.
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        for (number, line) in
            code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"))
        {
            for word in ["print!(", "println!("] {
                assert!(!line.contains(word), "{}:{}: {line}", file.display(), number + 1);
            }
        }
    }
}

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() && name != "tests" {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") && name != "tests.rs" {
            found.push(path);
        }
    }
}
