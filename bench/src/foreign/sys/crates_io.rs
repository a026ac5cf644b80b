//! `bench/peers`: the crates that are compiled for this CPU, in their shared library.

use super::functions;
use crate::foreign::{Order, Secret, Work};
use std::ffi::c_void;
use std::path::Path;

functions!(Functions {
    crates_cipher: fn(Bytes, Bytes, Bytes, Bytes, Bytes, usize, bool) -> *mut c_void,
    crates_run: fn(*mut c_void, u64, *mut u8, usize),
    crates_free: fn(*mut c_void),
    crates_pbkdf2: fn(Bytes, Bytes, Bytes, u32, *mut u8, usize) -> bool,
    crates_argon2id: fn(u32, u32, u32, Bytes, Bytes, *mut u8, usize),
});

/// A pointer and a length that cross the border together.
#[repr(C)]
struct Bytes {
    pointer: *const u8,
    len: usize,
}

impl Bytes {
    fn of(bytes: &[u8]) -> Self {
        Self { pointer: bytes.as_ptr(), len: bytes.len() }
    }
}

/// The library.
pub(crate) struct CratesIo(Functions);

impl CratesIo {
    pub(crate) fn load(path: &Path) -> Option<Self> {
        Functions::load(path).map(Self)
    }

    /// `library` is "aws-lc" or "rustcrypto".
    pub(crate) fn cipher(&'static self, library: &str, order: Order<'_>) -> Option<Work> {
        let [library, cipher, mode, iv] =
            [library, order.cipher, order.mode, order.iv].map(|text| Bytes::of(text.as_bytes()));
        let key = Bytes::of(order.key);
        // SAFETY: all strings live until the call returns.
        let work =
            unsafe { (self.0.crates_cipher)(library, cipher, mode, iv, key, order.sector, order.encrypt) };
        if work.is_null() {
            return None;
        }
        let owned = Owned { functions: &self.0, work };
        Some(Box::new(move |first, data| {
            let owned = &owned;
            // SAFETY: the cipher is ours and alive, the data are the caller's.
            unsafe { (owned.functions.crates_run)(owned.work, first, data.as_mut_ptr(), data.len()) }
        }))
    }

    pub(crate) fn pbkdf2(&self, hash: &str, secret: Secret<'_>, iterations: u32, out: &mut [u8]) {
        let (hash, password, salt) =
            (Bytes::of(hash.as_bytes()), Bytes::of(secret.password), Bytes::of(secret.salt));
        // SAFETY: all pointers come with their lengths and live until the call returns.
        let known =
            unsafe { (self.0.crates_pbkdf2)(hash, password, salt, iterations, out.as_mut_ptr(), out.len()) };
        assert!(known, "a hash that RustCrypto's PBKDF2 was built with");
    }

    pub(crate) fn argon2id(&self, [passes, memory_kib, lanes]: [u32; 3], secret: Secret<'_>, out: &mut [u8]) {
        let (password, salt) = (Bytes::of(secret.password), Bytes::of(secret.salt));
        // SAFETY: all pointers come with their lengths and live until the call returns.
        unsafe {
            (self.0.crates_argon2id)(passes, memory_kib, lanes, password, salt, out.as_mut_ptr(), out.len());
        }
    }
}

struct Owned {
    functions: &'static Functions,
    work: *mut c_void,
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: made by crates_cipher, freed once.
        unsafe { (self.functions.crates_free)(self.work) }
    }
}
