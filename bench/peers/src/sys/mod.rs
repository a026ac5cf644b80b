//! What the library exports. Strings are UTF-8 with a length, as everything else.

#[cfg(feature = "aws-lc")]
mod aws_lc;

use crate::{Order, Work, kdf, rustcrypto};
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// A pointer and a length that cross the border together.
#[repr(C)]
pub struct Bytes {
    pointer: *const u8,
    len: usize,
}

impl Bytes {
    /// # Safety
    /// The pointer must hold `len` bytes that nobody writes while the slice is used.
    unsafe fn slice<'a>(&self) -> &'a [u8] {
        // SAFETY: the caller's promise.
        unsafe { from_raw_parts(self.pointer, self.len) }
    }

    /// # Safety
    /// As [`Bytes::slice`].
    unsafe fn text<'a>(&self) -> &'a str {
        // SAFETY: the caller's promise.
        str::from_utf8(unsafe { self.slice() }).expect("UTF-8")
    }
}

/// A cipher to be given back to [`crates_free`], or null when
/// `library` ("aws-lc", "rustcrypto") has none like it.
///
/// # Safety
/// Each [`Bytes`] must be readable for the time of the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn crates_cipher(
    library: Bytes,
    cipher: Bytes,
    mode: Bytes,
    iv: Bytes,
    key: Bytes,
    sector: usize,
    encrypt: bool,
) -> *mut Work {
    // SAFETY: the caller's promise.
    let (library, cipher, mode, iv, key) =
        unsafe { (library.text(), cipher.text(), mode.text(), iv.text(), key.slice()) };
    let order = Order { cipher, mode, iv, key, sector, encrypt };
    let work = match library {
        #[cfg(feature = "aws-lc")]
        "aws-lc" => aws_lc::work(order),
        "rustcrypto" => rustcrypto::work(order),
        _ => None,
    };
    work.map_or(std::ptr::null_mut(), |work| Box::into_raw(Box::new(work)))
}

/// Runs a cipher over whole sectors in place.
///
/// # Safety
/// `work` must come from [`crates_cipher`], and `data` hold `len` bytes that are the caller's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn crates_run(work: *mut Work, first_iv: u64, data: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    let (work, data) = unsafe { (&mut *work, from_raw_parts_mut(data, len)) };
    work(first_iv, data);
}

/// # Safety
/// `work` must come from [`crates_cipher`] and not be used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn crates_free(work: *mut Work) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(work) });
}

/// RustCrypto's PBKDF2; false when the hash is unknown.
///
/// # Safety
/// Each [`Bytes`] must be readable, and `out` hold `len` bytes that are the caller's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn crates_pbkdf2(
    hash: Bytes,
    password: Bytes,
    salt: Bytes,
    iterations: u32,
    out: *mut u8,
    len: usize,
) -> bool {
    // SAFETY: the caller's promise.
    let (hash, password, salt, out) =
        unsafe { (hash.text(), password.slice(), salt.slice(), from_raw_parts_mut(out, len)) };
    kdf::pbkdf2(hash, password, salt, iterations, out)
}

/// RustCrypto's Argon2id.
///
/// # Safety
/// As [`crates_pbkdf2`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn crates_argon2id(
    time: u32,
    memory_kib: u32,
    lanes: u32,
    password: Bytes,
    salt: Bytes,
    out: *mut u8,
    len: usize,
) {
    // SAFETY: the caller's promise.
    let (password, salt, out) = unsafe { (password.slice(), salt.slice(), from_raw_parts_mut(out, len)) };
    kdf::argon2id(time, memory_kib, lanes, password, salt, out);
}
