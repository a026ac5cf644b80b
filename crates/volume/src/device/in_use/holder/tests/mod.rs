//! Holders, as simulated trees of proc and sysfs show them.

mod told;

use super::*;
use std::os::unix::fs::symlink;
pub(crate) use told::Told;

fn mount(place: &str) -> Option<Holder> {
    Some(Holder::Mount(place.into()))
}

fn through(device: PathBuf, holder: Option<Holder>) -> Option<Holder> {
    Some(Holder::Through(device, Box::new(holder.unwrap())))
}

const NOTHING: &str = "22 1 0:20 / / rw,relatime shared:1 - overlay overlay rw\n";

#[test]
fn lines_name_who_has_it() {
    let process = Holder::Process { pid: 12, program: "qemu-nbd".into() };
    for (holder, line) in [
        (Holder::Mount("/mnt/a b".into()), "mounted on /mnt/a b"),
        (Holder::Swap, "used as swap"),
        (Holder::Mapping("home".into()), "mapped as home"),
        (Holder::Device("md127".into()), "part of md127"),
        (process.clone(), "open in qemu-nbd, process 12"),
        (Holder::Through("/dev/loop0".into(), process.into()), "as /dev/loop0, open in qemu-nbd, process 12"),
        (Holder::Unseen, "already mapped or mounted, or open in QEMU or another Keyway"),
    ] {
        assert_eq!(holder.to_string(), line);
    }
}

#[test]
fn only_who_may_be_leaving_is_waited_for() {
    let process = Holder::Process { pid: 12, program: String::new() };
    let through = |holder: &Holder| Holder::Through("/dev/loop0".into(), holder.clone().into());
    for leaving in [Holder::Mapping("x".into()), Holder::Device("md0".into()), process, Holder::Unseen] {
        assert!(leaving.may_be_leaving() && through(&leaving).may_be_leaving());
    }
    for staying in [Holder::Mount("/".into()), Holder::Swap] {
        assert!(!staying.may_be_leaving() && !through(&staying).may_be_leaving());
    }
}

#[test]
fn mounts_are_found_by_number_and_by_what_they_are_made_from() {
    let told = Told::new("mounts");
    let disk = told.device("sda", "", "8:0");
    let other = told.device("sdb", "", "8:16");
    told.mounts(&format!("{NOTHING}30 22 8:0 / /mnt/a\\040b rw - ext4 /dev/none rw\n"));
    assert_eq!(told.kernel.holder(disk), mount("/mnt/a b"));
    assert_eq!(told.kernel.holder(other), None);
    // With more optional fields, and with none.
    told.mounts(
        "30 22 8:16 / /one rw shared:3 master:4 - xfs /dev/none rw\n31 22 8:0 /x /two rw - xfs none rw",
    );
    assert_eq!(told.kernel.holder(disk), mount("/two"));
    assert_eq!(told.kernel.holder(other), mount("/one"));

    let image = told.file("an image", "");
    let source = image.to_str().unwrap().replace(' ', "\\040");
    told.mounts(&format!("{NOTHING}30 22 0:77 / /fuse rw - fuse.fuse2fs {source} rw\n"));
    assert_eq!(told.kernel.holder(told.subject(&image)), mount("/fuse"));
    assert_eq!(told.kernel.holder(told.subject(&told.file("another", ""))), None);
    // A name that is not an absolute path is not one of our files.
    let name =
        image.strip_prefix(std::env::current_dir().unwrap()).map_or("an image", |it| it.to_str().unwrap());
    told.mounts(&format!("30 22 0:77 / /fuse rw - fuse.fuse2fs {name} rw\n"));
    assert_eq!(told.kernel.holder(told.subject(&image)), None);
}

#[test]
fn swap_is_found() {
    let told = Told::new("swap");
    let swap = told.file("swap file", "");
    let other = told.file("other", "");
    let line = swap.to_str().unwrap().replace(' ', "\\040");
    told.file("proc/swaps", format!("{} Type Size Used Priority\n{line} file 1 0 -2\n", other.display()));
    assert_eq!(told.kernel.holder(told.subject(&swap)), Some(Holder::Swap));
    assert_eq!(told.kernel.holder(told.subject(&other)), None, "the first line is a heading");
}

#[test]
fn devices_that_are_made_of_it_are_found() {
    let told = Told::new("above");
    let disk = told.device("sda", "", "8:0");
    told.device("dm-0", "", "253:0");
    told.device("md127", "", "9:127");
    assert_eq!(told.kernel.holder(disk), None);
    told.holds("dm-0", "sda");
    told.file("sys/class/block/dm-0/dm/name", "home\n");
    assert_eq!(told.kernel.holder(disk), Some(Holder::Mapping("home".into())));

    let other = told.device("sdb", "", "8:16");
    told.holds("md127", "sdb");
    assert_eq!(told.kernel.holder(other), Some(Holder::Device("md127".into())));
}

#[test]
fn a_disk_and_its_partitions_are_one() {
    let told = Told::new("partitions");
    let disk = told.device("sda", "", "8:0");
    let first = told.device("sda1", "sda", "8:1");
    let second = told.device("sda2", "sda", "8:2");
    told.file("sys/devices/sda/queue/dev", "8:1\n");
    told.mounts("30 22 8:2 / /mnt rw - ext4 /dev/none rw\n");
    assert_eq!(told.kernel.holder(disk), through(told.root.join("dev/sda2"), mount("/mnt")));
    assert_eq!(told.kernel.holder(second), mount("/mnt"));
    assert_eq!(told.kernel.holder(first), None, "its neighbour is none of its bytes");
    told.mounts("30 22 8:0 / /all rw - ext4 /dev/none rw\n");
    assert_eq!(told.kernel.holder(first), through(told.root.join("dev/sda"), mount("/all")));
    told.mounts(NOTHING);
    assert_eq!(told.kernel.holder(disk), None);
    told.device("md0", "", "9:0");
    told.holds("md0", "sda1");
    let part = Some(Holder::Device("md0".into()));
    assert_eq!(told.kernel.holder(disk), through(told.root.join("dev/sda1"), part));
}

#[test]
fn only_mappings_of_the_volume_itself_are_spared() {
    let told = Told::new("spared");
    let Subject::Device { number } = told.device("sda", "", "8:0") else { unreachable!() };
    let uuid = "6e2b0c27-4ef6-4bd4-b92e-a1ca1c1a6aa1";
    let spared = || told.kernel.is_mapped_by_volume_alone(number, uuid);
    assert!(!spared(), "nothing is mapped");
    for (name, minor) in [("dm-0", "253:0"), ("dm-1", "253:1")] {
        told.device(name, "", minor);
    }
    told.holds("dm-0", "sda");
    let is = |name: &str, uuid: &str| told.file(&format!("sys/class/block/{name}/dm/uuid"), uuid);
    for ours in [
        "CRYPT-LUKS2-6e2b0c274ef64bd4b92ea1ca1c1a6aa1-home\n",
        "CRYPT-LUKS1-6e2b0c274ef64bd4b92ea1ca1c1a6aa1-x\n",
    ] {
        is("dm-0", ours);
        assert!(spared(), "{ours}");
    }
    for other in ["", "LVM-x", "CRYPT-PLAIN-home\n", "CRYPT-LUKS2-7e2b0c274ef64bd4b92ea1ca1c1a6aa1-home\n"] {
        is("dm-0", other);
        assert!(!spared(), "{other}");
    }
    is("dm-0", "CRYPT-LUKS2-6e2b0c274ef64bd4b92ea1ca1c1a6aa1-home\n");
    told.holds("dm-1", "sda");
    is("dm-1", "LVM-x\n");
    assert!(!spared(), "another has it too");
    is("dm-1", "CRYPT-LUKS2-6e2b0c274ef64bd4b92ea1ca1c1a6aa1-again\n");
    assert!(spared());
    told.device("sda1", "sda", "8:1");
    told.mounts("30 22 8:1 / /mnt rw - ext4 /dev/none rw\n");
    assert!(!spared(), "a partition is mounted");
}

#[test]
fn loop_devices_over_it_are_found_and_those_over_them() {
    let told = Told::new("loops");
    let image = told.file("image", "");
    let other = told.file("other", "");
    for (name, number) in [("loop0", "7:0"), ("loop1", "7:1"), ("loop2", "7:2")] {
        told.device(name, "", number);
    }
    let over = |name: &str, file: &Path| {
        told.file(&format!("sys/class/block/{name}/loop/backing_file"), format!("{}\n", file.display()));
    };
    let nodes =
        |of| -> Vec<PathBuf> { told.kernel.loops_over(of, None).into_iter().map(|it| it.node).collect() };
    assert_eq!(nodes(told.subject(&image)), [] as [PathBuf; 0]);
    over("loop0", &other);
    over("loop2", &image);
    // Under another name.
    fs::hard_link(&image, told.root.join("link")).unwrap();
    assert_eq!(nodes(told.subject(&told.root.join("link"))), [told.root.join("dev/loop2")]);
    assert_eq!(nodes(told.subject(&other)), [told.root.join("dev/loop0")]);
    let found = told.kernel.loops_over(told.subject(&image), None);
    assert_eq!(found, [Loop { node: told.root.join("dev/loop2"), number: rustix::fs::makedev(7, 2) }]);
    assert_eq!(told.kernel.backing_file(rustix::fs::makedev(7, 2)), Some(image.clone()));
    assert_eq!(told.kernel.backing_file(rustix::fs::makedev(7, 1)), None);
    // A cycle of names ends.
    over("loop1", &image);
    let mut both = nodes(told.subject(&image));
    both.sort();
    assert_eq!(both, [told.root.join("dev/loop1"), told.root.join("dev/loop2")]);
}

#[test]
fn loop_devices_that_have_bytes_in_common_are_found() {
    let told = Told::new("beside-loops");
    let image = told.file("image", "");
    let places =
        [("loop0", "7:0", "0", "4096"), ("loop1", "7:1", "4096", "0"), ("loop2", "7:2", "4095", "1")];
    for (name, number, offset, limit) in places {
        told.device(name, "", number);
        told.file(&format!("sys/class/block/{name}/loop/backing_file"), format!("{}\n", image.display()));
        told.file(&format!("sys/class/block/{name}/loop/offset"), format!("{offset}\n"));
        told.file(&format!("sys/class/block/{name}/loop/sizelimit"), format!("{limit}\n"));
    }
    let number = |minor| rustix::fs::makedev(7, minor);
    let beside = |of| -> Vec<u64> {
        let (path, below) = told.kernel.below(of).unwrap();
        assert_eq!((path, below), (image.clone(), told.subject(&image)));
        told.kernel.loops_beside(of, below).into_iter().map(|it| it.number).collect()
    };
    assert_eq!(beside(number(0)), [number(2)]);
    assert_eq!(beside(number(2)), [number(0)]);
    assert_eq!(beside(number(1)), [] as [u64; 0], "it begins where the others end");
    let over = |start, len| -> Vec<u64> {
        let part = Some(Extent { start, len });
        told.kernel.loops_over(told.subject(&image), part).into_iter().map(|it| it.number).collect()
    };
    assert_eq!((over(4096, 512), over(0, 512)), (vec![number(1)], vec![number(0)]));
    // With an unknown offset, every byte may be the same.
    fs::remove_file(told.root.join("sys/class/block/loop1/loop/offset")).unwrap();
    let mut both = beside(number(1));
    both.sort_unstable();
    assert_eq!(both, [number(0), number(2)]);
    // A partition is where its disk is; an independent disk has no backing.
    let Subject::Device { number: partition } = told.device("loop0p1", "loop0", "259:0") else {
        unreachable!()
    };
    assert!(beside(partition).contains(&number(2)) && !beside(partition).contains(&number(0)));
    let Subject::Device { number: disk } = told.device("sda", "", "8:0") else { unreachable!() };
    assert!(told.kernel.below(disk).is_none());
}

#[test]
fn the_process_that_has_locked_it_goes_before_others() {
    let told = Told::new("process");
    let image = told.file("image", "");
    let other = told.file("other", "");
    let opens = |pid: u32, program: &str, descriptor: u32, file: &Path, info: &str| {
        told.file(&format!("proc/{pid}/comm"), format!("{program}\n"));
        told.file(&format!("proc/{pid}/fdinfo/{descriptor}"), info);
        let link = told.root.join(format!("proc/{pid}/fd/{descriptor}"));
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(file, link).unwrap();
    };
    let process = |pid, program: &str| Holder::Process { pid, program: program.into() };
    let subject = told.subject(&image);
    const LOCK: &str = "pos:\t0\nlock:\t1: OFDLCK ADVISORY READ -1 00:2c:12 100 100\n";
    opens(1, "keyway", 3, &image, "pos:\t0\n");
    assert_eq!(told.kernel.process(subject, None), Holder::Unseen, "the one who asks has it open, too");
    opens(30, "cat", 3, &other, LOCK);
    assert_eq!(told.kernel.process(subject, None), Holder::Unseen);
    opens(20, "udevd", 5, &image, "pos:\t0\n");
    assert_eq!(told.kernel.process(subject, None), process(20, "udevd"));
    opens(10, "qemu-nbd", 7, &image, "pos:\t0\nino:\t12\n");
    opens(10, "qemu-nbd", 8, &image, LOCK);
    assert_eq!(told.kernel.process(subject, None), process(10, "qemu-nbd"));
    opens(1, "keyway", 4, &image, LOCK);
    assert_eq!(told.kernel.process(subject, None), process(10, "qemu-nbd"));
    symlink("/usr/bin/qemu-system", told.root.join("proc/10/exe")).unwrap();
    assert_eq!(told.kernel.process(subject, None), process(10, "qemu-system"));
    fs::remove_dir_all(told.root.join("proc/10")).unwrap();
    assert_eq!(
        told.kernel.process(subject, None),
        process(1, "keyway"),
        "the same volume twice in one process"
    );
}

#[test]
fn of_two_users_of_an_images_partitions_the_right_one_is_named() {
    let told = Told::new("partitions");
    let image = told.file("image", "");
    let opens = |pid: u32, descriptor: u32, info: &str| {
        told.file(&format!("proc/{pid}/comm"), "keyway-session\n");
        told.file(&format!("proc/{pid}/fdinfo/{descriptor}"), info);
        let link = told.root.join(format!("proc/{pid}/fd/{descriptor}"));
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(&image, link).unwrap();
    };
    let lock = |range: &str| format!("lock:\t1: OFDLCK  ADVISORY  READ -1 00:2c:12 {range}\n");
    let uses = |pid: u32, start: u64| {
        opens(pid, 3, "pos:\t0\n");
        let own = [start + 100, start + 201].map(|byte| lock(&format!("{byte} {}", byte + 1)));
        opens(pid, 4, &format!("pos:\t0\n{}{}", lock("101 101"), own.concat()));
    };
    let (subject, part) = (told.subject(&image), |start| Some(Extent { start, len: 4096 }));
    let found = |part| match told.kernel.process(subject, part) {
        Holder::Process { pid, .. } => Some(pid),
        Holder::Unseen => None,
        other => panic!("{other:?}"),
    };
    uses(10, 1 << 20);
    uses(20, 4 << 20);
    assert_eq!([1 << 20, 4 << 20, 8 << 20].map(|start| found(part(start))), [Some(10), Some(20), None]);
    assert!(found(None).is_some(), "the whole is used by both");
    opens(30, 3, &format!("pos:\t0\n{}", lock("100 101")));
    assert_eq!(found(part(8 << 20)), Some(30), "it uses the whole");
    // A lock of another program's own.
    opens(40, 3, &format!("pos:\t0\n{}", lock("0 EOF")));
    assert_eq!(found(part(8 << 20)), Some(40));
}

/// The header is locked by flock(2); marks of use are locks of another kind.
#[test]
fn who_holds_the_headers_lock_is_not_who_uses_the_volume() {
    let told = Told::new("locker");
    let image = told.file("image", "");
    let opens = |pid: u32, info: &str| {
        told.file(&format!("proc/{pid}/comm"), format!("program-{pid}\n"));
        told.file(&format!("proc/{pid}/fdinfo/3"), info);
        let link = told.root.join(format!("proc/{pid}/fd/3"));
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(&image, link).unwrap();
    };
    let subject = told.subject(&image);
    const FLOCK: &str = "pos:\t0\nlock:\t1: FLOCK  ADVISORY  WRITE 10 00:2c:12 0 EOF\n";
    opens(1, FLOCK);
    opens(30, "pos:\t0\nlock:\t1: OFDLCK ADVISORY READ -1 00:2c:12 100 100\n");
    opens(20, "pos:\t0\n");
    assert_eq!(told.kernel.locker(subject), None);
    opens(10, FLOCK);
    assert_eq!(told.kernel.locker(subject), Some(Holder::Process { pid: 10, program: "program-10".into() }));
}

#[test]
fn a_file_system_that_may_never_answer_is_not_asked() {
    let told = Told::new("served");
    let image = told.file("served/image", "");
    let subject = told.subject(&image);
    let Subject::File { dev, inode } = subject else { unreachable!() };
    told.device("loop0", "", "7:0");
    told.file("sys/class/block/loop0/loop/backing_file", format!("{}\n", image.display()));
    let found = || told.kernel.loops_over(subject, None).len();
    assert_eq!(found(), 1);
    let place = image.parent().unwrap().to_str().unwrap().to_owned();
    for kind in ["fuse.keyway", "fuseblk", "nfs4", "cifs", "9p", "virtiofs"] {
        told.mounts(&format!("{NOTHING}30 22 0:9999 / {place} rw - {kind} x rw\n"));
        assert_eq!(found(), 0, "{kind}");
    }
    told.mounts(&format!("30 22 {} / {place} rw - fuse x rw\n", name_of(dev)));
    assert_eq!(found(), 1, "what is looked for is there itself");
    told.mounts(&format!("29 1 0:9999 / / rw - fuse x rw\n30 22 8:9 / {place} rw - ext4 x rw\n"));
    assert_eq!(found(), 1, "the innermost mount counts");
    told.mounts(&format!("30 22 8:9 / {place} rw - ext4 x rw\n29 1 0:9999 / {place}/image rw - fuse x rw\n"));
    assert_eq!(found(), 0);

    let may_be = |info: &str| told.kernel.may_be(subject, &image, info.as_bytes());
    assert!(may_be(&format!("pos:\t0\nino:\t{inode}\n")) && may_be("pos:\t0\n"));
    assert!(!may_be(&format!("pos:\t0\nino:\t{}\n", inode + 1)) && !may_be(&format!("ino:\t{inode}0\n")));
    let device = Subject::Device { number: 7 };
    let link = |to: &Path| {
        let link = told.root.join(format!("link to {}", to.file_name().unwrap().to_str().unwrap()));
        symlink(to, &link).unwrap();
        told.kernel.may_be(device, &link, b"ino:\t1\n")
    };
    assert!(link(&told.root.join("dev/loop7")) && !link(&image));
}

#[test]
fn names_are_unescaped() {
    for (written, meant) in [
        (r"/plain", "/plain"),
        (r"/a\040b\011c\134", "/a b\tc\\"),
        (r"\04", r"\04"),
        (r"x\999y", r"x\999y"),
        (r"\0401", " 1"),
        ("", ""),
    ] {
        assert_eq!(unescaped(written.as_bytes()), OsString::from(meant), "{written}");
    }
}
