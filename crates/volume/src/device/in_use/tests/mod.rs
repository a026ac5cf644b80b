//! Conflicting claims of files, devices and loop devices.

mod attached;

use super::holder::tests::Told;
use super::*;
use crate::device::storage::{Claimed, Exclusive, File, Memory};
use attached::{Attached, Image};
use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;
use std::thread;

fn write(storage: &dyn Storage) -> Result<InUse> {
    InUse::acquire(storage, Access::Write, false)
}

fn holder<T: std::fmt::Debug>(result: Result<T>) -> Holder {
    match result {
        Err(Error::InUse(holder)) => holder,
        other => panic!("{other:?}"),
    }
}

#[test]
fn writers_are_alone_readers_are_many_and_sharing_is_said() {
    let image = Image::new("in-use");
    let (reading, writing) = (File::open(&image.0).unwrap(), image.open());
    let read = |shared| InUse::acquire(&reading, Access::ReadOnly, shared);
    let write = |shared| InUse::acquire(&writing, Access::Write, shared);

    let writer = write(false).unwrap();
    assert!(writer.is_exclusive());
    let refused = holder(write(false));
    assert!(matches!(refused, Holder::Process { pid, .. } if pid == std::process::id()), "{refused:?}");
    assert!(matches!(read(false), Err(Error::InUse(_))));
    let beside = write(true).unwrap();
    assert!(!beside.is_exclusive());
    drop(writer);
    assert!(matches!(write(false), Err(Error::InUse(_))), "the shared one is a writer, too");
    drop(beside);
    let readers = [read(false).unwrap(), read(false).unwrap()];
    assert!(!readers[0].is_exclusive());
    assert!(matches!(write(false), Err(Error::InUse(_))));
    drop(readers);
    drop(write(false).unwrap());
}

#[test]
fn partitions_of_an_image_are_used_side_by_side_and_the_whole_beside_none() {
    let image = Image::new("partitions");
    // Two partitions in the record that an image begins with, of 512 sectors each.
    let file = image.open();
    file.write_at(&[0; 512], 0).unwrap();
    for (entry, first) in [(446u64, 512u32), (462, 1024)] {
        file.write_at(&[0x83], entry + 4).unwrap();
        file.write_at(&[first.to_le_bytes(), 512u32.to_le_bytes()].concat(), entry + 8).unwrap();
    }
    file.write_at(&[0x55, 0xaa], 510).unwrap();
    let part = |number: u32| File::open_rw(format!("{}#{number}", image.0.display())).unwrap();
    let (one, two, again) = (part(1), part(2), part(1));
    assert!(is_same(&one, &again) && is_same(&one, &file) && !is_same(&one, &two));

    for (access, others) in [(Access::Write, false), (Access::ReadOnly, true)] {
        let used = InUse::acquire(&one, access, false).unwrap();
        assert_eq!(used.is_exclusive(), access == Access::Write);
        drop(write(&two).unwrap());
        drop(InUse::acquire(&two, Access::ReadOnly, false).unwrap());
        holder(write(&again));
        assert_eq!(InUse::acquire(&again, Access::ReadOnly, false).is_ok(), others);
        holder(write(&file));
        assert_eq!(InUse::acquire(&file, Access::ReadOnly, false).is_ok(), others);
        drop(used);
    }
    for (access, shared, others) in
        [(Access::Write, false, false), (Access::Write, true, false), (Access::ReadOnly, false, true)]
    {
        let whole = InUse::acquire(&file, access, shared).unwrap();
        holder(write(&one));
        assert_eq!(InUse::acquire(&one, Access::ReadOnly, false).is_ok(), others);
        drop(InUse::acquire(&one, Access::Write, true).unwrap());
        drop(whole);
    }
    drop(write(&one).unwrap());
}

/// A child that inherited the mark would hold it for as long as it runs.
#[test]
fn one_file_is_known_under_all_its_names() {
    let (image, other) = (Image::new("same"), Image::new("another"));
    let link = Image(image.0.with_extension("link"));
    std::fs::hard_link(&image.0, &link.0).unwrap();
    let [image_open, link_open] = [&image, &link].map(|it| File::open(&it.0).unwrap());
    assert!(is_same(&image_open, &image_open) && is_same(&image_open, &link_open));
    assert!(!is_same(&image_open, &other.open()));
    assert!(!is_same(&Memory::zeroed(1), &Memory::zeroed(1)), "nobody can tell");
    let Some(attached) = Attached::over(&image.0) else { return };
    assert!(is_same(&attached.open(), &image_open) && is_same(&image_open, &attached.open()));
    assert!(!is_same(&attached.open(), &other.open()));
}

#[test]
fn marks_stay_in_this_process() {
    use nix::fcntl::{FcntlArg, FdFlag, fcntl};
    let image = Image::new("closes");
    let storage = image.open();
    let mark = write(&storage).unwrap();
    let closes = |fd: &OwnedFd| {
        FdFlag::from_bits_truncate(fcntl(fd, FcntlArg::F_GETFD).unwrap()).contains(FdFlag::FD_CLOEXEC)
    };
    assert_eq!(mark.marks.len(), 1);
    assert!(closes(&mark.marks[0]));
}

#[test]
fn memory_is_nobody_elses() {
    let memory = Memory::zeroed(512);
    let _first = write(&memory).unwrap();
    assert!(write(&memory).is_ok());
}

#[test]
fn who_is_about_to_leave_is_waited_for_half_a_second() {
    let image = Image::new("leaving");
    let storage = image.open();
    let first = write(&storage).unwrap();
    let started = Instant::now();
    assert!(write(&storage).is_err());
    assert!(started.elapsed() >= TIMEOUT);
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(TIMEOUT / 5);
            drop(first);
        });
        assert!(write(&storage).is_ok());
    });
    let pauses: BTreeSet<Duration> = (0..64).map(|_| pause()).collect();
    assert!(pauses.len() > 1, "two in step would never get it");
    assert!(*pauses.last().unwrap() > POLL + Duration::from_millis(1), "{pauses:?}");
    assert!(pauses.iter().all(|it| (POLL..POLL + Duration::from_millis(26)).contains(it)), "{pauses:?}");
}

#[test]
fn of_many_who_come_at_once_exactly_one_gets_it() {
    let image = Image::new("at-once");
    for _ in 0..4 {
        let barrier = std::sync::Barrier::new(6);
        let won = thread::scope(|scope| {
            let attempt = || {
                let storage = image.open();
                barrier.wait();
                let claim = write(&storage);
                // No claim is released before all have tried.
                barrier.wait();
                claim.is_ok()
            };
            let all: Vec<_> = (0..6).map(|_| scope.spawn(attempt)).collect();
            all.into_iter().map(|it| it.join().unwrap()).filter(|won| *won).count()
        });
        assert_eq!(won, 1);
    }
}

#[test]
fn a_block_device_is_claimed_until_the_mark_is_dropped() {
    let image = Image::new("device");
    let Some(attached) = Attached::over(&image.0) else { return };
    let device = attached.open();
    let mark = write(&device).unwrap();
    assert_eq!(attached.claim().err(), Some(Errno::EBUSY), "it could be mounted");
    assert!(write(&attached.open()).is_err());
    drop(mark);
    drop(attached.claim().unwrap());

    // Claimed by an unknown holder.
    let claim = attached.claim().unwrap();
    holder(write(&device));
    holder(InUse::acquire(&device, Access::ReadOnly, false));
    drop(InUse::acquire(&device, Access::Write, true).unwrap());
    drop(claim);

    // A reader has checked the device, and lets others read.
    let _reader = InUse::acquire(&device, Access::ReadOnly, false).unwrap();
    drop(attached.claim().unwrap());
    assert!(InUse::acquire(&device, Access::ReadOnly, false).is_ok());
}

#[test]
fn what_is_left_to_the_kernel_is_kept_from_other_keyways() {
    let image = Image::new("left");
    let Some(attached) = Attached::over(&image.0) else { return };
    let device = attached.open();
    let mut mark = write(&device).unwrap();
    mark.leave_to_the_kernel();
    assert!(!mark.is_exclusive());
    assert!(write(&attached.open()).is_err());
    drop(attached.claim().unwrap());
}

#[test]
fn a_file_is_claimed_with_the_loop_devices_that_stand_for_it() {
    let image = Image::new("behind");
    let Some(attached) = Attached::over(&image.0) else { return };
    let Some(above) = Attached::over(&attached.0) else { return };
    let file = image.open();
    assert_eq!(loop_device_of(&image.0), Some(attached.0.clone()));
    assert_eq!(loop_device_of(Path::new("/proc/self/exe")), None);
    let mark = write(&file).unwrap();
    for device in [&attached, &above] {
        assert_eq!(device.claim().err(), Some(Errno::EBUSY), "it could be mounted");
    }
    drop(mark);
    for device in [&attached, &above] {
        let claim = device.claim().unwrap();
        let Holder::Through(node, _) = holder(write(&file)) else { panic!() };
        assert_eq!(node, device.0);
        // A reader does not check loop devices, and a shared use is the caller's responsibility.
        drop(InUse::acquire(&file, Access::ReadOnly, false).unwrap());
        drop(InUse::acquire(&file, Access::Write, true).unwrap());
        drop(claim);
    }
    assert!(
        InUse::acquire_beside_mappings(&file, "6e2b0c27-4ef6-4bd4-b92e-a1ca1c1a6aa1").unwrap().is_exclusive()
    );
    let claim = above.claim().unwrap();
    // It is held, but not by a mapping.
    holder(InUse::acquire_beside_mappings(&file, "6e2b0c27-4ef6-4bd4-b92e-a1ca1c1a6aa1"));
    holder(InUse::acquire_beside_mappings(&above.open(), ""));
    drop(claim);
}

#[test]
fn a_loop_device_is_claimed_with_all_that_shows_its_bytes() {
    let image = Image::new("beside");
    let Some(mounted) = Attached::over(&image.0) else { return };
    let Some(other) = Attached::over(&image.0) else { return };
    let Some(above) = Attached::over(&other.0) else { return };
    for device in [&other, &above] {
        let claim = mounted.claim().unwrap();
        let Holder::Through(node, _) = holder(write(&device.open())) else { panic!() };
        assert_eq!(node, mounted.0);
        drop(InUse::acquire(&device.open(), Access::ReadOnly, false).unwrap());
        drop(InUse::acquire(&device.open(), Access::Write, true).unwrap());
        drop(claim);
        let mark = write(&device.open()).unwrap();
        assert_eq!(mounted.claim().err(), Some(Errno::EBUSY), "it could be mounted");
        drop(mark);
    }
    let claim = other.claim().unwrap();
    let Holder::Through(node, _) = holder(write(&above.open())) else { panic!() };
    assert_eq!(node, other.0, "what it stands for is somebody's");
    drop(claim);
    drop(write(&above.open()).unwrap());
}

#[test]
fn the_file_behind_a_loop_device_is_marked_with_it() {
    let image = Image::new("below");
    let Some(attached) = Attached::over(&image.0) else { return };
    let (file, device) = (image.open(), attached.open());
    let other = InUse::acquire(&file, Access::Write, true).unwrap();
    let Holder::Through(path, _) = holder(write(&device)) else { panic!() };
    assert_eq!(path, image.0);
    holder(InUse::acquire(&device, Access::ReadOnly, false));
    drop(other);
    let mark = write(&device).unwrap();
    let path = image.0.clone();
    let seen = Marks::set(std::fs::File::open(path).unwrap().as_fd(), Access::Write, false, None).unwrap();
    assert!(matches!(seen, Marks::Refused), "QEMU would write to the file");
    drop(mark);
    drop(write(&file).unwrap());
}

#[test]
fn a_claim_is_held_as_long_as_anybody_holds_the_storage() {
    let image = Image::new("exclusive");
    let storage: Arc<dyn Storage> = Arc::new(image.open());
    assert!(!storage.is_exclusive());
    let claimed = Exclusive::claim(storage.clone()).unwrap();
    assert!(claimed.is_exclusive());
    let again = Exclusive::claim(Arc::clone(&claimed)).unwrap();
    let header = Exclusive::claim_header(Arc::clone(&claimed), "").unwrap();
    let inside = Arc::clone(&again);
    drop((claimed, again, header));
    holder(Exclusive::claim(storage.clone()).map(drop));
    holder(Exclusive::claim_header(storage.clone(), "").map(drop));
    drop(inside);
    drop(Exclusive::claim(storage.clone()).unwrap());

    // Storage that is marked for a lesser use must not be overwritten.
    let shared = InUse::acquire(&*storage, Access::Write, true).unwrap();
    let shared = Claimed::new(storage, shared);
    assert!(!shared.is_exclusive());
    holder(Exclusive::claim(Arc::new(shared)).map(drop));
    assert!(Memory::zeroed(1).is_exclusive());
}

const UUID: &str = "6e2b0c27-4ef6-4bd4-b92e-a1ca1c1a6aa1";

/// For writing a header while the volume may be mapped.
const BESIDE: Wish<'_> = Wish { access: Access::Write, shared: false, volume: Some(UUID) };
/// For all other writes.
const ALONE: Wish<'_> = Wish { volume: None, ..BESIDE };

#[test]
fn a_header_may_be_saved_beside_mappings_of_its_volume_and_nothing_else() {
    let told = Told::new("beside");
    let Subject::Device { number } = told.device("sda", "", "8:0") else { unreachable!() };
    told.device("dm-0", "", "253:0");
    told.holds("dm-0", "sda");
    told.file("sys/class/block/dm-0/dm/name", "home\n");
    let mapped = Holder::Mapping("home".into());
    let node = PathBuf::from("/dev/no such device");
    let device = Loop { node: node.clone(), number };
    let through = Holder::Through(node, Box::new(mapped.clone()));
    for (uuid, spared) in [("CRYPT-LUKS2-6e2b0c274ef64bd4b92ea1ca1c1a6aa1-home\n", true), ("LVM-x\n", false)]
    {
        told.file("sys/class/block/dm-0/dm/uuid", uuid);
        let held = || Err(Errno::EBUSY);
        assert_eq!(holder(ALONE.claim(&told.kernel, number, held())), mapped);
        assert_eq!(holder(ALONE.claim_loop(&told.kernel, &device)), through);
        match spared {
            true => {
                assert!(matches!(BESIDE.claim(&told.kernel, number, held()), Ok(None)));
                assert!(matches!(BESIDE.claim_loop(&told.kernel, &device), Ok(None)));
            }
            false => {
                assert_eq!(holder(BESIDE.claim(&told.kernel, number, held())), mapped);
                assert_eq!(holder(BESIDE.claim_loop(&told.kernel, &device)), through);
            }
        }
    }
    // A device that cannot be opened, and about which the kernel has no information, counts as
    // unused.
    let Subject::Device { number } = told.device("loop9", "", "7:9") else { unreachable!() };
    let other = Loop { node: device.node, number };
    assert!(matches!(ALONE.claim_loop(&told.kernel, &other), Ok(None)));
    let failed = ALONE.claim(&told.kernel, number, Err(Errno::EIO));
    assert!(matches!(failed, Err(Error::Io { .. })));
}

#[test]
fn swap_is_no_place_for_a_volume() {
    let image = Image::new("swap");
    let done = |program: &str| {
        let output = Command::new(program).arg(&image.0).output();
        output.is_ok_and(|output| output.status.success())
    };
    if !(done("mkswap") && done("swapon")) {
        return eprintln!("left out: this user has no swap");
    }
    let storage = File::open(&image.0).unwrap();
    let alone = write(&storage).map(drop);
    let others = [(Access::ReadOnly, false), (Access::Write, true)];
    let others = others.map(|(access, shared)| InUse::acquire(&storage, access, shared).is_ok());
    assert!(done("swapoff"));
    assert_eq!((holder(alone), others), (Holder::Swap, [true, true]));
}
