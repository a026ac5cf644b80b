//! Which volumes can be opened, and how much of one is encrypted.
//!
//! A volume that was paused while it was encrypted or decrypted is encrypted from its start to a byte that its metadata
//! say, and not behind (dislocker reads it so, too). One that was not paused is in the middle of a change, of which only
//! Windows knows how it goes on. Windows 10's encrypt-on-write has maps of what is encrypted instead; without them
//! nobody knows.

use super::Header;
use crate::{Refusal, Result};
use keyway_format::bitlk::{Conversion, Scheme, State, Version};

/// How much of a volume is encrypted, from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    All,
    Until(u64),
}

/// # Errors
/// The volume is one of those that cannot be opened.
pub(super) fn encrypted(header: &Header) -> Result<Extent> {
    check_format(header)?;
    let State { now, then, encrypted, .. } = header.metadata.state;
    match now {
        Conversion::Encrypted if then == Conversion::Encrypted => Ok(Extent::All),
        Conversion::Encrypted | Conversion::Paused => Ok(Extent::Until(encrypted.0)),
        Conversion::Decrypted => Ok(Extent::Until(0)),
        Conversion::Converting => {
            let what = if then == Conversion::Encrypted { "encrypted" } else { "decrypted" };
            refuse(format!(
                "the volume was in the middle of being {what} when it was last used: let Windows finish or pause that \
                 (manage-bde -pause)"
            ))
        }
        Conversion::PausedVista => {
            refuse("the volume is partly encrypted by Windows Vista, whose metadata do not say how far")
        }
        Conversion::Unknown(number) => {
            refuse(format!("the volume is in a state that is not known, {number}"))
        }
    }
}

fn check_format(header: &Header) -> Result<()> {
    if header.boot.version == Version::Vista || header.metadata.version == 1 {
        return refuse(
            "BitLocker volumes of Windows Vista can be read by their metadata only: their first sector is of another format",
        );
    }
    match header.boot.scheme {
        Scheme::Normal => Ok(()),
        Scheme::EncryptOnWrite([one, two]) => refuse(format!(
            "the volume is encrypted on write: which parts are encrypted by now is in maps at bytes {} and {}, which are not \
             read here; let Windows finish the encryption (manage-bde -status)",
            one.0, two.0
        )),
        Scheme::Unknown(guid) => {
            refuse(format!("the volume is encrypted by a scheme that is not known, {guid}"))
        }
    }
}

fn refuse<T>(why: impl Into<String>) -> Result<T> {
    Err(Refusal::Unusable.because(why))
}
