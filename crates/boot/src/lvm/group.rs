//! A text of metadata as a volume group (lvm2: lib/format_text/export.c, flags.c):
//!
//! ```text
//! NAME { id  seqno  status [flags]  extent_size (sectors)  [system_id]  [lock_type]
//!     physical_volumes { NAME { id  flags  pe_start (sectors)  pe_count } … }
//!     logical_volumes { NAME { id  status  flags
//!         segment1 { start_extent  extent_count  type  stripe_count  stripe_size (sectors)  stripes [ PV, extent, … ] } … } … } }
//! contents = "Text Format Volume Group"  version = 1
//! ```
//!
//! What cannot be (extents that overlap or lie outside, gaps) makes a group unusable; a kind of volume that only lvm2 brings
//! up makes only that volume so.

use super::name::is_name;
use super::text::{Section, Value};
use super::{Error, Id, SECTOR};
use std::collections::{BTreeMap, BTreeSet};

/// A volume group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Its UUID.
    pub id: Id,
    /// How often its metadata were changed: the highest counts.
    pub seqno: u64,
    /// Why none of its volumes may be activated here.
    pub hindrance: Option<String>,
    /// Its physical volumes.
    pub physical: Vec<Physical>,
    /// Its logical volumes in the order of their names, those inside of others too.
    pub logical: Vec<Logical>,
}

/// A physical volume, as its group describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Physical {
    /// Its UUID.
    pub id: Id,
    /// Its first extent, in sectors.
    pub start: u64,
    /// How many extents it has.
    pub extents: u64,
    /// lvm2 missed it, and what is on it may be old.
    pub missing: bool,
}

/// A logical volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logical {
    /// Its name.
    pub name: String,
    /// Its UUID.
    pub id: Id,
    /// Whether it can be written to.
    pub writable: bool,
    /// Whether it is no part of another volume.
    pub visible: bool,
    /// Its segments in order, without gaps; or what prevents its activation.
    pub segments: Result<Vec<Segment>, String>,
}

/// Sectors of a logical volume, from one or several physical volumes in turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Its first sector in the logical volume.
    pub start: u64,
    /// Its length in sectors.
    pub length: u64,
    /// How many sectors each physical volume has in turn; 0 for a single one.
    pub stripe: u64,
    /// Physical volumes by their places in the group, and the first sector on each.
    pub stripes: Vec<(usize, u64)>,
}

impl Group {
    /// Parses a text of metadata.
    ///
    /// # Errors
    /// [`Error::Syntax`]; [`Error::Field`] for what cannot be, and for more volumes or segments than are read.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        let whole = Section::parse(text)?;
        if whole.text("contents") != Some("Text Format Volume Group") || whole.number("version") != Some(1) {
            return Err(field("the metadata have an unknown version"));
        }
        let mut sections = whole.sections();
        let (Some((name, group)), None) = (sections.next(), sections.next()) else {
            return Err(field("the metadata describe no group, or several"));
        };
        if !is_name(name) {
            return Err(field(format!("{:?} is not a valid name for a group", brief(name))));
        }
        Reader::new(name, group)?.read()
    }

    /// The logical volume of that name.
    pub fn volume(&self, name: &str) -> Option<&Logical> {
        let place = self.logical.binary_search_by(|volume| (*volume.name).cmp(name));
        place.ok().map(|place| &self.logical[place])
    }
}

struct Reader<'a> {
    name: &'a str,
    group: &'a Section,
    /// The sectors of an extent.
    extent: u64,
    /// Places of physical volumes by their names in the text.
    places: BTreeMap<&'a str, usize>,
    physical: Vec<Physical>,
}

impl<'a> Reader<'a> {
    fn new(name: &'a str, group: &'a Section) -> Result<Self, Error> {
        let extent = group.number("extent_size").filter(|size| *size > 0);
        let extent = extent.ok_or_else(|| field("the group has no extent size"))?;
        let mut reader = Self { name, group, extent, places: BTreeMap::new(), physical: Vec::new() };
        within(name, inner(group, "physical_volumes").count(), MOST_PHYSICAL, "physical volumes")?;
        let mut ids = BTreeSet::new();
        for (name, volume) in inner(group, "physical_volumes") {
            let read = || {
                let (start, extents) = (volume.number("pe_start")?, volume.number("pe_count")?);
                let end = extents.checked_mul(extent)?.checked_add(start)?.checked_mul(SECTOR);
                let missing = volume.has("flags", "MISSING") || volume.has("status", "MISSING");
                end.and(Some(Physical { id: id(volume)?, start, extents, missing }))
            };
            let cannot = || field(format!("the physical volume {:?} has impossible values", brief(name)));
            let physical = read().ok_or_else(cannot)?;
            if !ids.insert(physical.id) {
                return Err(field(format!("two physical volumes have the UUID {}", physical.id)));
            }
            reader.places.insert(name, reader.physical.len());
            reader.physical.push(physical);
        }
        Ok(reader)
    }

    fn read(self) -> Result<Group, Error> {
        let volumes: Vec<_> = inner(self.group, "logical_volumes").collect();
        within(self.name, volumes.len(), MOST_LOGICAL, "logical volumes")?;
        let count = volumes.iter().flat_map(|(_, volume)| segments(volume)).count();
        within(self.name, count, MOST_SEGMENTS, "segments")?;
        let held = held(&volumes);
        let (mut logical, mut taken) = (Vec::new(), Vec::new());
        for (name, volume) in volumes {
            logical.push(self.logical(name, volume, held.get(name).copied(), &mut taken)?);
        }
        taken.sort_unstable();
        if let Some(pair) = taken.windows(2).find(|pair| pair[0].0 == pair[1].0 && pair[1].1 < pair[0].2) {
            let (id, extent) = (self.physical[pair[1].0].id, pair[1].1);
            return Err(field(format!("extent {extent} of the physical volume {id} is in use twice")));
        }
        Ok(Group {
            name: self.name.to_owned(),
            id: id(self.group).ok_or_else(|| field("the group has no UUID"))?,
            seqno: self.group.number("seqno").ok_or_else(|| field("the group has no seqno"))?,
            hindrance: self.hindrance(),
            physical: self.physical,
            logical,
        })
    }

    /// What makes lvm2 leave a group alone, too.
    fn hindrance(&self) -> Option<String> {
        let group = self.group;
        let has = |word| group.has("status", word) || group.has("flags", word);
        let said = |name| group.text(name).filter(|value| !value.is_empty()).map(brief);
        match (said("system_id"), said("lock_type").filter(|kind| *kind != "none")) {
            _ if has("EXPORTED") => Some("is exported: vgimport imports it".to_owned()),
            _ if has("CLUSTERED") => Some("belongs to a cluster".to_owned()),
            (Some(system), _) => Some(format!("belongs to the system {system:?} alone (its system_id)")),
            (_, Some(kind)) => Some(format!("is shared by machines (lock_type {kind:?})")),
            _ if said("format").is_some_and(|format| format != "lvm2") => {
                Some("is not of the format lvm2".to_owned())
            }
            _ => None,
        }
    }

    fn logical(
        &self,
        name: &str,
        volume: &Section,
        held: Option<&'static str>,
        taken: &mut Vec<(usize, u64, u64)>,
    ) -> Result<Logical, Error> {
        if !is_name(name) {
            return Err(field(format!("{:?} is not a valid name for a volume", brief(name))));
        }
        let cannot = |what: &str| field(format!("the volume {}/{name} {what}", self.name));
        let (mut found, mut other) = (Vec::new(), None);
        for segment in segments(volume) {
            let kind = segment.text("type").unwrap_or_default();
            let start = segment.number("start_extent");
            if !matches!(kind, "striped" | "linear") {
                other = Some(of_kind(kind));
                continue;
            }
            match self.stripes(segment)? {
                Some(stripes) => {
                    let segment = start.zip(self.segment(segment, stripes, taken));
                    found.push(segment.ok_or_else(|| cannot("has an impossible segment"))?);
                }
                None => other = Some("lies on another volume, as during a pvmove".to_owned()),
            }
        }
        let (has, flagged) = (|word| volume.has("status", word), |word| volume.has("flags", word));
        let hindered = match other {
            Some(other) => Some(other),
            None if held.is_some() => held.map(str::to_owned),
            None if !has("VISIBLE") => Some("is a part of another volume".to_owned()),
            None if has("LOCKED") || flagged("LOCKED") => Some("is locked, as during a pvmove".to_owned()),
            None if flagged("ACTIVATION_SKIP") || has("ACTIVATION_SKIP") => Some(
                "is marked not to be activated (lvchange --setactivationskip n removes the mark)".to_owned(),
            ),
            None => None,
        };
        let segments = match hindered {
            Some(why) => Err(why),
            None => Ok(self.in_order(found).ok_or_else(|| cannot("has gaps"))?),
        };
        let id = id(volume).ok_or_else(|| cannot("has no UUID"))?;
        let (writable, visible) = (has("WRITE"), has("VISIBLE"));
        Ok(Logical { name: name.to_owned(), id, writable, visible, segments })
    }

    /// Each stripe's physical volume and first extent; `None` if they are on logical volumes.
    fn stripes(&self, segment: &Section) -> Result<Option<Vec<(usize, u64)>>, Error> {
        let wrong = || field(format!("the group {} has a segment without its stripes", self.name));
        let Some(Value::List(list)) = segment.value("stripes") else { return Err(wrong()) };
        let mut stripes = Vec::new();
        for pair in list.chunks(2) {
            let [Value::Text(name), Value::Number(extent)] = pair else { return Err(wrong()) };
            match self.places.get(&**name) {
                Some(place) => stripes.push((*place, u64::try_from(*extent).map_err(|_| wrong())?)),
                None if self
                    .group
                    .section("logical_volumes")
                    .is_some_and(|all| all.section(name).is_some()) =>
                {
                    return Ok(None);
                }
                None => return Err(field(format!("there is no physical volume {:?}", brief(name)))),
            }
        }
        let count = segment.number("stripe_count");
        if stripes.is_empty() || count != Some(stripes.len() as u64) {
            Err(wrong())
        } else {
            Ok(Some(stripes))
        }
    }

    /// Its length in extents is in `length` still; [`Reader::in_order`] makes sectors of it.
    fn segment(
        &self,
        segment: &Section,
        stripes: Vec<(usize, u64)>,
        taken: &mut Vec<(usize, u64, u64)>,
    ) -> Option<Segment> {
        let (extents, many) = (segment.number("extent_count")?, stripes.len() as u64);
        let each = (extents > 0 && extents % many == 0).then(|| extents / many)?;
        let stripe = if many > 1 { segment.number("stripe_size").filter(|size| *size > 0)? } else { 0 };
        if many > 1 && each.checked_mul(self.extent)? % stripe != 0 {
            return None;
        }
        let mut places = Vec::new();
        for (place, extent) in stripes {
            let physical = &self.physical[place];
            let end = extent.checked_add(each).filter(|end| *end <= physical.extents)?;
            taken.push((place, extent, end));
            // The whole physical volume was checked to be within 64 bits.
            places.push((place, physical.start + extent * self.extent));
        }
        Some(Segment { start: 0, length: extents, stripe, stripes: places })
    }

    fn in_order(&self, mut segments: Vec<(u64, Segment)>) -> Option<Vec<Segment>> {
        segments.sort_by_key(|(start, _)| *start);
        let mut next = 0_u64;
        for (start, segment) in &mut segments {
            if *start != next {
                return None;
            }
            segment.start = start.checked_mul(self.extent)?;
            next = next.checked_add(segment.length)?;
            segment.length = segment.length.checked_mul(self.extent)?;
        }
        next.checked_mul(self.extent)?.checked_mul(SECTOR).filter(|bytes| *bytes > 0)?;
        Some(segments.into_iter().map(|(_, segment)| segment).collect())
    }
}

/// Volumes that look like any other and are not: those of which there are snapshots, and those that hold one's changes.
fn held<'a>(volumes: &[(&'a str, &'a Section)]) -> BTreeMap<&'a str, &'static str> {
    let mut held = BTreeMap::new();
    for (_, segment) in volumes.iter().flat_map(|(_, volume)| volume.sections()) {
        for (field, why) in
            [("origin", "has snapshots"), ("merging_store", MERGED), ("cow_store", "is a snapshot")]
        {
            let is_snapshot = segment.text("type") == Some("snapshot");
            if let Some(name) = segment.text(field).filter(|_| is_snapshot) {
                held.insert(name, why);
            }
        }
    }
    held
}

fn of_kind(kind: &str) -> String {
    // lvm2 adds words for newer versions of a kind behind a plus sign.
    let bare = brief(kind.split('+').next().unwrap_or_default());
    let name = match bare {
        "thin" | "thin-pool" => "thinly provisioned",
        "cache" | "cache-pool" => "cached",
        "writecache" => "cached for writing",
        "snapshot" => "a snapshot",
        "mirror" => "mirrored",
        "vdo" | "vdo-pool" => "of the kind VDO",
        "integrity" => "of the kind integrity",
        raid if raid.starts_with("raid") => return format!("is of the kind RAID ({})", raid.escape_debug()),
        "error" | "zero" => return format!("has lost a part (segments of the kind {bare})"),
        _ => return format!("is of the kind {bare:?}"),
    };
    format!("is {name}")
}

fn inner<'a>(section: &'a Section, name: &str) -> impl Iterator<Item = (&'a str, &'a Section)> + use<'a> {
    section.section(name).into_iter().flat_map(Section::sections)
}

/// A volume's segments, in the order of their names.
fn segments(volume: &Section) -> impl Iterator<Item = &Section> {
    volume.sections().filter(|(name, _)| name.starts_with("segment")).map(|(_, segment)| segment)
}

fn within(group: &str, count: usize, most: usize, what: &str) -> Result<(), Error> {
    match count <= most {
        true => Ok(()),
        false => Err(field(format!("the group {group} has {count} {what}; {most} at most are read"))),
    }
}

/// As much of it as a message has room for.
fn brief(text: &str) -> &str {
    text.char_indices().nth(LONGEST).map_or(text, |(end, _)| &text[..end])
}

fn id(section: &Section) -> Option<Id> {
    Id::parse(section.text("id")?)
}

fn field(what: impl Into<String>) -> Error {
    Error::Field(what.into())
}

const MERGED: &str = "is a snapshot that is being merged";
/// Many times what groups have in practice: a boot has to look at those of anybody's stick, too.
const MOST_PHYSICAL: usize = 1024;
const MOST_LOGICAL: usize = 4096;
/// Of all volumes of a group together.
const MOST_SEGMENTS: usize = 65536;
/// In letters.
const LONGEST: usize = 64;
