//! Arrays of md RAID, assembled when something needs a device that is not there: all those whose members are there, and, when
//! two thirds of the time for devices are over, those that run without some (as Debian's initramfs does: mdadm's
//! scripts/local-block/mdadm). The kernel does it, by sysfs (Documentation/admin-guide/md.rst): it reads the superblocks again,
//! and writes nothing before the first write to the array (read-auto).
//!
//! Superblocks are not authenticated. While volumes are opened, the system must come from within one of them, as with LVM.

use crate::device::found;
use keyway::devices::{self, BlockDevice};
use keyway::storage::{File, Storage};
use keyway_boot::cmdline;
use keyway_boot::md::{Array, Found, State, Superblock, Uuid, assemble};
use keyway_boot::root::{WITHOUT_END, Waits};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Which arrays may be assembled.
pub(super) struct Md {
    /// These and no others, if there are some.
    only: Vec<Uuid>,
    /// How long members that are missing are waited for.
    patience: Duration,
}

impl Md {
    /// `None` with rd.md=0.
    pub(super) fn new(asked: &cmdline::Md, waits: Waits) -> Option<Self> {
        let wait = if waits.needed == WITHOUT_END { waits.optional } else { waits.needed };
        (!asked.off).then(|| Self { only: asked.arrays.clone(), patience: most_of(wait) })
    }
}

/// After how much of a wait arrays start without members that are missing.
fn most_of(wait: Duration) -> Duration {
    wait / 3 * 2
}

/// A search for a device, which may be repeated while devices appear.
pub(super) struct Search<'a> {
    md: Option<&'a Md>,
    /// Only arrays within volumes.
    inside_only: bool,
    /// After which time arrays start that lack members.
    patience: Duration,
    /// The devices that were looked at, and whether it was late.
    seen: (Vec<PathBuf>, bool),
    /// Arrays that the kernel did not start.
    failed: Vec<(bool, Uuid, String)>,
    /// Why devices are not there: sentences without their ends.
    lacks: Vec<String>,
    /// Arrays that are never there, and why.
    never: Vec<(Array, String)>,
}

impl<'a> Search<'a> {
    /// For a device that is waited for at most `limit`; without one, arrays start with all of their members only.
    pub(super) fn new(md: Option<&'a Md>, inside_only: bool, limit: Option<Duration>) -> Self {
        let patience = md.zip(limit).map(|(md, limit)| md.patience.min(most_of(limit)));
        let patience = patience.unwrap_or(Duration::MAX);
        let (failed, lacks, never) = (Vec::new(), Vec::new(), Vec::new());
        Self { md, inside_only, patience, seen: Default::default(), failed, lacks, never }
    }

    /// Assembles what can be; whether something is there that was not before.
    pub(super) fn assemble(&mut self, waited: Duration) -> bool {
        let Some(md) = self.md else { return false };
        let there = devices::all();
        let nodes = there.iter().map(|device| device.node().to_owned()).collect();
        let now = (nodes, waited >= self.patience);
        if now == self.seen {
            return false;
        }
        self.seen = now;
        let is_late = self.seen.1;
        let Scanned { members, running, mut wrong } = scan(&there, is_late);
        self.never.clear();
        let mut is_new = false;
        for array in assemble(&members) {
            if running.contains(&(array.inside, array.newest.uuid)) {
                continue;
            }
            match self.start(md, &array, is_late) {
                Ok(started) => is_new |= started,
                Err(why) => wrong.push(format!("the array {} {why}", array.shown())),
            }
        }
        self.lacks = wrong;
        is_new
    }

    /// Whether it is started now; why it is not.
    fn start(&mut self, md: &Md, array: &Array, is_late: bool) -> Result<bool, String> {
        if !md.only.is_empty() && !md.only.contains(&array.newest.uuid) {
            return Err("is none of those that rd.md.uuid= names".to_owned());
        }
        if self.inside_only && !array.inside {
            return Err(NOT_INSIDE.to_owned());
        }
        // What an array within volumes lacks may be within one that is still to be opened.
        let may_lack = is_late && (!array.inside || self.inside_only);
        let lacks = match &array.state {
            State::Ready(lacks) => lacks.as_ref(),
            State::Degraded(lacks) if may_lack => Some(lacks),
            State::Degraded(lacks) | State::Lacking(lacks) => return Err(format!("is not there: {lacks}")),
            State::Never(why) => {
                self.never.push((array.clone(), why.clone()));
                return Err(format!("cannot be assembled: {why}"));
            }
        };
        let (inside, uuid) = (array.inside, array.newest.uuid);
        if let Some((.., why)) = self.failed.iter().find(|failed| (failed.0, failed.1) == (inside, uuid)) {
            return Err(why.clone());
        }
        let name = run(array).inspect_err(|why| self.failed.push((inside, uuid, why.clone())))?;
        say_state(array, &name, lacks);
        link(array, &name);
        Ok(true)
    }

    /// Why what is sought is not there, if arrays have to do with it.
    pub(super) fn why(&self) -> Option<String> {
        (!self.lacks.is_empty()).then(|| self.lacks.join("; "))
    }

    /// Why it never will be.
    pub(super) fn never(&self, spec: &OsStr) -> Option<String> {
        let path = found::path_of(spec);
        let mut of_it = self.never.iter().filter(|(array, _)| names(array).contains(&path));
        of_it.next().map(|(array, why)| format!("the array {} cannot be assembled: {why}", array.shown()))
    }
}

/// Assembles what is there, for logical volumes that something lists.
pub(super) fn assemble_now(md: Option<&Md>) {
    let mut search = Search::new(md, false, None);
    while search.assemble(Duration::ZERO) {}
}

/// What a device is that cannot be mounted, if it is a member: the end of a sentence.
pub(super) fn instead(node: &Path) -> &'static str {
    match File::open(node).is_ok_and(|device| found::is_raid_member(&device)) {
        true => "; it is a member of an array of md RAID: root= has to name the array (/dev/md/NAME)",
        false => "",
    }
}

/// What is on the devices.
struct Scanned {
    /// Members that nobody has in use.
    members: Vec<Found>,
    /// Arrays that the kernel has already, inside or outside.
    running: BTreeSet<(bool, Uuid)>,
    wrong: Vec<String>,
}

fn scan(there: &[BlockDevice], is_late: bool) -> Scanned {
    let mut scanned = Scanned { members: Vec::new(), running: BTreeSet::new(), wrong: Vec::new() };
    for device in there {
        let node = device.node();
        let Ok(storage) = File::open(node) else { continue };
        let read = &mut |offset: u64, room: &mut [u8]| storage.read_at(room, offset).is_ok();
        let superblock = match Superblock::find(storage.len(), read) {
            Ok(Some(superblock)) => superblock,
            Ok(None) => {
                scanned
                    .wrong
                    .extend(of_bios(&storage, is_late).map(|what| format!("{} {what}", node.display())));
                continue;
            }
            Err(why) => {
                scanned.wrong.push(format!("{}: {why}", node.display()));
                continue;
            }
        };
        let inside = devices::is_encrypted(node);
        let holders = device.holders();
        if holders.iter().any(|holder| holder.starts_with("md")) {
            scanned.running.insert((inside, superblock.uuid));
        }
        if holders.is_empty() && !devices::is_mounted(node) {
            let disk = devices::disk_of(node).map(|(disk, _)| disk.display().to_string());
            scanned.members.push(Found { device: node.display().to_string(), disk, inside, superblock });
        }
    }
    scanned
}

/// What a member of a controller's array is: looked for once.
fn of_bios(storage: &File, is_late: bool) -> Option<&'static str> {
    if !is_late {
        return None;
    }
    OF_BIOS.iter().find(|(name, _)| found::is_member_of(storage, name)).map(|(_, what)| *what)
}

/// Makes the device and starts it; its name, or the end of a sentence.
fn run(array: &Array) -> Result<String, String> {
    let level = array.newest.level.to_string();
    let lacks = |what: &str| {
        Err(format!("cannot be assembled: this kernel has no {what}, and the image no module of it"))
    };
    if !Path::new(NEW_ARRAY).exists() {
        return lacks("md RAID");
    }
    if !fs::read_to_string(MDSTAT).unwrap_or_default().contains(&format!("[{level}]")) {
        return lacks(&level);
    }
    let name = made(array.number()).map_err(|why| format!("gets no device: {why}"))?;
    let md = attributes(&name);
    let started = give_members(array, &md);
    if started.is_err() {
        let _ = fs::write(md.join(STATE), "clear");
    }
    started.map(|()| name).map_err(|why| format!("is not started by the kernel: {why}"))
}

fn give_members(array: &Array, md: &Path) -> Result<(), String> {
    let told = |attribute: &str, value: &str| {
        fs::write(md.join(attribute), value).map_err(|error| format!("{attribute}: {error}"))
    };
    told("metadata_version", array.newest.version.text())?;
    for member in &array.members {
        let number = fs::metadata(member).map_err(|why| why.to_string())?.rdev();
        let number = format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
        told("new_dev", &number).map_err(|why| format!("{member} as a member: {why}"))?;
    }
    told(STATE, "read-auto")
}

/// A device for an array: the wanted one, else from 127 down, as mdadm numbers those without a number.
fn made(wanted: Option<u32>) -> std::io::Result<String> {
    let free = |name: &String| !Path::new("/sys/block").join(name).exists();
    let names = wanted.into_iter().chain((0..=127).rev()).map(|number| format!("md{number}"));
    for name in names.filter(free) {
        match fs::write(NEW_ARRAY, &name) {
            Ok(()) => return Ok(name),
            // Of the same moment.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(std::io::Error::other("all 128 are in use"))
}

/// What whoever looks at the machine has to know of it.
fn say_state(array: &Array, name: &str, lacks: Option<&String>) {
    let shown = array.shown();
    for sentence in &array.left_out {
        say!("WARNING: not taken into the array {shown}: {sentence}.");
    }
    let degraded = fs::read_to_string(attributes(name).join("degraded")).unwrap_or_default();
    match (lacks, degraded.trim()) {
        (Some(lacks), _) => say!("WARNING: the array {shown} starts degraded: {lacks}."),
        (None, "" | "0") => {}
        (None, count) => say!("WARNING: the array {shown} is degraded: {count} of its members not in sync."),
    }
}

/// The links that udev makes where it runs. Arrays within volumes take the names of those outside.
fn link(array: &Array, name: &str) {
    for path in names(array).into_iter().filter(|path| path.parent() != Some(Path::new("/dev"))) {
        let folder = path.parent().unwrap_or(Path::new("/"));
        let _ = fs::create_dir_all(folder);
        if array.inside && path.is_symlink() {
            let _ = fs::remove_file(&path);
        }
        let up = "../".repeat(folder.components().count() - 2);
        let _ = symlink(format!("{up}{name}"), &path);
    }
}

/// Every path that means the array.
fn names(array: &Array) -> Vec<PathBuf> {
    let number = array.number().map(|number| format!("/dev/md{number}"));
    let link = array.link().map(|name| format!("/dev/md/{name}"));
    let by_id = array.by_id().into_iter().map(|name| format!("/dev/disk/by-id/{name}"));
    number.into_iter().chain(link).chain(by_id).map(PathBuf::from).collect()
}

fn attributes(name: &str) -> PathBuf {
    Path::new("/sys/block").join(name).join("md")
}

const NEW_ARRAY: &str = "/sys/module/md_mod/parameters/new_array";
const MDSTAT: &str = "/proc/mdstat";
const STATE: &str = "array_state";
const NOT_INSIDE: &str = "is not within an encrypted volume, and the system is taken from there only";
/// What blkid calls them, and what they are.
const OF_BIOS: &[(&str, &str)] = &[
    ("isw_raid_member", "is a member of an array of Intel's BIOS (IMSM), which keyway does not bring up"),
    ("ddf_raid_member", "is a member of an array of a controller's (DDF), which keyway does not bring up"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_waited_for_two_thirds_of_the_time() {
        let seconds = Duration::from_secs;
        let patience =
            |needed, optional| Md::new(&cmdline::Md::default(), Waits { needed, optional }).unwrap().patience;
        assert_eq!(patience(seconds(30), seconds(30)), seconds(20));
        assert_eq!(patience(seconds(90), seconds(30)), seconds(60));
        assert_eq!(patience(WITHOUT_END, seconds(30)), seconds(20));
        assert!(patience(seconds(u64::MAX), seconds(30)) > seconds(1 << 60));
        let off = cmdline::Md { off: true, ..cmdline::Md::default() };
        assert!(Md::new(&off, Waits { needed: seconds(30), optional: seconds(30) }).is_none());
        // What is waited for less, and what costs no array a member.
        let md = Md { only: Vec::new(), patience: seconds(20) };
        let search = |limit| Search::new(Some(&md), false, limit).patience;
        assert_eq!(search(Some(seconds(9))), seconds(6));
        assert_eq!(search(Some(Duration::MAX)), seconds(20));
        assert_eq!(search(None), Duration::MAX);
    }
}
