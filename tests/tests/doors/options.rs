//! What `open` takes from cryptsetup's command lines, with Keyway's own front ends: options that apply
//! there, those that do not apply and are kept, and volumes that no front end can serve.

use crate::served::Volume;
use keyway_crypto::Hash;
use keyway_tests::peers::CHEAP_ARGON2;
use keyway_tests::{Run, Scratch, keyway, need_that, random};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

/// Flags for dm-crypt's work queues do not apply to a process; the header keeps them for the
/// kernel's front end anyway.
#[test]
fn flags_of_the_kernels_are_taken_and_kept() {
    let scratch = Scratch::new();
    let volume = Volume::new(&scratch, "disk.luks", 1);
    let perf = "--perf-same_cpu_crypt --perf-submit_from_crypt_cpus --perf-no_read_workqueue \
                --perf-no_write_workqueue --perf-high_priority";
    let others = "--disable-keyring --disable-external-tokens --token-id 3 -q --tries 2 --timeout 5";
    let open = in_scratch(&scratch, "open --backend nbd").args(perf).args(others);
    open.arg("--volume-key-file").arg(volume.key_file()).arg(volume.path()).arg("home").ok();
    in_scratch(&scratch, "status home").ok().lacks("flags:");
    in_scratch(&scratch, "close home").ok();
    keyway("luksDump").arg(volume.path()).ok().says("Flags:       \t(no flags)");
    let open = in_scratch(&scratch, "open --backend nbd --allow-discards --persistent").args(perf);
    open.arg("--volume-key-file").arg(volume.key_file()).arg(volume.path()).arg("home").ok();
    in_scratch(&scratch, "status home").ok().says("  flags:   discards \n");
    in_scratch(&scratch, "close home").ok();
    keyway("luksDump").arg(volume.path()).ok().says(
        "Flags:       \tallow-discards same-cpu-crypt submit-from-crypt-cpus no-read-workqueue no-write-workqueue \
         high_priority",
    );
    let open = in_scratch(&scratch, "open --backend nbd --volume-key-file").arg(volume.key_file());
    open.arg(volume.path()).arg("home").ok();
    in_scratch(&scratch, "status home").ok().says("  flags:   discards \n");
    in_scratch(&scratch, "close home").ok();
}

/// A script that calls cryptsetup expects /dev/mapper/NAME, and would go on without it: nothing is
/// opened unless the environment or the command line names another front end. -q leaves the usage lines away.
#[test]
fn called_as_cryptsetup_only_a_named_front_end_is_opened_in_the_kernels_place() {
    let has_mapper = fs::read_to_string("/proc/devices").is_ok_and(|text| text.contains(" device-mapper\n"));
    need_that!(!has_mapper, "this kernel maps volumes");
    let scratch = Scratch::new();
    let volume = Volume::new(&scratch, "disk.luks", 1);
    let program = scratch.path("cryptsetup");
    std::os::unix::fs::symlink(keyway_tests::peers::program(), &program).unwrap();
    let open = |program: &Path, line: &str| {
        let run = Run::new(program, line).env("XDG_RUNTIME_DIR", scratch.root());
        run.arg("--volume-key-file").arg(volume.key_file()).arg(volume.path()).arg("home")
    };
    for line in ["luksOpen", "open", "luksOpen --backend kernel"] {
        let refused = open(&program, line).fails(1);
        let (first, hint) =
            refused.errors().split_once('\n').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        let without_dm = [
            "Cannot initialize device-mapper. Is dm_mod kernel module loaded?",
            "Cannot initialize device-mapper, running as non-root user.",
        ];
        assert!(without_dm.contains(&first.as_str()), "{refused}");
        if let Some(theirs) = keyway_tests::skip::find("cryptsetup") {
            let theirs = open(&theirs, "luksOpen").fails(1);
            assert_eq!(theirs.errors().lines().next(), Some(first.as_str()), "{theirs}");
        }
        let way = "Nothing was opened. With --backend nbd or KEYWAY_BACKEND=nbd it opens without dm-crypt, and without \
                   /dev/mapper/home.\n";
        let is_told = line != "luksOpen --backend kernel";
        assert_eq!(hint.replace("fuse", "nbd"), if is_told { way } else { "" }, "{line}");
    }
    in_scratch(&scratch, "list").ok().lacks("home");
    let named = |line: &str| open(&program, line).env("KEYWAY_BACKEND", "nbd");
    // Not before it is true.
    let wrong = Run::new(&program, "luksOpen --key-file").arg(scratch.file("wrong", "wrong"));
    let wrong = wrong.arg(volume.path()).arg("home").env("XDG_RUNTIME_DIR", scratch.root());
    let wrong = wrong.env("KEYWAY_BACKEND", "nbd").fails(2);
    assert_eq!(wrong.errors().trim(), "No key available with this passphrase.");
    let opened = named("luksOpen").ok();
    assert!(opened.stdout.is_empty(), "cryptsetup prints nothing here: {opened}");
    assert_eq!(
        opened.errors(),
        "WARNING: home is open through nbd, as the environment says: there is no /dev/mapper/home; \"status home\" shows \
         where it is.\n"
    );
    in_scratch(&scratch, "status home").ok().says("backend: nbd");
    in_scratch(&scratch, "close home").ok();
    open(&program, "luksOpen --backend nbd").ok().says("home is open through nbd");
    in_scratch(&scratch, "close home").ok();
    let unknown = open(&program, "luksOpen").env("KEYWAY_BACKEND", "loop").fails(1);
    assert_eq!(unknown.errors(), "KEYWAY_BACKEND=loop: one of kernel, nbd, fuse, ublk is needed.\n");
    let keyway = keyway_tests::peers::program();
    open(&keyway, "open -q").ok().quiet();
    in_scratch(&scratch, "close home").ok();
    // The old name has its operands the other way round.
    let run =
        Run::new(&program, "create -q home").arg(volume.path()).args("-c aes-xts-plain64 -s 512 --key-file");
    let run = run.arg(volume.key_file()).env("KEYWAY_BACKEND", "nbd");
    run.env("XDG_RUNTIME_DIR", scratch.root()).ok();
    in_scratch(&scratch, "status home").ok().says("type:    PLAIN");
    in_scratch(&scratch, "close home").ok();
}

/// cryptsetup's lock: Keyway waits until its holder releases it.
#[test]
fn memory_hard_keyslots_take_turns() {
    let directory = Path::new("/run/cryptsetup");
    let _ = fs::create_dir(directory);
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(directory.join("LN_memory-hard-access"));
    need_that!(lock.is_ok(), "/run/cryptsetup is not this user's");
    let lock = lock.unwrap();
    let scratch = Scratch::new();
    let (key, path) = (scratch.file("key", "secret"), scratch.sized("disk", 20 << 20));
    keyway("luksFormat -q --type luks2").args(CHEAP_ARGON2).arg(&path).arg(&key).ok();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let run = in_scratch(&scratch, "open --backend nbd --serialize-memory-hard-pbkdf -d").arg(&key);
    let run = run.arg(&path).arg("home");
    let mut waiting = run.spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert!(waiting.try_wait().unwrap().is_none(), "it does not wait");
    in_scratch(&scratch, "open --test-passphrase -d").arg(&key).arg(&path).ok();
    flock(&lock, FlockOperation::Unlock).unwrap();
    assert!(waiting.wait().unwrap().success());
    in_scratch(&scratch, "close home").ok();
}

/// A locked header is busy as a volume in use is, but --shared does not go past its lock. (The lock
/// of a header in a file is flock on that file.)
#[test]
fn a_locked_header_is_waited_for_and_not_shared() {
    let scratch = Scratch::new();
    let (key, path) = (scratch.file("key", "secret"), scratch.sized("disk", 20 << 20));
    keyway("luksFormat -q --type luks2").args(CHEAP_ARGON2).arg(&path).arg(&key).ok();
    let lock = File::open(&path).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let write = keyway("write -d").arg(&key).arg(&path).arg(&key);
    write.fails(5).says(&format!("Device {} is busy: ", path.display())).lacks("--shared");
}

/// LUKS2 with authenticated encryption needs dm-integrity below it, which no front end has.
#[test]
fn volumes_with_integrity_are_refused_by_name_at_every_front_end() {
    let scratch = Scratch::new();
    let volume = Volume::new(&scratch, "disk.luks", 1);
    add_integrity(volume.path());
    let before = fs::read(volume.path()).unwrap();
    keyway("luksDump").arg(volume.path()).ok().says("integrity: hmac(sha256)");
    let directory = scratch.path("mounted");
    fs::create_dir(&directory).unwrap();
    let with_key = |line: &str| {
        in_scratch(&scratch, line).arg("--volume-key-file").arg(volume.key_file()).arg(volume.path())
    };
    for run in [
        with_key("open --backend nbd").arg("home"),
        with_key("open --backend fuse").arg("home"),
        with_key("open --backend ublk").arg("home"),
        with_key("mount").arg(&directory),
        with_key("serve"),
        with_key("read"),
        with_key("write"),
    ] {
        run.fails(1).says("Segment 0 cannot be mapped").says("needs dm-integrity (hmac(sha256))");
    }
    in_scratch(&scratch, "list").ok().lacks("home");
    assert!(fs::read(volume.path()).unwrap() == before);
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
}

/// Names an integrity algorithm in the segment of both copies of the header, with the right
/// checksums (LUKS2 on-disk format, sections 2.1 and 3.3).
fn add_integrity(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let size = u64::from_be_bytes(bytes[8..16].try_into().unwrap()) as usize;
    let integrity =
        br#","integrity":{"type":"hmac(sha256)","journal_encryption":"none","journal_integrity":"none"}"#;
    for copy in [0, size] {
        let area = &mut bytes[copy..copy + size];
        let mark = b"\"encryption\":\"aes-xts-plain64\",\"sector_size\":4096";
        let at =
            area.windows(mark.len()).position(|window| window == mark).expect("its segment") + mark.len();
        area.copy_within(at..size - integrity.len(), at + integrity.len());
        area[at..at + integrity.len()].copy_from_slice(integrity);
        area[CHECKSUM..CHECKSUM + 64].fill(0);
        let digest = Hash::Sha256.digest(&[area]);
        area[CHECKSUM..CHECKSUM + digest.len()].copy_from_slice(&digest);
    }
    fs::write(path, bytes).unwrap();
}

/// What is left of a session that was killed at its very beginning: a mount directory without
/// session data.
#[test]
fn a_session_that_never_was_open_leaves_its_name_free() {
    let scratch = Scratch::new();
    let volume = Volume::new(&scratch, "disk.luks", 1);
    let left = scratch.path("keyway").join("home");
    for command in ["list", "open"] {
        fs::create_dir_all(left.join("fuse")).unwrap();
        scratch.file("keyway/home/lock", "");
        scratch.file("keyway/home/facts.new", random(1, 100));
        match command {
            "list" => {
                in_scratch(&scratch, "list").ok().lacks("home");
                assert!(!left.exists(), "{:?}", fs::read_dir(&left).map(Iterator::count));
            }
            _ => {
                let open =
                    in_scratch(&scratch, "open --backend nbd --volume-key-file").arg(volume.key_file());
                open.arg(volume.path()).arg("home").ok();
                assert!(!left.join("fuse").exists() && !left.join("facts.new").exists());
                in_scratch(&scratch, "close home").ok();
                assert!(!left.exists());
            }
        }
    }
}

fn in_scratch(scratch: &Scratch, line: &str) -> Run {
    keyway(line).env("XDG_RUNTIME_DIR", scratch.root())
}

/// The offset of the checksum in a header copy.
const CHECKSUM: usize = 448;
