//! LUKS2 as GRUB handles it: disk/luks2.c. Both copies must have their magic number, but checksums
//! are not verified. Keyslots are tried in the order of the JSON text; if anything fails in a
//! keyslot, GRUB continues with the next one, and finally prints "Invalid passphrase".

use super::cipher::{self, Reading};
use super::disk::{Disk, number};
use super::luks1::{too_large, too_long};
use super::rules::{self, Finding};
use super::slot2::{Kdf, Parsed, parse};
use super::{Judgement, Loader, Slot, Verdict, Version, modules, names};
use crate::unlock_time::Work;
use keyway_format::json::{self, Object, Value};

const BINARY: usize = 4096;

/// Whether there is a secondary header at one of the allowed offsets.
pub(super) fn has_secondary(disk: &Disk<'_>) -> bool {
    (14..=22).any(|power| disk.at(1 << power, 6).is_some_and(|magic| magic == b"SKUL\xba\xbe"))
}

pub(super) fn judge(loader: &Loader, disk: &Disk<'_>) -> Judgement {
    let document = match document(disk) {
        Ok(text) => text,
        Err(finding) => return Judgement { format: 2, ..Judgement::not_found(finding) },
    };
    let Some(Value::Object(root)) = json::parse(&document).ok() else {
        let why =
            "the header copy that it takes is damaged: it checks neither the checksum nor the other copy";
        // From 2.12 on the passphrase is asked for before the metadata is read.
        let asks = loader.version >= Version::V2_12;
        return Judgement { format: 2, asks, ..Judgement::not_found(rules::BROKEN_JSON.says(why)) };
    };
    let empty = Object::new();
    let keyslots = root.get("keyslots").and_then(Value::as_object).unwrap_or(&empty);
    let mut walk = Walk { loader, disk, text: &document, stopped: None, parsed: Vec::new() };
    let slots =
        keyslots.iter().filter_map(|(name, slot)| walk.slot(&root, name.parse().ok()?, slot)).collect();
    let notes = notes(&root, &walk.parsed, loader);
    Judgement { format: 2, refused: None, asks: true, slots, notes, modules: needed(&walk.parsed, loader) }
}

/// The JSON text of the copy that GRUB uses.
fn document(disk: &Disk<'_>) -> Result<Vec<u8>, Finding> {
    let short = || rules::NOT_LUKS.says("the device is shorter than its header");
    let primary = disk.at(0, BINARY).ok_or_else(short)?;
    let secondary = disk.at(number(&primary, 8, 8), BINARY).ok_or_else(short)?;
    if !secondary.starts_with(b"SKUL\xba\xbe\x00\x02") {
        return Err(rules::BOTH_COPIES
            .says("the secondary header's start is damaged, and GRUB then ignores the volume"));
    }
    let winner = if number(&primary, 16, 8) < number(&secondary, 16, 8) { secondary } else { primary };
    let (size, offset) = (number(&winner, 8, 8), number(&winner, 256, 8));
    let len =
        usize::try_from(size).ok().filter(|size| (BINARY..=4 << 20).contains(size)).ok_or_else(short)?
            - BINARY;
    let mut area = disk.at(offset.saturating_add(BINARY as u64), len).ok_or_else(short)?;
    let end = area.iter().position(|byte| *byte == 0).unwrap_or(area.len());
    area.truncate(end);
    Ok(area)
}

struct Walk<'a> {
    loader: &'a Loader,
    disk: &'a Disk<'a>,
    text: &'a [u8],
    /// Why nothing after this is tried.
    stopped: Option<Finding>,
    parsed: Vec<Parsed>,
}

impl Walk<'_> {
    fn slot(&mut self, root: &Object, number: u64, slot: &Value) -> Option<Slot> {
        let parsed = parse(root, number, slot);
        if let Some(stopped) = &self.stopped {
            return Some(Slot { number, verdict: Verdict::Cannot(stopped.clone()), works: Vec::new() });
        }
        let (verdict, works) = match &parsed {
            Ok(parsed) => self.tried(parsed),
            Err(why) => (self.unreadable(number, why), Vec::new()),
        };
        self.parsed.extend(parsed);
        if let Verdict::Cannot(finding) = &verdict
            && (finding.rule == &rules::MD_CONTEXT || finding.rule == &rules::UNREADABLE_SLOT)
        {
            let because = format!("it stops at keyslot {number}: {}", finding.because);
            self.stopped = Some(Finding { rule: finding.rule, because });
        }
        Some(Slot { number, verdict, works })
    }

    fn unreadable(&self, number: u64, why: &str) -> Verdict {
        match self.loader.version < Version::V2_12 {
            true => Verdict::Cannot(
                rules::UNREADABLE_SLOT
                    .says(format!("it gives up at a keyslot that it cannot read: number {number} {why}")),
            ),
            false => Verdict::SaysInvalidPassphrase(
                rules::SKIPPED_SLOT.says(format!("it skips a keyslot that {why}")),
            ),
        }
    }

    /// The result of trying the keyslot, and the computations needed for it.
    fn tried(&self, slot: &Parsed) -> (Verdict, Vec<Work>) {
        let mut works = Vec::new();
        let verdict = match self.failing(slot, &mut works) {
            Some(verdict) => verdict,
            None => self.data(slot).map_or(Verdict::Opens, Verdict::Cannot),
        };
        (verdict, works)
    }

    fn failing(&self, slot: &Parsed, works: &mut Vec<Work>) -> Option<Verdict> {
        let invalid = |finding: Finding| Some(Verdict::SaysInvalidPassphrase(finding));
        if slot.priority == 0 {
            return invalid(rules::PRIORITY.says("it skips keyslots of priority \"ignore\""));
        }
        if slot.segment_offset >= self.disk.len {
            return invalid(rules::SKIPPED_SLOT.says("the data begins beyond the end of the device"));
        }
        if let Some(finding) = self.escaped(&slot.salt) {
            return invalid(finding);
        }
        if let Some(verdict) = self.kdf(slot) {
            return Some(verdict);
        }
        works.push(slot.kdf.work(slot.area_key));
        match cipher::reading(&slot.area_cipher, slot.area_key, 512, self.loader) {
            Reading::Refused(why) | Reading::Key(why) => {
                return invalid(rules::SLOT_CIPHER.says(format!("it cannot decrypt the keyslot: {why}")));
            }
            Reading::Wrong(why) => {
                works.push(slot.digest_work());
                return invalid(rules::misread_slot(&why));
            }
            Reading::Right => {}
        }
        for hash in [&slot.af_hash, &slot.digest_hash] {
            if names::md(hash, self.loader).is_none() {
                return invalid(rules::SLOT_HASH.says(names::no_md(hash, self.loader)));
            }
        }
        if let Some(finding) = too_large(&slot.af_hash, self.loader) {
            return Some(Verdict::Cannot(finding));
        }
        if let Some(finding) = self.escaped(&slot.digest).or_else(|| self.escaped(&slot.digest_salt)) {
            return invalid(finding);
        }
        works.push(slot.digest_work());
        None
    }

    fn kdf(&self, slot: &Parsed) -> Option<Verdict> {
        let version = self.loader.version;
        if let Some(finding) = too_long(slot.key_len.max(slot.area_key)) {
            return Some(Verdict::SaysInvalidPassphrase(finding));
        }
        match &slot.kdf {
            Kdf::Pbkdf2 { hash, .. } if names::md(hash, self.loader).is_none() => {
                Some(Verdict::SaysInvalidPassphrase(rules::SLOT_HASH.says(names::no_md(hash, self.loader))))
            }
            Kdf::Argon2 { variant, .. } if version < Version::V2_14 => Some(Verdict::SaysInvalidPassphrase(
                rules::NO_ARGON2.says(format!("{variant} came with GRUB 2.14")),
            )),
            Kdf::Argon2 { variant, memory_kib, .. } if *memory_kib >= 4 << 20 => Some(Verdict::Cannot(
                rules::ARGON2_MEMORY.says(format!("{variant}'s {memory_kib} KiB overflow its 32 bits")),
            )),
            Kdf::Argon2 { variant, memory_kib, .. } if *memory_kib > self.loader.largest_piece_kib => {
                Some(Verdict::SaysInvalidPassphrase(rules::ARGON2_MEMORY.says(format!(
                    "{variant} takes {} contiguous MiB below 4 GiB, which firmware does not have",
                    memory_kib >> 10
                ))))
            }
            _ => None,
        }
    }

    /// 2.06 does not decode the escapes that older JSON writers put before a slash.
    fn escaped(&self, base64: &str) -> Option<Finding> {
        let escapes = self.loader.version < Version::V2_12
            && base64.contains('/')
            && !self.text.windows(base64.len()).any(|part| part == base64.as_bytes());
        escapes
            .then(|| rules::ESCAPED_BASE64.says("it does not read slashes that are escaped in the JSON text"))
    }

    /// What is wrong with the data behind a keyslot that opens.
    fn data(&self, slot: &Parsed) -> Option<Finding> {
        match cipher::reading(&slot.segment_cipher, slot.key_len, slot.sector_size, self.loader) {
            Reading::Refused(why) => return Some(rules::DATA_CIPHER.says(why)),
            Reading::Key(why) if slot.integrity.is_none() => return Some(rules::KEY_SIZE.says(why)),
            Reading::Wrong(why) => {
                return Some(rules::MISREAD_DATA.says(format!("{why}: the data decrypts wrongly")));
            }
            Reading::Key(_) | Reading::Right => {}
        }
        if let Some(integrity) = &slot.integrity {
            return Some(rules::INTEGRITY.says(format!("it does not support integrity tags ({integrity})")));
        }
        (slot.iv_tweak != 0)
            .then(|| rules::IV_TWEAK.says("it ignores that IVs do not begin at 0: the data decrypts wrongly"))
    }
}

/// What GRUB overlooks.
fn notes(root: &Object, slots: &[Parsed], loader: &Loader) -> Vec<Finding> {
    let mut notes = Vec::new();
    // Whoever starts a signed image needs no installer that knows LUKS2.
    if loader.version < Version::V2_12 && loader.distribution.is_none() {
        notes.push(rules::INSTALL_LUKS2.says(
            "grub-install 2.06 does not support LUKS2 (some distributions added it): grub-mkimage can embed luks2 and the modules named below",
        ));
    }
    let requirements = root
        .get("config")
        .and_then(Value::as_object)
        .and_then(|config| config.get("requirements")?.as_object()?.get("mandatory")?.as_array());
    for requirement in requirements.into_iter().flatten().filter_map(Value::as_str) {
        notes.push(
            rules::REQUIREMENTS.says(format!("the volume requires \"{requirement}\", which GRUB ignores")),
        );
    }
    let memory = slots.iter().filter_map(|slot| match slot.kdf {
        Kdf::Argon2 { memory_kib, .. } => Some(memory_kib),
        Kdf::Pbkdf2 { .. } => None,
    });
    if let Some(most) = memory.max().filter(|most| *most >= 256 << 10 && loader.version >= Version::V2_14) {
        notes.push(rules::ARGON2_MEMORY.says(format!(
            "Argon2 takes {} contiguous MiB below 4 GiB: if firmware does not have them, GRUB says \"Invalid \
            passphrase\"",
            most >> 10
        )));
    }
    notes
}

fn needed(slots: &[Parsed], loader: &Loader) -> Vec<&'static str> {
    let mut hashes = Vec::new();
    let mut specs = Vec::new();
    for slot in slots {
        if let Kdf::Pbkdf2 { hash, .. } = &slot.kdf {
            hashes.push(hash.as_str());
        }
        hashes.extend([slot.af_hash.as_str(), &slot.digest_hash]);
        specs.extend([slot.area_cipher.as_str(), &slot.segment_cipher]);
    }
    let argon2 = slots.iter().any(|slot| matches!(slot.kdf, Kdf::Argon2 { .. }));
    modules::needed(2, &hashes, &specs, argon2, loader)
}
