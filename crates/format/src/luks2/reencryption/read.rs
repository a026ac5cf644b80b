//! Reads a re-encryption out of a header's metadata, and refuses by name what no re-encryption
//! begins with.

use super::{Backup, CONVERSION, Checksum, Direction, Mode, MovedResilience, Reencryption, Resilience};
use crate::luks2::field::Node;
use crate::luks2::metadata::Metadata;
use crate::luks2::segment::{Segment, SegmentKind, SegmentSize};
use crate::{Bytes, Error, Sectors};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};

impl Metadata {
    /// The re-encryption that is under way; `None` when there is none.
    ///
    /// # Errors
    /// [`Error::Invalid`] when what the header says of it contradicts itself.
    pub fn reencryption(&self) -> Result<Option<Reencryption>, Error> {
        let is_conversion = self.config.requirements.iter().any(|name| name == CONVERSION);
        let Some(version) = self.config.requirements.iter().find_map(|name| version(name)) else {
            return Ok(None);
        };
        let mut keyslots = self.keyslots.iter().filter(|(_, slot)| super::rules::is_reencrypt(slot));
        let (&number, keyslot) = keyslots.next().ok_or_else(super::rules::no_keyslot)?;
        if let Some((other, _)) = keyslots.next() {
            return Err(Error::invalid(format!("keyslots.{other}"), "is a second keyslot of type reencrypt"));
        }
        let root = Node::root(&self.document);
        let node = root.object("keyslots")?.object(&number.to_string())?;
        if keyslot.key_size != 1 {
            return Err(node.refuse("key_size", format!("{} is not 1", keyslot.key_size)));
        }
        let found = Reencryption {
            keyslot: number,
            version,
            mode: mode(&node)?,
            direction: direction(&node)?,
            resilience: resilience(&node.object("area")?)?,
            area: keyslot.area,
            old: self
                .backup("backup-previous", is_conversion)?
                .ok_or_else(|| super::rules::lacks("backup-previous"))?,
            new: self.backup("backup-final", false)?.ok_or_else(|| super::rules::lacks("backup-final"))?,
            moved: self.backup("backup-moved-segment", false)?,
        };
        found.check(is_conversion)?;
        Ok(Some(found))
    }

    /// Where the data will start once a re-encryption is done, or starts already.
    pub fn data_offset_of_new(&self) -> u64 {
        let new = self.segments.values().find(|s| s.flags.iter().any(|flag| flag == "backup-final"));
        new.map_or_else(|| self.data_offset().0, |segment| segment.offset.0)
    }

    /// The only segment with this flag. Its IVs count from 0, unless they may be `shifted`.
    fn backup(&self, flag: &str, shifted: bool) -> Result<Option<Backup>, Error> {
        let mut flagged = self.segments.iter().filter(|(_, s)| s.flags.iter().any(|f| f == flag));
        let Some((number, segment)) = flagged.next() else { return Ok(None) };
        let place = |what: &str| format!("segments.{number}{what}");
        if let Some((other, _)) = flagged.next() {
            return Err(Error::invalid(format!("segments.{other}"), format!("is a second {flag} segment")));
        }
        let digests = self.digests.iter().filter(|(_, digest)| digest.segments.contains(number));
        let mut digests = digests.map(|(id, _)| *id);
        let digest = digests.next();
        match &segment.kind {
            SegmentKind::Crypt { integrity: Some(_), .. } => {
                return Err(Error::invalid(place(".integrity"), "is not for volumes in reencryption"));
            }
            SegmentKind::Crypt { iv_tweak, .. } if *iv_tweak != 0 && !shifted => {
                return Err(Error::invalid(place(".iv_tweak"), format!("{iv_tweak} is not 0")));
            }
            SegmentKind::Crypt { .. } if digest.is_none() || digests.next().is_some() => {
                return Err(Error::invalid(place(""), "does not have exactly one digest"));
            }
            SegmentKind::Linear if digest.is_some() => {
                return Err(Error::invalid(place(""), "is linear, but has a digest"));
            }
            SegmentKind::Other(kind) => {
                return Err(Error::invalid(place(".type"), format!("\"{kind}\" is unknown")));
            }
            _ => {}
        }
        let segment = Segment { flags: [].into(), ..segment.clone() };
        Ok(Some(Backup { segment, digest }))
    }
}

impl Reencryption {
    /// The rules between its parts.
    fn check(&self, is_conversion: bool) -> Result<(), Error> {
        let crypt = |backup: &Backup| matches!(backup.segment.kind, SegmentKind::Crypt { .. });
        let wanted = match self.mode {
            Mode::Reencrypt => (true, true),
            Mode::Encrypt => (false, true),
            Mode::Decrypt => (true, false),
        };
        let refuse = |why: String| Err(Error::invalid(format!("keyslots.{}", self.keyslot), why));
        if (crypt(&self.old), crypt(&self.new)) != wanted {
            let why = "does not fit the backup segments: they disagree on what is encrypted";
            return refuse(format!("its mode {} {why}", self.mode.name()));
        }
        if self.new.segment.size != SegmentSize::Dynamic {
            return refuse("its backup-final segment is not dynamic".to_owned());
        }
        if is_conversion {
            return self.check_conversion().or_else(refuse);
        }
        match (&self.resilience, &self.moved) {
            (Resilience::DataShift { shift, moved }, Some(first)) => {
                self.check_moved(shift.0, moved, first).or_else(refuse)
            }
            (Resilience::DataShift { shift, moved }, None) => {
                self.check_shift(shift.0, moved).or_else(refuse)
            }
            (_, Some(_)) => refuse("has a backup-moved-segment, but moves no data".to_owned()),
            // In place: what is written lies where what was read did.
            (_, None) if self.old.segment.offset != self.new.segment.offset => {
                refuse("moves no data, but its backup segments have different offsets".to_owned())
            }
            (_, None) => Ok(()),
        }
    }

    /// What was no LUKS volume moves down to the device's start, over what was read before: the journal has a copy.
    fn check_conversion(&self) -> Result<(), String> {
        let way = (self.mode, self.direction, &self.resilience, &self.moved);
        let moves_down =
            self.old.first_sector() > 0 && self.old.segment.offset.0 > 0 && self.new.segment.offset.0 == 0;
        match way {
            (Mode::Reencrypt, Direction::Forward, Resilience::Journal, None)
                if moves_down && self.version > 1 =>
            {
                Ok(())
            }
            _ => {
                Err(format!("does not do what \"{CONVERSION}\" says: data behind headers moves to the start"))
            }
        }
    }

    /// Data that moves as a whole: no part of it has to make room first.
    fn check_shift(&self, shift: u64, moved: &MovedResilience) -> Result<(), String> {
        let (old, new) = (self.old.segment.offset.0, self.new.segment.offset.0);
        let fits = match (self.mode, self.direction) {
            (Mode::Reencrypt | Mode::Encrypt, Direction::Backward) => old.checked_add(shift) == Some(new),
            (Mode::Decrypt, Direction::Forward) => new.checked_add(shift) == Some(old),
            _ => false,
        };
        match fits && shift > 0 && *moved == MovedResilience::DataShift {
            true => Ok(()),
            false => Err("moves data without a backup-moved-segment, and does not say how".to_owned()),
        }
    }

    fn check_moved(&self, shift: u64, moved: &MovedResilience, first: &Backup) -> Result<(), String> {
        let (old, new) = (self.old.segment.offset.0, self.new.segment.offset.0);
        let SegmentSize::Fixed(size) = first.segment.size else {
            return Err("its backup-moved-segment has no fixed size".to_owned());
        };
        let same_mapping = match (&first.segment.kind, &self.old.segment.kind) {
            (SegmentKind::Linear, SegmentKind::Linear) => true,
            (one, other) => one == other,
        };
        if size.0 > shift || !same_mapping || first.digest != self.old.digest {
            return Err("its backup-moved-segment is not the first part of the old data".to_owned());
        }
        let fits = match (self.mode, self.direction) {
            // The old data is read `shift` bytes below where it is written.
            (Mode::Encrypt, Direction::Backward) => {
                old.checked_add(shift) == Some(new)
                    && *moved == MovedResilience::DataShift
                    && matches!(self.old.segment.size, SegmentSize::Fixed(total)
                        if first.segment.offset.0 >= new.saturating_add(total.0) && total >= size)
            }
            // And here `shift` bytes above, but for the first part, which is decrypted in place.
            (Mode::Decrypt, Direction::Forward) => {
                new.checked_add(shift) == Some(old)
                    && *moved != MovedResilience::DataShift
                    && first.segment.offset.0 == new
            }
            _ => false,
        };
        if fits { Ok(()) } else { Err("does not say how data can move that way".to_owned()) }
    }
}

fn version(requirement: &str) -> Option<u8> {
    match requirement {
        "online-reencrypt" => Some(1),
        "online-reencrypt-v2" => Some(2),
        "online-reencrypt-v3" => Some(3),
        _ => None,
    }
}

fn mode(node: &Node<'_>) -> Result<Mode, Error> {
    match node.string("mode")? {
        "reencrypt" => Ok(Mode::Reencrypt),
        "encrypt" => Ok(Mode::Encrypt),
        "decrypt" => Ok(Mode::Decrypt),
        other => Err(node.refuse("mode", format!("\"{other}\" is unknown"))),
    }
}

fn direction(node: &Node<'_>) -> Result<Direction, Error> {
    match node.string("direction")? {
        "forward" => Ok(Direction::Forward),
        "backward" => Ok(Direction::Backward),
        other => Err(node.refuse("direction", format!("\"{other}\" is unknown"))),
    }
}

fn resilience(area: &Node<'_>) -> Result<Resilience, Error> {
    let shifted = |moved| Ok(Resilience::DataShift { shift: shift(area)?, moved });
    match area.string("type")? {
        "none" => Ok(Resilience::None),
        "journal" => Ok(Resilience::Journal),
        "checksum" => Ok(Resilience::Checksum(checksum(area)?)),
        "datashift" => shifted(MovedResilience::DataShift),
        "datashift-journal" => shifted(MovedResilience::Journal),
        "datashift-checksum" => shifted(MovedResilience::Checksum(checksum(area)?)),
        other => Err(area.refuse("type", format!("\"{other}\" is unknown"))),
    }
}

fn checksum(area: &Node<'_>) -> Result<Checksum, Error> {
    let block = area.uint32("sector_size")?;
    // More than this no device writes whole.
    if !block.is_power_of_two() || !(512..=1 << 16).contains(&block) {
        return Err(area.refuse("sector_size", format!("{block} is not a power of two from 512 to 65536")));
    }
    Ok(Checksum { hash: area.name("hash")?, block })
}

fn shift(area: &Node<'_>) -> Result<Bytes, Error> {
    let shift = area.uint64("shift_size")?;
    if shift == 0 || !shift.is_multiple_of(Sectors::SIZE) {
        return Err(area.refuse("shift_size", format!("{shift} is not a positive multiple of 512")));
    }
    Ok(Bytes(shift))
}
