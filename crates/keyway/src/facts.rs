//! What a header says of its volume: cipher, keyslots, copies, seal, and what deserves attention.
//!
//! ```
//! # use keyway::*;
//! use keyway::facts::{Concern, Content, Copies};
//! # let key = Key::passphrase("correct horse");
//! # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
//! let header = device.header()?;
//! let facts = header.facts()?;
//! assert_eq!((facts.version, facts.key_bits, facts.keyslots.len()), (2, Some(512), 1));
//! assert!(matches!(facts.segments[0].content, Content::Encrypted { .. }));
//! assert!(matches!(facts.copies, Copies::Both { .. }));
//! // Whoever steals it guesses 1000 iterations a passphrase.
//! assert!(matches!(header.concerns(&facts)[..], [Concern::Cheap { keyslot: 0, .. }]));
//! # Ok::<(), keyway::Error>(())
//! ```

/// What deserves attention: from [`Header::concerns`](crate::Header::concerns).
pub use keyway_volume::trust::facts::Concern;
/// What a segment holds: from [`Segment::content`].
pub use keyway_volume::trust::facts::Content;
/// The header's copies: from [`Facts::copies`].
pub use keyway_volume::trust::facts::Copies;
/// What a header says: from [`Header::facts`](crate::Header::facts).
pub use keyway_volume::trust::facts::Facts;
/// A keyslot: from [`Facts::keyslots`].
pub use keyway_volume::trust::facts::Keyslot;
/// A re-encryption that is under way: from [`Facts::reencryption`].
pub use keyway_volume::trust::facts::Reencryption;
/// The state of a header's seal: from [`Header::seal_state`](crate::Header::seal_state).
pub use keyway_volume::trust::facts::SealState;
/// A part of the data device: from [`Facts::segments`].
pub use keyway_volume::trust::facts::Segment;

use crate::error::At;
use crate::{Header, Result, VolumeKey};
use keyway_volume::trust::policy::Subject;

/// The keyslots of a header that the caller has opened, in the order in which they are tried (feature `parts`). See
/// [`facts`](self) for those of a [`Header`].
#[cfg(feature = "parts")]
pub fn keyslots_in_turn(header: &keyway_volume::Header) -> Vec<Keyslot> {
    keyway_volume::trust::facts::keyslots_in_turn(header)
}

impl Header {
    /// All that the header says, for a program that shows it. See [`facts`](crate::facts) for an example.
    ///
    /// # Errors
    /// What it says is impossible.
    pub fn facts(&self) -> Result<Facts> {
        Facts::of(&self.luks, self.data_device().len).at(self.place())
    }

    /// What deserves attention in these facts of its, the most pressing first. See [`facts`](crate::facts) for an
    /// example.
    pub fn concerns(&self, facts: &Facts) -> Vec<Concern> {
        Concern::all(facts, &self.luks, self.data_device())
    }

    /// The state of its seal: with the volume key, if that is known, and the context that the seal must have, if one is
    /// demanded.
    ///
    /// ```
    /// # use keyway::*;
    /// use keyway::facts::SealState;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// assert_eq!(device.header()?.seal_state(None, None), SealState::None);
    /// device.header()?.seal(&key, None)?;
    /// let header = device.header()?;
    /// assert_eq!(header.seal_state(None, None), SealState::Unverified);
    /// assert_eq!(header.seal_state(Some(&header.try_key(&key)?), None), SealState::Verified);
    /// # Ok::<(), keyway::Error>(())
    /// ```
    pub fn seal_state(&self, key: Option<&VolumeKey>, context: Option<&str>) -> SealState {
        let (header, data_len) = (self.luks.header(), Some(self.data_device().len));
        SealState::of(Subject { header, data_len, volume_key: key.map(VolumeKey::expose) }, context)
    }
}
