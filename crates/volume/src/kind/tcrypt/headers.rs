//! Copies of one header, each under a salt of its own, written one after the other: each is on stable
//! storage, and was read back, before the next one begins.

use super::seal::Sealing;
use crate::kind::written::{put, put_and_read};
use crate::{Random, Result, Storage};
use keyway_crypto::Secret;
use keyway_format::tcrypt::{HEADER_LEN, Header, Position, SALT_LEN};

/// Encrypted copies and their places, in the order in which they are written.
pub(super) struct Headers(Vec<(Position, [u8; HEADER_LEN])>);

impl Headers {
    /// Encrypts a copy for each place. `password` is the passphrase with the key files in it.
    ///
    /// # Errors
    /// Those of [`Sealing::seal`]; no random bytes.
    pub(super) fn seal(
        header: &Header,
        sealing: &Sealing,
        password: &Secret,
        positions: &[Position],
        rng: &mut dyn Random,
    ) -> Result<Self> {
        let decrypted = header.to_bytes();
        let mut copy = |position: &Position| {
            let mut salt = [0; SALT_LEN];
            rng.fill(&mut salt)?;
            Ok((*position, sealing.seal(&decrypted, password, &salt)?))
        };
        Ok(Self(positions.iter().map(&mut copy).collect::<Result<_>>()?))
    }

    /// The copies, in order.
    pub(super) fn copies(&self) -> impl Iterator<Item = &[u8; HEADER_LEN]> {
        self.0.iter().map(|(_, copy)| copy)
    }

    /// Writes them, and reads each back before the next.
    ///
    /// # Errors
    /// [`Io`](crate::Error::Io).
    pub(super) fn write(&self, storage: &dyn Storage) -> Result<()> {
        self.places(storage).try_for_each(|(at, copy)| put_and_read(storage, copy, at))
    }

    /// The same over headers that opened with another key: random bytes go over each first, so that
    /// less of it can be read from a magnetic disk.
    ///
    /// # Errors
    /// [`Io`](crate::Error::Io); no random bytes.
    pub(super) fn overwrite(&self, storage: &dyn Storage, rng: &mut dyn Random) -> Result<()> {
        for (at, copy) in self.places(storage) {
            for _ in 1..PASSES {
                let mut noise = [0; HEADER_LEN];
                rng.fill(&mut noise)?;
                put(storage, &noise, at)?;
            }
            put_and_read(storage, copy, at)?;
        }
        Ok(())
    }

    fn places(&self, storage: &dyn Storage) -> impl Iterator<Item = (u64, &[u8; HEADER_LEN])> {
        let len = storage.len();
        self.0.iter().filter_map(move |(position, copy)| Some((position.offset(len)?, copy)))
    }
}

/// How often a header is written over that opens with the old key: VeraCrypt's default.
const PASSES: usize = 3;
