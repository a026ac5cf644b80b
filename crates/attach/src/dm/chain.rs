//! A volume as one mapping, or, where several ciphers encrypt it one after another, as several upon each other: a
//! mapping for each cipher, as cryptsetup makes them. Only the lowest knows where on the device the volume begins;
//! all count IVs from there.
//!
//! ```text
//! NAME     CRYPT-TCRYPT-NAME      the first cipher: what is opened, mounted and closed
//! NAME_1   CRYPT-TCRYPT-NAME_1    the second; hidden from udev
//! NAME_2   CRYPT-TCRYPT-NAME_2    the third, on the encrypted device; hidden from udev
//! ```
//!
//! Later releases of cryptsetup write CRYPT-SUBDEV-NAME_1, and close both. Source: cryptsetup lib/tcrypt/tcrypt.c,
//! TCRYPT_activate, TCRYPT_deactivate.

use super::crypt::Line;
use super::volume::{self, Below, KeyPlace, Places};
use super::{DeviceNumber, Flags, Info, Mapper, uuid};
use crate::{Error, Refusal, Result};
use keyway_crypto::{Cascade, CipherSpec, Layer, SectorSize};
use keyway_volume::{Layout, MappedSegment, Mapping};

/// A volume that is to be mapped.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    /// Where its plaintext lies.
    pub layout: &'a Layout,
    /// Its keys.
    pub places: Places<'a>,
    /// What lies below.
    pub below: &'a Below,
    /// Writes are refused.
    pub read_only: bool,
}

/// A mapping of a chain's, below the one that has the volume's name.
pub struct Lower {
    /// What the kernel reports about it.
    pub info: Info,
    /// Its table line; the digits of its key are zeros.
    pub line: Line,
}

/// How a mapped volume is encrypted and where it is, whether one mapping maps it or several.
#[derive(Debug, PartialEq, Eq)]
pub struct Through {
    /// "aes-xts-plain64"; of a chain, "serpent-twofish-aes-xts-plain64", as cryptsetup shows it.
    pub cipher: String,
    /// The length of all keys in bytes.
    pub key_len: usize,
    /// The device that it is on.
    pub device: DeviceNumber,
    /// Its first sector of 512 bytes there.
    pub offset: u64,
}

impl Mapper {
    /// Maps a volume as `name`, and returns what the kernel reports about it. If anything fails, nothing of it remains.
    ///
    /// # Errors
    /// Those of [`volume::table`] and [`Mapper::create`].
    pub fn map(&self, name: &str, uuid: &str, plan: Plan<'_>) -> Result<Info> {
        match layers(plan.layout, plan.places)? {
            Some(layers) => self.map_chain(name, uuid, plan, &layers),
            None => {
                let table = volume::table(plan.layout, plan.places, plan.below)?;
                let flags = Flags { read_only: plan.read_only, ..Flags::default() };
                self.create(name, uuid, &table, flags)
            }
        }
    }

    fn map_chain(&self, name: &str, uuid: &str, plan: Plan<'_>, layers: &[Layer]) -> Result<Info> {
        for index in 1..layers.len() {
            self.refuse_taken(&numbered(name, index), name)?;
        }
        let mut made = Made { mapper: self, names: Vec::new() };
        let (mut layout, mut below) = (plan.layout.clone(), plan.below.clone());
        for (index, layer) in layers.iter().enumerate().rev() {
            let name = numbered(name, index);
            layout.segments = vec![segment(&plan.layout.segments[0], layer, index + 1 == layers.len())?];
            let table = volume::table(&layout, (&KeyPlace::Line(&layer.key)).into(), &below)?;
            let flags = Flags { read_only: plan.read_only, private: index > 0, ..Flags::default() };
            let created = self.create(&name, &numbered(uuid, index), &table, flags);
            below.device = created.map_err(|error| lacking(error, &layer.spec))?.device;
            below.len = table[0].length * volume::SECTOR;
            made.names.push(name);
        }
        let top = self.status(name)?;
        made.names.clear();
        Ok(top)
    }

    fn refuse_taken(&self, lower: &str, name: &str) -> Result<()> {
        match self.status(lower) {
            Ok(_) => {
                let why = format!(
                    "a mapping {lower} already exists, and {name} needs that name for a cipher below it"
                );
                Err(Error::Busy(why))
            }
            Err(Error::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The other mappings of a chain below `top`, from the upper to the lower, whichever program made them; none
    /// below any other mapping.
    pub fn lower(&self, top: &Info) -> Vec<Lower> {
        let mut found = Vec::new();
        if uuid::kind_and_volume(&top.uuid).is_none_or(|(kind, _)| kind != KIND) {
            return found;
        }
        let mut upper = self.line(&top.name);
        while let Some(lower) = upper.and_then(|upper| self.below(top, &upper, found.len() + 1)) {
            upper = self.line(&lower.info.name);
            found.push(lower);
        }
        found
    }

    /// The volume of the mapping `top`, whose table line is `line`, seen through the mappings below it.
    pub fn through(&self, top: &Info, line: &Line) -> Through {
        let lower: Vec<Line> = self.lower(top).into_iter().map(|lower| lower.line).collect();
        Through::of(line, &lower)
    }

    /// The chain's mapping number `index`, if that is what `upper` maps.
    fn below(&self, top: &Info, upper: &Line, index: usize) -> Option<Lower> {
        let info = self.status_of(upper.device).ok()?;
        let line = self.line(&info.name)?;
        // A volume of its own that lies in another one does not begin with that one's first sector.
        let continues = upper.offset == 0 && upper.iv_offset == line.iv_offset;
        let is_next = info.name == numbered(&top.name, index) && is_of_chain(&info);
        (continues && is_next).then_some(Lower { info, line })
    }

    fn line(&self, name: &str) -> Option<Line> {
        let table = self.table(name, false).ok()?;
        table.first().filter(|_| table.len() == 1)?.as_crypt().ok()
    }

    /// Removes a mapping, and all of a chain's; `deferred` as in [`Mapper::remove`].
    ///
    /// # Errors
    /// As [`Mapper::remove`].
    pub fn unmap(&self, name: &str, deferred: bool) -> Result<()> {
        let lower = self.status(name).map(|top| self.lower(&top))?;
        self.remove(name, deferred)?;
        for Lower { info, .. } in lower {
            match self.remove(&info.name, deferred) {
                // Its removal was deferred before, and nothing is left upon it.
                Ok(()) | Err(Error::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Through {
    fn of(top: &Line, lower: &[Line]) -> Self {
        let name = |line: &Line| line.cipher.split('-').next().unwrap_or_default().to_owned();
        let mode = top.cipher.split_once('-').map_or("", |(_, mode)| mode);
        let lines = || std::iter::once(top).chain(lower);
        let cipher = match lower {
            [] => top.cipher.clone(),
            _ => format!("{}-{mode}", lines().map(name).collect::<Vec<_>>().join("-")),
        };
        let lowest = lower.last().unwrap_or(top);
        Self {
            cipher,
            key_len: lines().map(|line| line.key.len()).sum(),
            device: lowest.device,
            offset: lowest.offset,
        }
    }
}

/// Mappings that are removed again unless all of them could be made, the last first.
struct Made<'a> {
    mapper: &'a Mapper,
    names: Vec<String>,
}

impl Drop for Made<'_> {
    fn drop(&mut self) {
        for name in self.names.iter().rev() {
            // The reason for the failure is worth more than an error from the cleanup.
            let _ = self.mapper.remove(name, false);
        }
    }
}

/// The chain's ciphers with their keys, the uppermost first; `None` if the kernel has a target for every segment.
fn layers(layout: &Layout, places: Places<'_>) -> Result<Option<Vec<Layer>>> {
    let [MappedSegment { mapping: Mapping::Chain { ciphers, mode, .. }, .. }] = &layout.segments[..] else {
        return Ok(None);
    };
    let KeyPlace::Line(area) = places.first else {
        return Err(Refusal::Key.because("The keys of a chain of ciphers are missing."));
    };
    Cascade::layers(ciphers, *mode, area).map_err(|error| Refusal::Key.because(error.to_string()))
}

/// The volume's one segment as this layer maps it.
fn segment(chain: &MappedSegment, layer: &Layer, is_lowest: bool) -> Result<MappedSegment> {
    let Mapping::Chain { iv_tweak, .. } = chain.mapping else { return Ok(chain.clone()) };
    let spec = CipherSpec::parse(&layer.spec).map_err(|error| Refusal::Table.because(error.to_string()))?;
    let mapping = Mapping::Crypt { spec, sector_size: SectorSize::S512, iv_tweak, iv_large_sectors: false };
    let storage_offset = if is_lowest { chain.storage_offset } else { 0 };
    Ok(MappedSegment { mapping, storage_offset, ..chain.clone() })
}

/// The name or the UUID of the chain's mapping number `index`; 0 is the uppermost.
fn numbered(text: &str, index: usize) -> String {
    if index == 0 { text.to_owned() } else { format!("{text}_{index}") }
}

/// Whether the mapping's UUID is one that a lower mapping of a chain has.
fn is_of_chain(info: &Info) -> bool {
    [KIND, "SUBDEV"].iter().any(|kind| info.uuid == uuid::of_mapping(kind, None, &info.name))
}

/// Says which of the ciphers the kernel lacks.
fn lacking(error: Error, spec: &str) -> Error {
    match error {
        Error::Unavailable(why) => Error::Unavailable(format!(
            "the chain's {spec} cannot be mapped ({why}): --backend nbd, fuse or ublk opens it"
        )),
        error => error,
    }
}

/// The kind of volume that has chains, as cryptsetup names it.
const KIND: &str = "TCRYPT";

#[cfg(test)]
mod tests {
    use super::super::crypt::Options;
    use super::*;
    use keyway_crypto::{CascadeMode, Secret};

    fn chain(ciphers: &str, mode: CascadeMode) -> Layout {
        let mapping = Mapping::Chain { ciphers: ciphers.into(), mode, iv_tweak: 256 };
        Layout::new(vec![MappedSegment {
            plaintext_start: 0,
            length: Some(65536),
            storage_offset: 131_072,
            mapping,
            second_key: false,
        }])
    }

    /// The tables, as if each mapping's device were the number of the layer below it.
    fn tables(layout: &Layout, area: &Secret) -> Vec<String> {
        let layers = layers(layout, (&KeyPlace::Line(area)).into()).unwrap().unwrap();
        let count = layers.len();
        let options = Options { allow_discards: true, ..Options::default() };
        let text = |(index, layer): (usize, &Layer)| {
            let device = DeviceNumber { major: 254, minor: index as u32 };
            let below = Below { device, len: 262_144, options: options.clone() };
            let segment = segment(&layout.segments[0], layer, index + 1 == count).unwrap();
            let layer = Layout::new(vec![segment]);
            let key = Secret::copy_from(&[0xab]);
            let table = volume::table(&layer, (&KeyPlace::Line(&key)).into(), &below).unwrap();
            let text = String::from_utf8(table[0].parameters.expose().to_vec()).unwrap();
            format!("{} {} {text}", table[0].start, table[0].length)
        };
        layers.iter().enumerate().map(text).collect()
    }

    #[test]
    fn only_the_lowest_mapping_knows_the_offset() {
        let area = Secret::copy_from(&[7; 256]);
        let made = tables(&chain("serpent-twofish-aes", CascadeMode::Xts), &area);
        let end = "1 allow_discards";
        assert_eq!(
            made,
            [
                format!("0 128 serpent-xts-plain64 ab 256 254:0 0 {end}"),
                format!("0 128 twofish-xts-plain64 ab 256 254:1 0 {end}"),
                format!("0 128 aes-xts-plain64 ab 256 254:2 256 {end}"),
            ]
        );
        let made = tables(&chain("aes-serpent", CascadeMode::Lrw), &area);
        assert!(made[0].starts_with("0 128 aes-lrw-benbi ab 256 254:0 0"), "{made:?}");
        assert!(made[1].starts_with("0 128 serpent-lrw-benbi ab 256 254:1 256"), "{made:?}");
    }

    #[test]
    fn chains_in_cbc_have_no_layers() {
        let area = Secret::copy_from(&[7; 256]);
        let place = KeyPlace::Line(&area);
        assert!(layers(&chain("twofish-aes", CascadeMode::Cbc), (&place).into()).unwrap().is_none());
        let short = Secret::copy_from(&[7; 127]);
        let refused = layers(&chain("twofish-aes", CascadeMode::Xts), (&KeyPlace::Line(&short)).into());
        assert!(refused.is_err());
    }

    #[test]
    fn a_chain_is_seen_as_one_volume() {
        let line = |text: &str| Line::parse(text.as_bytes()).unwrap();
        let top = line("serpent-xts-plain64 00ff 256 254:1 0");
        let lower = [line("twofish-xts-plain64 00ff 256 254:0 0"), line("aes-xts-plain64 00ff 256 8:1 256")];
        let seen = |cipher: &str, key_len, major, offset| Through {
            cipher: cipher.to_owned(),
            key_len,
            device: DeviceNumber { major, minor: 1 },
            offset,
        };
        assert_eq!(Through::of(&top, &lower), seen("serpent-twofish-aes-xts-plain64", 6, 8, 256));
        assert_eq!(Through::of(&top, &[]), seen("serpent-xts-plain64", 2, 254, 0));
        let capi = line("capi:xts(aes)-plain64 00ff 0 8:1 9");
        assert_eq!(Through::of(&capi, &[]), seen("capi:xts(aes)-plain64", 2, 8, 9));
    }

    #[test]
    fn names_and_uuids_count_downwards() {
        let named = |index| (numbered("home", index), numbered("CRYPT-TCRYPT-home", index));
        assert_eq!(named(0), ("home".into(), "CRYPT-TCRYPT-home".into()));
        assert_eq!(named(2), ("home_2".into(), "CRYPT-TCRYPT-home_2".into()));
    }
}
