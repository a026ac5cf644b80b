//! libgcrypt (gcrypt.h): the library of GRUB, and of cryptsetup where it is built so.

use super::functions;
use crate::foreign::{Keyed, Library, Secret};
use std::ffi::{CStr, c_char, c_int, c_uint, c_ulong, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};

functions!(Functions {
    gcry_check_version: fn(*const c_char) -> *const c_char,
    gcry_control: fn(c_int, c_int) -> c_uint,
    gcry_cipher_open: fn(*mut *mut c_void, c_int, c_int, c_uint) -> c_uint,
    gcry_cipher_close: fn(*mut c_void),
    gcry_cipher_setkey: fn(*mut c_void, *const c_void, usize) -> c_uint,
    gcry_cipher_setiv: fn(*mut c_void, *const c_void, usize) -> c_uint,
    gcry_cipher_encrypt: fn(*mut c_void, *mut c_void, usize, *const c_void, usize) -> c_uint,
    gcry_cipher_decrypt: fn(*mut c_void, *mut c_void, usize, *const c_void, usize) -> c_uint,
    gcry_kdf_derive: fn(*const c_void, usize, c_int, c_int, *const c_void, usize, c_ulong, usize, *mut c_void) -> c_uint,
});

/// The library, initialised.
pub(crate) struct Gcrypt(Functions);

impl Gcrypt {
    pub(crate) fn load(path: &Path) -> Option<Self> {
        let functions = Functions::load(path)?;
        // SAFETY: the order that the manual asks for: a check of the version, then the two
        // controls, which take nothing that matters.
        unsafe {
            (functions.gcry_check_version)(null());
            (functions.gcry_control)(DISABLE_SECMEM, 0);
            (functions.gcry_control)(INITIALIZATION_FINISHED, 0);
        }
        Some(Self(functions))
    }

    pub(crate) fn version(&self) -> String {
        // SAFETY: returns a constant string.
        let version = unsafe { CStr::from_ptr((self.0.gcry_check_version)(null())) };
        format!("libgcrypt {}", version.to_string_lossy())
    }

    pub(crate) fn pbkdf2(&self, hash: &str, secret: Secret<'_>, iterations: u32, out: &mut [u8]) {
        let hash = match hash {
            "sha1" => 2,
            "sha256" => 8,
            "sha512" => 10,
            other => unreachable!("no row with {other}"),
        };
        // SAFETY: every pointer comes with its length.
        let error = unsafe {
            (self.0.gcry_kdf_derive)(
                secret.password.as_ptr().cast(),
                secret.password.len(),
                PBKDF2,
                hash,
                secret.salt.as_ptr().cast(),
                secret.salt.len(),
                iterations.into(),
                out.len(),
                out.as_mut_ptr().cast(),
            )
        };
        assert_eq!(error, 0, "gcry_kdf_derive");
    }
}

impl Library for Gcrypt {
    fn keyed(&'static self, cipher: &str, mode: &str, key: &[u8], encrypt: bool) -> Option<Box<dyn Keyed>> {
        let bits = 8 * key.len() / if mode == "xts" { 2 } else { 1 };
        let algorithm = match (cipher, bits) {
            ("des3_ede", _) => 2,
            ("cast5", 128) => 3,
            ("blowfish", 128..) => 4,
            ("aes", 128) => 7,
            ("aes", 192) => 8,
            ("aes", 256) => 9,
            ("twofish", 256) => 10,
            ("des", _) => 302,
            ("serpent", 256) => 306,
            ("seed", _) => 309,
            ("camellia", 256) => 312,
            ("sm4", _) => 318,
            _ => return None,
        };
        let mode = match mode {
            "ecb" => 1,
            "cbc" => 3,
            "xts" => 13,
            _ => return None,
        };
        let mut handle = null_mut();
        // SAFETY: writes a handle where it succeeds.
        if unsafe { (self.0.gcry_cipher_open)(&raw mut handle, algorithm, mode, 0) } != 0 {
            return None;
        }
        // SAFETY: the handle is ours, the key comes with its length.
        let error = unsafe { (self.0.gcry_cipher_setkey)(handle, key.as_ptr().cast(), key.len()) };
        assert_eq!(error, 0, "{cipher} takes {bits} bits of key");
        Some(Box::new(Handle { functions: &self.0, handle, encrypt }))
    }
}

struct Handle {
    functions: &'static Functions,
    handle: *mut c_void,
    encrypt: bool,
}

impl Keyed for Handle {
    fn run(&mut self, iv: &[u8], data: &mut [u8]) {
        let run = if self.encrypt {
            self.functions.gcry_cipher_encrypt
        } else {
            self.functions.gcry_cipher_decrypt
        };
        // SAFETY: the handle is ours, the IV comes with its length; a null input means "in place".
        let error = unsafe {
            let set = if iv.is_empty() {
                0
            } else {
                (self.functions.gcry_cipher_setiv)(self.handle, iv.as_ptr().cast(), iv.len())
            };
            set | run(self.handle, data.as_mut_ptr().cast(), data.len(), null(), 0)
        };
        assert_eq!(error, 0, "libgcrypt runs its cipher");
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: made by gcry_cipher_open, closed once.
        unsafe { (self.functions.gcry_cipher_close)(self.handle) }
    }
}

const DISABLE_SECMEM: c_int = 37;
const INITIALIZATION_FINISHED: c_int = 38;
const PBKDF2: c_int = 34;
