//! `ciphers`: which combinations exist and why the rest cannot, as text and as JSON.

use keyway_format::json::{Value, parse};
use keyway_tests::peers::CHEAP_PBKDF2;
use keyway_tests::{Outcome, Scratch, assert_same_bytes, keyway, random};
use std::fs;

#[test]
fn the_overview_has_a_line_for_each_cipher_and_iv() {
    let text = keyway("ciphers").ok().quiet().text();
    let line = |name: &str| {
        let found = text.lines().find(|line| line.split(' ').next() == Some(name));
        found.unwrap_or_else(|| panic!("{name} is missing in\n{text}"))
    };
    for cipher in ["aes", "serpent", "twofish", "camellia", "blowfish", "des3_ede", "arc4", "cipher_null"] {
        line(cipher);
    }
    for iv in
        ["null", "plain", "plain64", "plain64be", "benbi", "lmk", "tcw", "eboiv", "elephant", "essiv:HASH"]
    {
        line(iv);
    }
    assert!(line("aes").contains("128,192,256") && line("aes").contains("yes"));
    let columns: Vec<&str> = line("blowfish").split_whitespace().collect();
    assert_eq!(
        (columns[1], columns[7], columns.last()),
        ("64", "-", line("blowfish").split(' ').next_back().as_ref())
    );
    assert!(text.starts_with("Dm-crypt of Linux ") || text.contains("dm-crypt"), "{text}");
    for line in text.lines().skip(1) {
        assert!(line.chars().count() <= 120, "{line}");
    }
}

#[test]
fn a_filter_lists_what_exists_and_names_the_rules_that_forbid_the_rest() {
    let text = keyway("ciphers aes-cbc").ok().quiet().text();
    let line = text.lines().find(|line| line.starts_with("aes-cbc-plain64 ")).expect(&text);
    assert!(line.contains("128, 192, 256") && line.contains("512-4096"), "{line}");
    assert!(
        text.contains(
            "\nCannot exist:\n  aes-cbc-random:\n      random IVs must be stored beside each sector"
        ),
        "{text}"
    );
    assert_eq!(
        keyway("ciphers -c blowfish-xts").ok().quiet().text(),
        "Cannot exist:\n  blowfish-xts-null, blowfish-xts-plain, blowfish-xts-plain64 and 8 more:\n      \
         xts needs a cipher with 128-bit blocks, blowfish's are 64 bits\n"
    );
    assert_eq!(
        keyway("ciphers blowfish-xts-plain64").ok().quiet().text(),
        "blowfish-xts-plain64\n  cannot exist: xts needs a cipher with 128-bit blocks, blowfish's are 64 bits\n"
    );
}

#[test]
fn one_specification_in_full() {
    for (spec, key, sectors) in [
        ("aes-xts-plain64", "256, 384, 512 bits", "512, 1024, 2048, 4096 bytes"),
        ("capi:essiv(cbc(aes),sha256)-plain64", "128, 192, 256 bits", "512, 1024, 2048, 4096 bytes"),
        ("aes:64-cbc-lmk", "8192 to 16640, 6 sizes bits", "512 bytes"),
        ("aes:4-cbc-plain64", "512, 768, 1024 bits", "512, 1024, 2048, 4096 bytes"),
    ] {
        let text = keyway("ciphers").arg(spec).ok().quiet().text();
        assert!(text.starts_with(&format!("{spec}\n")), "{text}");
        assert!(text.contains(&format!("  key         {key}\n")), "{text}");
        assert!(text.contains(&format!("  sectors     {sectors}\n")), "{text}");
        assert!(text.contains("  code        ") && text.contains("  kernel      "), "{text}");
    }
    for (filter, unknown) in [
        ("rot13", "Unknown cipher \"rot13\"; \"keyway ciphers\" lists what is available.\n"),
        ("aes-xts-plain63", "Unknown IV \"plain63\"; \"keyway ciphers\" lists what is available.\n"),
        (
            "capi:gcm(aes)-random",
            "capi:gcm(aes)-random: gcm authenticates, and its tags need space beside each sector (integrity).\n",
        ),
    ] {
        assert_eq!(keyway("ciphers").arg(filter).fails(1).errors(), unknown);
    }
}

/// bench and xray take short names; a header needs all of it.
#[test]
fn a_short_name_is_refused_with_what_it_stands_for() {
    let scratch = Scratch::new();
    let (device, key) = (scratch.sized("device", 32 << 20), scratch.file("key", "secret"));
    let format =
        |spec: &str| keyway("luksFormat -q -d").arg(&key).arg("-c").arg(spec).arg(&device).fails(1).errors();
    assert_eq!(
        format("adiantum"),
        "keyway: Unknown cipher \"adiantum\"; write it in full: xchacha12,aes-adiantum-plain64 or \
         xchacha20,aes-adiantum-plain64.\n"
    );
    assert_eq!(format("hctr2"), "keyway: Unknown cipher \"hctr2\"; write it in full: aes-hctr2-plain64.\n");
    assert_eq!(
        format("rot13"),
        "keyway: Unknown cipher \"rot13\"; \"keyway ciphers\" lists what is available.\n"
    );
}

/// Each refusal is one line that names the rule, before any passphrase prompt and before any byte
/// is written.
#[test]
fn volumes_that_cannot_be_are_refused_by_their_rule() {
    let scratch = Scratch::new();
    let content = random(7, 20 << 20);
    let image = scratch.file("image", &content);
    let target = scratch.path("target");
    for (options, line) in [
        (
            "--type luks2 -c aes:64-cbc-lmk -s 8192 --sector-size 4096",
            "aes:64-cbc-lmk: the IV lmk is defined for sectors of 512 bytes, not 4096.\n",
        ),
        (
            "--type luks2 -c khazad-cbc-lmk --sector-size 1024",
            "khazad-cbc-lmk: the IV lmk is defined for sectors of 512 bytes, not 1024.\n",
        ),
        (
            "--type luks1 -c aes:64-cbc-lmk -s 8192",
            "LUKS1 takes keys of up to 4096 bits, aes:64-cbc-lmk needs 8192 bits; use --type luks2.\n",
        ),
        (
            "--type luks2 -c cipher_null-ecb",
            "The volume would use cipher_null-ecb, which encrypts nothing; --allow-weak-cipher makes it anyway.\n",
        ),
        (
            "--type luks1 -c serpent-cbc-plain -s 0",
            "LUKS needs a volume key, and serpent-cbc-plain would have none; choose a cipher with a key, or \
             give its size with --key-size.\n",
        ),
        (
            "--type luks2 -c aes-xts-plain64 -s 128",
            "aes-xts-plain64 takes a key of 256, 384 or 512 bits (two keys: one for the data, one for the tweak), not 128 bits.\n",
        ),
        (
            "--type luks2 -c blowfish-xts-plain64",
            "xts needs a cipher with 128-bit blocks, blowfish's are 64 bits.\n",
        ),
        (
            "--type luks1 -c aes-xts-random",
            "aes-xts-random: random IVs must be stored beside each sector and need integrity tags for that.\n",
        ),
    ] {
        let format = keyway("luksFormat -q").args(options).arg(&image).fails(1);
        assert_eq!(said(&format), line, "luksFormat {options}");
        assert_same_bytes("before", &content, options, &fs::read(&image).unwrap());
        let build = keyway("build -q").args(options).arg(&image).arg(&target).fails(1);
        assert_eq!(said(&build), line, "build {options}");
        assert!(!target.exists(), "{options}");
    }
}

/// LUKS1's header is not checksummed: byte 8 starts the cipher's name.
#[test]
fn a_header_with_an_unknown_cipher_is_dumped_and_not_read() {
    let scratch = Scratch::new();
    let volume = scratch.sized("volume", 4 << 20);
    keyway("luksFormat -q --type luks1").args(CHEAP_PBKDF2).arg(&volume).stdin("secret").ok();
    let mut bytes = fs::read(&volume).unwrap();
    bytes[8..14].copy_from_slice(b"rot13\0");
    fs::write(&volume, &bytes).unwrap();
    assert!(keyway("luksDump").arg(&volume).ok().text().contains("rot13"));
    let line = format!(
        "Device {} cannot be decrypted: unknown cipher \"rot13\"; luksDump shows its cipher.\n",
        volume.display()
    );
    assert_eq!(keyway("read").arg(&volume).stdin("secret").fails(1).errors(), line);
    assert_eq!(keyway("write").arg(&volume).stdin("secret").fails(1).errors(), line);
    assert_same_bytes("before", &bytes, "after", &fs::read(&volume).unwrap());
}

#[test]
fn json_has_every_combination_with_its_sizes_or_its_rule() {
    let document = parse(&keyway("ciphers --json").ok().quiet().stdout).unwrap();
    let member = |value: &Value, name: &str| value.as_object().and_then(|it| it.get(name)).cloned();
    let text = |value: &Value, name: &str| member(value, name).and_then(|it| it.as_str().map(str::to_owned));
    assert!(text(&member(&document, "kernel").unwrap(), "dm_crypt").is_some());
    let combinations = member(&document, "combinations").unwrap();
    let combinations = combinations.as_array().unwrap();
    assert!(combinations.len() > 2500, "{}", combinations.len());
    let (mut existing, mut forbidden) = (0, 0);
    for it in combinations {
        match member(it, "exists") {
            Some(Value::Bool(true)) => {
                existing += 1;
                let sizes = |name: &str| member(it, name).unwrap().as_array().unwrap().len();
                assert!(sizes("key_bits") > 0 && sizes("sector_sizes") > 0, "{}", it.to_compact());
            }
            _ => {
                forbidden += 1;
                assert!(text(it, "reason").is_some_and(|reason| !reason.is_empty()), "{}", it.to_compact());
            }
        }
    }
    assert!(existing > 1000 && forbidden > 1000, "{existing} exist, {forbidden} cannot");
    let few = parse(&keyway("ciphers --json aes-xts-plain64").ok().quiet().stdout).unwrap();
    let few = member(&few, "combinations").unwrap();
    let [only] = few.as_array().unwrap() else { panic!("{}", few.to_pretty()) };
    assert_eq!(text(only, "spec").as_deref(), Some("aes-xts-plain64"));
    assert_eq!(member(only, "key_bits").unwrap().to_compact(), "[256,384,512]");
}

/// The line of a refusal. Some are the command line's alone, and begin with the program's name.
fn said(refused: &Outcome) -> String {
    let errors = refused.errors();
    errors.strip_prefix("keyway: ").unwrap_or(&errors).to_owned()
}
