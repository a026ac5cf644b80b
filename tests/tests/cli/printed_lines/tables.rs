//! What is known about lines in advance: how they are tried, what stands for their placeholders, and
//! which exit codes are answers.

/// How a line is tried.
pub(super) enum Way {
    /// As typed.
    Run,
    /// By the parser alone, for this reason.
    Parsed(&'static str),
    /// By the command's help, which has its options.
    Mentioned,
    /// It calls `./dev`, which is run by who works on Keyway.
    Dev,
}

impl Way {
    pub(super) fn of(line: &str) -> Self {
        if MENTIONED.contains(&line) {
            return Self::Mentioned;
        }
        if line.ends_with(" --help") || line == "keyway unlock --dry-run" {
            return Self::Run;
        }
        if let Some((_, why)) = PARSED.iter().find(|(text, _)| line.contains(text)) {
            return Self::Parsed(why);
        }
        if line.starts_with("./dev") { Self::Dev } else { Self::Run }
    }
}

/// The test that runs this block, `folder/file::function`.
pub(super) fn elsewhere(lines: &[String]) -> Option<&'static str> {
    let has = |text: &str| lines.iter().any(|line| line.contains(text));
    ELSEWHERE.iter().find(|(text, _)| has(text)).map(|(_, test)| *test)
}

/// Fenced blocks that are drawings.
pub(super) const DRAWINGS: &[&str] = &["ARCHITECTURE.md: Architecture", "ARCHITECTURE.md: Rooms"];

/// Strings of the sources that begin with the program's name and are no command lines.
pub(super) const NO_LINES: &[&str] = &[
    "keyway @OPEN@",
    "keyway \\- Linux disk encryption without root",
    "keyway reproducible 1",
    "keyway {version} (cryptsetup 2.8's command line)",
    "keyway {}",
    // The example of docs/VERBS.md.
    "keyway luksVersion disk.img",
];

/// A command with an option that a sentence is about: not a whole line. The command's help has the
/// option.
const MENTIONED: &[&str] = &[
    "keyway open --backend fuse",
    "keyway passport --rate-file",
    "keyway read --{}",
    "keyway luksHeaderRestore --header-backup-file {shown} {device}",
    "keyway reencrypt {options}{}{backup} {device}",
    "keyway reencrypt {}",
    "keyway reencrypt --resume-only",
    "keyway reencrypt --resume-only --header {header} {device}",
    "keyway reencrypt --resume-only --header {} {}",
    "keyway reencrypt --resume-only {}{device}",
    "keyway reencrypt --resume-only{} {}",
    "keyway seal --seal-context STRING",
    "keyway serve --tls-certificates DIR --tls-verify-peer",
];

/// Part of a line, and the test that runs its block.
const ELSEWHERE: &[(&str, &str)] = &[
    ("target/keyway build README.md", "cli/readme::the_first_commands_of_the_readme_print_what_it_shows"),
    ("mkdir mnt files", "doors/umount::the_recipe_of_the_readme_works_every_time"),
    ("qemu-system-x86_64", "vm/boot::the_lines_of_the_readme_boot_it"),
];

/// Part of a line, and why its block is not run.
const PARSED: &[(&str, &str)] = &[
    ("https://", "a web server; doors/remote reads volumes from one"),
    ("boot uki", "a kernel that is an EFI program; tests/boot/uki.rs makes images of one"),
    ("keyway unlock", "what this machine boots from; tests/vm/unlock.rs and tests/boot run it"),
    ("--if-marked", "a mapping that waits for its first boot; tests/vm/rekey.rs has one"),
    ("keyway open {}", "a name in /etc/crypttab; vm/open.rs has one"),
    ("rbd:pool/image", "a Ceph cluster"),
    ("/dev/ram0", "a RAM disk; tests/vm/without_af_alg.rs has one"),
    ("/dev/sdx", "a disk that is overwritten after a question; tests/vm/bench_disk.rs has disks"),
    ("keyway reencrypt --token-only", "a key in the kernel's keyring; reencrypt/tokens.rs has one"),
    ("--tls-certificates", "certificates and a port of the machine; doors/tls has both"),
];

/// Text in a line, and what is typed instead.
pub(super) const PLACEHOLDERS: &[(&str, &str)] = &[
    ("sudo ", ""),
    ("/dev/sda2", "disk.luks"),
    ("/dev/sdx", "scratch.img"),
    ("--modules /", "--modules \"$ORIGINALS/installed\""),
    ("/boot/initrd.img", "initrd.img"),
    ("/mnt/usb", "."),
    ("/mnt/plain", "mnt"),
    ("/tmp/vm.sock", "$PWD/vm.sock"),
    ("UUID=...", "UUID=21a8e8fa-0b01-4d12-b8f4-bfc562aa82a4"),
    ("| less", "| cat"),
    (">FILE", ">rates.json"),
    ("FILE", "key"),
    ("IMAGE", "initrd.img"),
    ("VOLUME", "disk.luks"),
    ("TARGET", "."),
    ("DEVICE", "scratch.img"),
    ("COMMAND", "open"),
    ("NAME", "home"),
    ("DIR", "mnt"),
    ("bash|zsh|fish", "bash"),
    ("{device}", "disk.luks"),
    ("{container}", "disk.hc"),
    ("{mac}", "mac.img#2"),
    ("{plain}", "scratch.img"),
    ("{known}", ""),
    ("{source}", "--source-cipher aes-xts-plain64 --source-key-size 256 --source-hash sha256"),
    ("{new}", "--new-hash sha512"),
    ("{of}", "disk.luks"),
    ("{path}", "disk.luks"),
    ("{context}", ""),
    ("{slot}", "0"),
    ("{number}", "1"),
    ("{it}", "0"),
    ("{memory_kib}", "64"),
    ("{lanes}", "1"),
    ("{time}", "4"),
    ("{iterations}", "1000"),
    ("{hash}", "sha512"),
    ("{name}", "home"),
    ("{wanted}", "4194304"),
    ("{dir}", "disk"),
    ("{shown}", "disk.json"),
    ("{}", "disk.json"),
];

/// Part of a line, and an exit code other than 0 that is an answer too.
pub(super) const ANSWERS: &[(&str, i32)] = &[
    // Something became slower.
    ("keyway bench diff", 1),
    // This machine names no volume for its boot.
    ("keyway unlock --dry-run", 1),
];

/// Part of a line, and the file with what it is answered.
pub(super) const ANSWERED: &[(&str, &str)] = &[
    ("--key-file -", "key"),
    // Windows takes eight characters, for what is new.
    ("keyway bitlkFormat", "long"),
    ("keyway write --type bitlk new.img", "long"),
    ("keyway bitlkAddKey --replace", "replaced"),
];

/// Part of a block's first line, and what must have been done before.
pub(super) const BEFORE: &[(&str, &str)] = &[
    // Only what is made here has a copy of its header.
    ("keyway tcryptChangeKey", "rm -f disk.hc\nkeyway tcryptFormat -q --quick --size 1M disk.hc"),
    ("keyway bitlkRemoveKey", "keyway bitlkAddKey --recovery-password windows.img"),
    ("keyway toLuks", "rm -f disk.header"),
    (
        "keyway tcryptHeaderRestore",
        "keyway tcryptHeaderBackup disk.hc --header-backup-file hc.header\n\
         keyway tcryptHeaderRestore disk.hc --header-backup-file hc.header",
    ),
    ("keyway tcryptFormat --tcrypt-hidden", "keyway tcryptFormat -q --quick --size 80M new.hc"),
    // The lock of a re-encryption has the name of the volume's UUID, which the copies of other lines share.
    ("keyway reencrypt --encrypt", "rm -f disk.header\nhead -c 40M /dev/urandom >disk.img"),
    (
        "keyway reencrypt luks1.img",
        "truncate -s 8M luks1.img\nkeyway luksFormat -q --type luks1 --pbkdf-force-iterations 1000 luks1.img",
    ),
    (
        "--header LUKS2-temp-UUID.new",
        "head -c 40M /dev/urandom >disk.img\nkeyway reencrypt --encrypt --init-only --reduce-device-size 32M disk.img\n\
         head -c 16M disk.img >LUKS2-temp-UUID.new\ndd if=/dev/zero of=disk.img bs=1M count=16 conv=notrunc status=none",
    ),
    (
        "keyway reencrypt --decrypt",
        "rm -f disk.header\nkeyway seal --remove disk.luks\nkeyway luksUUID -q --uuid $(cat /proc/sys/kernel/random/uuid) disk.luks",
    ),
    ("keyway reencrypt disk.luks", UNSEALED),
    ("keyway open --backend nbd disk.luks home", UNSEALED),
    (
        "keyway reencrypt --active-name home",
        "keyway seal --remove disk.luks\nkeyway luksUUID -q --uuid $(cat /proc/sys/kernel/random/uuid) disk.luks\n\
         keyway open disk.luks home",
    ),
    (
        "keyway reencrypt --resume-only --active-name",
        "keyway seal --remove disk.luks\nkeyway luksUUID -q --uuid $(cat /proc/sys/kernel/random/uuid) disk.luks\n\
         keyway open disk.luks home\nkeyway reencrypt --init-only --active-name home",
    ),
    (
        "keyway reencrypt --skip-unused disk.luks",
        "keyway seal --remove disk.luks\nkeyway luksUUID -q --uuid $(cat /proc/sys/kernel/random/uuid) disk.luks",
    ),
    (
        "keyway reencrypt disk.img",
        "keyway seal --remove disk.img\nkeyway luksUUID -q --uuid $(cat /proc/sys/kernel/random/uuid) disk.img",
    ),
    ("keyway passport --target grub-2.12 --measured", "cp \"$ORIGINALS/luks1\" disk.luks"),
    (
        "keyway inspect disk.img#2",
        "rm -f disk.img\ntruncate -s $(($(stat -c %s \"$ORIGINALS/luks2\") + 3145728)) disk.img\n\
         printf 'label: gpt\\nstart=2048,size=2048\\nstart=4096\\n' | sfdisk -q disk.img\n\
         dd if=\"$ORIGINALS/luks2\" of=disk.img bs=1M seek=2 conv=notrunc status=none",
    ),
    ("keyway reencrypt --estimate disk.luks", "keyway seal --remove disk.luks"),
    ("keyway reencrypt --estimate disk.img", "keyway seal --remove disk.img"),
    ("keyway list --place home", "keyway open --backend nbd disk.luks home"),
    ("keyway luksResume home", "keyway open disk.luks home\nkeyway luksSuspend home"),
    ("keyway umount --wait 0", "keyway mount disk.luks ~/disk"),
    ("keyway umount mnt", "keyway mount disk.luks mnt"),
    ("keyway umount 'disk'", "keyway mount disk.luks ~/disk"),
    ("keyway umount files mnt", "keyway mount disk.luks mnt\nfuse2fs -o fakeroot mnt/plain files"),
    ("keyway umount", "keyway mount disk.luks ~/disk\nfuse2fs -o fakeroot ~/disk/plain ~/files"),
    ("fuse2fs -o fakeroot ~/disk", "keyway mount disk.luks ~/disk"),
    (
        "keyway bench --resume",
        "keyway bench --suite quick --save disk.json & until [ -s disk.json ]; do sleep 0.02; done; kill $!; wait $! || :",
    ),
    ("keyway bench disk --resume", "keyway bench disk --save disk.json ."),
    ("keyway status home", OPEN),
    ("keyway resize home", OPEN),
    ("keyway resize --device-size 4194304 home", OPEN),
    (
        "keyway resize --device-size 1G home",
        "keyway seal --remove disk.luks\ntruncate -s 2G disk.luks\nkeyway open disk.luks home",
    ),
    ("keyway refresh", OPEN),
    ("keyway luksSuspend home", OPEN),
    ("keyway close", OPEN),
];

const OPEN: &str = "keyway open disk.luks home";
/// A seal binds the volume key that is to go.
const UNSEALED: &str =
    "keyway seal --remove disk.luks\nkeyway luksUUID -q --uuid $(cat /proc/sys/kernel/random/uuid) disk.luks";
