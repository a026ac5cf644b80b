//! Arrays of md RAID, assembled when something needs a device that is not there: all those whose members are there, and, when
//! two thirds of the time for devices are over, those that run without some (as Debian's initramfs does: mdadm's
//! scripts/local-block/mdadm). The kernel does it, by sysfs (Documentation/admin-guide/md.rst): it reads the superblocks again,
//! and writes nothing before the first write to the array (read-auto).
//!
//! Superblocks are not authenticated. While volumes are opened, the system must come from within one of them, as with LVM.

mod kernel;

use self::kernel::Given;
use super::lvm;
use crate::device::found;
use keyway::devices::{self, BlockDevice};
use keyway::storage::{File, Storage};
use keyway_boot::cmdline;
use keyway_boot::md::{Array, Found, Superblock, Uuid, Verdict, Wanted, assemble, is_of_disk};
use keyway_boot::root::{WITHOUT_END, Waits};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Which arrays may be assembled.
pub(super) struct Md {
    /// These and no others, if the command line limits them.
    only: Option<Vec<Uuid>>,
    /// How long devices are waited for.
    wait: Duration,
}

impl Md {
    /// `None` with rd.md=0.
    pub(super) fn new(asked: &cmdline::Md, waits: Waits) -> Option<Self> {
        let wait = if waits.needed == WITHOUT_END { waits.optional } else { waits.needed };
        (!asked.off).then(|| Self { only: asked.arrays.clone(), wait })
    }

    /// How long members that are missing are waited for.
    fn timeout(&self) -> Duration {
        self.wait / 3 * 2
    }
}

/// A search for a device, which may be repeated while devices appear.
pub(super) struct Search<'a> {
    md: Option<&'a Md>,
    /// Only arrays within volumes.
    inside_only: bool,
    /// After which time arrays start that lack members.
    timeout: Duration,
    /// The devices that were looked at, and whether it was late.
    seen: (Vec<PathBuf>, bool),
    /// The arrays that were there and did not run.
    arrays: Vec<Array>,
    /// Members that the kernel did not take, and why.
    refused: BTreeMap<String, String>,
    /// Arrays that the kernel did not start, by their members.
    failed: BTreeMap<Vec<String>, String>,
    lacks: Vec<Lack>,
}

/// Why a device may not be there: a sentence without its end.
struct Lack {
    /// Who seeks none of these paths is not told.
    paths: Option<Vec<String>>,
    why: String,
}

impl<'a> Search<'a> {
    /// For a device that is waited for at most `limit`. Without one, or with one in which a disk may not be there yet, arrays
    /// start with all of their members only: a search for something else costs no array a member.
    pub(super) fn new(md: Option<&'a Md>, inside_only: bool, limit: Option<Duration>) -> Self {
        let timeout = md.zip(limit).map(|(md, limit)| (md.timeout(), limit));
        let timeout = timeout.filter(|(timeout, limit)| limit >= timeout);
        let timeout = timeout.map_or(Duration::MAX, |(timeout, _)| timeout);
        let (seen, arrays, lacks) = Default::default();
        let (refused, failed) = Default::default();
        Self { md, inside_only, timeout, seen, arrays, refused, failed, lacks }
    }

    /// Assembles what can be; whether something is there that was not before.
    pub(super) fn assemble(&mut self, waited: Duration) -> bool {
        let Some(wanted) = self.wanted(waited >= self.timeout) else { return false };
        let there = devices::all();
        let nodes = there.iter().map(|device| device.node().to_owned()).collect();
        let now = (nodes, wanted.is_late);
        if now == self.seen {
            return false;
        }
        // Who held a member may have let it go.
        if self.seen.1 != wanted.is_late {
            self.refused.clear();
        }
        self.seen = now;
        let Scanned { mut members, running, wrong } = scan(&there, wanted.is_late);
        self.refused.retain(|device, _| members.iter().any(|one| one.device == *device));
        self.mark_refused(&mut members);
        self.lacks = wrong.into_iter().map(|why| Lack { paths: None, why }).collect();
        let mut arrays = assemble(&members);
        arrays.retain(|array| !running.contains(&(array.inside, array.newest.uuid)));
        let mut is_new = false;
        self.arrays.clear();
        for array in arrays {
            match wanted.judge(&array) {
                Verdict::Starts(lacks) => is_new |= self.bring_up(array, lacks, &mut members, wanted),
                Verdict::LeftAlone(why) => self.put_off(array, why, true),
                Verdict::Waits(why) | Verdict::Never(why) => self.put_off(array, &why, false),
            }
        }
        is_new
    }

    fn wanted(&self, is_late: bool) -> Option<Wanted<'a>> {
        let only = self.md?.only.as_deref();
        Some(Wanted { only, inside_only: self.inside_only, is_late })
    }

    fn mark_refused(&self, members: &mut [Found]) {
        members.iter_mut().for_each(|one| one.refused = self.refused.get(&one.device).cloned());
    }

    fn put_off(&mut self, array: Array, why: &str, is_meant: bool) {
        let paths = is_meant.then(|| array.paths());
        self.lacks.push(Lack { paths, why: format!("the array {} {why}", array.shown()) });
        self.arrays.push(array);
    }

    /// Has the kernel start it; whether something changed. Members that the kernel refuses are left out, if it can run so.
    fn bring_up(
        &mut self,
        array: Array,
        lacks: Option<String>,
        members: &mut [Found],
        wanted: Wanted<'_>,
    ) -> bool {
        if let Some(why) = self.failed.get(&array.members).cloned() {
            self.put_off(array, &why, false);
            return false;
        }
        let given = match Given::members_of(&array) {
            Ok(given) => given,
            Err(why) => return self.fail(array, why),
        };
        let (array, lacks) = match self.without_refused(&given, array, lacks, members, wanted) {
            Ok(starts) => starts,
            Err(is_new) => {
                given.clear();
                return is_new;
            }
        };
        match given.start() {
            Ok(name) => {
                kernel::say_state(&array, &name, lacks.as_ref());
                kernel::link(&array, &name);
                true
            }
            Err(why) => self.fail(array, why),
        }
    }

    /// The array as it is with the members that the kernel took, and what it lacks; if it does not start so, whether others are
    /// to be tried at once.
    fn without_refused(
        &mut self,
        given: &Given,
        array: Array,
        lacks: Option<String>,
        members: &mut [Found],
        wanted: Wanted<'_>,
    ) -> Result<(Array, Option<String>), bool> {
        if given.refused.is_empty() {
            return Ok((array, lacks));
        }
        self.refused.extend(given.refused.iter().cloned());
        self.mark_refused(members);
        let again = assemble(members).into_iter().find(|other| other.is_same(&array));
        let array = again.unwrap_or(array);
        match wanted.judge(&array) {
            Verdict::Starts(lacks) if given.has(&array) => Ok((array, lacks)),
            // The newest one was refused: others count now.
            Verdict::Starts(_) => {
                self.seen.0.clear();
                Err(true)
            }
            Verdict::Waits(why) | Verdict::Never(why) => {
                self.put_off(array, &why, false);
                Err(false)
            }
            Verdict::LeftAlone(_) => Err(false),
        }
    }

    fn fail(&mut self, array: Array, why: String) -> bool {
        self.failed.insert(array.members.clone(), why.clone());
        self.put_off(array, &why, false);
        false
    }

    /// Why what is sought is not there, if arrays have to do with it.
    pub(super) fn why(&self, spec: &OsStr) -> Option<String> {
        let path = path_of(spec);
        let is_told = |lack: &&Lack| lack.paths.as_ref().is_none_or(|paths| paths.contains(&path));
        let told: Vec<_> = self.lacks.iter().filter(is_told).map(|lack| &*lack.why).collect();
        (!told.is_empty()).then(|| told.join("; "))
    }

    /// Why it never will be.
    pub(super) fn never(&self, spec: &OsStr) -> Option<String> {
        self.wanted(self.seen.1)?.never(&self.arrays, &path_of(spec))
    }

    /// Whether it may be on an array within volumes that is not there yet, and there is time to wait for that.
    pub(super) fn awaits_inside(&self, spec: &OsStr, waited: Duration) -> bool {
        let path = (!lvm::may_be_logical(spec)).then(|| path_of(spec));
        let has_time = self.md.is_some_and(|md| waited < md.wait);
        let wanted = self.wanted(self.seen.1).filter(|_| has_time);
        wanted.is_some_and(|wanted| wanted.awaits_inside(&self.arrays, path.as_deref()))
    }
}

fn path_of(spec: &OsStr) -> String {
    found::path_of(spec).to_string_lossy().into_owned()
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
    let partitions = partitions(there);
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
        let own = partitions.get(node).map_or(&[][..], Vec::as_slice);
        if !is_of_disk(superblock.version, storage.len(), own) {
            if superblock.version.is_at_start() {
                scanned.wrong.push(format!("{} {OLDER}", node.display()));
            }
            continue;
        }
        let inside = devices::is_encrypted(node);
        let holders = device.holders();
        if holders.iter().any(|holder| holder.starts_with("md")) {
            scanned.running.insert((inside, superblock.uuid));
        }
        if holders.is_empty() && !devices::is_mounted(node) {
            let disk = devices::disk_of(node).map(|(disk, _)| disk.display().to_string());
            let device = node.display().to_string();
            scanned.members.push(Found { device, disk, inside, superblock, refused: None });
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

/// The kernel's partitions of each disk, in its bytes.
fn partitions(there: &[BlockDevice]) -> BTreeMap<PathBuf, Vec<Range<u64>>> {
    let mut of: BTreeMap<PathBuf, Vec<Range<u64>>> = BTreeMap::new();
    for device in there {
        let Some((disk, start)) = devices::disk_of(device.node()) else { continue };
        let Ok(storage) = File::open(device.node()) else { continue };
        let Some(start) = start.to_bytes() else { continue };
        of.entry(disk).or_default().push(start.0..start.0.saturating_add(storage.len()));
    }
    of
}

const OLDER: &str =
    "has an md superblock that is older than its partitions (wipefs -t linux_raid_member removes it)";
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
        let timeout = |needed, optional| {
            Md::new(&cmdline::Md::default(), Waits { needed, optional }).unwrap().timeout()
        };
        assert_eq!(timeout(seconds(30), seconds(30)), seconds(20));
        assert_eq!(timeout(seconds(90), seconds(30)), seconds(60));
        assert_eq!(timeout(WITHOUT_END, seconds(30)), seconds(20));
        assert!(timeout(seconds(u64::MAX), seconds(30)) > seconds(1 << 60));
        let off = cmdline::Md { off: true, ..cmdline::Md::default() };
        assert!(Md::new(&off, Waits { needed: seconds(30), optional: seconds(30) }).is_none());
        // What is waited for less, and what is not needed, costs no array a member.
        let md = Md { only: None, wait: seconds(30) };
        let search = |limit| Search::new(Some(&md), false, limit).timeout;
        for (limit, timeout) in
            [(9, Duration::MAX), (19, Duration::MAX), (20, seconds(20)), (90, seconds(20))]
        {
            assert_eq!(search(Some(seconds(limit))), timeout, "{limit}");
        }
        assert_eq!(search(Some(Duration::MAX)), seconds(20));
        assert_eq!(search(None), Duration::MAX);
    }
}
