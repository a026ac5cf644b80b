//! `build`: images and streams become volumes of exactly the needed size, that
//! cryptsetup opens and whose file systems are sound.

use crate::{CHEAP, allocated, assert_sound, ext4, len, names, plaintext};
use keyway_tests::{Scratch, cryptsetup, keyway, need, peer, random};
use std::fs;
use std::path::Path;

const HEADER: u64 = 16 << 20;

#[test]
fn a_file_system_survives_in_both_formats() {
    need!("cryptsetup");
    need!("mke2fs");
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let image = ext4(&scratch, 64);
    for (options, header) in [
        ("--type luks2", HEADER),
        ("--type luks2 --sector-size 512 --offset 40960", 40960 * 512),
        ("--type luks1", 2 << 20),
        ("--type luks1 -c aes-cbc-essiv:sha256 -s 256 --hash sha512", 2 << 20),
        (
            "--type luks2 --pbkdf argon2id --pbkdf-memory 32 --pbkdf-parallel 1 --pbkdf-force-iterations 4",
            HEADER,
        ),
    ] {
        let volume = scratch.path("out");
        let costs = if options.contains("argon2") { "" } else { CHEAP };
        let build = keyway("build --force").args(costs).args(options).arg("-d").arg(&key);
        let said = build.arg(&image).arg(&volume).ok();
        said.says("marks as free were left unwritten: they read as noise. --fill encrypts them too.");
        assert_eq!(len(&volume), header + (64 << 20), "{options}: exactly the needed size");
        cryptsetup("open --test-passphrase -d").arg(&key).arg(&volume).ok();

        // As the kernel sees it: noise in the holes, which the file system ignores.
        let seen = scratch.file("seen", plaintext(&volume, &key));
        assert_sound(&seen);
        // And with the holes restored: identical to the image.
        let raw = scratch.path("raw");
        keyway("copy --force --to raw -d").arg(&key).arg(&volume).arg(&raw).ok().quiet();
        assert!(fs::read(&raw).unwrap() == fs::read(&image).unwrap(), "{options}");
    }
}

/// The kernel mounts no file system with smaller blocks than the device below it has.
#[test]
fn sectors_are_no_larger_than_the_blocks_of_the_file_system() {
    need!("mke2fs");
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    for (block, sector) in [(1024, 1024), (4096, 4096)] {
        let image = scratch.sized("image", 8 << 20);
        peer("mke2fs", &format!("-q -F -t ext4 -b {block}")).arg(&image).ok();
        let (one, two, copy) = (scratch.path("one"), scratch.path("two"), scratch.path("copy"));
        let build = |options: &str, out: &Path| {
            keyway("build --force").args(CHEAP).args(options).arg("-d").arg(&key).arg(&image).arg(out)
        };
        build("--type luks1", &one).ok();
        build("", &two).ok();
        let run = keyway("copy --force --to luks2 --new-keyfile").arg(&key).args(CHEAP);
        run.arg("-d").arg(&key).arg(&one).arg(&copy).ok();
        for volume in [&two, &copy] {
            keyway("luksDump").arg(volume).ok().says(&format!("sector: {sector} [bytes]"));
        }
        if block == 4096 {
            build("--sector-size 2048", &two).ok();
            keyway("luksDump").arg(&two).ok().says("sector: 2048 [bytes]");
            continue;
        }
        let before = fs::read(&two).unwrap();
        let said = |sector: u32| {
            format!(
                "{} holds ext4 with blocks of 1024 bytes, which cannot be mounted from sectors of {sector}: use --sector-size \
                 1024, or omit it.\n",
                image.display()
            )
        };
        for sector in [2048, 4096] {
            let refused = build(&format!("--sector-size {sector}"), &two).fails(1);
            assert_eq!(refused.errors(), said(sector));
        }
        let copy = keyway("copy --force --to luks2 --sector-size 4096 --new-keyfile").arg(&key).args(CHEAP);
        assert_eq!(copy.arg(&image).arg(&two).fails(1).errors(), said(4096));
        assert!(fs::read(&two).unwrap() == before);
        build("--sector-size 1024", &two).ok();
        // What is not known to have blocks is taken as it is.
        let unknown = scratch.random_file("unknown", 7, 1 << 20);
        let build = keyway("build --force --sector-size 4096").args(CHEAP).arg("-d").arg(&key);
        build.arg(&unknown).arg(&two).ok();
    }
}

#[test]
fn free_space_stays_a_hole_and_zeros_in_use_are_encrypted() {
    need!("mke2fs");
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let image = ext4(&scratch, 256);
    let build = |options: &str, out: &Path| {
        keyway("build").args(CHEAP).args(options).arg("-d").arg(&key).arg(&image).arg(out).ok()
    };
    let (sparse, full, all) = (scratch.path("sparse"), scratch.path("full"), scratch.path("all"));
    build("-q", &sparse).quiet();
    assert!(allocated(&sparse) < 64 << 20, "{} bytes", allocated(&sparse));
    build("--fill", &full).quiet();
    assert!(allocated(&full) >= 256 << 20);
    assert!(plaintext(&full, &key) == fs::read(&image).unwrap(), "every zero is a zero");
    build("--keep-holes", &all).says("in holes were left unwritten: they read as noise, not as zeros.");
    assert!(allocated(&all) < allocated(&sparse));

    // Zeros not known to be free are stored and read back.
    let unknown = scratch.sized("unknown", 8 << 20);
    let file = fs::File::options().write(true).open(&unknown).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &random(1, 100_000), 3_000_000).unwrap();
    let out = scratch.path("out");
    keyway("build").args(CHEAP).arg("-d").arg(&key).arg(&unknown).arg(&out).ok().quiet();
    assert!(plaintext(&out, &key) == fs::read(&unknown).unwrap());
}

#[test]
fn standard_input_may_stand_in_the_middle_of_a_file() {
    need!("bash");
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let source = scratch.sized("source", 300_000);
    let file = fs::File::options().write(true).open(&source).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &random(9, 5000), 200_000).unwrap();
    let script = format!(
        "{{ dd bs=1000 count=1 of=skipped status=none; exec \"$0\" build - volume {CHEAP} -d key; }} <source"
    );
    let program = keyway_tests::peers::program();
    let run = peer("bash", "-c").arg(script).arg(program).directory(scratch.root());
    let said = "volume holds 8 zero bytes after standard input: a volume ends with a whole sector.\n";
    assert_eq!(run.ok().errors(), said);
    let plain = plaintext(&scratch.path("volume"), &key);
    assert_eq!(plain.len(), 299_008);
    assert!(plain[..299_000] == fs::read(&source).unwrap()[1000..], "holes are zeros");
    assert_eq!(plain[299_000..], [0; 8]);
}

#[test]
fn a_stream_of_unknown_length_is_filled_up_to_whole_sectors() {
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    for (length, options, rounded) in [
        (1, "", 4096),
        (4096, "", 4096),
        (3_000_001, "", 3_002_368),
        (3_000_001, "--type luks1", 3_000_320),
        (3_000_001, "--headroom 1M --fill", 4_050_944),
        (3_000_001, "--size 4M --fill", 4 << 20),
    ] {
        let volume = scratch.path("volume");
        let build = keyway("build --force -").arg(&volume).args(CHEAP).args(options).arg("-d").arg(&key);
        build.arg("-q").stdin(random(2, length)).ok().quiet();
        let plain = plaintext(&volume, &key);
        assert_eq!(plain.len(), rounded, "{length} {options}");
        assert!(plain[..length] == random(2, length), "{length} {options}");
        assert!(plain[length..].iter().all(|&b| b == 0), "{length} {options}");
    }
}

#[test]
fn sizes_are_exact_and_what_does_not_fit_is_refused() {
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let source = scratch.random_file("source", 3, 10_000);
    let empty = scratch.file("empty", "");
    let volume = scratch.path("volume");
    let build = |options: &str| {
        keyway("build --force").args(CHEAP).args(options).arg("-d").arg(&key).arg(&source).arg(&volume)
    };
    for (options, plain) in [("", 10_240), ("--headroom 1M", 1_058_816), ("--size 2M", 2 << 20)] {
        build(options).arg("-q").ok().quiet();
        assert_eq!(len(&volume), HEADER + plain, "{options}");
    }
    fs::remove_file(&volume).unwrap();
    let before = names(&scratch);
    build("--size 8K").fails(1).says("source has 10000 bytes and does not fit into --size 8192.");
    build("--size 1M --headroom 1M").fails(1).says("Options --size and --headroom cannot be combined.");
    for options in
        ["--size 18446744073709551615", "--headroom 18446744073709547520", "--size 4611686018427387905"]
    {
        build(options).fails(1).says("no file or device is longer than 4611686018427387904 bytes.");
    }
    let build = || keyway("build").args(CHEAP).arg("-d").arg(&key);
    build()
        .arg(&empty)
        .arg(&volume)
        .fails(1)
        .says("is empty: give the volume room with --size or --headroom.");
    build().arg("-").arg(&volume).fails(1).says("standard input is empty; there is nothing to encrypt.");
    let long = build().args("--size 4K -").arg(&volume).stdin(random(3, 5000));
    long.fails(1).says("standard input is longer than the 4096 bytes");
    assert_eq!(names(&scratch), before);
    build().args("--size 1M").arg(&empty).arg(&volume).ok().quiet();
    assert_eq!(len(&volume), HEADER + (1 << 20));
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let seed = scratch.random_file("seed", 4, 32);
    let other_seed = scratch.random_file("other-seed", 5, 32);
    let source = scratch.random_file("source", 6, 2_000_000);
    let build = |seed: &Path, options: &str, out: &str| {
        let out = scratch.path(out);
        let build = keyway("build --force").args(options).arg("-d").arg(&key).arg("--reproducible").arg(seed);
        build.arg(&source).arg(&out).ok().says("has the volume key, whatever the passphrase");
        fs::read(out).unwrap()
    };
    for options in ["--type luks1 --pbkdf-force-iterations 1000", CHEAP] {
        let first = build(&seed, options, "first");
        assert!(first == build(&seed, options, "again"), "{options}");
        assert!(first != build(&other_seed, options, "other"), "{options}");
        cryptsetup("open --test-passphrase -d").arg(&key).arg(scratch.path("first")).ok();
        assert!(plaintext(&scratch.path("first"), &key)[..2_000_000] == random(6, 2_000_000));
    }
    // Without a cost the documented one is used, not a measured one.
    build(&seed, "--type luks1", "fixed");
    cryptsetup("luksDump").arg(scratch.path("fixed")).ok().says("\tIterations:         \t1000000");

    let refused = |options: &str, seed: &Path| {
        let build = keyway("build").args(options).arg("-d").arg(&key).arg("--reproducible").arg(seed);
        build.arg(&source).arg(scratch.path("none")).fails(1)
    };
    refused("", &scratch.file("short", [1; 31])).says("31 bytes; at least 32 random ones are needed");
    refused("--iter-time 100", &seed).says("--iter-time measures");
    assert!(!scratch.path("none").exists());
}

/// Two contents under one key stream reveal each other.
#[test]
fn reproducible_volumes_have_no_key_stream() {
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let seed = scratch.random_file("seed", 4, 32);
    let source = scratch.random_file("source", 6, 65536);
    let build = |options: &str| {
        let build =
            keyway("build --force").args(CHEAP).args(options).arg("-d").arg(&key).arg("--reproducible");
        build.arg(&seed).arg(&source).arg(scratch.path("volume"))
    };
    for cipher in ["aes-ctr-plain64", "aes-xctr-plain64", "aes-cfb-plain64", "aes-ofb-plain64", "arc4-ecb"] {
        let options = format!("-c {cipher} -s 256 --allow-weak-cipher");
        let says = format!("and {cipher} then uses the same key stream");
        build(&options).fails(1).says(&says).says("--reproducible");
        build(&format!("--type luks1 {options}")).fails(1).says(&says);
        assert!(!scratch.path("volume").exists());
    }
    for cipher in ["aes-xts-plain64", "aes-cbc-essiv:sha256", "xchacha12,aes-adiantum-plain64"] {
        build(&format!("-c {cipher} -s 256")).ok();
    }
}

#[test]
fn options_arrive_in_the_header() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let source = scratch.random_file("source", 7, 1 << 20);
    let volume = scratch.path("volume");
    let build = keyway("build").args(CHEAP).args(
        "-c aes-cbc-plain64 -s 128 --hash sha512 --label root --subsystem sys --key-slot 5 --sector-size 2048 \
         --uuid 01234567-89ab-cdef-0123-456789abcdef --luks2-metadata-size 64K --luks2-keyslots-size 1M",
    );
    build.arg("-d").arg(&key).arg(&source).arg(&volume).ok();
    let dump = cryptsetup("luksDump").arg(&volume).ok().text();
    for line in [
        "UUID:          \t01234567-89ab-cdef-0123-456789abcdef",
        "Label:         \troot",
        "Subsystem:     \tsys",
        "Metadata area: \t65536 [bytes]",
        "Keyslots area: \t1048576 [bytes]",
        "\tcipher: aes-cbc-plain64",
        "\tsector: 2048 [bytes]",
        "  5: luks2",
        "\tKey:        128 bits",
        "\tHash:       sha512",
    ] {
        assert!(dump.lines().any(|l| l == line), "{line:?} in\n{dump}");
    }
    assert!(plaintext(&volume, &key) == random(7, 1 << 20));
}

#[test]
fn what_cannot_be_is_refused_and_existing_files_stay() {
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let source = scratch.random_file("source", 8, 65536);
    let volume = scratch.file("volume", "precious");
    let build = |options: &str| keyway("build").args(options).arg("-d").arg(&key).arg(&source).arg(&volume);
    build(CHEAP).fails(5).says("volume already exists; --force replaces it.");
    for (options, says) in [
        ("--force -c aes-xts-plain64 -s 128", "aes-xts-plain64"),
        ("--force -c blowfish-xts-plain64", "blowfish"),
        ("--force -c arc4", "arc4"),
        ("--force --hash nothash", "nothash"),
        ("--force --sector-size 1000", "sector size: 512, 1024, 2048 or 4096."),
        ("--force --type luks1 --label x", "--label needs LUKS2; omit it or use --type luks2."),
        ("--force --type luks1 --sector-size 4096", "LUKS1 supports only 512 bytes."),
        ("--force --type luks1 --pbkdf argon2id", "LUKS1"),
        ("--force --type plain", "--type plain"),
        ("--force --pbkdf pbkdf2 --pbkdf-force-iterations 10", "minimum is 1000"),
        ("--force --align-payload 8 --offset 40960", "--align-payload and --offset cannot be combined"),
    ] {
        build(options).fails(1).says(says);
    }
    assert_eq!(fs::read(&volume).unwrap(), b"precious");
    assert_eq!(names(&scratch), ["key", "source", "volume"]);
    build(CHEAP).arg("-q").fails(5).says("volume already exists; --force replaces it.");
    assert_eq!(fs::read(&volume).unwrap(), b"precious");
    build(CHEAP).arg("--force").ok().quiet();
    assert!(plaintext(&volume, &key) == random(8, 65536));
}

/// `read` gives back what a whole number of sectors holds.
#[test]
fn zeros_after_an_image_are_counted() {
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    for (len, options, zeros) in [
        (6, "", Some("506 zero bytes")),
        (511, "", Some("1 zero byte")),
        (4097, "--sector-size 4096", Some("4095 zero bytes")),
        (513, "--type luks1", Some("511 zero bytes")),
        (1024, "", None),
        (6, "--size 4096", None),
        (6, "-q", None),
    ] {
        let (image, volume) = (scratch.file("image", random(3, len)), scratch.path("volume"));
        let build = keyway("build --force").args(CHEAP).args(options).arg("-d").arg(&key);
        let built = build.arg(&image).arg(&volume).ok();
        let said = zeros.map_or(String::new(), |zeros| {
            format!(
                "{} holds {zeros} after {}: a volume ends with a whole sector.\n",
                volume.display(),
                image.display()
            )
        });
        assert_eq!(built.errors(), said, "{len} {options}");
        let Some(zeros) = zeros else { continue };
        let mut whole = random(3, len);
        whole.resize(len + zeros.split(' ').next().unwrap().parse::<usize>().unwrap(), 0);
        assert!(plaintext(&volume, &key) == whole, "{len} {options}");
        keyway("compare -d")
            .arg(&key)
            .arg(&image)
            .arg(&volume)
            .ok()
            .says(&format!(", and {zeros} after it.\n"));
    }
}

/// A rename would put a file in place of a pipe, or of /dev/null.
#[test]
fn what_is_no_regular_file_is_not_replaced() {
    need!("mkfifo");
    let scratch = Scratch::new();
    let key = scratch.file("key", "secret");
    let source = scratch.random_file("source", 10, 65536);
    let pipe = scratch.path("pipe");
    peer("mkfifo", "").arg(&pipe).ok();
    let build = keyway("build --force").args(CHEAP).arg("-d").arg(&key).arg(&source).arg(&pipe);
    build.fails(4).says("pipe is not a regular file: a new file or a block device is needed.");
    assert!(!fs::metadata(&pipe).unwrap().is_file());
}

#[test]
fn standard_input_is_data_or_passphrase_by_whatever_name() {
    let scratch = Scratch::new();
    let volume = scratch.path("volume");
    for name in ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"] {
        let build =
            keyway("build").args(CHEAP).args("-d").arg(name).arg("-").arg(&volume).stdin(random(12, 9000));
        build.fails(1).says("Standard input is the data, so the passphrase cannot come from it too");
        assert!(!volume.exists(), "{name}");
    }
}
