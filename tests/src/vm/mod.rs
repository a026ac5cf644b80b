//! A virtual machine that runs Debian's kernel: disks as input, lines `KEY=VALUE` as output.
//!
//! `tests/vm/prepare` provides the kernel and a RAM disk (busybox, cryptsetup, modules). A scenario
//! is a shell script appended to it as a second cpio archive: the kernel unpacks archives one after
//! another. The script's standard output arrives through the second serial port; the first carries
//! the kernel's messages, which are shown if something fails.

mod asleep;
mod cpio;

use crate::peers::{peer, program};
use crate::run::Run;
use crate::{Scratch, timeouts};
use cpio::Entry;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Whether `./dev` has fetched the kernel; without it the tests here are skipped.
pub fn is_prepared() -> bool {
    directory().join("vmlinuz").exists() && directory().join("initramfs.cpio").exists()
}

/// Whether `./dev` has fetched this kernel ("6.12") beside Debian's usual one.
pub fn has_kernel(version: &str) -> bool {
    directory().join(version).join("initramfs.cpio").exists()
}

/// Whether the machine loads this kernel module.
pub fn has_module(name: &str) -> bool {
    directory().join(format!("root/modules/{name}.ko")).exists()
}

/// A file that `tests/vm/prepare` created: the kernel's modules below `kernel`,
/// `initramfs.cpio.gz`.
pub fn prepared(path: &str) -> PathBuf {
    directory().join(path)
}

/// A module of Debian's kernel ("null_blk") that the machine does not load by itself; `None` if
/// `./dev` has not fetched it.
pub fn module(name: &str) -> Option<Vec<u8>> {
    let mut folders = vec![prepared("kernel/lib/modules")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).ok()?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_some_and(|found| *found == *format!("{name}.ko")) {
                return fs::read(path).ok();
            }
        }
    }
    None
}

/// The module with deliberately wrong drivers, loaded only by tests that request it.
pub fn wrong_drivers() -> Option<Vec<u8>> {
    let releases = fs::read_dir(prepared("kernel/lib/modules")).ok()?.flatten();
    let mut files = releases.map(|release| release.path().join("extra/keyway/keyway_wrong.ko"));
    fs::read(files.find(|file| file.exists())?).ok()
}

/// Whether udev is available for the machine.
pub fn has_udev() -> bool {
    directory().join("udev.cpio").exists()
}

/// A machine about to boot. The disks appear in it as `/dev/vda`, `/dev/vdb`, … in the order given.
#[derive(Debug, Default)]
#[must_use]
pub struct Machine {
    disks: Vec<PathBuf>,
    directories: Vec<String>,
    files: Vec<(String, Vec<u8>)>,
    limit: Option<Duration>,
    udev: bool,
    kernel: Option<&'static str>,
    processors: Option<u32>,
    counts: bool,
}

impl Machine {
    /// No disks, no files.
    pub fn new() -> Self {
        Self::default()
    }

    /// A raw disk image. The machine's writes go to the file.
    pub fn disk(mut self, image: &Path) -> Self {
        self.disks.push(image.to_owned());
        self
    }

    /// A file in the machine's root directory.
    pub fn file(mut self, name: &str, content: impl AsRef<[u8]>) -> Self {
        self.files.push((name.into(), content.as_ref().to_vec()));
        self
    }

    /// A directory in the machine's root directory.
    pub fn directory(mut self, name: &str) -> Self {
        self.directories.push(name.into());
        self
    }

    /// The program under test as `/bin/keyway`.
    pub fn with_keyway(self) -> Self {
        let binary = fs::read(program()).expect("the program under test can be read");
        self.file("bin/keyway", binary)
    }

    /// With udev and device-mapper's rules, which make the links below `/dev`.
    pub fn with_udev(mut self) -> Self {
        self.udev = true;
        self
    }

    /// A kernel other than Debian's usual one: "6.12". Check [`has_kernel`] first.
    pub fn kernel(mut self, version: &'static str) -> Self {
        self.kernel = Some(version);
        self
    }

    /// More than one processor. (Emulated processors wait for each other: when tests run side by
    /// side, several processors slow down even work that runs on one of them.)
    pub fn processors(mut self, count: u32) -> Self {
        self.processors = Some(count);
        self
    }

    /// The machine's clock counts the instructions of its one processor, two nanoseconds each:
    /// equal instruction counts take equal time, whatever else the host does meanwhile.
    pub fn counting_instructions(mut self) -> Self {
        self.counts = true;
        self
    }

    /// How long the scenario may take. The default is five minutes.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Boots, or wakes up, runs `script` with `sh -eu`, and powers off. The script must end with exit
    /// code 0 within the limit.
    #[track_caller]
    pub fn run(mut self, script: &str) -> Report {
        self.files.push(("scenario".into(), format!("echo {BEGUN}\n{script}").into()));
        let scratch = Scratch::new();
        let results = scratch.path("results.out");
        let qemu = match asleep::state(&self) {
            Some(state) => asleep::awake(&self, &state, &scratch, &results),
            None => self.booting(&scratch.file("initramfs", self.initramfs("")), &results),
        };
        let qemu = qemu.limit(self.limit.unwrap_or(timeouts::MACHINE));
        let said = || fs::read_to_string(&results).unwrap_or_default();
        let goes_on = |elapsed| elapsed < timeouts::scaled(timeouts::BOOT) || said().starts_with(BEGUN);
        let mut ended = qemu.outcome_while(goes_on);
        if ended.is_err() && !said().starts_with(BEGUN) {
            eprintln!("the emulated machine did not boot in time; it is started once more");
            ended = qemu.outcome_while(goes_on);
        }
        let console = ended.unwrap_or_else(|killed| panic!("killed\n{}\n{killed}", said())).to_string();
        let results = said().strip_prefix(BEGUN).unwrap_or_default().trim_start().to_owned();
        let report = Report { results, console };
        report.has("END", "0");
        report
    }

    fn booting(&self, initramfs: &Path, results: &Path) -> Run {
        let mut qemu = self.processor_and_kernel().arg("-initrd").arg(initramfs);
        qemu = qemu.args("-serial stdio -serial").arg(format!("file:{}", results.display()));
        for disk in &self.disks {
            qemu = qemu.arg("-drive").arg(format!("if=virtio,{DISK},file={}", disk.display()));
        }
        qemu
    }

    /// What stays the same when its state is saved and taken up again.
    fn processor_and_kernel(&self) -> Run {
        peer("qemu-system-x86_64", "-nodefaults -m 1024 -display none -no-reboot -smp")
            .arg(self.processors.unwrap_or(1).to_string())
            .args(if self.counts { COUNTED } else { EMULATED })
            .arg("-kernel")
            .arg(self.place().join("vmlinuz"))
            .arg("-append")
            // A host that has other work to do misses the ticks that a kernel counts while it starts, and it gives up.
            .arg(format!("console=ttyS0 no_timer_check panic=-1 quiet cryptomgr.notests=1 {SAME_ADDRESSES}"))
    }

    /// The kernel that it would boot, and the RAM disk: for tests that boot them from a disk.
    pub fn into_boot_files(self) -> (Vec<u8>, Vec<u8>) {
        let kernel = fs::read(self.place().join("vmlinuz")).expect("prepared by tests/vm/prepare");
        (kernel, self.initramfs(".gz"))
    }

    fn place(&self) -> PathBuf {
        self.kernel.map_or_else(directory, |version| directory().join(version))
    }

    /// `packed` is ".gz" or empty. Unpacking takes an emulated processor a second, QEMU's own
    /// loader takes no longer for a larger file; but firmware and boot loaders do.
    fn initramfs(&self, packed: &str) -> Vec<u8> {
        let mut archive = self.prepared_archives(packed);
        archive.extend(cpio::archive(self.entries()));
        archive
    }

    fn prepared_archives(&self, packed: &str) -> Vec<u8> {
        let mut archives = Vec::new();
        for part in ["initramfs", "udev"].into_iter().take(1 + usize::from(self.udev)) {
            let part = self.place().join(format!("{part}.cpio{packed}"));
            archives.extend(fs::read(part).expect("prepared by tests/vm/prepare"));
            // The kernel requires each archive to begin at a multiple of four.
            archives.resize(archives.len().next_multiple_of(4), 0);
        }
        archives
    }

    fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        let directories = self.directories.iter().map(|name| Entry::Directory(name));
        directories.chain(self.files.iter().map(|(name, content)| Entry::File(name, content)))
    }
}

/// The output of a scenario.
#[derive(Debug)]
pub struct Report {
    results: String,
    console: String,
}

impl Report {
    /// The value that the scenario printed for `key`.
    #[track_caller]
    pub fn value(&self, key: &str) -> &str {
        let line = self.results.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.unwrap_or_else(|| panic!("the machine never said {key}\n{self:?}\n{}", self.console))
    }

    /// All lines that the scenario printed.
    pub fn lines(&self) -> std::str::Lines<'_> {
        self.results.lines()
    }

    /// Asserts that the scenario printed `key=value`.
    #[track_caller]
    pub fn has(&self, key: &str, value: &str) {
        let found = self.value(key);
        assert!(found == value, "{key} is {found:?}, not {value:?}\n{}\n{}", self.results, self.console);
    }
}

/// Emulation, even where `/dev/kvm` can be opened: nested virtualisation that fails halfway is
/// common on CI machines, and an emulated boot takes two seconds.
///
/// Where a processor claims fast string instructions (ERMS), the kernel and the C library copy and
/// clear memory with them. QEMU claims them, but executes them a byte at a time.
const EMULATED: &str = "-accel tcg,thread=multi -cpu max,-erms";
/// QEMU translates a program's code anew wherever it lies at other addresses: a quarter of what most tests take.
const SAME_ADDRESSES: &str = "norandmaps";
/// Of every disk.
const DISK: &str = "format=raw";
/// 2^1 ns for each instruction; waiting costs no real time.
const COUNTED: &str = "-accel tcg,thread=single -icount shift=1,sleep=off -cpu max,-erms";
/// The first line of every scenario. An emulated machine that stalls during boot (seen once) never
/// prints it.
const BEGUN: &str = "BEGUN";

fn directory() -> PathBuf {
    std::env::var_os("KEYWAY_VM")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.cache/vm")), PathBuf::from)
}
