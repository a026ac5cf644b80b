//! GRUB's cryptodisk: whether it finds a volume, which keyslots it opens, what it computes on the
//! way, and which messages it prints.
//!
//! ```text
//! version   the releases that differ
//! rules     each thing it does or does not do, with the place in its sources
//! disk      the bytes that it reads
//! luks1, luks2   the header, walked as GRUB walks it
//! cipher, names  specifications, hashes and ciphers as it knows them
//! typing    the passphrase on its way through keyboard and prompt
//! modules   what must stand in core.img
//! installed what an installed GRUB says of itself
//! distribution   signed images, and how they differ from the release that they are made of
//! ```

mod cipher;
mod disk;
mod distribution;
pub mod installed;
mod luks1;
mod luks2;
mod modules;
mod names;
mod rules;
mod slot2;
pub mod typing;
mod version;

pub use disk::Disk;
pub use distribution::Distribution;
pub use rules::{Finding, RULES, Rule, Witness};
pub use version::Version;

use crate::unlock_time::Work;
use cipher::Reading;
use std::io;

/// A volume that is about to be made.
#[derive(Debug, Clone, Copy)]
pub struct Planned<'a> {
    /// LUKS1 (1) or LUKS2 (2).
    pub format: u8,
    /// The hash of its keyslots.
    pub hash: &'a str,
    /// Whether keys are derived by Argon2; otherwise it is PBKDF2, with that hash.
    pub argon2: bool,
    /// The cipher of its data and the bytes of its key, if they are known.
    pub data: Option<(&'a str, usize)>,
}

/// The sectors that most volumes have.
const SECTOR: u32 = 512;

/// Properties of a GRUB, including its version.
#[derive(Debug, Clone, Copy)]
pub struct Loader {
    /// The release.
    pub version: Version,
    /// The largest contiguous block of memory that its firmware may provide, in KiB: Argon2 needs
    /// one.
    pub largest_piece_kib: u64,
    /// Whose signed image it is, if it is not the release as it was published.
    pub distribution: Option<&'static Distribution>,
}

impl Loader {
    /// A release under firmware without a contiguous block of two GiB below four.
    pub fn new(version: Version) -> Self {
        Self { version, largest_piece_kib: (2 << 20) - 1, distribution: None }
    }

    /// A distribution's signed image, under such firmware.
    pub fn of(distribution: &'static Distribution) -> Self {
        Self { distribution: Some(distribution), ..Self::new(distribution.version) }
    }

    /// The release whose hashes and ciphers it has.
    fn libgcrypt(&self) -> Version {
        self.distribution.map_or(self.version, |it| it.libgcrypt)
    }

    /// Whether it can have this module: a signed image has what is built in, any other what it is
    /// installed with.
    fn has(&self, module: &str) -> bool {
        self.distribution.is_none_or(|it| it.has(module))
    }

    /// What it cannot have for want of this module.
    fn without(&self, module: &str) -> Option<Finding> {
        let distribution = self.distribution.filter(|it| !it.has(module))?;
        Some(rules::SIGNED_IMAGE.says(format!(
            "the signed image of {} has no module {module}, and loads none under Secure Boot, nor from the volume itself",
            distribution.title
        )))
    }

    /// Why it will not open a volume made like this, as the rest of a sentence; `None` if it will.
    pub fn refuses(&self, planned: &Planned<'_>) -> Option<String> {
        let reader = distribution::reader(planned.format);
        if !self.has(reader) {
            return Some(format!("its signed image has no {reader}"));
        }
        if planned.argon2 && !(self.version.speed().has_argon2() && self.has("argon2")) {
            return Some("it has no Argon2".into());
        }
        match names::md(planned.hash, self) {
            None => return Some(names::no_md(planned.hash, self)),
            Some(md) if md.too_large => return Some(format!("the hash \"{}\" stops it", planned.hash)),
            Some(_) => {}
        }
        let (cipher, key_len) = planned.data?;
        match cipher::reading(cipher, key_len, SECTOR, self) {
            Reading::Right => None,
            Reading::Wrong(why) | Reading::Refused(why) | Reading::Key(why) => Some(why),
        }
    }

    /// Evaluates a volume, assuming that the passphrase for each keyslot is right.
    pub fn judge(&self, disk: &Disk<'_>) -> Judgement {
        let mut found = self.judge_format(disk);
        // Nobody adds modules to a signed image.
        if self.distribution.is_some() {
            found.modules.clear();
        }
        match self.without(distribution::reader(found.format)).filter(|_| found.format != 0) {
            Some(finding) => found.unread(finding),
            None => found,
        }
    }

    fn judge_format(&self, disk: &Disk<'_>) -> Judgement {
        match disk.start().as_deref() {
            Some(start) if start.starts_with(b"LUKS\xba\xbe\x00\x01") => luks1::judge(self, disk),
            Some(start) if start.starts_with(b"LUKS\xba\xbe\x00\x02") => luks2::judge(self, disk),
            Some(start) if luks2::has_secondary(disk) && !start.starts_with(b"LUKS\xba\xbe") => {
                Judgement::not_found(rules::BOTH_COPIES.says(
                    "the primary header's start is damaged, and GRUB does not look for the secondary \
                            one",
                ))
            }
            _ => Judgement::not_found(rules::NOT_LUKS.says("there is no LUKS header at its start")),
        }
    }

    /// Evaluates a header of `header_len` bytes, read by `read_at`, for data on a device of
    /// `data_len` bytes.
    pub fn judge_header(
        &self,
        header_len: u64,
        read_at: &dyn Fn(&mut [u8], u64) -> io::Result<()>,
        data_len: u64,
    ) -> Judgement {
        let read = |offset: u64, len: usize| {
            offset.checked_add(len as u64).filter(|end| *end <= header_len)?;
            let mut bytes = vec![0; len];
            read_at(&mut bytes, offset).ok().map(|()| bytes)
        };
        self.judge(&Disk::new(&read, data_len))
    }
}

/// What GRUB does with a volume.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// 1 or 2; 0 if GRUB finds no header.
    pub format: u8,
    /// What keeps GRUB from trying any keyslot.
    pub refused: Option<Finding>,
    /// Whether GRUB asks for a passphrase; it may detect a problem only after that.
    pub asks: bool,
    /// The keyslots in the order in which GRUB tries them.
    pub slots: Vec<Slot>,
    /// What GRUB overlooks but the user should know.
    pub notes: Vec<Finding>,
    /// Modules that must be in core.img, or where GRUB can read them without opening this volume;
    /// none for a signed image, which has its own.
    pub modules: Vec<&'static str>,
}

/// One keyslot, assuming a right passphrase for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Slot {
    /// The keyslot's number in the header.
    pub number: u64,
    /// The result.
    pub verdict: Verdict,
    /// What GRUB computes when it tries this keyslot, with any passphrase.
    pub works: Vec<Work>,
}

/// The result with a right passphrase.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The keyslot opens, and files can be read.
    Opens,
    /// An error, or data that decrypts to noise.
    Cannot(Finding),
    /// "Invalid passphrase" (LUKS1 before 2.14: "access denied"), as for a wrong passphrase.
    SaysInvalidPassphrase(Finding),
}

impl Verdict {
    /// The reason, if the keyslot does not open.
    pub fn finding(&self) -> Option<&Finding> {
        match self {
            Self::Opens => None,
            Self::Cannot(finding) | Self::SaysInvalidPassphrase(finding) => Some(finding),
        }
    }

    /// Whether replacing the key derivation would be enough to make the keyslot work.
    pub fn is_for_its_kdf(&self) -> bool {
        let its_kdf = [&rules::NO_ARGON2, &rules::ARGON2_MEMORY, &rules::SLOT_HASH];
        self.finding().is_some_and(|finding| its_kdf.contains(&finding.rule))
    }

    /// The verdict as a word, for JSON and tests.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Opens => "opens",
            Self::Cannot(_) => "cannot",
            Self::SaysInvalidPassphrase(_) => "says-invalid-passphrase",
        }
    }
}

impl Judgement {
    fn not_found(finding: Finding) -> Self {
        Self {
            format: 0,
            refused: Some(finding),
            asks: false,
            slots: Vec::new(),
            notes: Vec::new(),
            modules: Vec::new(),
        }
    }

    /// The same volume where the module that reads it is not there.
    fn unread(self, finding: Finding) -> Self {
        let cannot =
            |slot: Slot| Slot { verdict: Verdict::Cannot(finding.clone()), works: Vec::new(), ..slot };
        let slots = self.slots.into_iter().map(cannot).collect();
        Self { refused: Some(finding), asks: false, slots, ..self }
    }

    /// Drops the note that this version's installer does not support LUKS2, for builds that do.
    pub fn forget_the_installer(&mut self) {
        self.notes.retain(|note| note.rule != &rules::INSTALL_LUKS2);
    }

    /// The keyslot with this number.
    pub fn slot(&self, number: u64) -> Option<&Slot> {
        self.slots.iter().find(|slot| slot.number == number)
    }
}

#[cfg(test)]
mod tests;
