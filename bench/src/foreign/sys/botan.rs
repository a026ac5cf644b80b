//! Botan's C interface (botan/ffi.h).

use super::functions;
use crate::foreign::{Keyed, Library, Secret};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::null_mut;

functions!(Functions {
    botan_version_string: fn() -> *const c_char,
    botan_cipher_init: fn(*mut *mut c_void, *const c_char, u32) -> c_int,
    botan_cipher_destroy: fn(*mut c_void) -> c_int,
    botan_cipher_set_key: fn(*mut c_void, *const u8, usize) -> c_int,
    botan_cipher_start: fn(*mut c_void, *const u8, usize) -> c_int,
    botan_cipher_update: fn(*mut c_void, u32, *mut u8, usize, *mut usize, *const u8, usize, *mut usize) -> c_int,
    botan_pwdhash: fn(*const c_char, usize, usize, usize, *mut u8, usize, *const c_char, usize, *const u8, usize) -> c_int,
});

/// The library.
pub(crate) struct Botan(Functions);

impl Botan {
    pub(crate) fn load(path: &Path) -> Option<Self> {
        Functions::load(path).map(Self)
    }

    pub(crate) fn version(&self) -> String {
        // SAFETY: returns a constant string.
        let version = unsafe { CStr::from_ptr((self.0.botan_version_string)()) };
        version.to_string_lossy().split(" (").next().unwrap_or_default().to_owned()
    }

    pub(crate) fn pbkdf2(&self, hash: &str, secret: Secret<'_>, iterations: u32, out: &mut [u8]) {
        let name = CString::new(format!("PBKDF2(SHA-{})", &hash[3..])).expect("a name");
        // SAFETY: every pointer comes with its length.
        let error = unsafe {
            (self.0.botan_pwdhash)(
                name.as_ptr(),
                iterations as usize,
                0,
                0,
                out.as_mut_ptr(),
                out.len(),
                secret.password.as_ptr().cast(),
                secret.password.len(),
                secret.salt.as_ptr(),
                secret.salt.len(),
            )
        };
        assert_eq!(error, 0, "botan_pwdhash");
    }
}

impl Library for Botan {
    fn keyed(&'static self, cipher: &str, mode: &str, key: &[u8], encrypt: bool) -> Option<Box<dyn Keyed>> {
        let bits = 8 * key.len() / if mode == "xts" { 2 } else { 1 };
        let cipher = match cipher {
            "aes" | "aria" => format!("{cipher}-{bits}").to_uppercase(),
            "camellia" => format!("Camellia-{bits}"),
            "serpent" => "Serpent".into(),
            "twofish" => "Twofish".into(),
            "cast5" => "CAST-128".into(),
            "blowfish" => "Blowfish".into(),
            "des" => "DES".into(),
            "des3_ede" => "TripleDES".into(),
            "seed" => "SEED".into(),
            "sm4" => "SM4".into(),
            _ => return None,
        };
        let name = match mode {
            "xts" => format!("{cipher}/XTS"),
            "cbc" => format!("{cipher}/CBC/NoPadding"),
            _ => return None,
        };
        let name = CString::new(name).expect("a name");
        let mut handle = null_mut();
        // SAFETY: writes a handle where it succeeds.
        if unsafe { (self.0.botan_cipher_init)(&raw mut handle, name.as_ptr(), u32::from(!encrypt)) } != 0 {
            return None;
        }
        // SAFETY: the handle is ours, the key comes with its length.
        let error = unsafe { (self.0.botan_cipher_set_key)(handle, key.as_ptr(), key.len()) };
        assert_eq!(error, 0, "{name:?} takes {bits} bits of key");
        Some(Box::new(Handle { functions: &self.0, handle, input: Vec::new() }))
    }
}

/// Input and output must not overlap.
struct Handle {
    functions: &'static Functions,
    handle: *mut c_void,
    input: Vec<u8>,
}

impl Keyed for Handle {
    fn run(&mut self, iv: &[u8], data: &mut [u8]) {
        self.input.clear();
        self.input.extend_from_slice(data);
        let (mut written, mut consumed) = (0, 0);
        // SAFETY: the handle is ours, every pointer comes with its length.
        let error = unsafe {
            (self.functions.botan_cipher_start)(self.handle, iv.as_ptr(), iv.len())
                | (self.functions.botan_cipher_update)(
                    self.handle,
                    FINAL,
                    data.as_mut_ptr(),
                    data.len(),
                    &raw mut written,
                    self.input.as_ptr(),
                    self.input.len(),
                    &raw mut consumed,
                )
        };
        assert!(error == 0 && written == data.len());
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: made by botan_cipher_init, destroyed once.
        unsafe { (self.functions.botan_cipher_destroy)(self.handle) };
    }
}

/// BOTAN_CIPHER_UPDATE_FLAG_FINAL.
const FINAL: u32 = 1;
