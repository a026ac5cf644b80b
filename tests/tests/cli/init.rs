//! `unlock --init` run as something other than the first process of an initramfs: it refuses and
//! changes nothing. Everything runs in a separate tree, in new namespaces: if the refusal fails,
//! only that tree is lost.

use keyway_tests::peers::program;
use keyway_tests::run::Outcome;
use keyway_tests::{Run, Scratch, need, need_that, peer, programs};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const NAMESPACES: &str = "--user --map-root-user --mount --pid --fork";

/// A system's tree, with the program as its /init and as /bin/keyway.
fn tree(scratch: &Scratch) -> PathBuf {
    let root = scratch.path("system");
    for directory in ["bin", "etc", "home/someone", "proc", "sys", "dev", "run", "sysroot"] {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    programs::copy(program(), root.join("bin/keyway"));
    fs::hard_link(root.join("bin/keyway"), root.join("init")).unwrap();
    fs::write(root.join("home/someone/letter"), "dear").unwrap();
    fs::write(root.join("etc/crypttab"), "data UUID=0815 none nofail\n").unwrap();
    symlink("someone", root.join("home/link")).unwrap();
    root
}

/// Every file in the tree, with its content.
fn content(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(root).unwrap().map(Result::unwrap) {
        let kind = entry.file_type().unwrap();
        let bytes = if kind.is_file() { fs::read(entry.path()).unwrap() } else { Vec::new() };
        found.insert(entry.path(), bytes);
        if kind.is_dir() {
            found.extend(content(&entry.path()));
        }
    }
    found
}

fn alone(line: &str) -> Run {
    peer("unshare", NAMESPACES).args(line)
}

/// Skips the test if namespaces are not permitted.
macro_rules! need_namespaces {
    () => {
        need!("unshare", "chroot", "sh");
        need_that!(alone("true").outcome().code == Some(0), "no user makes namespaces here");
    };
}

#[test]
fn init_on_a_running_system_is_refused_and_nothing_goes() {
    need_namespaces!();
    let scratch = Scratch::new();
    let root = tree(&scratch);
    let before = content(&root);
    let inside = || alone("chroot").arg(&root);
    // As the first process, by option and by name.
    for line in ["/bin/keyway unlock --init", "/bin/keyway unlock --init -q data", "/init", "/init unlock"] {
        let refused = inside().args(line).fails(1).says("Refused, with nothing changed: / is ");
        assert!(refused.errors().ends_with("this is not an initramfs.\n"), "{refused}");
        assert!(content(&root) == before, "{line}");
    }
    // Another process, not the first.
    let run = peer("unshare", "--user --map-root-user --mount chroot").arg(&root);
    run.args("/bin/keyway unlock --init").fails(1).says("Refused, with nothing changed: this is process ");
    // By name alone it is the normal program.
    let run = peer("unshare", "--user --map-root-user --mount chroot").arg(&root);
    run.args("/init --version").ok().says("keyway ");
    assert!(content(&root) == before);
}

#[test]
fn init_with_dry_run_shows_the_plan_alone() {
    need_namespaces!();
    let scratch = Scratch::new();
    let root = tree(&scratch);
    let before = content(&root);
    let run = || alone("chroot").arg(&root);
    run()
        .args("/bin/keyway unlock --init --dry-run --cmdline root=/dev/vda2")
        .ok()
        .says("# It would do nothing here. Refused, with nothing changed: / is ")
        .says("# mounts proc on /proc\n")
        .says("\ndata UUID=0815 none nofail\n")
        .says("# mounts /dev/vda2 on /sysroot, makes it the root, empties the image, starts its init\n");
    run()
        .arg("/bin/keyway")
        .args("unlock --init --dry-run --cmdline")
        .arg(
            "root=LABEL=x rootfstype=btrfs,ext4 rootflags=noatime,rw,subvol=@ resume=UUID=y resume_offset=9 \
             systemd.volatile=overlay",
        )
        .ok()
        .says("# resumes a system that was suspended to UUID=y\n")
        .says("# the root is btrfs or ext4\n")
        .says("# options of its file system: subvol=@\n# its flags: NOATIME\n# writes go to memory\n")
        .says("# mounts LABEL=x on /sysroot, makes it the root");
    assert!(content(&root) == before);
    named_maps_and_swaps(&root, &|line| {
        run().args("/bin/keyway unlock --init --dry-run --cmdline").arg(line).ok()
    });
    // The original init kept in an image has precedence.
    fs::create_dir(root.join("keyway")).unwrap();
    fs::write(root.join("keyway/original-init"), "").unwrap();
    run()
        .args("/bin/keyway unlock --dry-run --init")
        .ok()
        .says("# puts /keyway/original-init back as /init, removes /keyway, starts /init\n");
    assert!(fs::exists(root.join("keyway/original-init")).unwrap());
}

/// The keyboard's map is the one that the command line names; a swap that gets a random key holds no suspended system.
fn named_maps_and_swaps(root: &Path, shown: &dyn Fn(&str) -> Outcome) {
    let table = fs::read_to_string(root.join("etc/crypttab")).unwrap();
    let swap = "swap /dev/sda7 /dev/urandom swap\n";
    fs::write(root.join("etc/crypttab"), format!("{table}{swap}")).unwrap();
    shown("root=/dev/a resume=/dev/mapper/swap")
        .lacks("suspended")
        .says("swap: left to the system that starts");
    shown("root=/dev/a resume=/dev/mapper/data")
        .says("# resumes a system that was suspended to /dev/mapper/data\n");
    fs::write(root.join("etc/crypttab"), table).unwrap();

    shown("rd.vconsole.keymap=de").says(
        "# the kernel's command line names the keymap de, which is not in the image (boot initramfs --keymap puts \
         it there)\n",
    );
    fs::create_dir(root.join("keyway")).unwrap();
    fs::write(root.join("keyway/keymap"), "").unwrap();
    fs::write(root.join("keyway/keymap.name"), "de").unwrap();
    shown("keymap=de").says("# loads /keyway/keymap\n");
    shown("quiet").says("# loads /keyway/keymap\n");
    shown("vconsole.keymap=us").lacks("keymap");
    fs::write(root.join("bin/loadkeys"), "").unwrap();
    shown("vconsole.keymap=fr").says("# runs /bin/loadkeys for the keymap fr\n");
    fs::remove_file(root.join("bin/loadkeys")).unwrap();
    fs::remove_dir_all(root.join("keyway")).unwrap();
}

/// Typed by a person, on a machine whose kernel has no dm-crypt for them.
#[test]
fn unlock_names_what_is_unknown_and_the_way_without_dm_crypt() {
    need_namespaces!();
    let scratch = Scratch::new();
    let root = tree(&scratch);
    fs::write(root.join("etc/crypttab"), "data /bin/keyway none luks,frobnicate=1,x-other,tries=2\n")
        .unwrap();
    let inside = |line: &str| {
        let sh = format!("chroot {} /bin/keyway {line}", root.display());
        // Not as the first process.
        peer("unshare", "--user --map-root-user --mount sh -c").arg(sh)
    };
    let shown = inside("unlock --dry-run").ok();
    assert_eq!(shown.text(), "data /bin/keyway none luks,frobnicate=1,x-other,tries=2\n");
    assert_eq!(shown.errors(), "WARNING: data: the option \"frobnicate\" is unknown and ignored.\n");
    let refused = inside("unlock data").fails(4).says("This kernel has no dm-crypt: ");
    assert!(
        refused.errors().ends_with("\n\"keyway open data\" opens it through another backend.\n"),
        "{refused}"
    );
    fs::write(root.join("etc/crypttab"), "data /bin/keyway none luks,x-keyway.requires=sealed\n").unwrap();
    assert_eq!(
        inside("unlock --dry-run").ok().errors(),
        "WARNING: data: the option \"x-keyway.requires\" is unknown, and may be meant as a demand: the volume \
         is not opened.\n"
    );
    // open finds no other names.
    let elsewhere = inside("unlock --cmdline 'keyway.device=/bin/keyway keyway.name=other'");
    elsewhere.fails(4).says("This kernel has no dm-crypt: ").lacks("keyway open");
}

/// A tmpfs that looks like an initramfs in everything: the image's own init is restored, and mounts
/// below it stay.
#[test]
fn a_root_in_memory_goes_on_with_its_own_init() {
    need_namespaces!();
    need!("busybox", "mount", "cp");
    let scratch = Scratch::new();
    let (root, memory) = (tree(&scratch), scratch.path("memory"));
    fs::create_dir(&memory).unwrap();
    fs::remove_file(root.join("etc/crypttab")).unwrap();
    fs::create_dir_all(root.join("keyway/keys")).unwrap();
    fs::write(
        root.join("keyway/original-init"),
        "#!/bin/busybox sh\necho ORIGINAL=$0; busybox ls / /home/link\n",
    )
    .unwrap();
    programs::copy("/bin/busybox", root.join("bin/busybox"));
    let kept = scratch.path("kept");
    fs::create_dir(&kept).unwrap();
    fs::write(kept.join("data"), "data").unwrap();
    let lines = "set -e; mount -t tmpfs tmpfs memory; cp -a system/. memory/; mkdir memory/keyway/mounted
                 chmod 755 memory/keyway/original-init; mount --bind kept memory/keyway/mounted
                 exec chroot memory /init";
    let done = alone("sh -c").arg(lines).directory(scratch.root()).ok();
    let done = done.says("ORIGINAL=/init\n").says("letter\n");
    assert_eq!(fs::read_to_string(kept.join("data")).unwrap(), "data");
    assert!(!done.text().contains("original-init"), "{done}");
    // A directory of that tmpfs is not its root.
    let lines = "set -e; mount -t tmpfs tmpfs memory; mkdir memory/root; cp -a system/. memory/root/
                 unshare --pid --fork chroot memory/root /init || echo CODE=$?; cat memory/root/home/someone/letter";
    alone("sh -c")
        .arg(lines)
        .directory(scratch.root())
        .ok()
        .says("/ is a directory of a tmpfs, not a file system")
        .says("CODE=1\ndear");
}
