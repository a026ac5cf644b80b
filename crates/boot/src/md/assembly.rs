//! What was found on all devices, put together: arrays with their members, and whether each can run.
//!
//! An array within opened volumes ("inside") and one outside are two arrays, whatever their UUIDs are: whoever can write to the
//! disk can copy a UUID. Of members the newest superblock says what each is for; one that is older, or that says the
//! newest had failed, does not count (mdadm: Assemble.c).

use super::{Level, Role, Superblock, Uuid, Version};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A member that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its node.
    pub device: String,
    /// The node of the disk, if it is a partition.
    pub disk: Option<String>,
    /// Whether it is within an opened volume.
    pub inside: bool,
    /// What it says.
    pub superblock: Superblock,
    /// Why the kernel does not take it, if that is known.
    pub refused: Option<String>,
}

/// An array with its members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array {
    /// The newest superblock.
    pub newest: Superblock,
    /// Whether it is within opened volumes.
    pub inside: bool,
    /// The members that the kernel gets, the newest first.
    pub members: Vec<String>,
    /// Devices that do not count: sentences without their ends.
    pub left_out: Vec<String>,
    /// Whether it can run.
    pub state: State,
}

/// Whether an array can run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// With all members that the newest superblock has; a sentence if that are not all that the array is made for.
    Ready(Option<String>),
    /// Without some that may appear still: which.
    Degraded(String),
    /// Not now: why.
    Lacking(String),
    /// Never: why.
    Never(String),
}

impl Array {
    /// What it is called: its name, or its number.
    pub fn shown(&self) -> String {
        match (&*self.newest.name, self.newest.minor) {
            ("", Some(minor)) => format!("md{minor}"),
            ("", None) => self.newest.uuid.to_string(),
            (name, _) => name.escape_debug().to_string(),
        }
    }

    /// The number that its device is meant to have: of its name, or that of 0.90.
    pub fn number(&self) -> Option<u32> {
        let name = self.bare_name();
        let of_name = || name.bytes().all(|byte| byte.is_ascii_digit()).then(|| name.parse().ok()).flatten();
        self.newest.minor.or_else(of_name).filter(|number| *number <= LAST_NUMBER)
    }

    /// The name of its link below /dev/md: without the host that made it.
    pub fn link(&self) -> Option<String> {
        let name = self.newest.minor.map_or_else(|| self.bare_name().to_owned(), |minor| minor.to_string());
        is_plain(&name).then_some(name)
    }

    /// Whether the other one is this array, with whatever members.
    pub fn is_same(&self, other: &Self) -> bool {
        let key = |of: &Self| (of.inside, of.newest.uuid, of.newest.version);
        key(self) == key(other)
    }

    /// Every path that means it.
    pub fn paths(&self) -> Vec<String> {
        let number = self.number().map(|number| format!("/dev/md{number}"));
        let link = self.link().map(|name| format!("/dev/md/{name}"));
        let by_id = self.by_id().into_iter().map(|name| format!("/dev/disk/by-id/{name}"));
        number.into_iter().chain(link).chain(by_id).collect()
    }

    /// The names of its links below /dev/disk/by-id, as udev's rules for mdadm have them.
    pub fn by_id(&self) -> Vec<String> {
        let uuid = format!("md-uuid-{}", self.newest.uuid);
        let name =
            Some(&self.newest.name).filter(|name| is_plain(name)).map(|name| format!("md-name-{name}"));
        [uuid].into_iter().chain(name).collect()
    }

    fn bare_name(&self) -> &str {
        self.newest.name.split_once(':').map_or(&self.newest.name, |(_, name)| name)
    }
}

/// Whether it can be the name of a file.
fn is_plain(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+:".contains(&byte);
    !["", ".", ".."].contains(&name) && name.bytes().all(is_letter)
}

/// Puts together what was found.
pub fn assemble(found: &[Found]) -> Vec<Array> {
    let mut arrays: BTreeMap<(bool, Uuid, Version), Vec<&Found>> = BTreeMap::new();
    for one in found.iter().filter(|one| !is_of_partition(one, found)) {
        let key = (!one.inside, one.superblock.uuid, one.superblock.version);
        arrays.entry(key).or_default().push(one);
    }
    arrays.into_values().filter_map(array).collect()
}

/// Whether what ends a disk is the superblock of its last partition.
fn is_of_partition(one: &Found, found: &[Found]) -> bool {
    found
        .iter()
        .any(|other| other.disk.as_ref() == Some(&one.device) && other.superblock.uuid == one.superblock.uuid)
}

fn array(mut members: Vec<&Found>) -> Option<Array> {
    // Of equals the first one, by its name.
    let is_active = |one: &Found| matches!(one.superblock.role(), Role::Active(_));
    members.sort_by_key(|one| {
        (one.refused.is_some(), Reverse(one.superblock.events), !is_active(one), &one.device)
    });
    let first = *members.first()?;
    let newest = first.superblock.clone();
    let (mut taken, mut left_out, mut apart) = (Vec::new(), Vec::new(), None);
    for one in members {
        match counts(one, first) {
            Counts::Yes => taken.push(one),
            Counts::No(why) => left_out.push(format!("{} {why}", one.device)),
            Counts::Apart => {
                apart.get_or_insert_with(|| {
                    format!(
                        "{} and {} each say that the other failed: they were used separately",
                        first.device, one.device
                    )
                });
            }
        }
    }
    let mut array = Array {
        inside: first.inside,
        members: taken.iter().map(|one| one.device.clone()).collect(),
        left_out,
        state: State::Ready(None),
        newest,
    };
    let never = refused(&array.newest).or(apart).or_else(|| twice(&taken));
    array.state = never.map_or_else(|| state(&array.newest, &taken), State::Never);
    Some(array)
}

/// Whether a member counts beside the newest.
enum Counts {
    Yes,
    /// The end of a sentence about it.
    No(String),
    /// It is as new, and each says that the other failed.
    Apart,
}

fn counts(one: &Found, first: &Found) -> Counts {
    let (own, newest) = (&one.superblock, &first.superblock);
    if let Some(why) = &one.refused {
        return Counts::No(format!("is refused by the kernel: {why}"));
    }
    let is_active = |of: &Superblock, number| matches!(of.role_of(number), Role::Active(_));
    if !is_active(own, own.number) {
        return match newest.role_of(own.number) {
            Role::Gone => Counts::No(FAILED.to_owned()),
            _ if own.shape() != newest.shape() => Counts::No(OTHER.to_owned()),
            _ => Counts::Yes,
        };
    }
    // (The kernel, too, takes one that missed a single write.)
    let is_new = own.events.saturating_add(1) >= newest.events;
    let has_newest = is_active(own, newest.number) || !is_active(newest, newest.number);
    match (is_active(newest, own.number), has_newest) {
        (false, false) if is_new => Counts::Apart,
        (_, false) => Counts::No(format!("says that {} failed: they were used separately", first.device)),
        (false, true) => Counts::No(FAILED.to_owned()),
        (true, true) if !is_new => {
            Counts::No(format!("is not fresh ({} events, the newest has {})", own.events, newest.events))
        }
        (true, true) if own.shape() != newest.shape() => Counts::No(OTHER.to_owned()),
        (true, true) => Counts::Yes,
    }
}

/// Why an array is not brought up at all.
fn refused(newest: &Superblock) -> Option<String> {
    let needs = newest.needs.map(str::to_owned);
    needs.or_else(|| match newest.level {
        Level::Other(_) => Some(format!("Keyway does not assemble {}", newest.level)),
        level if !level.runs(newest.members, |_| true) => Some("its layout is impossible".to_owned()),
        _ => None,
    })
}

/// Two devices that are one member.
fn twice(taken: &[&Found]) -> Option<String> {
    let mut numbers: BTreeMap<u32, &Found> = BTreeMap::new();
    taken.iter().find_map(|one| {
        let other = numbers.insert(one.superblock.number, one)?;
        Some(format!("{} and {} are the same member", other.device, one.device))
    })
}

fn state(newest: &Superblock, taken: &[&Found]) -> State {
    let members = newest.members;
    let is_active = |one: &&&Found| !one.superblock.is_replacement;
    let role = |one: &&Found| match newest.role_of(one.superblock.number) {
        Role::Active(place) => Some(place),
        _ => None,
    };
    let there: BTreeSet<u32> = taken.iter().filter(is_active).filter_map(role).collect();
    let full: BTreeSet<u32> =
        taken.iter().filter(is_active).filter(|one| !one.superblock.is_filling).filter_map(role).collect();
    let meant = |place: &u32| newest.roles.contains(&Role::Active(*place));
    let (late, gone): (Vec<u32>, Vec<u32>) =
        (0..members).filter(|place| !there.contains(place)).partition(|place| meant(place));
    let lacks = (!late.is_empty()).then(|| missing(&late, members));
    let has_full = full.len() == members as usize;
    let is_torn = newest.level.has_parity() && !has_full && !newest.is_clean && !newest.has_log;
    match lacks {
        lacks if !newest.level.runs(members, |place| full.contains(&place)) => {
            State::Lacking(lacks.unwrap_or_else(|| match &gone[..] {
                [] => "the rebuild of its members is unfinished".to_owned(),
                _ => format!("{}, which failed", missing(&gone, members)),
            }))
        }
        lacks if is_torn => State::Lacking(format!(
            "{}, and it was not stopped before: its parity may be wrong (mdadm --assemble --force)",
            lacks.unwrap_or_else(|| missing(&gone, members))
        )),
        Some(lacks) => State::Degraded(lacks),
        None => State::Ready((!gone.is_empty()).then(|| missing(&gone, members))),
    }
}

/// Which members are missing, by their numbers.
fn missing(places: &[u32], members: u32) -> String {
    let named: Vec<_> = places.iter().take(MOST_NAMED).map(u32::to_string).collect();
    let more = if places.len() > MOST_NAMED { " …" } else { "" };
    let (member, is) = if places.len() == 1 { ("member", "is") } else { ("members", "are") };
    format!("{member} {}{more} of 0 to {} {is} missing", named.join(", "), members - 1)
}

const FAILED: &str = "failed, according to the newest superblock";
const OTHER: &str = "has another level, layout or number of members";
/// Of the devices that mdadm numbers.
const LAST_NUMBER: u32 = 511;
const MOST_NAMED: usize = 8;
