//! Key memory without an allocator: inside the value that owns it, wiped when it is dropped.
//!
//! Nothing is locked: a program without an allocator has no swap. Moving a value may leave a copy
//! of its bytes behind, as for any value; a boot loader must wipe its stack before it starts the
//! kernel.

use super::Plain;
use core::ops::Deref;
use core::sync::atomic::{Ordering, compiler_fence};

/// The bytes of a [`crate::Secret`].
#[repr(align(64))]
pub(crate) struct Pages([u8; MOST]);

impl Pages {
    /// # Panics
    /// If `len` is more than [`MOST`].
    pub(crate) fn locked(len: usize) -> Self {
        assert!(len <= MOST, "without an allocator a secret has at most {MOST} bytes, not {len}");
        Self([0; MOST])
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.0
    }

    pub(crate) fn is_locked(&self) -> bool {
        false
    }
}

/// A value made of plain bytes (a key schedule), wiped on drop.
pub(crate) struct SecretBox<T: Plain>(T);

impl<T: Plain> SecretBox<T> {
    /// An empty value, filled in place by `fill`.
    pub(crate) fn new_with(fill: impl FnOnce(&mut T)) -> Self {
        let mut secret = Self(T::EMPTY);
        fill(&mut secret.0);
        secret
    }
}

impl<T: Plain> Deref for SecretBox<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Plain> Drop for SecretBox<T> {
    fn drop(&mut self) {
        // SAFETY: the place is a valid value of `T`, borrowed mutably, and `T` has nothing to drop.
        unsafe { core::ptr::write_volatile(&mut self.0, T::EMPTY) }
        compiler_fence(Ordering::SeqCst);
    }
}

/// The longest passphrase that cryptsetup takes from a terminal, in bytes; more than any key.
const MOST: usize = 512;
