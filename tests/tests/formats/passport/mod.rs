//! `passport --type`: what is known of volumes without a LUKS header before their keys are, and what a search for those costs.

mod weak;

use keyway_tests::bitlk::{Bitlk, PASSPHRASE, Protector, RECOVERY};
use keyway_tests::fvault2::Fvault2;
use keyway_tests::{Run, Scratch, bitlk, fvault2, keyway, random};
use serde_json::Value;
use std::path::Path;

/// Rates that docs/COST.md has of an RTX 4090: SHA-256's PBKDF2, BitLocker's rounds.
const SHA256: f64 = 8.9e9;
const ROUNDS: f64 = 1.05e10;

fn passport(options: &str, volume: &Path) -> Run {
    keyway(&format!("passport --type {options}")).arg(volume)
}

fn json(options: &str, volume: &Path) -> Value {
    let shown = passport(&format!("{options} --json"), volume).ok().quiet();
    serde_json::from_slice(&shown.stdout).unwrap()
}

/// A member of each way.
fn of_each<'a>(passport: &'a Value, member: &str) -> Vec<&'a Value> {
    passport["ways"].as_array().unwrap().iter().map(|way| &way[member]).collect()
}

fn way<'a>(passport: &'a Value, name: &str) -> &'a Value {
    let ways = passport["ways"].as_array().unwrap();
    ways.iter().find(|way| way["way"] == name).unwrap_or_else(|| panic!("{name}: {passport}"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

#[track_caller]
fn assert_near(one: f64, other: f64) {
    assert!((one / other - 1.0).abs() < 0.01, "{one} {other}");
}

#[test]
fn each_of_bitlockers_protectors_has_its_way() {
    let scratch = Scratch::new();
    let made = |name: &str, protectors: &[Protector], method| {
        let made = Bitlk { protectors: protectors.to_vec(), method, ..Bitlk::default() };
        scratch.file(name, made.make(&vec![0; bitlk::LEN]))
    };
    let usual = [Protector::Passphrase(PASSPHRASE), Protector::Recovery(RECOVERY), Protector::StartupKey];
    let volume = made("usual", &usual, 0x8004);
    let found = json("bitlk --entropy 40 --price 2", &volume);
    assert_eq!(found["format"], "bitlk");
    assert_eq!(found["ciphers"], serde_json::json!(["aes-xts-plain64"]));
    assert_eq!(of_each(&found, "takes"), ["passphrase", "recovery password", "key file"]);
    assert_eq!(of_each(&found, "search"), ["costs", "hopeless", "hopeless"]);
    assert_eq!(of_each(&found, "way"), ["protector 0", "protector 1", "protector 2"]);
    let first = &found["ways"][0];
    let kdf = serde_json::json!({"type": "bitlocker", "hash": "sha256", "iterations": 1_048_576});
    assert_eq!((&first["kdf"], &found["ways"][2]["kdf"]), (&kdf, &Value::Null));
    assert_near(number(&first["guesses_per_second"]), ROUNDS / 1_048_576.0);
    assert_near(number(&first["dollars"]), 2f64.powi(39) / (ROUNDS / 1_048_576.0) / 3600.0 * 2.0);
    // cryptsetup takes 1 / 0.70 of the time, and twice the start.
    let [here, theirs] = ["seconds_here", "seconds_by_cryptsetup"].map(|of| number(&first[of]));
    assert_near((here - 0.01) / (theirs - 0.02), 0.70);
    assert_eq!((&found["weaknesses"], &found["seconds_of_all_here"]), (&serde_json::json!([]), &Value::Null));
    let shown = passport("bitlk", &volume).ok().quiet();
    let shown = shown.says("BitLocker\n").says("Protector 0").says("passphrase, 1,048,576 rounds of SHA-256");
    let shown =
        shown.says("no search: 128 random bits").says("GRUB             no: no release knows the format");
    shown.says("Windows          10 (1511) and later").lacks("  ! Its").lacks("Keyslot");

    let volume = made("clear", &[Protector::Clear, Protector::Other(0x100)], 0x8002);
    let found = json("bitlk", &volume);
    assert_eq!(of_each(&found, "search"), ["open", "hopeless"]);
    assert_eq!(of_each(&found, "takes"), ["nothing", "hardware: TPM"]);
    let shown = passport("bitlk", &volume).ok().says("no search is needed: it opens by itself");
    let shown = shown.says("the key is on the disk in the clear, and whoever has the disk reads it");
    shown.says("The TPM alone opens it").says("AES-CBC without the diffuser: whoever writes");
}

/// "yes", "some" or "no", and how.
fn opens<'a>(passport: &'a Value, program: &str) -> (&'a str, &'a str) {
    let all = passport["opened_by"].as_array().unwrap();
    let row =
        all.iter().find(|row| row["program"] == program).unwrap_or_else(|| panic!("{program}: {passport}"));
    (row["opens"].as_str().unwrap(), row["how"].as_str().unwrap())
}

#[test]
fn what_open_refuses_is_not_said_to_open() {
    let scratch = Scratch::new();
    let programs = ["Keyway", "cryptsetup", "Linux's dm-crypt", "Windows"];
    let usual = || vec![Protector::Passphrase(PASSPHRASE)];
    let of = |protectors: Vec<Protector>, state| {
        let encrypted = if state == [5, 4] { 2 << 20 } else { bitlk::LEN };
        Bitlk { protectors, state, encrypted, ..Bitlk::default() }.make(&vec![0; bitlk::LEN])
    };
    let with = |at: usize, bytes: &[u8]| {
        let mut volume = of(usual(), [4, 4]);
        volume[at..at + bytes.len()].copy_from_slice(bytes);
        volume
    };
    let on_write = b"\x3b\x4d\xa8\x92\x80\xdd\x0e\x4d\x9e\x4e\xb1\xe3\x28\x4e\xae\xd8";
    for (name, volume, opened, why) in [
        ("usual", of(usual(), [4, 4]), ["yes"; 4], "without root; by the kernel as root"),
        (
            "tpm",
            of(vec![Protector::Other(0x100)], [4, 4]),
            ["no", "no", "yes", "some"],
            "the volume has no passphrase; it is protected by: TPM",
        ),
        (
            "clear",
            of(vec![Protector::Clear], [4, 4]),
            ["yes", "some", "yes", "yes"],
            "without root; by the kernel as root",
        ),
        (
            "paused",
            of(usual(), [5, 4]),
            ["some", "no", "yes", "yes"],
            "the volume is only partly encrypted, and such",
        ),
        (
            "cut",
            of(usual(), [2, 4]),
            ["no", "no", "no", "some"],
            "the volume was in the middle of being encrypted when",
        ),
        (
            "vista",
            Bitlk { vista: true, method: 0x8000, ..Bitlk::default() }.make(&vec![0; bitlk::LEN]),
            ["some", "no", "no", "yes"],
            "for reading, with --allow-vista: nothing authenticates its metadata",
        ),
        (
            "vista-tpm",
            Bitlk {
                vista: true,
                method: 0x8000,
                protectors: vec![Protector::Other(0x100)],
                ..Bitlk::default()
            }
            .make(&vec![0; bitlk::LEN]),
            ["no", "no", "no", "some"],
            "the volume has no passphrase; it is protected by: TPM",
        ),
        (
            "on-write",
            with(160, on_write),
            ["no", "no", "no", "some"],
            "the volume is encrypted on write, and the maps",
        ),
    ] {
        let volume = scratch.file(name, volume);
        let found = json("bitlk", &volume);
        assert_eq!(programs.map(|program| opens(&found, program).0), opened, "{name}: {found}");
        assert!(opens(&found, "Keyway").1.starts_with(why), "{name}: {found}");
        let marked = if opened[0] == "no" { "Keyway           no: " } else { "Keyway           " };
        passport("bitlk", &volume).ok().says(&format!("{marked}{why}"));
    }
    let vista = json("bitlk", &scratch.path("vista"));
    assert_eq!(opens(&vista, "cryptsetup").1, "it maps no volumes of Windows Vista");
    assert_eq!(opens(&vista, "Windows").1, "Vista and later");
    let other = scratch.file("other", of(vec![Protector::Other(0x4000)], [4, 4]));
    assert_eq!(of_each(&json("bitlk", &other), "takes"), ["unknown protection"]);
    let shown = passport("bitlk", &other).ok().says("no search: what opens it is not known");
    shown.lacks("only the machine with that hardware");

    let volume = scratch.file("volume", random(9, 1 << 20));
    let chain = json("tcrypt --hash sha512 --cipher kuznyechik", &volume);
    assert_eq!(programs[..3].iter().map(|it| opens(&chain, it).0).collect::<Vec<_>>(), ["yes", "no", "no"]);
    assert_eq!(opens(&chain, "Keyway").1, "without root");
    let plain = json("plain --cipher kuznyechik-xts-plain64 --key-size 512", &volume);
    assert_eq!(programs[..3].iter().map(|it| opens(&plain, it).0).collect::<Vec<_>>(), ["yes", "no", "no"]);
}

#[test]
fn filevaults_iterations_are_those_of_each_user() {
    let scratch = Scratch::new();
    let made = |name: &str, iterations| {
        let made = Fvault2 { claims: Some(iterations), ..Fvault2::default() };
        scratch.file(name, made.make(&vec![0; fvault2::LEN]))
    };
    let (few, many) = (made("few", 200_000), made("many", 700_000));
    let found = json("fvault2", &few);
    let first = &found["ways"][0];
    let kdf = serde_json::json!({"type": "pbkdf2", "hash": "sha256", "iterations": 200_000, "blocks": 1});
    assert_eq!((&first["way"], &first["kdf"]), (&"user 0".into(), &kdf));
    assert_near(number(&first["guesses_per_second"]), SHA256 / 200_000.0);
    let copy = format!("keyway copy --type fvault2 {} new.luks", few.display());
    assert_eq!(found["weaknesses"][0]["commands"], serde_json::json!([copy]));
    passport("fvault2", &few).ok().says("at least 600,000 iterations are recommended").says(&copy);
    assert_eq!(json("fvault2", &many)["weaknesses"], serde_json::json!([]));
}

#[test]
fn of_veracrypt_all_is_known_that_is_tried() {
    let scratch = Scratch::new();
    let volume = scratch.file("volume", random(9, 1 << 20));
    let all = json("tcrypt", &volume);
    let names = of_each(&all, "way");
    assert_eq!(names.len(), 11, "{names:?}");
    assert_eq!(names[0], "TrueCrypt sha512");
    assert_eq!(names.iter().filter(|name| name.as_str().unwrap().starts_with("VeraCrypt ")).count(), 7);
    assert_eq!(all["ciphers"].as_array().unwrap().len(), 36);
    // One rate, a five-hundredth of the iterations; the start takes 10 ms.
    let [old, new] = ["TrueCrypt sha512", "VeraCrypt sha512"].map(|name| way(&all, name));
    assert_eq!((&old["kdf"]["iterations"], &new["kdf"]["iterations"]), (&1000.into(), &500_000.into()));
    let each = |way: &Value| number(&way["seconds_here"]) - 0.01;
    assert_near(each(new) / each(old), 500.0);
    assert_near(number(&new["guesses_per_second"]), 3.2e9 / 500_000.0);
    assert_eq!(way(&all, "VeraCrypt blake2s-256")["search"], "unpublished");
    let whole = number(&all["seconds_of_all_here"]);
    let times: Vec<f64> = of_each(&all, "seconds_here").into_iter().map(number).collect();
    let longest = times.iter().copied().fold(0.0, f64::max);
    assert!(whole > 0.99 * longest && whole < 1.01 * times.iter().sum::<f64>(), "{whole} {times:?}");

    let known = json("tcrypt --hash sha512", &volume);
    assert_eq!(of_each(&known, "way"), ["TrueCrypt sha512", "VeraCrypt sha512"]);
    assert!(number(&known["seconds_of_all_here"]) < whole);
    let shown = passport("tcrypt --hash sha512", &volume).ok().quiet();
    let shown = shown.says("2 key derivations are tried: only the right passphrase shows which one it is");
    let shown = shown.says("Linux's dm-crypt 23 of the 36: not Kuznyechik, no chains in CBC");
    shown.says("keyway copy --type tcrypt --to veracrypt ").says("headers cost 1,000 or 2,000 iterations");
    let truecrypt = json("tcrypt --disable-veracrypt", &volume);
    assert_eq!(of_each(&truecrypt, "way").len(), 4);

    let chain = json("tcrypt --hash sha512 --cipher serpent-twofish-aes", &volume);
    let of_one = number(&new["guesses_per_second"]);
    assert_near(of_one / number(&way(&chain, "VeraCrypt sha512")["guesses_per_second"]), 3.0);
    let hidden = json("tcrypt --tcrypt-hidden --hash sha512", &volume);
    // TrueCrypt had it in two places.
    assert_eq!(of_each(&hidden, "headers"), [2, 1]);
}

#[test]
fn a_target_that_opens_none_of_them_says_so() {
    let scratch = Scratch::new();
    let volume = scratch.file("windows", Bitlk::default().make(&vec![0; bitlk::LEN]));
    let found = json("bitlk --target grub-2.14", &volume);
    assert_eq!(
        (&found["target_opens_it"], &found["ways"][0]["seconds_on_target"]),
        (&false.into(), &Value::Null)
    );
    let refused = "The target does not open it: no release of GRUB knows the format.";
    passport("bitlk --target grub-2.14", &volume).ok().says(refused);
    assert_eq!(json("plain --target grub-2.14", &volume)["target_opens_it"], true);
    let found = json("tcrypt --hash sha512 --target pi4", &volume);
    let rates = scratch.file("rates.json", keyway("bench kdf --pbkdf bitlocker --time 1 --json").ok().stdout);
    let elsewhere = keyway("passport --type bitlk --json --rate-file").arg(&rates).arg(&volume).ok();
    let elsewhere: Value = serde_json::from_slice(&elsewhere.stdout).unwrap();
    assert!(number(&elsewhere["ways"][0]["seconds_on_target"]) > 0.0, "{elsewhere}");
    // Its figure is 189,684 iterations a second, and a header's key is three digests long.
    let there = number(&way(&found, "VeraCrypt sha512")["seconds_on_target"]);
    assert!((7.5..8.5).contains(&there), "{there}");
}

#[test]
fn what_does_not_apply_is_refused() {
    let scratch = Scratch::new();
    let (volume, key) = (scratch.file("volume", random(9, 1 << 20)), scratch.file("key", "key"));
    for (options, said) in [
        ("--type tcrypt --within 4s", "are for keyslots, which only LUKS volumes have."),
        ("--type bitlk --apply --within 4s", "are for keyslots, which only LUKS volumes have."),
        ("--type plain --key-slot 1", "are for keyslots, which only LUKS volumes have."),
        (
            "--hash sha512",
            "Options --hash, --cipher and --key-size describe a volume of --type tcrypt, plain or loopaes.",
        ),
        (
            "--type bitlk --hash sha512",
            "Options --hash, --cipher and --key-size describe a volume of --type tcrypt",
        ),
        ("--type tcrypt --hash md4", "No such header uses the KDF \"md4\": they use sha512, ripemd160, "),
        (
            "--type tcrypt --veracrypt-pim 1 --disable-veracrypt",
            "--veracrypt-pim is supported only for VeraCrypt",
        ),
        ("--veracrypt-pim 1", "--veracrypt-pim and --veracrypt-query-pim are for --type tcrypt."),
        ("--type plain --hash qed", "Hash algorithm qed not supported."),
        ("--type bitlk", "BITLK"),
        ("--type fvault2", "FVAULT2"),
        ("--type qed", "--type qed: passport handles luks, luks1 and luks2."),
    ] {
        keyway("passport").args(options).arg(&volume).fails(1).says(said);
    }
    let by_key = keyway("passport --type bitlk --key-file").arg(&key).arg(&volume).fails(1);
    by_key.says("No key is needed: passport reads none for such a volume.");
}

#[test]
fn a_page_has_its_ways() {
    let scratch = Scratch::new();
    let volume = scratch.file("windows.img", Bitlk::default().make(&vec![0; bitlk::LEN]));
    let page = scratch.path("page.html");
    keyway("passport --type bitlk --html").arg(&page).arg(&volume).ok();
    let text = std::fs::read_to_string(&page).unwrap();
    for part in [
        "Ways into windows.img",
        "Protector 0",
        "to find its passphrase",
        "128 random bits",
        "Opened by GRUB",
    ] {
        assert!(text.contains(part), "{part}");
    }
    assert!(!text.contains("Keyslot"), "{text}");
}
