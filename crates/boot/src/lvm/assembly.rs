//! What was found on all devices, put together: which metadata count, which devices a group consists of, and which of two
//! groups with one name is meant.
//!
//! Metadata within an opened volume ("inside") count before those outside, however new these are: whoever can write to the
//! disk can write the latter. A group that only metadata outside describe gets no devices inside.

use super::group::{Group, Logical};
use super::name::Named;
use super::{Id, SECTOR};
use std::collections::BTreeMap;

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
    /// The metadata on it, of each area that has some.
    pub groups: Vec<Group>,
}

/// A group with its devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assembled {
    /// The newest metadata.
    pub group: Group,
    /// Whether these are from within an opened volume.
    pub inside: bool,
    /// For each physical volume, what was found, or why it cannot be taken.
    pub devices: Vec<Result<Found, Why>>,
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
    let groups = newest.into_values();
    groups.map(|(inside, group)| Assembled::of(group.clone(), inside, found)).collect()
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
    fn of(group: Group, inside: bool, found: &[Found]) -> Self {
        let devices = group.physical.iter().map(|physical| {
            let mut there: Vec<_> =
                found.iter().filter(|one| one.id == physical.id && (inside || !one.inside)).collect();
            // A copy outside does not stand for what is inside.
            if there.iter().any(|one| one.inside) {
                there.retain(|one| one.inside);
            }
            let (name, id) = (&group.name, physical.id);
            match there[..] {
                [] => Err(Why::Yet(format!("the volume group {name} lacks its physical volume {id}"))),
                _ if physical.missing => {
                    Err(Why::Never(format!("lvm2 has marked the physical volume {id} of {name} as missing")))
                }
                [one] => Ok(one.clone()),
                [one, other, ..] => Err(Why::Never(format!(
                    "the physical volume {id} of {name} is there twice, as {} and {}",
                    one.device, other.device
                ))),
            }
        });
        Self { devices: devices.collect(), group, inside }
    }

    /// "UUID on DEVICE, …".
    fn described(&self) -> String {
        let devices: Vec<_> = self.devices.iter().flatten().map(|one| &*one.device).collect();
        format!("{} on {}", self.group.id, devices.join(", "))
    }

    /// The table of a volume.
    ///
    /// # Errors
    /// [`Why::Yet`] while a device is missing; [`Why::Never`] for a kind or a state that is not activated here.
    pub fn table(&self, name: &str) -> Result<(&Logical, Vec<Piece>), Why> {
        let group = &self.group;
        if let Some(why) = &group.hindrance {
            return Err(Why::Never(format!("the volume group {} {why}", group.name)));
        }
        let Some(volume) = group.volume(name) else {
            return Err(Why::Never(format!("the volume group {} has no volume {name}", group.name)));
        };
        let segments = volume.segments.as_ref();
        let segments = segments.map_err(|why| {
            Why::Never(format!(
                "the logical volume {}/{name} {why}; keyway activates linear and striped ones",
                group.name
            ))
        })?;
        let mut table = Vec::new();
        for segment in segments {
            let each = segment.length / segment.stripes.len().max(1) as u64;
            let mut places = Vec::new();
            for (place, sector) in &segment.stripes {
                let found = self.devices[*place].clone()?;
                if sector.saturating_add(each).saturating_mul(SECTOR) > found.size {
                    let why = format!(
                        "the logical volume {}/{name} goes beyond the end of {}",
                        group.name, found.device
                    );
                    return Err(Why::Never(why));
                }
                places.push((found.device, *sector));
            }
            let (start, length, stripe) = (segment.start, segment.length, segment.stripe);
            table.push(Piece { start, length, stripe, places });
        }
        Ok((volume, table))
    }

    /// Its volumes that have a table, by name; `None` of what cannot be activated.
    pub fn volumes(&self) -> impl Iterator<Item = Named> + '_ {
        let there = self.group.logical.iter().filter(|volume| self.table(&volume.name).is_ok());
        there.map(|volume| Named { group: self.group.name.clone(), volume: volume.name.clone() })
    }

    /// The UUID of a volume's mapping.
    pub fn mapping_uuid(&self, volume: &Logical) -> String {
        format!("LVM-{}{}", self.group.id.bare(), volume.id.bare())
    }

    /// The devices of a table that are not within an opened volume.
    pub fn outside<'a>(&self, table: &'a [Piece]) -> Vec<&'a str> {
        let is_inside =
            |device: &str| self.devices.iter().flatten().any(|found| found.device == device && found.inside);
        let devices = table.iter().flat_map(|piece| &piece.places).map(|(device, _)| &**device);
        devices.filter(|device| !is_inside(device)).collect()
    }
}
