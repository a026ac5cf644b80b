//! Invalid command lines: one line on standard error that names the problem, and exit code 1.

use keyway_tests::keyway;

/// Command line, and words that the line on standard error must contain.
const REFUSALS: &[(&str, &[&str])] = &[
    ("version", &["unknown command \"version\"; \"--version\" shows the version."]),
    ("ls", &["unknown command \"ls\"; \"list\" shows what is open, and where."]),
    ("lsblk", &["\"list\" shows what is open"]),
    ("info disk.img", &["\"inspect\" shows what a volume is."]),
    ("format disk.img", &["\"luksFormat\" makes a volume"]),
    ("unmount mnt", &["\"umount\" unmounts a volume that \"mount\" shows."]),
    ("dump disk.img", &["\"luksDump\" shows a header"]),
    ("list-keys disk.img", &["\"inspect\" lists keyslots."]),
    ("Info disk.img", &["\"inspect\""]),
    ("ben", &["unknown command \"ben\"; did you mean \"bench\" or \"benchmark\"?"]),
    ("comp disk.img", &["did you mean \"compare\" or \"completions\"?"]),
    ("luksE", &["did you mean"]),
    ("boot ch x", &["boot: unknown verb \"ch\"; did you mean \"check\"?"]),
    ("bench di", &["bench: unknown verb \"di\"; did you mean \"diff\" or \"disk\"?"]),
    ("bench --threshold 5", &["bench takes no --threshold, which is for bench diff."]),
    ("bench disk --hash sha1 .", &["bench disk takes no --hash, which is for bench, bench kdf."]),
    ("token im x", &["Invalid token action im: did you mean \"import\"?"]),
    ("open --read x", &["unknown option --read; did you mean --readonly?"]),
    ("man nosuch", &["unknown command \"nosuch\""]),
    ("man ls", &["\"list\" shows what is open"]),
    ("man /tmp/pages", &["man: /tmp/pages is no command; --output /tmp/pages writes all pages there."]),
    ("man --output /tmp/pages open", &["man --output DIR writes all pages: it takes no COMMAND."]),
    ("man open close", &["man: unexpected operand \"close\""]),
    ("bogus", &["unknown command \"bogus\"", "--help"]),
    ("luksfromat x", &["unknown command", "did you mean \"luksFormat\"?"]),
    ("luksDupm x", &["did you mean \"luksDump\"?"]),
    ("--bogus luksDump x", &["unknown option --bogus"]),
    ("luksDump --lable x", &["unknown option --lable", "--label"]),
    ("luksDump -Z x", &["unknown option -Z"]),
    ("--verbose", &["a command is missing"]),
    ("luksUUID --sector-size 512 x", &["--sector-size is not allowed with luksUUID action", "luksFormat"]),
    ("-S 1 luksUUID x", &["--key-slot is not allowed with luksUUID"]),
    ("read --pbkdf argon2id x", &["--pbkdf is not allowed with read"]),
    ("luksDump", &["luksDump: DEVICE is missing", "usage:"]),
    ("luksKillSlot x", &["luksKillSlot: SLOT is missing"]),
    ("erase a b", &["erase: unexpected operand \"b\"; usage: keyway erase"]),
    ("luksDump a --json b", &["luksDump: unexpected operand \"b\""]),
    ("list a b", &["list: unexpected operand \"b\""]),
    ("bench kdf x y", &["bench kdf: unexpected operand \"x\""]),
    ("bench kdf disk", &["bench kdf: unexpected operand \"disk\""]),
    ("luksAddKey a b c", &["luksAddKey: unexpected operand \"c\""]),
    ("luksDump x --key-slot", &["--key-slot needs a value"]),
    ("luksDump x --key-slot one", &["--key-slot one: a whole number, 0 or more, is needed."]),
    ("luksDump x --key-slot -1", &["--key-slot -1: a whole number, 0 or more, is needed."]),
    ("luksDump x -S 4294967296", &["--key-slot 4294967296: at most 2147483647"]),
    ("luksDump x --unbound=yes", &["--unbound takes no value"]),
    ("luksFormat x --luks2-metadata-size 16x", &["--luks2-metadata-size 16x: a size is needed"]),
    ("config x --priority high --key-slot 0", &["one of ignore, normal, prefer is needed"]),
    (
        "luksFormat x --integrity hmac-sha256",
        &["--integrity: integrity protection is not implemented yet", "Nothing was written"],
    ),
    ("luksFormat x --integrity-no-wipe", &["Option --integrity-no-wipe can be used only"]),
    ("luksFormat x --hw-opal", &["--hw-opal: self-encrypting drives are not supported"]),
    ("luksFormat x --use-random --use-urandom", &["Only one of --use-[u]random options is allowed."]),
    (
        "luksFormat x --align-payload 8 --offset 8",
        &["Options --align-payload and --offset cannot be combined."],
    ),
    (
        "luksFormat x --keyslot-cipher aes-xts-plain64",
        &["--keyslot-cipher and --keyslot-key-size must be used together"],
    ),
    ("luksFormat x --key-size 511", &["Key size must be a multiple of 8 bits"]),
    ("luksFormat x -c aes-xts-plain64 -s 128", &["aes-xts-plain64", "128"]),
    ("luksFormat x -c arc4", &["arc4"]),
    ("luksFormat x -c blowfish-xts-plain64 -s 256", &["blowfish"]),
    ("luksFormat x -c aes-foo-plain64", &["foo"]),
    ("luksFormat x --hash nosuch", &["nosuch"]),
    ("luksFormat x --pbkdf scrypt", &["can be only pbkdf2 or argon2i/argon2id"]),
    ("luksFormat x --type luks1 --pbkdf argon2id", &["LUKS1 supports only PBKDF2"]),
    ("luksFormat x --type luks1 --sector-size 4096", &["LUKS1 supports only 512 bytes"]),
    ("luksFormat x --type luks3", &["--type luks3", "luks1 and luks2"]),
    (
        "luksFormat x --iter-time 5 --pbkdf-force-iterations 5000",
        &["PBKDF forced iterations cannot be combined"],
    ),
    ("luksFormat x --pbkdf pbkdf2 --pbkdf-force-iterations 10", &["1000"]),
    ("luksFormat x --pbkdf argon2id --pbkdf-force-iterations 1", &["4"]),
    (
        "luksFormat x --pbkdf-parallel 5",
        &["Requested maximum PBKDF parallel cost is too high (maximum is 4)."],
    ),
    (
        "open x",
        &["Command requires device and mapped name as arguments; usage: keyway open [OPTION...] DEVICE NAME"],
    ),
    ("open --type verity x name", &["dm-verity devices (type verity) are not implemented yet"]),
    ("open --type nosuch x name", &["Unrecognized metadata device type nosuch."]),
    ("open x name --backend floppy", &["--backend floppy", "kernel, nbd, fuse, ublk"]),
    ("open x name --shared --backend kernel", &["Option --shared is allowed only for open of plain device."]),
    ("open x na/me", &["Cannot use device na/me, name is invalid or still in use."]),
    ("token import x --unbound", &["--unbound is valid only with token add action"]),
    ("token frob x", &["Invalid token action"]),
    ("token add x", &["--key-description parameter is mandatory"]),
    ("token remove x", &["Action requires specific token"]),
    ("token unassign x --token-id 0", &["Action requires specific keyslot"]),
    ("config x", &["Option --priority, --label or --subsystem is missing."]),
    ("config x --priority prefer", &["Keyslot specification is required."]),
    ("luksDump x --unbound", &["Keyslot specification is required."]),
    ("luksAddKey x --unbound", &["Key size is required with --unbound option."]),
    ("luksHeaderBackup x", &["Option --header-backup-file is required."]),
    ("luksHeaderRestore x", &["Option --header-backup-file is required."]),
    ("convert x", &["only luks1 and luks2 are supported"]),
    ("completions tcsh", &["bash, zsh or fish"]),
];

#[test]
fn every_refusal_is_one_line_with_exit_code_1() {
    for (line, words) in REFUSALS {
        let outcome = keyway(line).fails(1);
        let errors = outcome.errors();
        assert_eq!(errors.lines().count(), 1, "not one line\n{outcome}");
        // open judges its operands when it runs, in cryptsetup's words.
        let is_of_open = line.starts_with("open ");
        assert!(errors.starts_with("keyway: ") || is_of_open, "no prefix\n{outcome}");
        assert_eq!(
            errors.matches("keyway: ").count(),
            usize::from(errors.starts_with("keyway: ")),
            "{outcome}"
        );
        assert_eq!(outcome.text(), "", "nothing belongs on standard output\n{outcome}");
        for word in *words {
            assert!(errors.contains(word), "{word:?} is missing\n{outcome}");
        }
        assert!(!std::path::Path::new("x").exists(), "{line} made a file");
    }
}

/// Options may be anywhere, with or without `=`, bundled or not; `--` ends them. All of these are
/// the same command.
#[test]
fn options_stand_anywhere() {
    let lines = [
        "luksDump --test-args --key-slot 3 x",
        "--test-args --key-slot=3 luksDump x",
        "--key-slot 3 luksDump x --test-args",
        "-S 3 --test-args luksDump x",
        "-S3 --test-args luksDump x",
        "-vqS 3 luksDump x --test-args",
        "-qS3 luksDump --test-args -- x",
        "--test-args -S 1 luksDump x -S 3",
        "-d - --test-args luksDump x",
        "--key-file=- luksDump --test-args x",
        "--cipher aes --hash sha1 luksDump x --test-args --timeout 1",
        "--test-args -- luksDump x",
    ];
    for line in lines {
        let outcome = keyway(line).ok();
        assert_eq!(outcome.text(), "No action taken. Invoked with --test-args option.\n", "{outcome}");
    }
}

#[test]
fn after_two_dashes_everything_is_an_operand() {
    keyway("luksDump -- --help").fails(4).says("Device --help does not exist or access denied.");
}

/// The command lines of an article about LUKS1 and GRUB, as typed there.
#[test]
fn an_articles_command_lines_parse() {
    for line in [
        "--cipher aes-xts-plain64 --key-size 512 --hash sha512 --iter-time 2000 --align-payload=2048 -v luksFormat x",
        "luksAddKey x -S 1 --pbkdf-force-iterations 200000",
        "luksKillSlot x 0",
        "-v --key-file k luksFormat x",
    ] {
        keyway(line).args("--test-args").ok();
    }
}
