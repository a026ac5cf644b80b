//! What was found on all devices, put together: which metadata count, which devices a group consists of, and which of two
//! groups with one name is meant.
//!
//! Metadata within an opened volume ("inside") count before those outside, however new these are: whoever can write to the
//! disk can write the latter. A group that only metadata outside describe gets no devices inside.

use super::group::{Group, Logical, Physical, Segment};
use super::name::Named;
use super::{Id, SECTOR};
use std::collections::{BTreeMap, BTreeSet};

/// A physical volume that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its node.
    pub device: String,
    /// The device's size in bytes.
    pub size: u64,
    /// Its UUID.
    pub id: Id,
    /// Whether it is within an opened volume.
    pub inside: bool,
    /// The metadata on it, of each area that has some; others' describe it, too.
    pub groups: Vec<Group>,
    /// What is wrong with the metadata of an area.
    pub wrong: Option<String>,
}

/// A group with its devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assembled {
    /// The newest metadata.
    pub group: Group,
    /// Whether these are from within an opened volume.
    pub inside: bool,
    /// For each physical volume, what was found, or why it cannot be taken.
    pub devices: Vec<Result<Device, Why>>,
    /// Metadata on its devices that do not count: sentences without their ends.
    pub passed_over: Vec<String>,
}

/// A device of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Its node.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// Whether it is within an opened volume.
    pub inside: bool,
}

/// A row of a table: sectors of a logical volume, and where they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Its first sector.
    pub start: u64,
    /// Its length in sectors.
    pub length: u64,
    /// How many sectors each device has in turn; 0 for a single one.
    pub stripe: u64,
    /// Devices, and the first sector on each.
    pub places: Vec<(String, u64)>,
}

/// Why a volume cannot be activated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// Not now: a device may appear still.
    Yet(String),
    /// And never will be.
    Never(String),
}

/// Puts together what was found.
pub fn assemble(found: &[Found]) -> Vec<Assembled> {
    let mut newest: BTreeMap<Id, (bool, &Group)> = BTreeMap::new();
    for (inside, group) in found.iter().flat_map(|one| one.groups.iter().map(|group| (one.inside, group))) {
        let best = newest.entry(group.id).or_insert((inside, group));
        if (inside, group.seqno) > (best.0, best.1.seqno) {
            *best = (inside, group);
        }
    }
    let mut by_id: BTreeMap<Id, Vec<&Found>> = BTreeMap::new();
    for one in found {
        by_id.entry(one.id).or_default().push(one);
    }
    let device = |inside, group: &Group, physical: &Physical| {
        let there = by_id.get(&physical.id).map(Vec::as_slice).unwrap_or_default();
        device(&group.name, physical, inside, there)
    };
    let groups = newest.into_values();
    let assembled = groups.map(|(inside, group)| Assembled {
        devices: group.physical.iter().map(|physical| device(inside, group, physical)).collect(),
        passed_over: passed_over(found, inside, group),
        group: group.clone(),
        inside,
    });
    assembled.collect()
}

/// Metadata of a group that are older than its newest, or damaged, on devices of the same side.
fn passed_over(found: &[Found], inside: bool, newest: &Group) -> Vec<String> {
    let (name, seqno) = (&newest.name, newest.seqno);
    let mut sentences = Vec::new();
    for one in found.iter().filter(|one| one.inside == inside) {
        let device = &one.device;
        let of_group = one.groups.iter().filter(|group| group.id == newest.id);
        if let Some(old) = of_group.map(|group| group.seqno).max().filter(|old| *old < seqno) {
            sentences.push(format!(
                "the metadata of {name} on {device} are outdated (seqno {old}, the newest have {seqno}) and ignored"
            ));
        }
        let is_its = newest.physical.iter().any(|physical| physical.id == one.id);
        if let Some(why) = one.wrong.as_ref().filter(|_| is_its) {
            sentences.push(format!("metadata of {name} on {device} are ignored: {why}"));
        }
    }
    sentences
}

/// What stands for a physical volume, of all that `there` is with its UUID.
fn device(group: &str, physical: &Physical, inside: bool, there: &[&Found]) -> Result<Device, Why> {
    // A copy outside does not stand for what is inside.
    let is_outside = !(inside && there.iter().any(|one| one.inside));
    let mut there = there.iter().filter(|one| one.inside != is_outside);
    let id = physical.id;
    match (there.next(), there.next()) {
        (None, _) => Err(Why::Yet(format!("the volume group {group} lacks its physical volume {id}"))),
        _ if physical.missing => {
            Err(Why::Never(format!("lvm2 has marked the physical volume {id} of {group} as missing")))
        }
        (Some(one), None) => Ok(Device { path: one.device.clone(), size: one.size, inside: one.inside }),
        (Some(one), Some(other)) => Err(Why::Never(format!(
            "the physical volume {id} of {group} appears twice, as {} and {}",
            one.device, other.device
        ))),
    }
}

/// The group of that name: the one inside an opened volume, else, where `outside` may be looked at, another one.
///
/// # Errors
/// [`Why::Yet`] if there is none; [`Why::Never`] if there are several.
pub fn group<'a>(all: &'a [Assembled], name: &str, outside: bool) -> Result<&'a Assembled, Why> {
    for inside in [true, false].into_iter().take(1 + usize::from(outside)) {
        let named: Vec<_> = all.iter().filter(|one| one.inside == inside && one.group.name == name).collect();
        match named[..] {
            [] => {}
            [one] => return Ok(one),
            [one, other, ..] => {
                let (one, other) = (one.described(), other.described());
                let why =
                    format!("two volume groups are named {name}: {one}, and {other}; rename one (vgrename)");
                return Err(Why::Never(why));
            }
        }
    }
    Err(Why::Yet(format!("there is no volume group {name}")))
}

impl Assembled {
    /// "UUID on DEVICE, …".
    fn described(&self) -> String {
        let devices: Vec<_> = self.devices.iter().flatten().map(|device| &*device.path).collect();
        format!("{} on {}", self.group.id, devices.join(", "))
    }

    /// The table of a volume.
    ///
    /// # Errors
    /// [`Why::Yet`] while a device is missing; [`Why::Never`] for a kind or a state that is not activated here.
    pub fn table(&self, name: &str) -> Result<(&Logical, Vec<Piece>), Why> {
        let Some(volume) = self.group.volume(name) else {
            let why = format!("the volume group {} has no volume {name}", self.group.name);
            return Err(Why::Never(why));
        };
        let pieces = self.segments(volume)?.iter().map(|segment| {
            let places = self.places(volume, segment).map(|place| {
                let (device, sector) = place?;
                Ok((device.path.clone(), sector))
            });
            let (start, length, stripe) = (segment.start, segment.length, segment.stripe);
            Ok(Piece { start, length, stripe, places: places.collect::<Result<_, Why>>()? })
        });
        Ok((volume, pieces.collect::<Result<_, Why>>()?))
    }

    fn segments<'a>(&self, volume: &'a Logical) -> Result<&'a [Segment], Why> {
        let group = &self.group.name;
        if let Some(why) = &self.group.hindrance {
            return Err(Why::Never(format!("the volume group {group} {why}")));
        }
        volume.segments.as_deref().map_err(|why| {
            let name = &volume.name;
            let why =
                format!("the logical volume {group}/{name} {why}; keyway activates linear and striped ones");
            Why::Never(why)
        })
    }

    /// The devices of a segment, and the first sector on each.
    fn places(
        &self,
        volume: &Logical,
        segment: &Segment,
    ) -> impl Iterator<Item = Result<(&Device, u64), Why>> {
        let each = segment.length / segment.stripes.len().max(1) as u64;
        segment.stripes.iter().map(move |(place, sector)| {
            let device = self.devices[*place].as_ref().map_err(Why::clone)?;
            match sector.saturating_add(each).saturating_mul(SECTOR) <= device.size {
                true => Ok((device, *sector)),
                false => Err(Why::Never(format!(
                    "the logical volume {}/{} goes beyond the end of {}",
                    self.group.name, volume.name, device.path
                ))),
            }
        })
    }

    /// Its volumes that have a table, by name: without what cannot be activated. No table is made for this.
    pub fn volumes(&self) -> impl Iterator<Item = Named> + '_ {
        let is_there = |volume: &&Logical| {
            let segments = self.segments(volume).ok();
            segments
                .is_some_and(|all| all.iter().all(|one| self.places(volume, one).all(|place| place.is_ok())))
        };
        let there = self.group.logical.iter().filter(is_there);
        there.map(|volume| Named { group: self.group.name.clone(), volume: volume.name.clone() })
    }

    /// Its volumes that are no parts of others, by name, whether or not they have a table.
    pub fn visible(&self) -> impl Iterator<Item = Named> + '_ {
        let visible = self.group.logical.iter().filter(|volume| volume.visible);
        visible.map(|volume| Named { group: self.group.name.clone(), volume: volume.name.clone() })
    }

    /// The UUID of a volume's mapping.
    pub fn mapping_uuid(&self, volume: &Logical) -> String {
        format!("LVM-{}{}", self.group.id.bare(), volume.id.bare())
    }

    /// The devices of a table that are not within an opened volume, each once.
    pub fn outside<'a>(&self, table: &'a [Piece]) -> Vec<&'a str> {
        let inside = self.devices.iter().flatten().filter(|device| device.inside);
        let inside: BTreeSet<&str> = inside.map(|device| &*device.path).collect();
        let mut seen = BTreeSet::new();
        let devices = table.iter().flat_map(|piece| &piece.places).map(|(device, _)| &**device);
        devices.filter(|device| !inside.contains(device) && seen.insert(*device)).collect()
    }
}
