//! Machines that have booted already. Most of what an emulated machine does in a test is to start:
//! six seconds of a processor. So one is booted for each kernel, with udev and without, and its
//! state saved where its modules are loaded and nothing else has happened: it is asleep. Tests wake
//! copies of it, which takes one second.
//!
//! A machine wakes up with the devices with which it fell asleep. It has [`SLOTS`] disks, whose
//! driver it loads when it is awake (`tests/vm/init`): those of the test come first, the last one
//! is an archive of files, which it unpacks; this one and those that hold nothing it puts away.
//! Random numbers of two copies may be the same.

use super::cpio::{self, Entry};
use super::{DISK, Machine};
use crate::run::Run;
use crate::{Scratch, timeouts};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What a slot holds.
enum Slot<'a> {
    Disk(&'a Path),
    Files(&'a Path),
    Unused,
}

/// The file with the state that this machine can start from. `None` if it has to boot.
pub(super) fn state(machine: &Machine) -> Option<PathBuf> {
    static CANNOT: AtomicBool = AtomicBool::new(false);
    let has_own_init = machine.files.iter().any(|(name, _)| name == "init");
    let has_one_processor = machine.processors.is_none() && !machine.counts;
    if has_own_init || !has_one_processor || machine.disks.len() >= SLOTS || CANNOT.load(Ordering::Relaxed) {
        return None;
    }
    let state = machine.place().join(if machine.udev { "asleep-udev" } else { "asleep" });
    match up_to_date(machine, &state) {
        Ok(()) => Some(state),
        Err(why) => {
            eprintln!("machines boot each time, because the state of one cannot be saved: {why}");
            CANNOT.store(true, Ordering::Relaxed);
            None
        }
    }
}

/// QEMU, about to wake the machine; its second serial port goes to the file `results`, whose name
/// ends in `.out`.
pub(super) fn awake(machine: &Machine, state: &Path, scratch: &Scratch, results: &Path) -> Run {
    fs::write(results.with_extension("in"), LINES).expect("a scratch file");
    fs::write(results, "").expect("a scratch file");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs().to_string();
    let now = [Entry::File("now", now.as_bytes())];
    let mut files = cpio::archive(machine.entries().chain(now));
    files.resize(files.len().next_multiple_of(SECTOR), 0);
    let files = scratch.file("files", files);
    let mut slots: Vec<_> = machine.disks.iter().map(|disk| Slot::Disk(disk)).collect();
    slots.resize_with(SLOTS - 1, || Slot::Unused);
    slots.push(Slot::Files(&files));
    let port = format!("pipe,id=results,path={}", results.with_extension("").display());
    let qemu = with_slots(machine, &slots).args("-serial stdio -serial chardev:results -chardev").arg(port);
    qemu.arg("-incoming").arg(format!("exec:cat '{}'", state.display()))
}

/// Saves the state unless there is one, made of what there is now. (Several processes may want it.)
fn up_to_date(machine: &Machine, state: &Path) -> Result<(), String> {
    let lock = File::create(state.with_extension("lock")).map_err(|e| e.to_string())?;
    flock(&lock, FlockOperation::LockExclusive).map_err(|e| e.to_string())?;
    let (ingredients, record) = (ingredients(machine), state.with_extension("made-of"));
    if state.exists() && fs::read_to_string(&record).is_ok_and(|recorded| recorded == ingredients) {
        return Ok(());
    }
    let _ = fs::remove_file(&record);
    save(machine, state)?;
    fs::write(record, ingredients).map_err(|e| e.to_string())
}

/// Boots a machine until it is asleep, and saves its state.
fn save(machine: &Machine, state: &Path) -> Result<(), String> {
    let scratch = Scratch::new();
    let (results, saved) = (scratch.path("results"), state.with_extension("new"));
    let mut initramfs = machine.prepared_archives("");
    initramfs.extend(cpio::archive([Entry::File("falls-asleep", b"")]));
    let qemu = with_slots(machine, &[const { Slot::Unused }; SLOTS]);
    let qemu = qemu.arg("-initrd").arg(scratch.file("initramfs", initramfs));
    let qemu = qemu.args("-monitor stdio -serial null -serial").arg(format!("file:{}", results.display()));
    let mut child = qemu.spawn().map_err(|e| e.to_string())?;
    let mut monitor = child.stdin.take().ok_or("it has no standard input")?;
    let is_asleep = || fs::read_to_string(&results).is_ok_and(|said| said.contains(ASLEEP));
    let deadline = timeouts::within(timeouts::BOOT);
    while !is_asleep() && Instant::now() < deadline && matches!(child.try_wait(), Ok(None)) {
        thread::sleep(Duration::from_millis(50));
    }
    if !is_asleep() {
        let _ = child.kill();
    }
    // (A machine that was killed reads nothing.)
    let _ = write!(monitor, "migrate \"exec:cat >'{}'\"\ninfo migrate\nquit\n", saved.display());
    let ended = child.wait_with_output().map_err(|e| e.to_string())?;
    if !String::from_utf8_lossy(&ended.stdout).contains(SAVED) {
        return Err(format!("{}: {}", ended.status, String::from_utf8_lossy(&ended.stderr)));
    }
    fs::rename(saved, state).map_err(|e| e.to_string())
}

fn with_slots(machine: &Machine, slots: &[Slot<'_>]) -> Run {
    slots.iter().enumerate().fold(machine.processor_and_kernel(), |qemu, (number, slot)| {
        let (backend, serial) = match slot {
            Slot::Disk(file) => (format!("file={}", file.display()), ""),
            Slot::Files(file) => (format!("file={}", file.display()), ",serial=files"),
            Slot::Unused => (format!("file.driver=null-co,file.size={SECTOR}"), ",serial=unused"),
        };
        let qemu = qemu.arg("-drive").arg(format!("if=none,id=slot{number},{DISK},{backend}"));
        qemu.arg("-device").arg(format!("virtio-blk-pci,drive=slot{number}{serial}"))
    })
}

/// What a state depends on: QEMU, its options, the kernel and the RAM disk.
fn ingredients(machine: &Machine) -> String {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let said = Command::new("qemu-system-x86_64").arg("--version").output();
        said.map_or_else(|e| e.to_string(), |said| String::from_utf8_lossy(&said.stdout).into_owned())
    });
    let files = ["vmlinuz", "initramfs.cpio", "udev.cpio"].map(|name| {
        let found = fs::metadata(machine.place().join(name)).ok();
        format!("{name} {:?}\n", found.and_then(|found| Some((found.len(), found.modified().ok()?))))
    });
    format!("{}{:?}\n{}", *VERSION, machine.processor_and_kernel().arguments(), files.concat())
}

/// The test's disks, at most, and one.
const SLOTS: usize = 16;
const SECTOR: usize = 512;
/// What the machine says when its state can be saved.
const ASLEEP: &str = "ASLEEP";
/// It wakes up at the end of a line. The first ones reach it before its state does, and are lost.
const LINES: [u8; 256] = [b'\n'; 256];
/// What QEMU's monitor says once all of the state is written.
const SAVED: &str = "Migration status: completed";
