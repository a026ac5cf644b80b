//! Which volumes can be opened, and how much of one is encrypted.
//!
//! A volume in state 5 is encrypted from its start to a byte that its metadata say, and not behind. dislocker takes it
//! for paused, dissect.fve calls it switching: as nobody is sure, such a volume is only read. One in state 2 is in the
//! middle of a change, of which only Windows knows how it goes on. Windows 10's encrypt-on-write has maps of what is
//! encrypted instead; without them nobody knows.

use super::{CopyState, Header};
use crate::{Refusal, Result};
use keyway_format::bitlk::{BootSector, Chaining, Conversion, Scheme, State};

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
    if header.is_vistas() {
        return Ok(Extent::All);
    }
    let State { now, then, encrypted, converting } = header.metadata.state;
    match now {
        Conversion::Encrypted if then == Conversion::Encrypted => Ok(Extent::All),
        Conversion::Encrypted | Conversion::Paused | Conversion::Decrypted if converting.0 != 0 => {
            refuse(format!(
                "{} bytes from byte {} on were being converted when the volume was last used: let Windows finish",
                converting.0, encrypted.0
            ))
        }
        Conversion::Encrypted | Conversion::Paused => Ok(Extent::Until(encrypted.0)),
        Conversion::Decrypted => Ok(Extent::Until(0)),
        Conversion::Converting => {
            let what = if then == Conversion::Encrypted { "encrypted" } else { "decrypted" };
            refuse(format!(
                "the volume was in the middle of being {what} when it was last used: let Windows finish or \
                 pause it (manage-bde -pause)"
            ))
        }
        Conversion::Partly => {
            refuse("the volume is partly encrypted, and its metadata do not say how far (state 3)")
        }
        Conversion::Unknown(number) => refuse(format!("the volume is in an unknown state, {number}")),
    }
}

/// Where a wrong guess would store data in plaintext, or make noise of it.
///
/// # Errors
/// The volume is for reading only.
pub(super) fn check_writable(header: &Header, extent: Extent) -> Result<()> {
    if header.is_vistas() {
        return refuse("BitLocker volumes of Windows Vista are not written to (read-only works)");
    }
    if extent != Extent::All {
        return refuse(
            "the volume is only partly encrypted, and such a volume is not written to (read-only works)",
        );
    }
    let own = header.metadata.state;
    let mut copies = header.copies.iter();
    match copies.position(|(_, copy)| matches!(copy, CopyState::Differs(other) if *other != own)) {
        Some(number) => refuse(format!(
            "copy {} of the metadata disagrees on how far the volume is encrypted, and such a volume is not \
             written to (read-only works)",
            number + 1
        )),
        None => Ok(()),
    }
}

/// A volume key vouches for nothing that the metadata say.
///
/// # Errors
/// They decide which part of the volume is plaintext.
pub(super) fn check_without_digest(header: &Header, extent: Extent) -> Result<()> {
    match extent {
        _ if header.is_vistas() => refuse(
            "the start of a volume of Windows Vista is not encrypted, and a volume key does not prove that it \
             is one: open it with a passphrase, a recovery password or a start-up key",
        ),
        Extent::All => Ok(()),
        Extent::Until(_) => refuse(
            "the volume is partly encrypted, and a volume key does not prove how far: open it with a \
             passphrase, a recovery password or a start-up key",
        ),
    }
}

fn check_format(header: &Header) -> Result<()> {
    check_vista(header)?;
    if header.needs_digest() && !header.metadata.has_digest() {
        return Err(Refusal::Forged.because(
            "the digest of the BitLocker metadata is missing: somebody without the key may have changed them",
        ));
    }
    match header.boot.scheme {
        Scheme::Normal => Ok(()),
        Scheme::EncryptOnWrite([one, two]) => refuse(format!(
            "the volume is encrypted on write, and the maps of its encrypted parts, at bytes {} and {}, are \
             not supported; let Windows finish the encryption (manage-bde -status)",
            one.0, two.0
        )),
        Scheme::Unknown(guid) => refuse(format!("the volume is encrypted by an unknown scheme, {guid}")),
    }
}

/// # Errors
/// It is not one that Vista made, or not all of it is encrypted.
fn check_vista(header: &Header) -> Result<()> {
    let metadata = &header.metadata;
    if header.is_vistas() != (metadata.version == 1) {
        return not_vistas("its boot sector and its metadata have different versions");
    }
    if !header.is_vistas() {
        return Ok(());
    }
    if header.boot.sector_size.0 != BootSector::LEN as u64 {
        return not_vistas("its sectors have 4096 bytes, but Windows Vista supports only 512");
    }
    if metadata.encryption.chaining == Chaining::Xts {
        return not_vistas("its encryption is newer than Windows Vista");
    }
    match (metadata.state.now, metadata.state.then) {
        (Conversion::Encrypted, Conversion::Encrypted) => Ok(()),
        _ => not_vistas(
            "it is only partly encrypted, and its metadata, which say how far, are not authenticated",
        ),
    }
}

fn not_vistas<T>(why: &str) -> Result<T> {
    refuse(format!("the BitLocker volume cannot be opened: {why}"))
}

fn refuse<T>(why: impl Into<String>) -> Result<T> {
    Err(Refusal::Unusable.because(why))
}
