//! What a re-encryption writes into a header's metadata: its beginning, each step, its end.

use super::super::area::Area;
use super::{CONVERSION, Direction, Mode, Reencryption, Resilience, State, is_requirement};
use crate::json::Object;
use crate::luks2::digest::{Digest, DigestId};
use crate::luks2::edit::{insert, list_push, list_remove_everywhere, remove, section, strings, unwritable};
use crate::luks2::metadata::Metadata;
use crate::luks2::segment::{Segment, SegmentSize};
use crate::{Bytes, Error};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

impl Metadata {
    /// Begins a re-encryption: its keyslot, with the digest that vouches for it,
    /// the requirement, and the segments of `state`. `new` is the digest of the new volume key.
    ///
    /// # Errors
    /// [`Error::Invalid`], [`Error::Full`]: the metadata is unchanged.
    pub fn begin_reencryption(
        &mut self,
        reencryption: &Reencryption,
        state: &State,
        (digest_id, digest): (DigestId, &Digest),
        new: Option<(DigestId, &Digest)>,
    ) -> Result<(), Error> {
        let keyslot = reencryption.keyslot;
        let object = reencryption.keyslot_json();
        let digest = Digest { keyslots: [keyslot].into(), segments: Vec::new(), kind: digest.kind.clone() };
        let digest = digest.to_json().ok_or_else(|| unwritable("digests", digest_id))?;
        self.edit(|document| {
            insert(document, "keyslots", keyslot, object)?;
            insert(document, "digests", digest_id, digest)?;
            // A key without a keyslot (`--force-no-keyslots`) has its digest from here on.
            if let Some((id, digest)) = new
                && section(document, "digests")?.get(&id.to_string()).is_none()
            {
                let object = digest.to_json().ok_or_else(|| unwritable("digests", id))?;
                insert(document, "digests", id, object)?;
            }
            set_requirements(document, &reencryption.requirements())?;
            set_segments(document, reencryption, state)
        })
    }

    /// Writes down another protection of the hot zone, with the digest that vouches for it.
    ///
    /// # Errors
    /// As [`Metadata::begin_reencryption`].
    pub fn change_reencryption(
        &mut self,
        reencryption: &Reencryption,
        digest_id: DigestId,
        digest: &Digest,
    ) -> Result<(), Error> {
        let keyslot = reencryption.keyslot;
        let digest = Digest { keyslots: [keyslot].into(), segments: Vec::new(), kind: digest.kind.clone() };
        let digest = digest.to_json().ok_or_else(|| unwritable("digests", digest_id))?;
        let object = reencryption.keyslot_json();
        self.edit(|document| {
            section(document, "keyslots")?.set(&keyslot.to_string(), object);
            list_remove_everywhere(document, "digests", "keyslots", keyslot)?;
            section(document, "digests")?.set(&digest_id.to_string(), digest);
            set_requirements(document, &reencryption.requirements())
        })
    }

    /// Replaces the segments by those of `state`.
    ///
    /// # Errors
    /// As [`Metadata::begin_reencryption`].
    pub fn set_reencryption_state(
        &mut self,
        reencryption: &Reencryption,
        state: &State,
    ) -> Result<(), Error> {
        self.edit(|document| set_segments(document, reencryption, state))
    }

    /// Ends a re-encryption that is complete: the volume as it will be, alone. The keyslots of the
    /// old key are gone with their digest; returns the areas that may hold key material of theirs.
    ///
    /// # Errors
    /// As [`Metadata::begin_reencryption`].
    pub fn end_reencryption(&mut self, reencryption: &Reencryption) -> Result<Vec<Area>, Error> {
        let (old, new) = (reencryption.old.digest, reencryption.new.digest);
        let of_old: Vec<u32> = match old {
            Some(digest) if new != old => {
                self.digests.get(&digest).map(|digest| digest.keyslots.clone()).unwrap_or_default()
            }
            _ => Vec::new(),
        };
        let areas = of_old.iter().filter_map(|number| self.keyslots.get(number)).map(|slot| slot.area);
        let areas = areas.collect();
        self.edit(|document| {
            for keyslot in of_old.iter().chain([&reencryption.keyslot]) {
                remove(document, "keyslots", *keyslot)?;
                list_remove_everywhere(document, "digests", "keyslots", *keyslot)?;
                list_remove_everywhere(document, "tokens", "keyslots", *keyslot)?;
            }
            clear_segments(document)?;
            let last = Segment { size: SegmentSize::Dynamic, ..reencryption.new.segment.clone() };
            insert_segment(document, 0, &last, new)?;
            set_requirements(document, &[])
        })?;
        Ok(areas)
    }
}

impl Reencryption {
    /// The requirements that declare it.
    fn requirements(&self) -> Vec<String> {
        let declared = match self.version {
            1 => "online-reencrypt".to_string(),
            version => format!("online-reencrypt-v{version}"),
        };
        let conversion = (self.old.first_sector() > 0).then(|| CONVERSION.to_string());
        core::iter::once(declared).chain(conversion).collect()
    }

    /// The keyslot's object, with its members in cryptsetup's order.
    fn keyslot_json(&self) -> Object {
        let mut area = Object::new()
            .with("offset", self.area.offset.0.to_string())
            .with("size", self.area.size.0.to_string())
            .with("type", self.resilience.name());
        if let Some(checksum) = self.resilience.checksum() {
            area.set("hash", checksum.hash.as_str());
            area.set("sector_size", checksum.block);
        }
        if let Resilience::DataShift { shift: Bytes(shift), .. } = self.resilience {
            area.set("shift_size", shift.to_string());
        }
        Object::new()
            .with("area", area)
            .with("type", "reencrypt")
            .with("key_size", 1)
            .with("mode", Mode::name(self.mode))
            .with("direction", Direction::name(self.direction))
            .with("priority", 0)
    }
}

fn set_segments(document: &mut Object, reencryption: &Reencryption, state: &State) -> Result<(), Error> {
    clear_segments(document)?;
    let mut number = 0;
    for piece in reencryption.pieces(state) {
        insert_segment(document, number, &piece.segment, reencryption.digests(piece.keys))?;
        number += 1;
    }
    let backups = [
        (Some(&reencryption.old), "backup-previous"),
        (Some(&reencryption.new), "backup-final"),
        (reencryption.moved.as_ref(), "backup-moved-segment"),
    ];
    for (backup, flag) in backups {
        let Some(backup) = backup else { continue };
        let segment = Segment { flags: [String::from(flag)].into(), ..backup.segment.clone() };
        insert_segment(document, number, &segment, backup.digest)?;
        number += 1;
    }
    Ok(())
}

fn insert_segment(
    document: &mut Object,
    number: u32,
    segment: &Segment,
    digests: impl IntoIterator<Item = DigestId>,
) -> Result<(), Error> {
    let object = segment.to_json().ok_or_else(|| unwritable("segments", number))?;
    insert(document, "segments", number, object)?;
    digests.into_iter().try_for_each(|digest| list_push(document, "digests", digest, "segments", number))
}

fn clear_segments(document: &mut Object) -> Result<(), Error> {
    let numbers: Vec<u32> =
        section(document, "segments")?.iter().filter_map(|(id, _)| id.parse().ok()).collect();
    for number in numbers {
        remove(document, "segments", number)?;
        list_remove_everywhere(document, "digests", "segments", number)?;
    }
    Ok(())
}

/// Replaces the requirements of a re-encryption; others stay, and so does what else stands beside them.
fn set_requirements(document: &mut Object, own: &[String]) -> Result<(), Error> {
    let config = section(document, "config")?;
    let mandatory = config.get("requirements").and_then(|r| r.as_object()).and_then(|r| r.get("mandatory"));
    let names = mandatory.and_then(|names| names.as_array()).unwrap_or_default();
    let others = names.iter().filter_map(|name| name.as_str()).filter(|name| !is_requirement(name));
    let names: Vec<String> = others.map(String::from).chain(own.iter().cloned()).collect();
    if config.get("requirements").is_none() {
        config.set("requirements", Object::new());
    }
    let requirements = section(config, "requirements")?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    match names.is_empty() {
        true => drop(requirements.remove("mandatory")),
        false => requirements.set("mandatory", strings(&names)),
    }
    if requirements.is_empty() {
        config.remove("requirements");
    }
    Ok(())
}
