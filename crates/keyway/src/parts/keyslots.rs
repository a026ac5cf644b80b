//! Keyslots of a header that the caller has opened: the way of programs that ask for keys in an order of their own, and
//! say what happens meanwhile. [`Header::try_key`](crate::Header::try_key) is for everybody else.

use keyway_crypto::Secret;
use keyway_volume::{Error, Luks, UnlockOptions, Unlocked};
use std::io;

/// This program's turn to derive a key with much memory, until it is dropped: from [`wait_for_turn`].
pub use keyway_volume::keyslot::unlock::Turn;

/// Opens a keyslot with a passphrase.
///
/// ```
/// # use keyway::*;
/// use keyway::parts::{self, Error, UnlockOptions};
/// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &Key::passphrase("correct horse"))?;
/// let header = device.header()?;
/// let open = |text: &[u8]| parts::unlock(header.luks(), &Secret::copy_from(text), &UnlockOptions::default());
/// assert!(matches!(open(b"wrong"), Err(Error::WrongPassphrase)));
/// let found = open(b"correct horse").unwrap();
/// assert_eq!(parts::verify_volume_key(header.luks(), &found.volume_key).unwrap(), found.digest);
/// # Ok::<(), keyway::Error>(())
/// ```
///
/// # Errors
/// None opens, or none may be tried.
pub fn unlock(luks: &Luks, passphrase: &Secret, options: &UnlockOptions) -> Result<Unlocked, Error> {
    keyway_volume::unlock(luks, passphrase, options)
}

/// The digest that verifies this volume key. See [`unlock`] for an example.
///
/// # Errors
/// None does.
pub fn verify_volume_key(luks: &Luks, key: &Secret) -> Result<u32, Error> {
    keyway_volume::verify_volume_key(luks, key)
}

/// Waits until no other program derives a key with much memory, as cryptsetup's `--serialize-memory-hard-pbkdf`.
///
/// ```no_run
/// let turn = keyway::parts::wait_for_turn();
/// // derive
/// drop(turn);
/// ```
///
/// # Errors
/// cryptsetup's lock directory cannot be used.
pub fn wait_for_turn() -> io::Result<Turn> {
    Turn::wait()
}
