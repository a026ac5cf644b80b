//! The same command line with cryptsetup and with Keyway, on equal copies of a volume:
//! the same exit code, the same standard output, and afterwards the same header (read
//! by cryptsetup; fresh salts and digests masked).

mod cases;

use cases::{CHANGES, Case, FORMATS, QUESTIONS};
use keyway_tests::peers::{CHEAP_ARGON2, CHEAP_LUKS2_PBKDF2, CHEAP_PBKDF2};
use keyway_tests::{Run, Scratch, assert_same_lines, cryptsetup, keyway, need};
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

#[test]
fn questions_have_the_same_answers() {
    need!("cryptsetup");
    compare_all(QUESTIONS);
}

#[test]
fn changes_leave_the_same_header() {
    need!("cryptsetup");
    compare_all(CHANGES);
}

#[test]
fn new_volumes_are_the_same() {
    need!("cryptsetup");
    let differ = |options: &&&str| std::panic::catch_unwind(|| compare_format(options)).is_err();
    let different: Vec<&&str> = FORMATS.iter().filter(differ).collect();
    assert!(different.is_empty(), "{} of {} differ: {different:#?}", different.len(), FORMATS.len());
}

#[track_caller]
fn compare_format(options: &str) {
    let run = |program: fn(&str) -> Run| {
        let scratch = Scratch::new();
        lay_out(scratch.root(), None);
        let line = "-q -v luksFormat --uuid 6b55e3df-8f04-4fce-abe8-f4a2eaaef085";
        let outcome = program(line).args(options).args("volume k0").directory(scratch.root()).outcome();
        let header = if options.contains("--header") { "header" } else { "volume" };
        let size = fs::metadata(scratch.path(header)).map_or(0, |m| m.len().next_multiple_of(4096));
        let dump = cryptsetup("luksDump").arg(header).directory(scratch.root()).outcome();
        let opens =
            cryptsetup("open --test-passphrase -d k0").arg(header).directory(scratch.root()).outcome();
        (outcome, size, masked(&dump.text()), opens.code)
    };
    let (theirs, ours) = (run(cryptsetup), run(keyway));
    assert_eq!(ours.0.code, theirs.0.code, "luksFormat {options}\nours: {}\ntheirs: {}", ours.0, theirs.0);
    // blkid tells cryptsetup what was there before.
    let said = theirs
        .0
        .text()
        .lines()
        .filter(|l| !l.starts_with("Existing "))
        .map(|l| format!("{l}\n"))
        .collect::<String>();
    assert_same_lines("keyway", &ours.0.text(), "cryptsetup", &said);
    if ours.0.code == Some(0) {
        assert_same_lines(&format!("keyway {options}"), &ours.2, "cryptsetup", &theirs.2);
        assert_eq!((ours.1, ours.3), (theirs.1, theirs.3), "size and passphrase: {options}");
    }
}

/// Runs all cases before it fails: the list of all differences says more than the first one.
fn compare_all(cases: &[Case]) {
    let differ = |case: &&Case| std::panic::catch_unwind(|| compare(case)).is_err();
    let different: Vec<&Case> = cases.iter().filter(differ).collect();
    assert!(different.is_empty(), "{} of {} differ: {different:#?}", different.len(), cases.len());
}

#[track_caller]
fn compare((volume, line, stdin): &Case) {
    let run = |program: fn(&str) -> Run| {
        let scratch = Scratch::new();
        lay_out(scratch.root(), Some(volume));
        let outcome = program(line).directory(scratch.root()).stdin(stdin).outcome();
        let dump = cryptsetup("luksDump volume").directory(scratch.root()).outcome();
        let new_file = fs::metadata(scratch.path("new")).ok().map(|m| m.len());
        (outcome, masked(&dump.text()), new_file)
    };
    let (theirs, ours) = (run(cryptsetup), run(keyway));
    assert_eq!(
        ours.0.code, theirs.0.code,
        "exit codes on \"{volume}\"\nours: {}\ntheirs: {}",
        ours.0, theirs.0
    );
    let label = format!("keyway {line} (volume {volume})");
    assert_same_lines(&label, &ours.0.text(), "cryptsetup", &theirs.0.text());
    // cryptsetup overwrites a named keyslot, and moves all key material of a converted header one
    // step at a time. Keyway writes beside what must survive a crash, so areas end up elsewhere.
    let moves = (line.contains("luksChangeKey") || line.contains("luksConvertKey")) && line.contains("-S");
    let moves = moves || line.contains("convert --type");
    let stays = |l: &&str| !moves || !(l.contains("Area offset") || l.contains("Key material offset"));
    let header = |dump: &str| dump.lines().filter(stays).map(|l| format!("{l}\n")).collect::<String>();
    assert_same_lines(
        &format!("{label}, the header then"),
        &header(&ours.1),
        "cryptsetup",
        &header(&theirs.1),
    );
    assert_eq!(ours.2, theirs.2, "length of the file that {line} makes");
    let quiet = (ours.0.stderr.is_empty(), theirs.0.stderr.is_empty());
    assert!(
        quiet == (true, true) || !quiet.0 || !ours.0.code.eq(&Some(1)),
        "a failure without a word: {}",
        ours.0
    );
}

/// Masks salts, digests and keys: everything random, nothing else.
fn masked(dump: &str) -> String {
    let is_byte = |word: &str| word.len() == 2 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let mask = |word: &str| if is_byte(word) { "xx".to_owned() } else { word.to_owned() };
    let words = |part: &str| part.split(' ').map(mask).collect::<Vec<_>>().join(" ");
    // Keyway writes some headers once where cryptsetup writes them three times.
    let dump = dump.lines().filter(|line| !line.starts_with("Epoch:"));
    let line = |line: &str| line.split('\t').map(words).collect::<Vec<_>>().join("\t");
    dump.map(line).collect::<Vec<_>>().join("\n")
}

/// Fills a directory: key files, and a copy of the named volume (or an empty 24 MiB file).
fn lay_out(directory: &Path, volume: Option<&str>) {
    let fixtures = fixtures();
    for entry in fs::read_dir(fixtures.path("keys")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), directory.join(entry.file_name())).unwrap();
    }
    let target = directory.join("volume");
    match volume {
        Some(name) => drop(fs::copy(fixtures.path(name), target).unwrap()),
        None => fs::File::create(target).unwrap().set_len(24 << 20).unwrap(),
    }
}

/// The volumes that cases start from, created once by cryptsetup.
fn fixtures() -> &'static Scratch {
    static FIXTURES: OnceLock<Scratch> = OnceLock::new();
    FIXTURES.get_or_init(|| {
        let scratch = Scratch::new();
        let keys = scratch.path("keys");
        fs::create_dir(&keys).unwrap();
        let write = |name: &str, bytes: &[u8]| fs::write(keys.join(name), bytes).unwrap();
        for (name, passphrase) in [("k0", "alpha"), ("k1", "beta"), ("k2", "gamma"), ("k3", "delta")] {
            write(name, passphrase.as_bytes());
        }
        write("vk", &keyway_tests::random(1, 64));
        write("badvk", &keyway_tests::random(2, 64));
        write("token.json", b"{\"type\":\"imported\",\"keyslots\":[\"0\"],\"a/b\":{},\"list\":[1,null,\"\\u00e9\"]}");
        let run = |line: &str| cryptsetup(line).directory(scratch.root()).ok();

        scratch.sized("one", 5 << 20);
        run(&format!("-q luksFormat --type luks1 {CHEAP_PBKDF2} --volume-key-file keys/vk one keys/k0"));
        run(&format!("luksAddKey {CHEAP_PBKDF2} -d keys/k0 one keys/k1"));
        run(&format!("luksAddKey {CHEAP_PBKDF2} -d keys/k0 -S 5 one keys/k2"));
        scratch.sized("empty1", 5 << 20);
        run(&format!("-q luksFormat --type luks1 {CHEAP_PBKDF2} empty1 keys/k0"));
        run("-q erase empty1");

        let small = "--luks2-keyslots-size 2M --offset 8192";
        scratch.sized("two", 6 << 20);
        run(&format!("-q luksFormat {CHEAP_LUKS2_PBKDF2} {small} --volume-key-file keys/vk two keys/k0"));
        run(&format!("luksAddKey {CHEAP_ARGON2} -d keys/k0 two keys/k1"));
        run(&format!("luksAddKey {CHEAP_ARGON2} --pbkdf argon2i -d keys/k0 two keys/k2"));
        run(&format!("luksAddKey {CHEAP_LUKS2_PBKDF2} -S 7 --unbound --key-size 192 two keys/k3"));
        run("token add --key-description described -S 0 two");
        run("token import --token-id 5 --json-file keys/token.json two");
        run("config --label name --subsystem part two");
        run("config --priority prefer -S 1 two");
        run("config --priority ignore -S 2 two");
        scratch.sized("small2", 6 << 20);
        run(&format!(
            "-q luksFormat {CHEAP_LUKS2_PBKDF2} --luks2-metadata-size 32K --luks2-keyslots-size 1M -c aes-cbc-essiv:sha256 \
             --sector-size 1024 --hash sha512 small2 keys/k0"
        ));
        scratch.sized("empty2", 6 << 20);
        run(&format!("-q luksFormat {CHEAP_LUKS2_PBKDF2} {small} empty2 keys/k0"));
        run("-q erase empty2");
        let init = format!("-q reencrypt --init-only {CHEAP_LUKS2_PBKDF2} -d keys/k0");
        scratch.sized("reencrypt", 20 << 20);
        run(&format!("-q luksFormat {CHEAP_LUKS2_PBKDF2} reencrypt keys/k0"));
        run(&format!("{init} --resilience checksum reencrypt"));
        scratch.sized("encrypt", 40 << 20);
        run(&format!("{init} --encrypt --reduce-device-size 32M encrypt"));
        scratch.sized("data", 20 << 20);
        run(&format!("-q luksFormat {CHEAP_LUKS2_PBKDF2} data keys/k0"));
        run(&format!("{init} --decrypt --force-offline-reencrypt --header decrypt data"));
        scratch.sized("plain2", 6 << 20);
        run(&format!("-q luksFormat {CHEAP_LUKS2_PBKDF2} --sector-size 512 {small} plain2 keys/k0"));
        scratch
    })
}
