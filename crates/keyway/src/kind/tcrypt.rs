//! TrueCrypt and VeraCrypt volumes.

use super::sealed::Described;
use keyway_crypto::Secret;
use keyway_volume::kind;
use keyway_volume::kind::tcrypt::{Place, Protects};
use std::path::PathBuf;
use std::sync::Arc;

/// A TrueCrypt (to 7.1a) or VeraCrypt volume. Every hash and cipher that the programs ever had is tried, but
/// LRW of ciphers with 64-bit blocks; what the caller knows makes that faster.
///
/// ```no_run
/// # use keyway::*;
/// let key = Key::passphrase("correct horse");
/// let tcrypt = Tcrypt::new().hash("sha512").cipher("aes").pim(485).key_file("/media/key.jpg");
/// let volume = Device::open("disk.hc")?.unlock_as(&tcrypt, &key, &Unlock::new().read_only())?;
/// let hidden = Tcrypt::new().hidden();
/// let outer = Tcrypt::new().protect(&hidden, b"battery staple");
/// # Ok::<(), keyway::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Tcrypt(kind::tcrypt::Tcrypt);

impl Tcrypt {
    /// The outer volume, by its first header. See [`Tcrypt`] for an example.
    pub fn new() -> Self {
        Self::default()
    }

    /// The hidden volume. See [`Tcrypt`] for an example.
    #[must_use]
    pub fn hidden(mut self) -> Self {
        self.0.place = Place::Volume { hidden: true, backup: self.uses_backup() };
        self
    }

    /// By the header at the volume's end. See [`Tcrypt`] for an example.
    #[must_use]
    pub fn backup(mut self) -> Self {
        let hidden = matches!(self.0.place, Place::Volume { hidden: true, .. });
        self.0.place = Place::Volume { hidden, backup: true };
        self
    }

    /// Only key derivations whose hash has this in its name: "sha512", "argon2id". See [`Tcrypt`] for an example.
    #[must_use]
    pub fn hash(mut self, name: &str) -> Self {
        self.0.hash = Some(name.to_owned());
        self
    }

    /// Only chains of ciphers with this in their name: "aes", "serpent-twofish-aes". See [`Tcrypt`] for an example.
    #[must_use]
    pub fn cipher(mut self, name: &str) -> Self {
        self.0.cipher = Some(name.to_owned());
        self
    }

    /// VeraCrypt's personal iterations multiplier. See [`Tcrypt`] for an example.
    #[must_use]
    pub fn pim(mut self, pim: u32) -> Self {
        self.0.pim = Some(pim);
        self
    }

    /// A key file, or a folder of them, mixed into the passphrase; may be called more than once. See [`Tcrypt`] for an
    /// example.
    #[must_use]
    pub fn key_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.0.key_files.push(path.into());
        self
    }

    /// Keeps the volume that is hidden in this outer one from being written over: `hidden` has its PIM and key files.
    /// The first write that would reach it is refused, and all that follow; nothing is discarded. See [`Tcrypt`] for
    /// an example.
    #[must_use]
    pub fn protect(mut self, hidden: &Self, passphrase: &[u8]) -> Self {
        self.0.protects = Some(Protects {
            passphrase: Arc::new(Secret::copy_from(passphrase)),
            pim: hidden.0.pim,
            key_files: hidden.0.key_files.clone(),
        });
        self
    }

    /// What this is to the crates below.
    pub(crate) fn described_as(&self) -> &kind::tcrypt::Tcrypt {
        &self.0
    }

    fn uses_backup(&self) -> bool {
        matches!(self.0.place, Place::Volume { backup: true, .. })
    }
}

impl super::Kind for Tcrypt {}

impl Described for Tcrypt {
    fn described(&self) -> &dyn kind::Kind {
        &self.0
    }
}
