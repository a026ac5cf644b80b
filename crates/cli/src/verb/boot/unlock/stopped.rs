//! When the system cannot start: process 1 stays, since the kernel's trace at its end would scroll the reason away. It says
//! what prevents the start and which devices are there, and waits for the user; where the kernel would reboot after a panic
//! (panic= on its command line), it reboots after that time, with the reason as the last line.

use crate::output::failure::Failure;
use crate::output::paint::printable;
use crate::output::size::human;
use keyway::devices::{self, BlockDevice};
use keyway::storage::{File, Storage};
use keyway_attach::initramfs::Initramfs;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::sync;
use rustix::stdio::stdin;
use rustix::system::{RebootCommand, reboot};
use std::fs;
use std::io::{BufRead, stdin as input};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Returns when the user wants another try.
pub(super) fn until_wanted(proof: &Initramfs, failure: &Failure, shell: bool) {
    failure.report();
    let rest = Rest::of_kernel();
    if rest != Rest::None {
        show_devices();
    }
    let shell = shell && Path::new(SHELL).exists();
    loop {
        if rest != Rest::None {
            say!("Enter: try again. r: reboot. o: power off.{}", if shell { " s: a shell." } else { "" });
        }
        match answer(rest).as_deref().map(str::trim) {
            Some("") => return,
            Some("r") => end(proof, RebootCommand::Restart),
            Some("o") => end(proof, RebootCommand::PowerOff),
            Some("s") if shell => drop(Command::new(SHELL).status()),
            Some(_) => {}
            None => {
                log(failure);
                if rest != Rest::None {
                    failure.report();
                }
                end(proof, RebootCommand::Restart);
            }
        }
    }
}

/// How long the kernel lets a machine rest after a panic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    Ever,
    Seconds(u32),
    None,
}

impl Rest {
    /// As panic= or the kernel's configuration say.
    fn of_kernel() -> Self {
        let set = fs::read_to_string("/proc/sys/kernel/panic").unwrap_or_default();
        match set.trim().parse::<i64>() {
            Ok(seconds @ 1..) => Self::Seconds(seconds.try_into().unwrap_or(u32::MAX)),
            Ok(..=-1) => Self::None,
            _ => Self::Ever,
        }
    }
}

/// A line that the user types; `None` when the time is over. Where nobody can type, that takes all of it.
fn answer(rest: Rest) -> Option<String> {
    let limit = match rest {
        Rest::Ever => None,
        Rest::Seconds(seconds) => Some(Timespec { tv_sec: seconds.into(), tv_nsec: 0 }),
        Rest::None => return None,
    };
    let console = stdin();
    match poll(&mut [PollFd::new(&console, PollFlags::IN)], limit.as_ref()) {
        Ok(0) => return None,
        Ok(_) => {}
        Err(_) => return Some("?".to_owned()),
    }
    let mut line = String::new();
    if input().lock().read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
        return Some(line);
    }
    std::thread::sleep(match rest {
        Rest::Seconds(seconds) => Duration::from_secs(seconds.into()),
        _ => Duration::MAX,
    });
    None
}

/// Each block device with what is on it.
fn show_devices() {
    let all = devices::all();
    let shown: Vec<String> = all.iter().filter_map(described).collect();
    match shown.is_empty() {
        true => say!("The kernel has found no block device: a driver may be missing in the image."),
        false => say!("These devices are there:\n{}", shown.join("\n")),
    }
}

/// "  /dev/sda2  20.0 GiB  crypto_LUKS  UUID=…  LABEL=…". `None` for a device without content.
fn described(device: &BlockDevice) -> Option<String> {
    let (node, file) = (device.node().display().to_string(), File::open(device.node()).ok()?);
    if file.len() == 0 {
        return None;
    }
    let found = devices::signatures_at_start(&file).unwrap_or_default();
    let kind = found.first().map_or("", |found| found.blkid);
    let (uuid, label) = device.identity().map(|found| (found.uuid, found.label)).unwrap_or_default();
    let mut line = format!("  {node:<16} {:>9}  {kind}", human(file.len()));
    for (tag, value) in [("UUID", uuid), ("LABEL", label)] {
        if !value.is_empty() {
            line += &format!("  {tag}={}", printable(&value));
        }
    }
    Some(line.trim_end().to_owned())
}

/// The reason for all consoles and the kernel's log.
fn log(failure: &Failure) {
    let _ = fs::write("/dev/kmsg", format!("<3>keyway: {}\n", failure.message()));
}

fn end(_proof: &Initramfs, how: RebootCommand) {
    sync();
    let _ = reboot(how);
}

const SHELL: &str = "/bin/sh";
