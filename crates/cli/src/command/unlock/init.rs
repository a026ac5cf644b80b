//! The first process of an initramfs: opens what is to be opened and hands over, leaving nothing behind.

use super::cmdline::parameter;
use super::key_file::{c_string, mount_any};
use super::{Plan, find, modules, unlock_or_pass};
use crate::args::Args;
use crate::failure::{Exit, Failure, Result};
use crate::mapping;
use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_move, unmount};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Whether the kernel started this program as /init.
pub(crate) fn is_first_process() -> bool {
    let name = std::env::args_os().next().unwrap_or_default();
    std::process::id() == 1
        && Path::new(&name).file_name().is_some_and(|name| name.to_string_lossy().ends_with("init"))
}

/// Does not return when all went well.
pub(super) fn run(args: &Args) -> Result<()> {
    let mounts = Mounts::missing();
    use_console();
    modules::load();
    let plan = Plan::made(args);
    for entry in &plan.entries {
        until_open(args, &plan, || unlock_or_pass(args, entry, plan.wait))?;
    }
    keyway_crypto::secret::wipe_all();
    if Path::new(ORIGINAL).symlink_metadata().is_ok() {
        mounts.take_back();
        hand_over()
    } else {
        switch_root(&plan)
    }
}

/// Asks again and again, with growing pauses; a shell only for those who may have one.
fn until_open(args: &Args, plan: &Plan, mut attempt: impl FnMut() -> Result<()>) -> Result<()> {
    let mut pause = FIRST_PAUSE;
    loop {
        let Err(failure) = attempt() else { return Ok(()) };
        let wrong = failure.exit() == Exit::Permission;
        if plan.shell {
            failure.report();
            eprintln!(
                "A shell, because the kernel's command line says keyway.shell; it asks again when that ends."
            );
            let _ = Command::new("/bin/sh").status();
        } else if wrong && !args.batch_mode() {
            failure.report();
            eprintln!("The next try is possible in {} s.", pause.as_secs());
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        } else {
            return Err(failure);
        }
    }
}

/// What was not mounted before.
struct Mounts(Vec<&'static str>);

impl Mounts {
    fn missing() -> Self {
        let mut own = Vec::new();
        for (place, kind, proof) in NEEDED {
            if Path::new(proof).exists() {
                continue;
            }
            let _ = fs::create_dir_all(place);
            let flags = MountFlags::NOSUID
                | if *kind == "devtmpfs" { MountFlags::empty() } else { MountFlags::NODEV };
            match mount(*kind, *place, *kind, flags, None) {
                Ok(()) => own.push(*place),
                Err(error) => eprintln!("keyway: {place} cannot be mounted: {error}."),
            }
        }
        Self(own)
    }

    /// The image's own /init mounts them itself.
    fn take_back(self) {
        for place in self.0.into_iter().rev() {
            let _ = unmount(place, UnmountFlags::DETACH);
        }
    }
}

/// The kernel opens /dev/console for the first process only where the image has that node.
fn use_console() {
    if rustix::termios::isatty(rustix::stdio::stdin()) {
        return;
    }
    if let Ok(console) = rustix::fs::open("/dev/console", OFlags::RDWR, Mode::empty()) {
        let _ = rustix::stdio::dup2_stdin(&console);
        let _ = rustix::stdio::dup2_stdout(&console);
        let _ = rustix::stdio::dup2_stderr(&console);
    }
}

/// The image's own /init takes its place again, with the kernel's arguments.
fn hand_over() -> Result<()> {
    fs::rename(ORIGINAL, "/init")
        .map_err(|error| failed(&format!("the image's own /init cannot be put back: {error}")))?;
    // Its keys and this program's memory are of no more use; the directory is ours.
    let _ = fs::remove_dir_all("/keyway");
    let error = Command::new("/init").args(std::env::args_os().skip(1)).exec();
    Err(failed(&format!("the image's own /init cannot be started: {error}")))
}

/// Without one: mounts the root file system, frees the image's memory and starts what is in there.
fn switch_root(plan: &Plan) -> Result<()> {
    let line = &plan.command_line;
    let spec = parameter(line, "root").filter(|root| !root.is_empty());
    let spec = spec.or_else(|| {
        Some(mapping::place(&plan.entries.first()?.name.to_string_lossy()).display().to_string())
    });
    let Some(spec) = spec else {
        return Err(failed(
            "there is nothing to start: no /init in the image, no root= on the kernel's command line",
        ));
    };
    let Some(root) = find::wait(OsStr::new(&spec), plan.wait) else {
        return Err(failed(&format!("root={spec} did not appear within {} s", plan.wait.as_secs())));
    };
    let _ = fs::create_dir_all(SYSROOT);
    let access = if parameter(line, "rw").is_some() { MountFlags::empty() } else { MountFlags::RDONLY };
    let options = parameter(line, "rootflags").and_then(|flags| c_string(&flags));
    let mounted = match parameter(line, "rootfstype") {
        Some(kind) => {
            mount(&root, SYSROOT, kind, access, options.as_deref()).map_err(|error| error.to_string())
        }
        None => mount_any(&root, Path::new(SYSROOT), access, options.as_ref()),
    };
    mounted.map_err(|why| failed(&format!("{} cannot be mounted: {why}", root.display())))?;
    let init = first_program(line)?;
    for (place, ..) in NEEDED {
        let below = format!("{SYSROOT}{place}");
        if !Path::new(&below).is_dir() || mount_move(*place, &below).is_err() {
            let _ = unmount(*place, UnmountFlags::DETACH);
        }
    }
    free_image();
    let moved = rustix::process::chdir(SYSROOT)
        .and_then(|()| mount_move(".", "/"))
        .and_then(|()| rustix::process::chroot("."))
        .and_then(|()| rustix::process::chdir("/"));
    moved.map_err(|error| failed(&format!("the root file system cannot become the root: {error}")))?;
    let error = Command::new(&init).args(std::env::args_os().skip(1)).exec();
    Err(failed(&format!("{} cannot be started: {error}", init.display())))
}

/// What the root file system is to start.
fn first_program(line: &str) -> Result<PathBuf> {
    let asked = parameter(line, "init");
    let mut programs = asked.iter().map(String::as_str).chain(INITS.iter().copied());
    let there = |path: &&str| Path::new(&format!("{SYSROOT}{path}")).symlink_metadata().is_ok();
    let found = programs.find(there).map(PathBuf::from);
    found.ok_or_else(|| failed(&format!("the root file system has none of {}", INITS.join(", "))))
}

/// Removes the image's files, of whose memory nothing else would get rid; never a step onto another file system.
fn free_image() {
    let Ok(root) = fs::metadata("/") else { return };
    remove_below(Path::new("/"), root.dev());
}

fn remove_below(directory: &Path, device: u64) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(facts) = path.symlink_metadata() else { continue };
        if facts.dev() != device {
            continue;
        }
        if facts.is_dir() {
            remove_below(&path, device);
            let _ = fs::remove_dir(&path);
        } else {
            let _ = fs::remove_file(&path);
        }
    }
}

fn failed(what: &str) -> Failure {
    Failure::new(Exit::Parameters, format!("keyway: {what}."))
}

/// Where the maker of the image put its /init.
const ORIGINAL: &str = "/keyway/original-init";
const SYSROOT: &str = "/sysroot";
const INITS: &[&str] = &["/sbin/init", "/etc/init", "/bin/init", "/bin/sh"];
/// Place, file system, and what is there when it is mounted.
const NEEDED: &[(&str, &str, &str)] = &[
    ("/proc", "proc", "/proc/self"),
    ("/sys", "sysfs", "/sys/class"),
    ("/dev", "devtmpfs", "/dev/null"),
    ("/run", "tmpfs", "/run/.mounted-by-nobody"),
];
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
