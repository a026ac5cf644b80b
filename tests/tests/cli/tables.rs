//! What /etc/crypttab and the other tables demand of a volume, however the volume is named. Everything
//! runs in a separate tree, in new namespaces.

use keyway_tests::peers::program;
use keyway_tests::{Run, Scratch, keyway, need, need_that, peer, random};
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
        fs::copy(program(), root.join("bin/keyway")).unwrap();
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

    fn open(&self, operands: &str) -> Run {
        self.run(&format!("/bin/keyway open --test-passphrase --key-file /key {operands}"))
    }
}

/// Skips the test if namespaces are not permitted.
macro_rules! need_namespaces {
    () => {
        need!("unshare", "chroot", "setpriv");
        let possible = peer("unshare", "--user --map-root-user --mount true").outcome().code == Some(0);
        need_that!(possible, "no user makes namespaces here");
    };
}

#[test]
fn a04_open_heeds_the_table_whatever_the_volume_is_called() {
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
    tree.open("/volume").fails(6).says("it is not sealed");
    tree.table("home /link none x-keyway.seal-context=here\n");
    tree.open("/volume").fails(6).says("it is not sealed");
    tree.open("--seal-context there /volume").fails(6).says("no volume meets both");
}

#[test]
fn a04_a_table_that_cannot_be_read_is_not_passed_over() {
    need_namespaces!();
    let tree = Tree::new();
    fs::create_dir(tree.root.join("etc/crypttab")).unwrap();
    let unread = "/etc/crypttab cannot be read (Is a directory (os error 21)), and may demand something: nothing is \
                  opened.";
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
    let warning = "WARNING: /etc/crypttab cannot be read (Permission denied (os error 13)): what it demands of the \
                   volume is not known.\n";
    assert_eq!(said.errors(), warning);
    open("-q").ok().quiet();
    // It holds for those who can read it.
    fs::set_permissions(tree.root.join("etc/crypttab"), Permissions::from_mode(0o644)).unwrap();
    open("").fails(6).says("policy /unmet:1 demands formats = [luks1]: luks2.");
}

#[test]
fn a04_unlock_heeds_every_table() {
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
