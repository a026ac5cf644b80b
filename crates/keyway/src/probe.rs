//! Identifies what a device holds, without a key.

use crate::Result;
use keyway_format::Error as Format;
use keyway_volume::device::probe as signatures;
use keyway_volume::{Access, Error as Lower, Header, Luks, Storage};
use std::io;
use std::sync::Arc;

/// What a device holds: the result of [`Device::probe`](crate::Device::probe), whatever the bytes
/// are.
///
/// ```
/// # use keyway::*;
/// # use keyway::storage::Memory;
/// # use std::sync::Arc;
/// let blank = Device::from_storage(Arc::new(Memory::zeroed(1 << 20)));
/// assert_eq!(blank.probe()?, Probe::Nothing);
///
/// let key = Key::passphrase("correct horse");
/// let volume = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
/// assert_eq!(volume.probe()?, Probe::Luks2);
/// # Ok::<(), keyway::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Probe {
    /// A LUKS1 header.
    Luks1,
    /// A LUKS2 header, of which at least one copy is sound.
    Luks2,
    /// LUKS of a version that this build does not know.
    LaterLuks {
        /// The version.
        version: u16,
    },
    /// A LUKS header that is invalid.
    Damaged {
        /// Where: a field, a slot, a path in the JSON metadata.
        place: String,
        /// What is wrong there.
        why: String,
    },
    /// Something else, identified by its signature.
    Other(Signature),
    /// Nothing known: blank, noise, or a volume without a header.
    Nothing,
}

/// A format's signature. See [`Probe`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Signature {
    /// The format's name: "XFS", "GPT".
    pub name: &'static str,
    /// What `blkid` calls it: "xfs", "gpt".
    pub blkid: &'static str,
    /// What kind of format it is.
    pub kind: SignatureKind,
}

/// The kind of format that a [`Signature`] identifies. See [`Probe`].
pub use keyway_volume::device::probe::Kind as SignatureKind;

pub(crate) fn probe(storage: &Arc<dyn Storage>) -> Result<Probe> {
    let error = match Luks::open(Arc::clone(storage), Access::Probe) {
        Ok(luks) => {
            return Ok(if matches!(luks.header(), Header::Luks1(_)) { Probe::Luks1 } else { Probe::Luks2 });
        }
        Err(error) => error,
    };
    let damaged = |place: &str| Probe::Damaged { place: place.into(), why: error.to_string() };
    Ok(match &error {
        Lower::Format(Format::NotLuks) => other(&**storage)?,
        Lower::Format(Format::UnsupportedVersion(version)) => Probe::LaterLuks { version: *version },
        Lower::Format(Format::Invalid { place, why }) => {
            Probe::Damaged { place: place.0.clone(), why: why.clone() }
        }
        Lower::Format(Format::Checksum) => damaged("checksum"),
        Lower::Format(Format::Truncated { .. }) => damaged("end of the device"),
        Lower::Format(_) | Lower::Refused { .. } => damaged("header"),
        _ => return Err(error.into()),
    })
}

/// Everything that is not LUKS.
fn other(storage: &dyn Storage) -> io::Result<Probe> {
    let found = signatures::foreign(storage)?;
    Ok(found.map_or(Probe::Nothing, |found| Probe::Other(Signature::of(found))))
}

impl Signature {
    pub(crate) fn of(found: &signatures::Signature) -> Self {
        Self { name: found.name, blkid: found.blkid, kind: found.kind }
    }
}
