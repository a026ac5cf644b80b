//! What a line asks for that what is there, or under way, cannot be. The words are cryptsetup's; nothing is asked or
//! written before.

use super::{Asked, State, What};
use crate::device::Versions;
use crate::output::failure::{Exit, Failure, Result};
use keyway::parts::{Luks, UnderWay};
use keyway::{Header, PossibleLengths};
use keyway_format::luks2::Reencryption;
use keyway_format::luks2::reencryption::Mode;

impl Asked {
    /// Refuses another version than `--type` names; `state` is of what has the header.
    pub(super) fn check_version(&self, state: &State) -> Result<()> {
        let is = match (state, self.versions) {
            (State::Luks1, Versions::Two) => "LUKS1",
            (State::Luks2, Versions::One) => "LUKS2",
            (State::UnderWay, Versions::One) => "in LUKS2 reencryption",
            _ => return Ok(()),
        };
        Err(self.conflicts_with(is))
    }

    /// The same of a LUKS1 volume whose header is out of use meanwhile.
    pub(super) fn check_version_of_luks1_under_way(&self) -> Result<()> {
        match self.versions {
            Versions::Two => Err(self.conflicts_with("in LUKS1 reencryption")),
            _ => Ok(()),
        }
    }

    fn conflicts_with(&self, is: &str) -> Failure {
        let device = self.target.header_path().display();
        refused(&format!("Conflicting versions. Device {device} is {is}."))
    }

    /// Refuses to go on as something else than what is under way.
    pub(super) fn check_under_way(&self, header: &Header) -> Result<()> {
        let keyway::parts::Header::Luks2 { metadata, .. } = header.luks().header() else { return Ok(()) };
        let Some(under_way) = metadata.reencryption().map_err(keyway::parts::Error::from)? else {
            return Ok(());
        };
        match (self.what, under_way.mode) {
            (What::Encrypt, mode) if mode != Mode::Encrypt => {
                Err(refused("Device is not in LUKS2 encryption. Conflicting option --encrypt."))
            }
            (What::Decrypt, mode) if mode != Mode::Decrypt => {
                Err(refused("Device is not in LUKS2 decryption. Conflicting option --decrypt."))
            }
            _ => self.check_resilience(&under_way),
        }
    }

    fn check_resilience(&self, under_way: &Reencryption) -> Result<()> {
        let Some(wanted) = &self.resilience else { return Ok(()) };
        let is = under_way.resilience.name();
        let moves_first = is.starts_with("datashift-");
        match wanted.as_str() {
            "datashift" if is == "datashift" => Ok(()),
            // The line that began: data that moves has one protection, and beginning takes any word for it.
            _ if is == "datashift" && self.reduce.is_some() => {
                note_kept(is, wanted);
                Ok(())
            }
            _ if is == "datashift" => Err(refused(
                "Device is in reencryption using datashift resilience. Requested --resilience option cannot be applied.",
            )),
            "datashift" => Err(refused(NOT_APPLIED)),
            "none" if moves_first => Err(refused(NOT_APPLIED)),
            wanted if wanted.starts_with("datashift-") && !moves_first => Err(refused(NOT_APPLIED)),
            wanted => {
                if wanted.trim_start_matches("datashift-") != is.trim_start_matches("datashift-") {
                    note_kept(is, wanted);
                }
                Ok(())
            }
        }
    }

    /// Refuses a protection for data that moves, where none does: the same line could not go on.
    pub(super) fn check_resilience_in_place(&self) -> Result<()> {
        let moves = self.reduce.is_some() && self.what != What::Decrypt;
        match self.resilience.as_deref() {
            Some(wanted) if wanted.starts_with("datashift") && !moves => Err(refused(NOT_APPLIED)),
            _ => Ok(()),
        }
    }

    /// Refuses a `--device-size` that what is under way cannot have, and asks before one gives data up.
    pub(super) fn check_size(&self, header: &Header) -> Result<()> {
        let Some(wanted) = self.data_len else { return Ok(()) };
        let Some(sizes) = header.possible_lengths()? else { return Ok(()) };
        if !sizes.allow(wanted) {
            let failure = refused("Illegal device size requested in reencryption parameters.");
            return Err(if self.is_cryptsetup { failure } else { failure.hinting(allowed(&sizes)) });
        }
        if wanted == sizes.len || self.is_cryptsetup {
            return Ok(());
        }
        self.confirm(&self.warning_of_size(wanted))
    }

    /// Refuses another `--device-size` than the one that `luks` says it was begun with, where none can be given on
    /// the way, for it is `why`. It may be all that there is on a device of `device_len` bytes.
    pub(super) fn check_size_stays(&self, luks: &Luks, device_len: u64, why: &str) -> Result<()> {
        let Some(wanted) = self.data_len else { return Ok(()) };
        match UnderWay::of(luks.header())? {
            Some(under_way)
                if under_way.state().total != wanted && under_way.len_on(device_len) != Some(wanted) =>
            {
                Err(refused(&format!(
                    "{why}: it resumes with the size that it was begun with, not with --device-size {wanted}. \
                     Nothing was changed."
                )))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a protection that a decryption cannot have which moves data.
    pub(super) fn check_resilience_of_shift(&self) -> Result<()> {
        match self.resilience.as_deref() {
            Some("datashift" | "none") => Err(refused(NOT_APPLIED)),
            _ => Ok(()),
        }
    }
}

fn note_kept(is: &str, wanted: &str) {
    say!("WARNING: it resumes as it was begun, with --resilience {is}, not {wanted}.");
}

fn allowed(sizes: &PossibleLengths) -> String {
    let PossibleLengths { least, len, unit } = sizes;
    match least == len {
        true => format!("It has {len} bytes, and can have no other size. Nothing was changed."),
        false => format!("It can have {least} to {len} bytes, in multiples of {unit}. Nothing was changed."),
    }
}

fn refused(message: &str) -> Failure {
    Failure::new(Exit::Parameters, message)
}

const NOT_APPLIED: &str =
    "Requested --resilience option cannot be applied to current reencryption operation.";
