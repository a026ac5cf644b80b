//! What /etc/crypttab and the other tables demand of a volume, however the volume is named. Everything
//! runs in a separate tree, in new namespaces.

use keyway_tests::peers::{libraries, program};
use keyway_tests::{Run, Scratch, keyway, need, need_that, peer, programs, random};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

/// A tree with two volumes, one of which has several names, and policies that they meet and do not.
struct Tree {
    _scratch: Scratch,
    root: PathBuf,
}

impl Tree {
    fn new() -> Self {
        let scratch = Scratch::new();
        let root = scratch.path("system");
        for directory in ["bin", "etc", "keyway", "proc", "sys", "dev"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        programs::copy(program(), root.join("bin/keyway"));
        for library in libraries(&program()) {
            let to = root.join(library.strip_prefix("/").unwrap());
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            programs::copy(library, to);
        }
        fs::hard_link(root.join("bin/keyway"), root.join("bin/cryptsetup")).unwrap();
        fs::write(root.join("key"), "secret").unwrap();
        let image = scratch.file("image", random(65, 65536));
        for name in ["volume", "other"] {
            keyway("build --pbkdf pbkdf2 --pbkdf-force-iterations 1000 -d")
                .arg(root.join("key"))
                .arg(&image)
                .arg(root.join(name))
                .ok();
        }
        symlink("volume", root.join("link")).unwrap();
        fs::hard_link(root.join("volume"), root.join("name")).unwrap();
        fs::write(root.join("unmet"), "formats = [\"luks1\"]\n").unwrap();
        fs::write(root.join("met"), "formats = [\"luks2\"]\n").unwrap();
        Self { _scratch: scratch, root }
    }

    fn table(&self, text: &str) {
        let table = self.root.join("etc/crypttab");
        let _ = fs::remove_file(&table);
        fs::write(table, text).unwrap();
    }

    fn run(&self, line: &str) -> Run {
        peer("unshare", "--user --map-root-user --mount chroot").arg(&self.root).args(line)
    }

    /// Seals the volume, outside of the tree: there is no randomness in it.
    fn sealed(&self, options: &str) {
        let run = keyway("seal").args(options).arg("--key-file").arg(self.root.join("key"));
        run.arg(self.root.join("volume")).ok();
    }

    fn open(&self, operands: &str) -> Run {
        self.run(&format!("/bin/keyway open --test-passphrase --key-file /key {operands}"))
    }
}

/// What is said where an option and one of the table's bind the seal to different strings.
fn clash(one: &str, other: &str) -> String {
    format!("{one} and {other} in /etc/crypttab demand different seal contexts: no volume meets both.\n")
}

/// Skips the test if namespaces are not permitted.
macro_rules! need_namespaces {
    () => {
        need!("unshare", "chroot", "setpriv", "ldd");
        let possible = peer("unshare", "--user --map-root-user --mount true").outcome().code == Some(0);
        need_that!(possible, "no user makes namespaces here");
    };
}

#[test]
fn open_heeds_the_table_whatever_the_volume_is_called() {
    need_namespaces!();
    let tree = Tree::new();
    let unmet = "policy /unmet:1 demands formats = [luks1]: luks2.";
    // By its name alone, by its device under any name, in the second of two entries.
    for table in [
        "home /volume none luks,x-keyway.require=/unmet\n",
        "other-name /link\nhome /name none x-keyway.require=/unmet\n",
        "a /volume none x-keyway.require=/met\nhome /volume none x-keyway.require=/unmet\n",
    ] {
        tree.table(table);
        for volume in ["home", "/volume", "/link", "/name", "/bin/../volume", "volume", "/volume another"] {
            tree.open(volume).fails(6).says(unmet);
        }
        tree.open("/other").ok().quiet();
        tree.open("/other home").fails(6).says(unmet);
        tree.run("/bin/cryptsetup open --test-passphrase --key-file /key /link").fails(6).says(unmet);
    }
    tree.open("-v /link").fails(6).says("/etc/crypttab demands x-keyway.require=/unmet of /link.\n");
    // By its header; and what is met.
    tree.table("home /nowhere none header=/link,x-keyway.require=/unmet\n");
    tree.open("--header /name /other").fails(6).says(unmet);
    tree.open("/other").ok().quiet();
    tree.table("home /link none x-keyway.require=/met\n");
    tree.open("/volume").ok().quiet();
    // A policy that this user cannot read; a seal.
    tree.table("home /link none x-keyway.require=/none\n");
    tree.open("/volume").fails(4).says("The policy /none cannot be read: ");
    tree.table("home /link none x-keyway.require=sealed\n");
    let unsealed = "Device /volume: /etc/crypttab demands x-keyway.require=sealed: it is not sealed; if it is the \
                    volume that you mean, \"keyway seal\" seals it.\n";
    tree.open("/volume").fails(6).says(unsealed);
    tree.open("home").fails(6).says(&unsealed.replace("Device /volume", "Device /link"));
    tree.table("home /link none x-keyway.seal-context=here\n");
    tree.open("/volume").fails(6).says("it is not sealed");
    tree.open("--seal-context there /volume")
        .fails(6)
        .says(&clash("--seal-context", "x-keyway.seal-context"));
}

#[test]
fn the_way_that_the_demand_of_a_seal_shows_leads_on() {
    need_namespaces!();
    let tree = Tree::new();
    tree.table("home /volume none x-keyway.require=sealed\n");
    tree.open("home").fails(6).says("\"keyway seal\" seals it.");
    tree.sealed("");
    tree.open("home").ok().quiet();
    keyway("config --label changed").arg(tree.root.join("volume")).ok();
    tree.open("home").fails(6).says("it does not match its seal: header.label is \"changed\"");
    let broken = tree.open("--ignore-seal home").fails(6);
    broken
        .says("/etc/crypttab demands x-keyway.require=sealed: it does not match its seal")
        .says("seals it again.");
}

#[test]
fn a_seals_context_is_in_a_file_that_the_table_names() {
    need_namespaces!();
    let tree = Tree::new();
    fs::write(tree.root.join("context"), "host-17\n").unwrap();
    fs::write(tree.root.join("other-context"), "host-18\n").unwrap();
    fs::write(tree.root.join("long"), vec![b'x'; (64 << 10) + 1]).unwrap();
    tree.table("home /volume none x-keyway.seal-context-file=/context\n");
    for volume in ["home", "/volume", "/link"] {
        tree.open(volume).fails(6).says("it is not sealed");
    }
    tree.sealed("--seal-context other");
    tree.open("home").fails(6).says("its seal has another context");
    keyway("seal --remove").arg(tree.root.join("volume")).ok();
    tree.sealed("--seal-context host-17");
    for volume in ["home", "/volume", "/link"] {
        tree.open(volume).ok().quiet();
    }
    // Neither string is shown, whatever else is.
    for (options, first) in [
        ("--seal-context there", "--seal-context"),
        ("--seal-context-file /other-context", "--seal-context-file"),
    ] {
        let said = tree.open(&format!("{options} /volume")).fails(6).errors();
        assert_eq!(said, clash(first, "x-keyway.seal-context-file"));
    }
    tree.table(
        "a /volume none x-keyway.seal-context=1\nb /volume none x-keyway.seal-context-file=/context\n",
    );
    let said = tree.open("/volume").fails(6).errors();
    assert_eq!(said, clash("x-keyway.seal-context in /etc/crypttab", "x-keyway.seal-context-file"));
    let unread = "The seal context in /none cannot be read: No such file or directory (os error 2).\n";
    let long = "keyway: The seal context in /long cannot be read: it is longer than 64 KiB.\n";
    for (file, code, message) in [("/none", 4, unread), ("/long", 1, long)] {
        tree.table(&format!("home /volume none x-keyway.seal-context-file={file}\n"));
        assert_eq!(tree.open("/volume").fails(code).errors(), message);
    }
    tree.table("home /volume none x-keyway.seal-context-files=/context\n");
    tree.open("/volume").fails(1).says("is unknown, and may be meant as a demand");
}

#[test]
fn a_table_that_cannot_be_read_is_not_passed_over() {
    need_namespaces!();
    let tree = Tree::new();
    fs::create_dir(tree.root.join("etc/crypttab")).unwrap();
    let unread = "/etc/crypttab cannot be read (Is a directory (os error 21)), and may contain demands: \
                  nothing is opened.";
    tree.open("/volume").fails(4).says(unread);
    tree.run("/bin/keyway unlock --cmdline keyway.device=/volume").fails(4).says(unread);
    need_that!(rustix::process::getuid().is_root(), "only root runs programs as other users");
    fs::remove_dir(tree.root.join("etc/crypttab")).unwrap();
    tree.table("home /volume none x-keyway.require=/unmet\n");
    for (path, mode) in [("etc/crypttab", 0), ("key", 0o644), ("volume", 0o644), ("unmet", 0o644)] {
        fs::set_permissions(tree.root.join(path), Permissions::from_mode(mode)).unwrap();
    }
    let open = |options: &str| {
        let run = peer("chroot", "--userspec=65534:65534").arg(&tree.root);
        run.args("/bin/keyway open --test-passphrase --key-file /key /volume").args(options)
    };
    let said = open("").ok();
    let warning = "WARNING: /etc/crypttab cannot be read (Permission denied (os error 13)): its demands on \
                   the volume are unknown.\n";
    assert_eq!(said.errors(), warning);
    open("-q").ok().quiet();
    // It holds for those who can read it.
    fs::set_permissions(tree.root.join("etc/crypttab"), Permissions::from_mode(0o644)).unwrap();
    open("").fails(6).says("policy /unmet:1 demands formats = [luks1]: luks2.");
}

#[test]
fn unlock_heeds_every_table() {
    need_namespaces!();
    let tree = Tree::new();
    tree.table("home /volume /key luks,x-keyway.require=/unmet\nelse /other none x-keyway.require=/met\n");
    fs::write(tree.root.join("keyway/unlock.conf"), "z /name none tries=9,x-keyway.require=sealed\n")
        .unwrap();
    let shown = |line: &str| tree.run("/bin/keyway unlock --dry-run --cmdline").arg(line).ok().text();
    let demands = "x-keyway.require=/unmet,x-keyway.require=sealed";
    assert_eq!(shown("keyway.device=/link keyway.name=r"), format!("r /link none {demands}\n"));
    assert_eq!(shown("keyway.device=/volume keyway.name=r"), format!("r /volume /key luks,{demands}\n"));
    assert_eq!(
        shown("keyway.device=/volume keyway.options=x-keyway.require=/p keyway.name=home"),
        format!("home /volume /key x-keyway.require=/p,luks,{demands}\n")
    );
    let all = format!("home /volume /key luks,{demands}\nelse /other none x-keyway.require=/met\n");
    assert_eq!(shown("quiet"), all);
}

/// Command lines that were written for other programs, as they are shown; crates/boot has the table of all.
#[test]
fn unlock_shows_what_command_lines_of_others_mean() {
    need_namespaces!();
    let tree = Tree::new();
    tree.table("home /volume none luks\n");
    let a = "477e9f69-b3a3-4ae7-b62c-53577e62fa50";
    let shown = |line: &str| tree.run("/bin/keyway unlock --dry-run --cmdline").arg(line);
    for (line, entry) in [
        (
            format!("rd.luks.name={a}=root rd.luks.data={a}=/dev/vda2 rd.luks.options={a}=header=/hdr"),
            "root /dev/vda2 none header=/hdr".to_owned(),
        ),
        (
            format!("rd.luks.uuid={a} rd.luks.key=/k:LABEL=KEYS:UUID={a}"),
            format!("luks-{a} UUID={a} /k:LABEL=KEYS"),
        ),
        (format!("rd.luks.uuid={a} rd.luks.allow-discards"), format!("luks-{a} UUID={a} none discard")),
        ("rd.luks.uuid=luks-477e9f69".to_owned(), "luks-477e9f69 UUID=477e9f69* none".to_owned()),
        (
            "cryptdevice=/dev/sda2:root crypto=sha512:twofish-xts-plain64:512:0:".to_owned(),
            "root /dev/sda2 none plain,hash=sha512,cipher=twofish-xts-plain64,size=512,offset=0".to_owned(),
        ),
        (
            "cryptdevice=/dev/sda2:root cryptkey=PARTUUID=22222222-2222-4222-8222-222222222222:512:2"
                .to_owned(),
            "root /dev/sda2 PARTUUID=22222222-2222-4222-8222-222222222222 keyfile-offset=512,keyfile-size=2"
                .to_owned(),
        ),
        (format!("cryptroot=UUID={a} cryptdm=root cryptkey=/k"), format!("root UUID={a} /k")),
    ] {
        assert_eq!(shown(&line).ok().text(), format!("{entry}\n"), "{line}");
    }
    shown("rd.luks.crypttab=0").fails(1).says("Nothing to open: neither the kernel's command line nor");
    // The key that mkinitcpio's images have.
    fs::write(tree.root.join("crypto_keyfile.bin"), "secret").unwrap();
    assert_eq!(shown("cryptdevice=/volume:root").ok().text(), "root /volume /crypto_keyfile.bin luks\n");
    // What is not understood is named.
    let said = shown("cryptdevice=/volume:root rd.luks.serial=x rd.luks.uid=y").ok();
    assert_eq!(
        said.errors(),
        "WARNING: the kernel's command line says rd.luks.serial=x: not done here (name the volume by rd.luks.uuid=).\n\
         WARNING: the kernel's command line says rd.luks.uid=y: Keyway does not know this parameter.\n"
    );
}

/// What the tables of other programs say, as it is shown.
#[test]
fn unlock_shows_what_tables_of_others_mean() {
    need_namespaces!();
    let tree = Tree::new();
    let shown = |line: &str| tree.run("/bin/keyway unlock --dry-run --cmdline").arg(line).ok();
    tree.table(
        "swap /dev/sda7 /dev/urandom swap,cipher=aes-xts-plain64,size=256\n\
         root /volume none luks,x-initrd.attach,password-echo=no\n\
         x /dev/sda3 k:LABEL=keydev keyfile-timeout=10s,cipher=xchacha12\\,aes-adiantum-plain64\n\
         later /other none noauto\n",
    );
    fs::create_dir_all(tree.root.join("etc/cryptsetup-keys.d")).unwrap();
    fs::write(tree.root.join("etc/cryptsetup-keys.d/root.key"), "secret").unwrap();
    let said = shown("quiet");
    assert_eq!(
        said.text(),
        "root /volume /etc/cryptsetup-keys.d/root.key luks,x-initrd.attach,password-echo=no\n\
         x /dev/sda3 k:LABEL=keydev keyfile-timeout=10s,cipher=xchacha12\\134,aes-adiantum-plain64\n"
    );
    assert_eq!(said.errors(), "swap: left to the system that starts: it gets a random key each time.\n");
    // Where nothing else is named, nothing is to be opened, and that is no failure.
    tree.table("swap /dev/sda7 /dev/urandom swap\n");
    assert_eq!(shown("quiet").text(), "");
    tree.table("root /volume none luks,fixate-volume-key=ab\n");
    let why =
        "/etc/crypttab: root: fixate-volume-key demands a certain volume key, which is not checked yet.";
    tree.open("root").fails(1).says(why);
}

/// A demand that is mistyped is not passed over.
#[test]
fn a_mistyped_demand_opens_nothing() {
    need_namespaces!();
    let tree = Tree::new();
    let word = "keyway.requires=sealed, which is unknown and may be meant as a demand: nothing is opened.";
    tree.run("/bin/keyway unlock --dry-run --cmdline")
        .arg("keyway.device=/volume keyway.requires=sealed")
        .fails(1)
        .says(word);
    // In a table it is kept like a demand, whatever the volume is called, and nothing opens that.
    let option =
        "x-keyway.requires=sealed is unknown, and may be meant as a demand: the volume is not opened.";
    tree.table("other /link none x-keyway.requires=sealed\n");
    tree.open("/volume").fails(1).says(option);
    tree.open("/other").ok();
    let said = tree.run("/bin/keyway unlock --dry-run --cmdline").arg("keyway.device=/volume").ok();
    assert_eq!(said.text(), "root /volume none x-keyway.requires=sealed\n");
}
