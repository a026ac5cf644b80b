//! The two copies of a LUKS2 header on storage: which one counts, how the other is recovered, how both are written.
//!
//! The copy with the higher sequence id wins. The primary stands at 0, the secondary right behind it; with the primary
//! lost, the secondary is looked for at the nine offsets where it can be (LUKS2 on-disk format 1.1, section 2.1).

use crate::random::random_bytes;
use crate::signature::foreign_signature;
use crate::{Error, Random, Result, Storage};
use keyway_format::luks2::{BinaryHeader, Copy, HeaderSize, Metadata};

/// A good copy.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Good {
    pub(crate) binary: BinaryHeader,
    pub(crate) metadata: Metadata,
}

/// What was found: the copy that counts, and whether the other one needs to be rewritten.
#[derive(Debug)]
pub(crate) struct Copies {
    pub(crate) winner: Good,
    pub(crate) damaged: Option<Copy>,
}

impl Copies {
    /// Reads both copies. [`keyway_format::Error::NotLuks`] when there is no trace of either.
    pub(crate) fn read(storage: &dyn Storage) -> Result<Self> {
        let primary = read_copy(storage, 0, Copy::Primary);
        let secondary = match &primary {
            Found::Good(good) => read_copy(storage, good.binary.size.bytes().0, Copy::Secondary),
            Found::Obsolete(size, _) => read_copy(storage, size.bytes().0, Copy::Secondary),
            Found::Bad(_) => find_secondary(storage),
        };
        let copies = match (primary, secondary) {
            (Found::Good(primary), Found::Good(secondary)) => {
                match primary.binary.sequence_id.cmp(&secondary.binary.sequence_id) {
                    std::cmp::Ordering::Less => Self { winner: secondary, damaged: Some(Copy::Primary) },
                    std::cmp::Ordering::Equal => Self { winner: primary, damaged: None },
                    std::cmp::Ordering::Greater => Self { winner: primary, damaged: Some(Copy::Secondary) },
                }
            }
            (Found::Good(winner), _) => Self { winner, damaged: Some(Copy::Secondary) },
            (_, Found::Good(winner)) => Self { winner, damaged: Some(Copy::Primary) },
            (Found::Obsolete(_, error) | Found::Bad(error), _) => return Err(error),
        };
        copies.check_fits(storage)?;
        Ok(copies)
    }

    /// Rewrites the damaged copy from the good one: a new salt, the same sequence id.
    pub(crate) fn recover(&mut self, storage: &dyn Storage, rng: &mut dyn Random) -> Result<()> {
        let Some(damaged) = self.damaged else { return Ok(()) };
        let binary = self.winner.binary.as_copy(damaged, random_bytes(rng)?);
        write_copy(storage, &binary, &self.winner.metadata)?;
        self.damaged = None;
        Ok(())
    }

    /// Refuses a recovery that could destroy what the device holds now.
    pub(crate) fn check_recoverable(&self, storage: &dyn Storage) -> Result<()> {
        match (self.damaged, foreign_signature(storage)) {
            (Some(_), Some(name)) => Err(Error::Refused(format!(
                "Device contains ambiguous signatures ({name} beside a damaged LUKS2 header), cannot auto-recover \
                 LUKS2. Run repair for recovery."
            ))),
            _ => Ok(()),
        }
    }

    fn check_fits(&self, storage: &dyn Storage) -> Result<()> {
        let needs = areas_end(&self.winner.binary, &self.winner.metadata);
        let has = storage.len();
        if needs > has { Err(keyway_format::Error::Truncated { needs, has }.into()) } else { Ok(()) }
    }
}

/// Writes both copies, primary first, each flushed, and reads them back. `binary` holds the new sequence id; both
/// copies get new salts. The `Good` that counts from now on is returned.
pub(crate) fn write_both(
    storage: &dyn Storage,
    binary: &BinaryHeader,
    metadata: &Metadata,
    rng: &mut dyn Random,
) -> Result<Good> {
    let primary = binary.as_copy(Copy::Primary, random_bytes(rng)?);
    let secondary = binary.as_copy(Copy::Secondary, random_bytes(rng)?);
    // Both must be known to fit before the first byte is written.
    for copy in [&primary, &secondary] {
        copy.copy_to_bytes(&metadata.to_json())?;
    }
    write_copy(storage, &primary, metadata)?;
    write_copy(storage, &secondary, metadata)?;
    Ok(Good { binary: primary, metadata: metadata.clone() })
}

/// Writes one copy, flushes it and reads it back.
pub(crate) fn write_copy(storage: &dyn Storage, binary: &BinaryHeader, metadata: &Metadata) -> Result<()> {
    let bytes = binary.copy_to_bytes(&metadata.to_json())?;
    let offset = match binary.copy {
        Copy::Primary => 0,
        Copy::Secondary => binary.size.bytes().0,
    };
    let io = |doing: &'static str| {
        move |source| Error::Io { what: format!("{doing} the LUKS2 header at offset {offset}"), source }
    };
    storage.write_at(&bytes, offset).map_err(io("writing"))?;
    storage.flush().map_err(io("flushing"))?;
    let mut back = vec![0; bytes.len()];
    storage.read_at(&mut back, offset).map_err(io("reading back"))?;
    if back != bytes {
        return Err(Error::Io {
            what: format!("reading back the LUKS2 header at offset {offset}"),
            source: std::io::Error::other("not what was written"),
        });
    }
    Ok(())
}

/// Where header copies and keyslots area end.
pub(crate) fn areas_end(binary: &BinaryHeader, metadata: &Metadata) -> u64 {
    2 * binary.size.bytes().0 + metadata.config.keyslots_size.0
}

/// A copy as it was found.
enum Found {
    Good(Good),
    /// The checksum matches, so the size can be trusted, but the metadata makes no sense.
    Obsolete(HeaderSize, Error),
    Bad(Error),
}

fn read_copy(storage: &dyn Storage, offset: u64, copy: Copy) -> Found {
    match read_checked(storage, offset, copy) {
        Ok((binary, json)) => match Metadata::parse(&json, binary.size) {
            Ok(metadata) => Found::Good(Good { binary, metadata }),
            Err(error) => Found::Obsolete(binary.size, error.into()),
        },
        Err(error) => Found::Bad(error),
    }
}

fn read_checked(storage: &dyn Storage, offset: u64, copy: Copy) -> Result<(BinaryHeader, Vec<u8>)> {
    let mut bytes = vec![0; BinaryHeader::LEN];
    read(storage, &mut bytes, offset)?;
    let size = BinaryHeader::parse(&bytes, copy)?.size.bytes().0;
    if copy == Copy::Secondary && size != offset {
        return Err(keyway_format::Error::NotLuks.into());
    }
    bytes.resize(size as usize, 0);
    read(storage, &mut bytes, offset)?;
    let (binary, json) = BinaryHeader::parse_copy(&bytes, copy)?;
    Ok((binary, json.to_vec()))
}

fn find_secondary(storage: &dyn Storage) -> Found {
    let mut candidates =
        HeaderSize::ALL.into_iter().map(|size| read_copy(storage, size.bytes().0, Copy::Secondary));
    candidates
        .find(|found| matches!(found, Found::Good(_)))
        .unwrap_or(Found::Bad(keyway_format::Error::NotLuks.into()))
}

fn read(storage: &dyn Storage, bytes: &mut [u8], offset: u64) -> Result<()> {
    let (needs, has) = (offset + bytes.len() as u64, storage.len());
    if needs > has {
        return Err(keyway_format::Error::Truncated { needs, has }.into());
    }
    storage
        .read_at(bytes, offset)
        .map_err(|source| Error::Io { what: format!("reading a LUKS2 header at offset {offset}"), source })
}
