//! `toLuks --estimate`: what turning a volume into LUKS2 takes, without its passphrase, and that nothing is changed or made.

use super::to_luks::{RESERVED, made, to_luks};
use keyway_tests::{Run, Scratch, keyway, random};
use serde_json::Value;
use std::ffi::OsString;
use std::fs;

/// Of a volume in `disk.hc`, in the scratch directory. Nobody answers a question.
fn estimate(scratch: &Scratch, line: &str) -> Run {
    keyway(&format!("toLuks --estimate {line}")).directory(scratch.root()).stdin("")
}

#[track_caller]
fn json(scratch: &Scratch, line: &str) -> Value {
    let said =
        estimate(scratch, &format!("--json --type tcrypt {line} disk.hc disk.header")).ok().quiet().text();
    serde_json::from_str(&said).unwrap()
}

/// Every file, its bytes, and when it was written last.
fn contents(scratch: &Scratch) -> Vec<(OsString, Vec<u8>, std::time::SystemTime)> {
    let files = fs::read_dir(scratch.root()).unwrap().map(Result::unwrap);
    let of = |file: fs::DirEntry| {
        let written = file.metadata().unwrap().modified().unwrap();
        (file.file_name(), fs::read(file.path()).unwrap_or_default(), written)
    };
    let mut all: Vec<_> = files.map(of).collect();
    all.sort();
    all
}

#[test]
fn bytes_are_those_of_the_conversion() {
    let scratch = Scratch::new();
    let (file, plain) = made(&scratch, "--cipher serpent", 8 << 20);
    let before = contents(&scratch);
    let found = json(&scratch, "--hotzone-size 1M");
    let len = plain.len();
    for (path, value) in [
        ("/length", len),
        ("/left", len),
        ("/done", 0),
        ("/read", 2 * len),
        ("/written/data", len),
        ("/written/protection", len),
        // 8 zones, each told twice, and the beginning; two copies of 16 KiB.
        ("/written/headers", 17 * 2 * 16384),
        ("/hot_zone/count", 8),
        ("/hot_zone/likely", 1 << 20),
        ("/crash/loses_at_most", 0),
        ("/header_file/bytes", 16 << 20),
    ] {
        assert_eq!(found.pointer(path), Some(&Value::from(value)), "{path} in {found:#}");
    }
    for (path, value) in [
        ("/device", "disk.hc".into()),
        ("/mode", "reencrypt".into()),
        ("/resilience", "journal".into()),
        ("/crash/in_words", "costs nothing".into()),
        ("/measured/old_cipher/name", "aes-xts-plain64 (the likeliest of 5)".into()),
        ("/measured/new_cipher/name", "aes-xts-plain64".into()),
        ("/measured/hash", Value::Null),
        ("/header_file/file", "disk.header".into()),
        ("/header_file/exists", false.into()),
        ("/header_file/fits", true.into()),
        ("/header_backup", Value::Null),
    ] {
        assert_eq!(found.pointer(path).unwrap_or(&Value::Null), &value, "{path} in {found:#}");
    }
    let seconds = ["/seconds_interval/0", "/seconds", "/seconds_interval/1"].map(|path| {
        let number = found.pointer(path).and_then(Value::as_f64);
        number.unwrap_or_else(|| panic!("{path} in {found:#}"))
    });
    assert!(0.0 < seconds[0] && seconds.is_sorted(), "{found:#}");
    // What is said of the new volume, and how long a limit makes it.
    let other = json(&scratch, "--cipher camellia-xts-plain64 --limit-rate 2M --disable-veracrypt");
    assert_eq!(other["measured"]["new_cipher"]["name"], "camellia-xts-plain64");
    assert_eq!(other["measured"]["old_cipher"]["name"], "aes-xts-plain64 (the likeliest of 3)");
    assert!(other["seconds_interval"][0].as_f64().unwrap() >= 3.8, "{other:#}");
    assert!(contents(&scratch) == before, "something was changed or made");

    // The conversion finds what was told: the header's file is as long, and as much is moved.
    let header = scratch.path("disk.header");
    to_luks("--veracrypt-pim 1 --hotzone-size 1M", &file, &header).ok();
    assert_eq!(fs::metadata(&header).unwrap().len(), 16 << 20);
    assert_eq!(len + 2 * RESERVED, 8 << 20);
}

#[test]
fn people_read_it_too() {
    let scratch = Scratch::new();
    made(&scratch, "", 2 << 20);
    let before = contents(&scratch);
    let shown = estimate(&scratch, "--type tcrypt --hotzone-size 512K disk.hc disk.header").ok().quiet();
    let shown =
        shown.says("disk.hc  to become LUKS2").says("1.8 MiB and 1.8 MiB of copies; 288.0 KiB of headers");
    let shown = shown.says("about 512.0 KiB at a time, 4 times; at most 512.0 KiB").says("costs nothing");
    let shown = shown.says("aes-xts-plain64 (the likeliest of 5) at ").says("nothing was written to try");
    let shown = shown.says("16.0 MiB of the header to disk.header: fits, ").lacks("Backup");
    let shown =
        shown.says("the cipher, which only the passphrase reveals: a chain of ciphers would be refused");
    assert!(shown.text().lines().any(|line| line.starts_with("  Time ")), "{shown}");
    let nowhere = estimate(&scratch, "--type tcrypt disk.hc nowhere/disk.header").ok();
    nowhere.says(
        "of the header to nowhere/disk.header: there is no such directory: the command would be refused",
    );
    assert!(contents(&scratch) == before);
}

/// With the exit code and in the words of the command without `--estimate`, where that has some.
#[test]
fn what_would_be_refused_is_refused() {
    let scratch = Scratch::new();
    scratch.file("disk.hc", random(3, 2 << 20));
    scratch.file("small.hc", random(3, 64 << 10));
    scratch.file("taken.header", "");
    let before = contents(&scratch);
    for (line, code, says) in [
        ("disk.hc disk.header", 1, "toLuks needs --type tcrypt or --type bitlk."),
        ("--type fvault2 disk.hc disk.header", 1, "toLuks needs --type tcrypt or --type bitlk."),
        ("--type bitlk disk.hc disk.header", 1, "disk.hc is not a valid BITLK device: "),
        (
            "--type tcrypt disk.hc taken.header",
            5,
            "taken.header already exists: name a new file for the header.",
        ),
        (
            "--type tcrypt --tcrypt-hidden disk.hc disk.header",
            1,
            "Neither a hidden volume nor an encrypted system",
        ),
        (
            "--type tcrypt --tcrypt-system disk.hc disk.header",
            1,
            "Neither a hidden volume nor an encrypted system",
        ),
        ("--type tcrypt small.hc disk.header", 1, "small.hc"),
        ("--type tcrypt nothing.hc disk.header", 4, "nothing.hc"),
        ("--type tcrypt --init-only disk.hc disk.header", 1, "--init-only"),
        ("--type tcrypt --veracrypt-query-pim disk.hc disk.header", 1, "--veracrypt-query-pim"),
        ("--type tcrypt --hotzone-size 1000 disk.hc disk.header", 1, "Hotzone size"),
        ("--type tcrypt --cipher nonsense disk.hc disk.header", 1, "nonsense"),
    ] {
        estimate(&scratch, line).fails(code).says(says);
    }
    keyway("toLuks -q --json --type tcrypt disk.hc disk.header")
        .directory(scratch.root())
        .stdin("")
        .fails(1)
        .says("--json needs --estimate.");
    assert!(contents(&scratch) == before);
}
