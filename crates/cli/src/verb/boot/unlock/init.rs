//! The first process of an initramfs: opens the volumes and hands over, leaving nothing behind.

use super::volume::say_unknown;
use super::{Plan, Unlock, all, keyboard, lvm, md, modules, resume, root, stopped};
use crate::output::failure::{Cause, Exit, Failure, Result};
use crate::output::stdio;
use keyway_attach::dm::{self, Mapper};
use keyway_attach::initramfs::{Initramfs, Keyboard};
use keyway_boot::cmdline::{CommandLine, parameter};
use keyway_boot::initramfs::layout;
use keyway_boot::root::Root;
use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_move, unmount};
use std::fs;
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

/// Returns only where this is no initramfs: nothing is changed then. Functions that change something take the proof that it
/// is one.
pub(super) fn run(asked: &Unlock) -> Result<()> {
    let image = Initramfs::prove().map_err(|why| failed(&format!("unlock --init: {why}")))?;
    let mut mounts = Mounts(Vec::new());
    mounts.add_missing(&image);
    use_console(&image);
    let firmware = modules::Firmware::here(&image);
    modules::load(&image);
    let keymap = CommandLine::parse(&asked.line()).keymap;
    let keyboard = keyboard::prepare(&image, keymap.as_deref());
    let mut firmware = Some(firmware);
    loop {
        let mut shell = false;
        let started = Plan::made(asked).and_then(|plan| {
            shell = plan.shell;
            start(asked, &plan, &image, keyboard.as_ref(), &mut mounts, &mut firmware)
        });
        let Err(failure) = started else { return Ok(()) };
        stopped::until_wanted(&image, &failure, shell);
        let _ = unmount(SYSROOT, UnmountFlags::DETACH);
        mounts.add_missing(&image);
    }
}

/// Opens the volumes and starts the system. Does not return on success.
fn start(
    asked: &Unlock,
    plan: &Plan,
    image: &Initramfs,
    keyboard: Option<&Keyboard>,
    mounts: &mut Mounts,
    firmware: &mut Option<modules::Firmware>,
) -> Result<()> {
    let mut wanted = plan.root();
    // Before anybody types a passphrase. Another /init mounts its root itself.
    if let Some(why) = wanted.refusal().filter(|_| !has_original()) {
        return Err(failed(&why));
    }
    // Another /init does that itself.
    let mut resume = wanted.resume.take().filter(|_| !has_original());
    let mut entries: Vec<_> = plan.entries.iter().collect();
    // A system that was suspended goes on before another volume is touched.
    entries.sort_by_key(|entry| !resume::is_on(resume.as_ref(), entry));
    all(&entries, |entry| {
        until_open(asked, plan, keyboard, || asked.terms.unlock_or_pass(entry, plan))?;
        if let Some(resume) = resume.take_if(|resume| resume::is_on(Some(resume), entry)) {
            resume::go_on(image, &resume, plan);
        }
        Ok(())
    })?;
    if let Some(resume) = resume {
        resume::go_on(image, &resume, plan);
    }
    keyway_crypto::secret::wipe_all();
    if !has_original() {
        if !plan.listed.volumes.is_empty() || !plan.listed.groups.is_empty() {
            md::assemble_now(plan.md.as_ref());
        }
        lvm::activate_listed(plan.lvm, &plan.listed);
    }
    // Until now, since a device may ask for it late.
    drop(firmware.take());
    if has_original() {
        introduce_mappings(image);
        mounts.take_back();
        hand_over(image)
    } else {
        switch_root(image, plan, &wanted)
    }
}

/// `--init --dry-run`: prints what would be done, in order; does nothing.
pub(super) fn show(asked: &Unlock) -> Result<()> {
    let mut text = String::new();
    if let Err(why) = Initramfs::prove() {
        text += &format!("# It would do nothing here. {why}.\n");
    }
    for (place, kind, _) in NEEDED.iter().filter(|(_, _, proof)| !Path::new(proof).exists()) {
        text += &format!("# mounts {kind} on {place}\n");
    }
    for path in modules::list().lines() {
        text += &format!("# loads {path}\n");
    }
    if let Some(words) = keyboard::Map::wanted(CommandLine::parse(&asked.line()).keymap.as_deref()).in_words()
    {
        text += &format!("{words}\n");
    }
    let plan = Plan::made(asked)?;
    for entry in &plan.entries {
        say_unknown(entry);
        text += &format!("{}\n", plan.shown(entry));
    }
    let wanted = plan.root();
    if !has_original() {
        text += &lvm::in_lines(&wanted, &plan.entries, &plan.listed);
    }
    text += &match (has_original(), wanted.refusal(), root::device(&wanted, &plan)) {
        (true, ..) => format!("# puts {ORIGINAL} back as /init, removes /keyway, starts /init\n"),
        (false, None, Some(device)) => {
            let how = root::in_words(&wanted);
            format!(
                "{how}# mounts {device} on {SYSROOT}, makes it the root, empties the image, starts its init\n"
            )
        }
        (false, Some(why), _) => format!("# then stops: {why}.\n"),
        (false, None, None) => format!("# then stops: {}\n", root::NOTHING_TO_START),
    };
    stdio::print(&text)
}

fn has_original() -> bool {
    Path::new(ORIGINAL).symlink_metadata().is_ok()
}

/// Tries again and again, with growing pauses; offers a shell only if that is permitted.
fn until_open(
    asked: &Unlock,
    plan: &Plan,
    keyboard: Option<&Keyboard>,
    mut attempt: impl FnMut() -> Result<()>,
) -> Result<()> {
    let mut pause = FIRST_PAUSE;
    loop {
        let Err(failure) = attempt() else { return Ok(()) };
        let wrong = failure.cause() == Cause::WrongKey;
        if plan.shell {
            failure.report();
            say!(
                "Starting a shell, because the kernel's command line says keyway.shell; keyway asks again when \
                it ends."
            );
            let _ = Command::new("/bin/sh").status();
        } else if wrong && !asked.terms.manner.batch_mode {
            failure.report();
            if keyboard.is_some_and(Keyboard::has_caps_lock) {
                say!("Caps Lock is on.");
            }
            say!("The next attempt is possible in {} s.", pause.as_secs());
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        } else {
            return Err(failure);
        }
    }
}

/// The places that were not mounted before.
struct Mounts(Vec<&'static str>);

impl Mounts {
    fn add_missing(&mut self, _proof: &Initramfs) {
        for (place, kind, proof) in NEEDED {
            if Path::new(proof).exists() {
                continue;
            }
            let _ = fs::create_dir_all(place);
            let flags = MountFlags::NOSUID
                | if *kind == "devtmpfs" { MountFlags::empty() } else { MountFlags::NODEV };
            // Only root may create files in /run.
            let options = (*kind == "tmpfs").then_some(c"mode=0755");
            match mount(*kind, *place, *kind, flags, options) {
                Ok(()) => self.0.push(*place),
                Err(error) => say!("keyway: {place} cannot be mounted: {error}."),
            }
        }
    }

    /// Unmounts them again, because the image's own /init mounts them itself.
    fn take_back(&mut self) {
        for place in self.0.drain(..).rev() {
            let _ = unmount(place, UnmountFlags::DETACH);
        }
    }
}

/// Opens the console: the kernel opens /dev/console for the first process only if the image has
/// that node.
fn use_console(_proof: &Initramfs) {
    if rustix::termios::isatty(rustix::stdio::stdin()) {
        return;
    }
    if let Ok(console) = rustix::fs::open("/dev/console", OFlags::RDWR, Mode::empty()) {
        let _ = rustix::stdio::dup2_stdin(&console);
        let _ = rustix::stdio::dup2_stdout(&console);
        let _ = rustix::stdio::dup2_stderr(&console);
    }
}

/// Puts the image's own /init back in its place and starts it with the kernel's arguments.
fn hand_over(image: &Initramfs) -> Result<()> {
    // The directory with keys and this program is no longer needed; it belongs to this program.
    let inside = |path: &'static str| path.trim_start_matches('/');
    image.restore_init(inside(ORIGINAL), layout::DIRECTORY).map_err(|why| failed(&why.to_string()))?;
    let error = Command::new("/init").args(std::env::args_os().skip(1)).exec();
    Err(failed(&format!("the image's own /init cannot be started: {error}")))
}

/// For an image without another /init: mounts the root file system, starts its first program and
/// frees the image's memory.
fn switch_root(image: &Initramfs, plan: &Plan, wanted: &Root) -> Result<()> {
    root::mount_on(image, SYSROOT, wanted, plan).map_err(|why| failed(&why))?;
    let init = first_program(&plan.command_line)?;
    let change = image.replaceable_by(Path::new(SYSROOT)).map_err(|why| failed(&why.to_string()))?;
    introduce_mappings(image);
    for (place, ..) in NEEDED {
        let below = format!("{SYSROOT}{place}");
        if !Path::new(&below).is_dir() || mount_move(*place, &below).is_err() {
            let _ = unmount(*place, UnmountFlags::DETACH);
        }
    }
    change.complete().map_err(|why| failed(&why.to_string()))?;
    let error = Command::new(&init).args(std::env::args_os().skip(1)).exec();
    Err(failed(&format!("{} cannot be started: {error}", init.display())))
}

/// Whose udev starts next learns of the mappings: that of the system from what is in /run, which goes along; that of the
/// image's own /init, whose /run is another one, from a rule.
fn introduce_mappings(image: &Initramfs) {
    let all = Mapper::open().and_then(|mapper| mapper.list()).unwrap_or_default();
    let untold = |what: &str, why| say!("keyway: udev cannot be told of {what}: {why}.");
    if has_original() {
        dm::introduce_by_rule(image, &all).unwrap_or_else(|why| untold("the opened volumes", why));
        return;
    }
    for (name, device) in all {
        dm::introduce(device).unwrap_or_else(|why| untold(&name, why));
    }
}

/// The program to start in the root file system.
fn first_program(line: &str) -> Result<PathBuf> {
    // Gentoo's goes before the kernel's.
    let asked = parameter(line, "real_init").or_else(|| parameter(line, "init"));
    let mut programs = asked.iter().map(String::as_str).chain(INITS.iter().copied());
    let there = |path: &&str| Path::new(&format!("{SYSROOT}{path}")).symlink_metadata().is_ok();
    let found = programs.find(there).map(PathBuf::from);
    if let Some((asked, found)) =
        asked.as_ref().zip(found.as_ref()).filter(|(asked, found)| found != &Path::new(asked))
    {
        say!("keyway: the root file system has no {asked}, which init= names; starting {}.", found.display());
    }
    found.ok_or_else(|| failed(&format!("the root file system has none of {}", INITS.join(", "))))
}

fn failed(what: &str) -> Failure {
    Failure::new(Exit::Parameters, format!("keyway: {what}."))
}

/// Where the image's maker moved its original /init.
const ORIGINAL: &str = "/keyway/original-init";
const SYSROOT: &str = "/sysroot";
const INITS: &[&str] = &["/sbin/init", "/etc/init", "/bin/init", "/bin/sh"];
/// Mount point, file system, and a path that exists once it is mounted.
const NEEDED: &[(&str, &str, &str)] = &[
    ("/proc", "proc", "/proc/self"),
    ("/sys", "sysfs", "/sys/class"),
    ("/dev", "devtmpfs", "/dev/null"),
    ("/run", "tmpfs", "/run/.mounted-by-nobody"),
];
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
