//! Logical volumes, activated when something needs one: the device of a volume, a key or a header, root=, resume=, or
//! rd.lvm.lv=. Names and UUIDs of the mappings are lvm2's, which takes them over in the system that starts.
//!
//! Metadata of LVM are not authenticated. While volumes are to be opened, the system must therefore come from a logical volume
//! within one of them ([`Lvm::of_system`], [`refuse_unencrypted`]): a group of that name on the disk itself may be anybody's.

use crate::device::found;
use keyway::Mapping;
use keyway::devices::{self, Layer, LogicalPiece};
use keyway::storage::{File, Storage};
use keyway_boot::cmdline;
use keyway_boot::crypttab::Entry;
use keyway_boot::device_spec::{Tag, Tagged};
use keyway_boot::lvm::area::Budget;
use keyway_boot::lvm::label::Label;
use keyway_boot::lvm::{Assembled, Found, Group, Named, Piece, Why, area, assemble, assembly};
use keyway_boot::root::Root;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Which logical volumes may be activated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lvm {
    /// None: this is not an initramfs's first process, or rd.lvm=0.
    Off,
    /// Those within opened volumes.
    Inside,
    /// These, else others.
    Anywhere,
}

/// What became of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sought {
    /// The node of the volume, which is active.
    Here(PathBuf),
    /// It may appear still; the reason why it is not there, if LVM has to do with it.
    Yet(Option<String>),
    /// It never will.
    Never(String),
}

impl Lvm {
    /// For what the system comes from, root= and resume=, in a boot that opens volumes or none.
    pub(super) fn of_system(self, opens: bool) -> Self {
        if self == Self::Anywhere && opens { Self::Inside } else { self }
    }

    /// A search, which may be repeated while devices appear.
    pub(super) fn search(self) -> Search {
        Search { lvm: self, seen: Vec::new(), last: None }
    }
}

/// A search for one device.
pub(super) struct Search {
    lvm: Lvm,
    /// What the last answer was made of.
    seen: Vec<Found>,
    last: Option<Sought>,
}

impl Search {
    /// Activates the logical volume that `spec` names, or that has what it names.
    pub(super) fn activate(&mut self, spec: &OsStr) -> Sought {
        if self.lvm == Lvm::Off || !may_be_logical(spec) {
            return Sought::Yet(None);
        }
        let (seen, damaged) = scan();
        if let Some(last) = self.last.clone().filter(|_| seen == self.seen) {
            return last;
        }
        let all = assemble(&seen);
        let sought = match Mapping::check_available() {
            Ok(()) if !all.is_empty() => self.among(&all, spec),
            _ => Sought::Yet(None),
        };
        let sought = match sought {
            Sought::Yet(why) => Sought::Yet(why.or_else(|| damaged.into_iter().next())),
            other => other,
        };
        self.seen = seen;
        self.last = Some(sought.clone());
        sought
    }

    fn among(&self, all: &[Assembled], spec: &OsStr) -> Sought {
        let activated = match Tagged::parse(spec) {
            Some(tagged) if matches!(tagged.tag, Tag::Uuid | Tag::Label) => self.holding(all, spec),
            Some(_) => return Sought::Yet(None),
            None => match Named::of_path(&found::path_of(spec).to_string_lossy()) {
                Some(named) => self.named(all, &named),
                None => return Sought::Yet(None),
            },
        };
        match activated {
            Ok(node) => Sought::Here(node),
            Err(Why::Yet(why)) => Sought::Yet(Some(why)),
            Err(Why::Never(why)) => Sought::Never(why),
        }
    }

    fn named(&self, all: &[Assembled], named: &Named) -> Result<PathBuf, Why> {
        let group = assembly::group(all, &named.group, self.lvm == Lvm::Anywhere);
        let group = group.map_err(|why| self.with_outside(why, all, &named.group))?;
        let (node, is_new) = activate(group, named, self.lvm)?;
        say_passed_over(group, is_new);
        Ok(node)
    }

    /// A group of that name may be where it is not taken from.
    fn with_outside(&self, why: Why, all: &[Assembled], name: &str) -> Why {
        match (why, assembly::group(all, name, true)) {
            (Why::Yet(_), Ok(_)) => Why::Yet(format!(
                "the volume group {name} is outside the encrypted volumes, and the system starts only from inside them"
            )),
            (why, _) => why,
        }
    }

    /// The volume that has the file system with that UUID or label; the others are put away again.
    fn holding(&self, all: &[Assembled], spec: &OsStr) -> Result<PathBuf, Why> {
        let mut reason = None;
        for one in all.iter().filter(|one| one.inside).chain(all.iter().filter(|one| !one.inside)) {
            match assembly::group(all, &one.group.name, self.lvm == Lvm::Anywhere) {
                Ok(meant) if meant == one => {}
                Ok(_) | Err(Why::Yet(_)) => continue,
                Err(why) => {
                    reason.get_or_insert(why);
                    continue;
                }
            }
            for named in one.volumes().take(MOST) {
                let Ok((node, is_new)) = activate(one, &named, self.lvm) else { continue };
                if found::is_meant(spec, &node) {
                    say_passed_over(one, is_new);
                    return Ok(node);
                }
                if is_new {
                    put_away(&named);
                }
            }
        }
        // What is missing may be elsewhere.
        Err(Why::Yet(match reason {
            Some(Why::Never(why) | Why::Yet(why)) => why,
            None if self.lvm == Lvm::Inside && all.iter().any(|one| !one.inside) => {
                "no logical volume within an encrypted volume holds it, and others are ignored".to_owned()
            }
            None => "no logical volume holds it".to_owned(),
        }))
    }
}

/// What rd.lvm.lv= and rd.lvm.vg= name; what prevents it is said.
pub(super) fn activate_listed(lvm: Lvm, listed: &cmdline::Lvm) {
    if lvm == Lvm::Off || (listed.volumes.is_empty() && listed.groups.is_empty()) {
        return;
    }
    let all = assemble(&scan().0);
    let group = |name: &str| assembly::group(&all, name, lvm == Lvm::Anywhere).map_err(in_words);
    let activate = |named: &Named| {
        Mapping::check_available().map_err(|error| error.to_string())?;
        let group = group(&named.group)?;
        let (_, is_new) = activate(group, named, lvm).map_err(in_words)?;
        say_passed_over(group, is_new);
        Ok::<_, String>(())
    };
    for named in &listed.volumes {
        if let Err(why) = activate(named) {
            say!("keyway: rd.lvm.lv={}/{}: {why}.", named.group, named.volume);
        }
    }
    for name in &listed.groups {
        let failed = |why| say!("keyway: rd.lvm.vg={name}: {why}.");
        match group(name) {
            // One that cannot be activated keeps none of the others from it.
            Ok(group) => group.visible().filter_map(|named| activate(&named).err()).for_each(failed),
            Err(why) => failed(why),
        }
    }
}

/// The volumes that would be activated, as far as they are named: lines for a dry run.
pub(super) fn in_lines(wanted: &Root, entries: &[Entry], listed: &cmdline::Lvm) -> String {
    if listed.off {
        return String::new();
    }
    let devices = wanted.resume.iter().map(|resume| &*resume.device).chain(wanted.device.as_deref());
    let is_volume = |path: &&str| {
        let is = |entry: &Entry| Mapping::path_of(&entry.name.to_string_lossy()) == Path::new(path);
        entries.iter().any(is)
    };
    let needed: BTreeSet<_> = devices.filter(|path| !is_volume(path)).filter_map(Named::of_path).collect();
    let mut lines = String::new();
    for Named { group, volume } in
        needed.iter().chain(listed.volumes.iter().filter(|one| !needed.contains(one)))
    {
        lines += &format!("# activates the logical volume {group}/{volume}\n");
    }
    for group in &listed.groups {
        lines += &format!("# activates all volumes of the group {group}\n");
    }
    lines
}

/// While volumes are to be opened, the system does not come from a logical volume or an array beside them.
pub(super) fn refuse_unencrypted(node: &Path, opens: bool) -> Result<(), String> {
    let named = [(Layer::Lvm, "a logical volume"), (Layer::Md, "an array of md RAID")];
    let layers = devices::layers(node);
    let what = named.iter().find(|(layer, _)| layers.contains(layer)).map(|(_, what)| what);
    let Some(what) = what.filter(|_| opens && !devices::is_encrypted(node)) else { return Ok(()) };
    Err(format!(
        "{} is {what} that is not entirely within an encrypted volume: whoever can write to the disk may have \
         put it there. If the system is meant to be there, leave the volumes to it (noauto)",
        node.display()
    ))
}

/// What a device is that cannot be mounted, if it is of LVM's: the end of a sentence.
pub(super) fn instead(node: &Path) -> &'static str {
    match File::open(node).ok().and_then(|device| label(&device).ok().flatten()) {
        Some(_) => "; it holds volumes of LVM: root= has to name the logical volume (/dev/GROUP/VOLUME)",
        None => "",
    }
}

/// Whether what is so named may be a logical volume, or what one holds.
pub(super) fn may_be_logical(spec: &OsStr) -> bool {
    match Tagged::parse(spec) {
        Some(tagged) => matches!(tagged.tag, Tag::Uuid | Tag::Label),
        None => Named::of_path(&found::path_of(spec).to_string_lossy()).is_some(),
    }
}

/// What becomes known of a group where a volume of it was activated just now.
fn say_passed_over(group: &Assembled, is_new: bool) {
    for sentence in group.passed_over.iter().filter(|_| is_new) {
        say!("WARNING: {sentence}.");
    }
}

/// The physical volumes that are there, and what is wrong with these and others.
fn scan() -> (Vec<Found>, Vec<String>) {
    let mut looked_for = Vec::new();
    for device in devices::all() {
        let layers = devices::layers(device.node());
        // As with lvm2's scan_lvs=0: guests keep groups of theirs in logical volumes.
        if layers.first() != Some(&Layer::Lvm) {
            looked_for.push((!layers.contains(&Layer::Crypt), device.node().to_owned()));
        }
    }
    // What is outside takes nothing of the budget from what is inside.
    looked_for.sort_by_key(|(outside, _)| *outside);
    let (mut found, mut damaged, mut budget) = (Vec::new(), Vec::new(), Budget::default());
    for (outside, node) in looked_for {
        let looked = looked_at(&node, !outside, &mut budget);
        let wrong = match &looked {
            Ok(one) => one.as_ref().and_then(|one| one.wrong.as_ref()),
            Err(why) => Some(why),
        };
        damaged.extend(wrong.map(|why| format!("{}: {why}", node.display())));
        found.extend(looked.ok().flatten());
    }
    (found, damaged)
}

/// One whose metadata are damaged is a physical volume all the same: others may describe it.
fn looked_at(node: &Path, inside: bool, budget: &mut Budget) -> Result<Option<Found>, String> {
    let Ok(device) = File::open(node) else { return Ok(None) };
    let Some(label) = label(&device)? else { return Ok(None) };
    let size = device.len();
    // A half of a mirror has all that the mirror has.
    if found::is_raid_member(&device) {
        return Ok(None);
    }
    let mut read = |offset: u64, room: &mut [u8]| device.read_at(room, offset).is_ok();
    let (mut groups, mut wrong) = (Vec::new(), None);
    for place in label.areas.iter().take(MOST_AREAS) {
        match area::text(*place, budget, &mut read)
            .and_then(|text| text.map(|text| Group::parse(&text)).transpose())
        {
            Ok(group) => groups.extend(group),
            Err(why) => wrong = Some(why.to_string()),
        }
    }
    Ok(Some(Found { device: node.display().to_string(), size, id: label.id, inside, groups, wrong }))
}

fn label(device: &File) -> Result<Option<Label>, String> {
    let mut start = [0; Label::START];
    match device.read_at(&mut start, 0) {
        Ok(()) => Label::find(&start).map_err(|why| why.to_string()),
        Err(_) => Ok(None),
    }
}

/// The node of an active volume, and whether it was activated now.
fn activate(group: &Assembled, named: &Named, lvm: Lvm) -> Result<(PathBuf, bool), Why> {
    let (volume, table) = group.table(&named.volume)?;
    let (name, uuid) = (named.mapped(), group.mapping_uuid(volume));
    let failed = |why: String| Why::Never(format!("{name} cannot be activated: {why}"));
    let outside = group.outside(&table);
    if lvm == Lvm::Inside && !outside.is_empty() {
        return Err(failed(format!("a part of it is not encrypted, on {}", outside.join(", "))));
    }
    if let Some(node) = devices::logical_volume(&name, &uuid).map_err(|why| failed(why.to_string()))? {
        return Ok((node, false));
    }
    if group.inside && !outside.is_empty() {
        say!("WARNING: {}/{} is not encrypted on {}.", named.group, named.volume, outside.join(", "));
    }
    let mut below = table.iter().flat_map(|piece| &piece.places).map(|(device, _)| Path::new(device));
    let read_only = !volume.writable || below.any(devices::is_read_only);
    let pieces: Vec<_> = table.iter().map(piece).collect();
    let mapped = devices::map_logical_volume(&name, &uuid, &pieces, read_only);
    let node = mapped.map_err(|why| failed(why.to_string()))?;
    link(named, &name);
    Ok((node, true))
}

/// `/dev/GROUP/VOLUME`, as lvm2 makes it without udev: tables that demand something of a volume may name it so.
fn link(named: &Named, mapped: &str) {
    let path = path_of(named);
    // A group may be named as a directory of devtmpfs's.
    if Named::of_path(&path).as_ref() == Some(named) {
        let _ = fs::create_dir_all(format!("/dev/{}", named.group));
        let _ = symlink(format!("../mapper/{mapped}"), path);
    }
}

fn put_away(named: &Named) {
    let _ = devices::unmap_logical_volume(&named.mapped());
    let ours = format!("../mapper/{}", named.mapped());
    if fs::read_link(path_of(named)).is_ok_and(|target| target == Path::new(&ours)) {
        let _ = fs::remove_file(path_of(named));
        let _ = fs::remove_dir(format!("/dev/{}", named.group));
    }
}

fn path_of(named: &Named) -> String {
    format!("/dev/{}/{}", named.group, named.volume)
}

fn piece(piece: &Piece) -> LogicalPiece<'_> {
    let Piece { start, length, stripe, places } = piece;
    LogicalPiece { start: *start, length: *length, stripe: *stripe, places }
}

fn in_words(why: Why) -> String {
    match why {
        Why::Yet(why) | Why::Never(why) => why,
    }
}

/// Of a group that is looked through for a UUID.
const MOST: usize = 1024;
/// lvm2 makes two at most.
const MOST_AREAS: usize = 4;
