//! GRUB on a PC with BIOS: its own prompt, keyboard, options, modules and memory, which
//! `grub-fstest` does not have. The oracle predicts first; then each step opens the volume, or not,
//! as predicted.

use super::grub::Grub;
use super::kit::{Kit, judge};
use keyway_boot::loader::grub::{Finding, Loader, RULES, Version, Witness};
use keyway_boot::loader::grub::{installed, typing};
use keyway_tests::console::{Board, Console};
use keyway_tests::{Scratch, keyway, need, need_that, peer};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

/// One `cryptomount`, on its own drive.
struct Step {
    name: String,
    disk: PathBuf,
    /// The arguments of `cryptomount`; "DISK" is the drive.
    words: String,
    typed: Typed,
    /// The oracle's findings against it.
    findings: Vec<Finding>,
    opens: bool,
}

/// What is done at the prompt.
#[derive(Clone)]
enum Typed {
    /// Sent to the serial port.
    Sent(String),
    /// Keys of the keyboard, by their names on an American keyboard.
    Keys(Vec<String>),
}

#[test]
fn grub_at_its_own_prompt() {
    need!("grub-fstest", "grub-mkimage", "qemu-system-x86_64", "mke2fs");
    let kit = Kit::new();
    let volumes = Volumes::made(&kit);
    let grubs: Vec<Grub> =
        Grub::all(keyway_tests::test_name!()).into_iter().filter(Grub::has_modules).collect();
    need_that!(!grubs.is_empty(), "no modules of GRUB for BIOS are there (grub-pc-bin)");
    let seen = Mutex::new(BTreeSet::new());
    thread::scope(|scope| {
        for grub in &grubs {
            scope.spawn(|| {
                let shown = boots(grub, &volumes);
                seen.lock().unwrap().extend(shown);
            });
        }
    });
    let seen = seen.into_inner().unwrap();
    let versions = grubs.iter().map(|grub| grub.version);
    if versions.eq(Version::ALL) {
        let rumours = RULES.iter().filter(|rule| rule.witness == Witness::Machine);
        let rumours: Vec<&str> = rumours.map(|rule| rule.id).filter(|id| !seen.contains(id)).collect();
        assert!(rumours.is_empty(), "no machine shows {rumours:?}");
    }
}

/// Both boots of one release; returns the rules that they demonstrated.
fn boots(grub: &Grub, volumes: &Volumes) -> Vec<&'static str> {
    let loader = Loader { largest_piece_kib: MEMORY_MIB << 10, ..Loader::new(grub.version) };
    let boots = [("typing", typing_steps(volumes, &loader)), ("options", option_steps(volumes, &loader))];
    let mut seen = Vec::new();
    for (boot, steps) in boots {
        play(grub, boot, volumes, &steps);
        seen.extend(steps.iter().flat_map(|step| &step.findings).map(|finding| finding.rule.id));
    }
    seen
}

/// The modules in core.img are visible despite its compression, and `keyway boot check` reports a
/// missing one.
#[test]
fn modules_of_a_core_image() {
    need!("grub-fstest", "grub-mkimage", "mke2fs");
    let kit = Kit::new();
    let volume = kit.build("volume", &format!("{TWO} -h ripemd160")).path;
    for grub in Grub::all(keyway_tests::test_name!()).iter().filter(|grub| grub.has_modules()) {
        let wanted = "biosdisk cryptodisk luks2 gcry_rijndael gcry_sha256";
        let image = grub.image(&kit.scratch, wanted, "");
        let found = installed::modules(&image);
        for module in wanted.split(' ') {
            assert!(found.iter().any(|name| name == module), "{module}: {found:?}");
        }
        assert!(!found.iter().any(|name| name == "gcry_rmd160"), "{found:?}");
        let root = kit.scratch.path(&format!("root-{}", grub.version));
        fs::create_dir_all(root.join("boot/grub/i386-pc")).unwrap();
        fs::write(root.join("boot/grub/i386-pc/core.img"), image).unwrap();
        let check = keyway("boot check --grub-version").arg(grub.version.to_string()).arg("--root");
        check.arg(&root).arg(&volume).ok().says("boot/grub/i386-pc/core.img lacks gcry_rmd160");
    }
}

/// What the steps work on.
struct Volumes {
    /// With every passphrase as intended.
    meant: PathBuf,
    /// With the passphrases as GRUB receives them, for those with oracle findings.
    heard: PathBuf,
    /// For `cryptomount -u`: nothing else has its UUID.
    by_uuid: PathBuf,
    uuid: String,
    /// The data of `meant` without a header.
    headless: PathBuf,
    /// An ext4 with key files and the header of `meant`.
    files: PathBuf,
    /// Argon2id with more memory than the machine has, and with little.
    hungry: PathBuf,
    modest: PathBuf,
    ripemd160: PathBuf,
}

impl Volumes {
    fn made(kit: &Kit) -> Self {
        let build = |name: &str, options: &str| kit.build(name, options).path;
        let meant = with_keys(kit, "meant", &[&longest(), &too_long(), UMLAUT, "", "lazy", "correct"]);
        let heard = with_keys(kit, "heard", &[&too_long()[..254], "grn", "layz"]);
        let files = kit.scratch.path("files-of-grub");
        fs::create_dir(&files).unwrap();
        let key = keyway_tests::random(93, 8193);
        fs::write(files.join("key"), &key).unwrap();
        add_key(kit, &meant, &files.join("key"));
        add_key(kit, &meant, &kit.scratch.file("new-key", &key[..8192]));
        keyway("luksHeaderBackup -q").arg(&meant).arg("--header-backup-file").arg(files.join("header")).ok();
        let headless = kit.scratch.copy(&meant, "headless");
        let mut bytes = fs::read(&headless).unwrap();
        bytes[..8 << 20].fill(0);
        fs::write(&headless, bytes).unwrap();
        let image = kit.scratch.path("files.ext4");
        peer("mke2fs", "-q -t ext4 -O ^has_journal -d").arg(&files).arg(&image).arg("32M").ok();
        let by_uuid = build("by-uuid", TWO);
        let uuid = keyway("luksUUID").arg(&by_uuid).ok().text().trim().to_owned();
        let argon2 = |name: &str, mib: u64| {
            let costs = format!("--pbkdf-force-iterations 4 --pbkdf-memory {} --pbkdf-parallel 1", mib << 10);
            build(name, &format!("--type luks2 -s 256 --pbkdf argon2id {costs}"))
        };
        Self {
            meant,
            heard,
            by_uuid,
            uuid,
            headless,
            files: image,
            hungry: argon2("hungry", 2 * MEMORY_MIB),
            modest: argon2("modest", 1),
            ripemd160: build("ripemd160", &format!("{TWO} -h ripemd160")),
        }
    }
}

fn with_keys(kit: &Kit, name: &str, passphrases: &[&str]) -> PathBuf {
    let volume = kit.build(name, TWO).path;
    for passphrase in passphrases {
        add_key(kit, &volume, &kit.scratch.file("new-key", passphrase));
    }
    volume
}

fn add_key(kit: &Kit, volume: &Path, key: &Path) {
    let options =
        "luksAddKey -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --allow-empty-passphrase --key-file";
    keyway(options).arg(kit.key()).arg(volume).arg(key).ok();
}

/// Each passphrase on both volumes: without findings it opens the first; otherwise GRUB receives a
/// different one, which opens the second.
fn typing_steps(volumes: &Volumes, loader: &Loader) -> Vec<Step> {
    let german = typing::Layout::find("de");
    let sent = |text: &str| (Typed::Sent(text.into()), typing::typed(text.as_bytes(), None, loader));
    let keys = |text: &str| {
        let keys = text.chars().map(german_key).map(String::from).collect();
        (Typed::Keys(keys), typing::typed(text.as_bytes(), german, loader))
    };
    let passphrases = [
        ("longest", sent(&longest())),
        ("too-long", sent(&too_long())),
        ("umlaut", sent(UMLAUT)),
        ("empty", sent("")),
        ("german-correct", keys("correct")),
        ("german-lazy", keys("lazy")),
    ];
    let mut steps = Vec::new();
    for (name, (typed, findings)) in passphrases {
        let (clear, typed) = (findings.is_empty(), &typed);
        let on = |disk: &Path, opens| Step {
            name: format!("{name}-{opens}"),
            disk: disk.into(),
            words: "DISK".into(),
            typed: typed.clone(),
            findings: findings.clone(),
            opens,
        };
        steps.push(on(&volumes.meant, clear));
        // An empty passphrase arrives as none at all.
        if name != "empty" {
            steps.push(on(&volumes.heard, !clear));
        }
    }
    steps
}

fn option_steps(volumes: &Volumes, loader: &Loader) -> Vec<Step> {
    let step = |name: &str, disk: &Path, words: &str, findings: Vec<Finding>| Step {
        name: name.into(),
        disk: disk.into(),
        words: words.replace("FILES", "(hd1)"),
        typed: Typed::Sent(super::kit::PASSPHRASE.into()),
        opens: findings.is_empty(),
        findings,
    };
    let judged = |name: &str, disk: &Path| {
        let finding = judge(disk, loader).slots[0].verdict.finding().cloned();
        step(name, disk, "DISK", finding.into_iter().collect())
    };
    let uuid = |text: &str| typing::cryptomount_uuid(text, loader).into_iter().collect();
    let bare = volumes.uuid.replace('-', "");
    let mut without = judged("module", &volumes.ripemd160);
    assert!(without.opens && judge(&volumes.ripemd160, loader).modules.contains(&"gcry_rmd160"));
    without.opens = false;
    vec![
        // The drive with files: it holds no volume.
        Step { opens: false, ..step("files", &volumes.files, "DISK", Vec::new()) },
        step("key-whole", &volumes.meant, "DISK -k FILES/key", typing::key_file(None, loader)),
        step("key-8192", &volumes.meant, "DISK -k FILES/key -S 8192", typing::key_file(Some(8192), loader)),
        step("key-8193", &volumes.meant, "DISK -k FILES/key -S 8193", typing::key_file(Some(8193), loader)),
        step(
            "header",
            &volumes.headless,
            "DISK -H FILES/header",
            typing::detached(loader).into_iter().collect(),
        ),
        step("uuid-dashes", &volumes.by_uuid, &format!("-u {}", volumes.uuid), uuid(&volumes.uuid)),
        judged("hungry", &volumes.hungry),
        judged("modest", &volumes.modest),
        without,
        // The last step: if GRUB understands dashes, the volume is already open and is not opened
        // again.
        Step {
            opens: !uuid(&volumes.uuid).is_empty(),
            ..step("uuid-bare", &volumes.files, &format!("-u {bare}"), uuid(&bare))
        },
    ]
}

/// Boots with these drives, and does every step.
fn play(grub: &Grub, boot: &str, volumes: &Volumes, steps: &[Step]) {
    let scratch = Scratch::new();
    // The modules that this volume needs according to the oracle: one step needs another module,
    // which is missing.
    let modules = judge(&volumes.modest, &Loader::new(grub.version)).modules;
    let modules = format!("biosdisk serial terminal ext2 echo halt {}", modules.join(" "));
    let disk = grub.disk(&scratch, &modules, &lines(steps));
    let mut board = Board::new("qemu-system-x86_64", "-accel tcg -cpu max -nic none");
    board = board.args(&format!("-m {MEMORY_MIB}")).disk(&disk);
    for step in steps {
        board = board.disk(&step.disk);
    }
    let mut console = board.start();
    for step in steps {
        let (said, prompts) = do_step(&mut console, step);
        let opened = said.contains("Slot \"") && said.contains("\" opened");
        let because: Vec<&str> = step.findings.iter().map(|finding| finding.because.as_str()).collect();
        assert_eq!(
            opened, step.opens,
            "GRUB {}, {boot}, {}: the oracle has this against it: {because:?}\n{said}",
            grub.name, step.name
        );
        // After a wrong passphrase 2.14 asks again (cryptodisk_passphrase_tries).
        if boot == "typing" && !opened && !step.name.starts_with("empty") {
            let tries = if grub.version < Version::V2_14 { 1 } else { 3 };
            assert_eq!(prompts, tries, "GRUB {}, {}\n{said}", grub.name, step.name);
        }
    }
    console.ends();
    println!("GRUB {} on a machine, {boot}: {} steps as foretold", grub.name, steps.len());
}

fn lines(steps: &[Step]) -> String {
    let mut lines = String::from("serial --unit=0 --speed=115200\nterminal_output serial\n");
    for (number, step) in steps.iter().enumerate() {
        let input = if matches!(step.typed, Typed::Sent(_)) { "serial" } else { "console" };
        let words = step.words.replace("DISK", &format!("(hd{})", number + 1));
        lines += &format!(
            "terminal_input {input}\necho [{name}]\ncryptomount {words}\necho [end of {name}]\n",
            name = step.name
        );
    }
    lines + "halt\n"
}

/// Answers every prompt; returns all output, and the number of prompts.
fn do_step(console: &mut Console, step: &Step) -> (String, u32) {
    let mut prompts = 0;
    let start = format!("[{}]", step.name);
    console.expect(&start);
    let end = format!("[end of {}]", step.name);
    while console.expect_one(&["Enter passphrase for ", &end]) == 0 {
        prompts += 1;
        console.expect("): ");
        match &step.typed {
            Typed::Sent(text) => drop(console.types(&format!("{text}\n"))),
            Typed::Keys(keys) => drop(console.presses(&format!("{} ret", keys.join(" ")))),
        }
    }
    let transcript = console.transcript();
    let said = transcript.split(&start).last().unwrap_or_default();
    (said.to_owned(), prompts)
}

/// The American name of the key that a German keyboard has for this letter.
fn german_key(letter: char) -> char {
    match letter {
        'y' => 'z',
        'z' => 'y',
        other => other,
    }
}

fn longest() -> String {
    "a".repeat(254)
}

fn too_long() -> String {
    "b".repeat(255)
}

const TWO: &str = "--type luks2 -s 256 --pbkdf pbkdf2 --pbkdf-force-iterations 1000";
const MEMORY_MIB: u64 = 256;
const UMLAUT: &str = "gr\u{fc}n";
