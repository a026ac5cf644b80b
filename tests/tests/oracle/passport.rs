//! `keyway passport`: text, JSON, correct advice, and `--apply`.

use super::kit::{Kit, PASSPHRASE};
use keyway_tests::browser::Browser;
use keyway_tests::peers::program;
use keyway_tests::{Scratch, Terminal, cryptsetup, keyway, need, peer};
use serde_json::Value;
use std::fs::File;
use std::os::unix::fs::FileExt;

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

#[test]
fn every_keyslot_has_its_page() {
    need!("mke2fs");
    let kit = Kit::new();
    let volume = kit.build("volume", "--type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 500000 -h sha256");
    let volume = volume.add_key(&kit, 1, "--pbkdf argon2id --pbkdf-force-iterations 4 --pbkdf-memory 65536");
    let volume = volume.add_key(&kit, 2, "--pbkdf pbkdf2 --pbkdf-force-iterations 1000 --hash sha512");
    let shown = keyway("passport --target grub-2.12").arg(&volume.path).ok();
    shown.says("Keyslot 2 is the weakest").says("argon2id came with GRUB 2.14").says("guesses a second");
    let found = json(&keyway("passport --json --entropy 40 --price 2").arg(&volume.path).ok().stdout);
    assert_eq!(found["weakest_keyslot"], 2);
    let slots = found["keyslots"].as_array().unwrap();
    assert_eq!(slots.len(), 3);
    // 8.9e9 iterations of SHA-256 a second, two blocks: docs/COST.md.
    let guesses = slots[0]["guesses_per_second"].as_f64().unwrap();
    assert!((guesses - 8.9e9 / 500_000.0 / 2.0).abs() < 1.0, "{guesses}");
    let dollars = slots[0]["dollars"].as_f64().unwrap();
    let expected = 2f64.powi(39) / guesses / 3600.0 * 2.0;
    assert!((dollars / expected - 1.0).abs() < 1e-3, "{dollars} {expected}");
    keyway("passport --hardware abacus").arg(&volume.path).fails(1).says("there are rtx4090");
    keyway("passport --target pi9").arg(&volume.path).fails(1).says("pi3 and pi4").says("--rate-file");
    keyway("passport --apply").arg(&volume.path).fails(1).says("--within");
}

/// Linux opens a volume whose secondary header is damaged; GRUB ignores it.
#[test]
fn a_volume_that_grub_ignores_opens_no_keyslot_there() {
    need!("mke2fs");
    let kit = Kit::new();
    let volume = kit.build("volume", "--type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000");
    let file = File::options().write(true).open(&volume.path).unwrap();
    file.write_all_at(&[0; 64], 16 << 10).unwrap();
    keyway("passport --target grub-2.12")
        .arg(&volume.path)
        .ok()
        .says("cannot be opened, because the secondary");
    let found = json(&keyway("passport --target grub-2.12 --json").arg(&volume.path).ok().stdout);
    let slot = &found["keyslots"][0];
    assert!(slot["seconds_on_target"].is_null() && slot["verdict"] == "cannot", "{slot}");
}

/// Anybody can have written the header that is looked at.
#[test]
fn a_sample_takes_as_much_memory_as_the_user_allows_not_as_the_header_asks_for() {
    need!("time");
    let scratch = Scratch::new();
    let (volume, key) = (scratch.sized("volume", 20 << 20), scratch.file("key", "secret"));
    let costly = "--pbkdf argon2id --pbkdf-force-iterations 4 --pbkdf-memory 524288 --pbkdf-parallel 2";
    keyway("luksFormat -q --type luks2").args(costly).arg(&volume).arg(&key).ok();
    let peak_mib = |options: &str| {
        let run = peer("time", "-f %M").arg(program()).args("passport").args(options).arg(&volume);
        let said = run.ok().errors();
        said.trim().parse::<u64>().unwrap_or_else(|_| panic!("{options}: {said}")) >> 10
    };
    for options in ["", "--target cryptsetup", "--target grub-2.14"] {
        let peak = peak_mib(options);
        assert!((200..320).contains(&peak), "{options}: {peak} MiB");
    }
    assert!(peak_mib("--memory-budget 64M") < 128);
    assert!(peak_mib("--memory-budget 1G") > 400);
}

/// Rates measured on the target machine, evaluated on another.
#[test]
fn rates_of_another_machine() {
    need!("mke2fs");
    let kit = Kit::new();
    let volume = kit.build("volume", "--type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 500000 -h sha256");
    let measured = keyway("bench kdf --hash sha256 --time 1 --json").ok();
    let mut rates = json(&measured.stdout);
    // As written by a machine that does 100,000 iterations per second for a key of two blocks.
    for row in rates["rows"].as_array_mut().unwrap() {
        if row["case"]["hash"] == "sha256" {
            row["outcome"]["samples"] = [100_000.0; 5].as_slice().into();
        }
    }
    for (rates, seconds) in [(measured.stdout, None), (rates.to_string().into_bytes(), Some(5.0))] {
        let rates = kit.scratch.file("rates.json", rates);
        let shown = keyway("passport --json --rate-file").arg(&rates).arg(&volume.path).ok();
        let told = json(&shown.stdout)["keyslots"][0]["seconds_on_target"].as_f64().unwrap();
        // GRUB on that CPU, which is named; its rates are taken from another hash.
        let source = format!("from {}, measured ", rates.display());
        let check = || keyway("boot check --grub-version 2.12 --rate-file").arg(&rates).arg(&volume.path);
        let shown = check().ok().says("opens after an unknown time").says(&source);
        shown.says("; they lack those that GRUB's are derived from: PBKDF2 with SHA-512, and Argon2id.");
        keyway("passport --rate-file").arg(&rates).arg(&volume.path).ok().says(&source);
        assert!(told > 0.0 && seconds.is_none_or(|seconds: f64| (told - seconds).abs() < 0.2), "{told}");
    }
    let sha512 =
        kit.scratch.file("rates.json", keyway("bench kdf --hash sha512 --time 1 --json").ok().stdout);
    let check = keyway("boot check --grub-version 2.12 --rate-file").arg(&sha512).arg(&volume.path).ok();
    check.says("opens in about ").says("Rates: ").lacks("they lack");
    // 500,000 iterations of two blocks and the digest's, by published figures.
    let [pi3, pi4] = ["pi3", "pi4"].map(|board| {
        let shown = keyway("passport --json --target").arg(board).arg(&volume.path).ok();
        json(&shown.stdout)["keyslots"][0]["seconds_on_target"].as_f64().unwrap()
    });
    assert!((4.2..6.0).contains(&pi4) && pi3 > pi4 && pi3 < 1.1 * pi4, "{pi3} {pi4}");
    keyway("bench kdf --cipher aes-xts-plain64")
        .fails(1)
        .says("bench kdf takes no --cipher, which is for bench, bench disk.");
    let empty = kit.scratch.file("empty.json", "{}");
    keyway("passport --rate-file").arg(&empty).arg(&volume.path).fails(1).says("empty.json");
}

#[test]
fn apply_does_what_is_advised() {
    need!("mke2fs", "cryptsetup");
    let kit = Kit::new();
    for (name, options) in
        [("one", "--type luks1 -h sha512"), ("two", "--type luks2 --pbkdf pbkdf2 -h sha512")]
    {
        let volume = kit.build(name, &format!("{options} --pbkdf-force-iterations 4000000"));
        let backup = kit.scratch.path(&format!("{name}.backup"));
        let ask = |line: &str| keyway(line).arg(&volume.path).arg("--header-backup-file").arg(&backup);
        let advised = json(&ask("passport --target grub-2.06 --within 2s --json").ok().stdout);
        assert_eq!(advised["advice"]["do"], "recost", "{advised}");
        let iterations = advised["advice"]["iterations"].as_u64().unwrap();
        assert!((1000..4_000_000).contains(&iterations));
        let apply =
            || ask("passport -q --target grub-2.06 --within 2s --apply").arg("--key-file").arg(kit.key());
        apply().ok().says("opens.");
        assert!(backup.exists());
        cryptsetup("open --test-passphrase").arg(&volume.path).stdin(PASSPHRASE).ok();
        // (The next advice depends on the load of the machine.)
        let after = json(&ask("passport --json").ok().stdout);
        let now = after["keyslots"][0]["kdf"]["iterations"].as_u64().unwrap();
        assert!((1000..4_000_000).contains(&now), "{iterations} {now}");
        // A backup is never overwritten.
        ask("passport -q --target grub-2.06 --within 1ms --apply").arg("--key-file").arg(kit.key()).fails(1);
    }
}

/// LUKS1's keyslots are their places: behind another one, the keyslot would open later than promised.
#[test]
fn apply_keeps_the_keyslots_number_and_its_promise() {
    need!("mke2fs", "cryptsetup");
    let kit = Kit::new();
    for (name, kind) in [("one", "luks1"), ("two", "luks2 --pbkdf pbkdf2")] {
        let cost = "-h sha512 --pbkdf-force-iterations 1000000";
        let volume = kit.build(name, &format!("--type {kind} {cost}"));
        let volume = volume.add_key(&kit, 1, "--pbkdf pbkdf2 --hash sha512 --pbkdf-force-iterations 1000000");
        let keyslots = || {
            let shown = json(&keyway("passport --json").arg(&volume.path).ok().stdout);
            let slots = shown["keyslots"].as_array().unwrap().clone();
            slots.iter().map(|it| (it["number"].clone(), it["kdf"]["iterations"].clone())).collect::<Vec<_>>()
        };
        // By the watch the two take 20 s: the first one a bit less than half of that.
        let ask = |what: &str| {
            let line =
                format!("passport -q --target grub-2.12 --measured 1=20s --within 4s --key-slot 0 {what}");
            keyway(&line).arg(&volume.path).directory(kit.scratch.root())
        };
        let advised = json(&ask("--json").ok().stdout);
        let own = advised["keyslots"][0]["seconds_on_target"].as_f64().unwrap();
        assert!((9.0..10.1).contains(&own), "{advised}");
        let iterations = advised["advice"]["iterations"].as_f64().unwrap();
        assert!((300_000.0..400_000.0).contains(&iterations), "{advised}");
        let before = keyslots();
        let done = ask("--apply").arg("--key-file").arg(kit.key()).ok();
        let done =
            done.says("Keyslot 0 has pbkdf2 sha512").says("it takes the promised ").says(" on the target.");
        done.lacks("WARNING").says("scaled to the 20 s that were measured there");
        let after = keyslots();
        assert_eq!((after.len(), &after[0].0, &after[1]), (2, &before[0].0, &before[1]));
        // (The advice is made anew, from another measurement of this machine.)
        let now = after[0].1.as_f64().unwrap();
        assert!((now / iterations - 1.0).abs() < 0.02, "{now} {iterations}");
        cryptsetup("open --test-passphrase -S 0").arg(&volume.path).stdin(PASSPHRASE).ok();
    }
}

#[test]
fn what_a_watch_showed_scales_the_times() {
    need!("mke2fs");
    let kit = Kit::new();
    let volume = kit.build("volume", "--type luks1 -h sha512 --pbkdf-force-iterations 500000");
    let ask = |what: &str| keyway("passport --target grub-2.12").args(what).arg(&volume.path);
    let shown = json(&ask("--json --measured 45s").ok().stdout);
    let told = shown["keyslots"][0]["seconds_on_target"].as_f64().unwrap();
    assert!((told - 45.0).abs() < 0.01, "{told}");
    ask("--measured 0=45s").ok().says("scaled to the 45 s that were measured there").says("45 s, 4");
    ask("--measured 3=45s").fails(1).says("--measured 3=45 s: the target opens no such keyslot.");
    ask("--measured soon")
        .fails(1)
        .says("--measured soon: write a time as 45s, or with the keyslot as 1=45s.");
    let volume = volume.add_key(&kit, 1, "--pbkdf-force-iterations 500000");
    let two = keyway("passport --target grub-2.12 --measured 45s").arg(&volume.path).fails(1);
    two.says("--measured 45 s: the target opens keyslots 0, 1; name one, as 1=45s.");
}

/// Without -q it asks; without a name for the backup it finds a free one; with LUKS2 the keyslot
/// keeps its number.
#[test]
fn apply_asks_and_finds_a_free_name() {
    need!("mke2fs", "setsid");
    let kit = Kit::new();
    let volume = kit.build("asked", "--type luks2 --pbkdf pbkdf2 -h sha512 --pbkdf-force-iterations 4000000");
    let before = std::fs::read(&volume.path).unwrap();
    let apply = |within: &str| {
        let line = "passport --target grub-2.06 --apply --within";
        let apply = keyway(line).arg(within).arg(&volume.path).arg("--key-file").arg(kit.key());
        apply.directory(kit.scratch.root())
    };
    apply("2s").fails(1).says("-q confirms it");
    let ending = Terminal::start(&apply("2s"))
        .expect("This will change the cost of keyslot 0 of ")
        .expect("Are you sure? (Type 'yes' in capital letters): ")
        .type_line("no")
        .finish();
    assert_eq!(ending.code, Some(1), "{}", ending.screen);
    assert!(ending.screen.contains("Nothing was changed."), "{}", ending.screen);
    assert!(before == std::fs::read(&volume.path).unwrap(), "the header was changed");

    let backups = || {
        let names = std::fs::read_dir(kit.scratch.root()).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().contains("header")).count()
    };
    assert_eq!(backups(), 0);
    let first = Terminal::start(&apply("2s")).expect("capital letters): ").type_line("YES").finish();
    assert_eq!(first.code, Some(0), "{}", first.screen);
    assert!(first.screen.contains("Keyslot 0 has pbkdf2"), "{}", first.screen);
    assert_eq!(backups(), 1);
    apply("1s").args("-q").ok();
    assert_eq!(backups(), 2);
}

#[test]
fn the_page_can_be_read_at_every_width_in_the_light_and_in_the_dark() {
    need!("mke2fs", "chromium", "chromedriver");
    let kit = Kit::new();
    let volume =
        kit.build("laptop.luks", "--type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 2612730 -h sha512");
    let volume = volume.add_key(&kit, 1, "--pbkdf argon2id --pbkdf-force-iterations 4 --pbkdf-memory 65536");
    let volume = volume.add_key(&kit, 2, "--pbkdf pbkdf2 --pbkdf-force-iterations 1000 --hash sha256");
    let page = kit.scratch.path("page.html");
    keyway("passport --target grub-2.12 --within 4s --html").arg(&page).arg(&volume.path).ok();
    let again = keyway("passport --html").arg(&page).arg(&volume.path);
    again.fails(1).says("page.html");
    let browser = Browser::start();
    for scheme in ["light", "dark"] {
        browser.prefers(scheme, "screen");
        for width in [1280, 360, 320] {
            browser.size(width, 900);
            browser.open(&page);
            for open in ["", "document.querySelectorAll('details').forEach(it => it.open = true)"] {
                browser.script(open);
                for check in ["overflow()", "contrast()", "drawings()"] {
                    let found =
                        browser.script(&format!("{}\nreturn {check}", include_str!("../measure/checks.js")));
                    assert_eq!(found, Value::Array(Vec::new()), "{scheme}, {width} wide, {check}");
                }
            }
            assert_eq!(browser.console(), [] as [Value; 0], "{scheme}, {width} wide");
        }
    }
}
