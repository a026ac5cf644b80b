//! OpenSSL's EVP (openssl/evp.h, versions 3 and 4): a key expanded
//! once, an IV and an update for each sector.

use super::functions;
use crate::foreign::{Keyed, Library, Secret};
use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};

functions!(Functions {
    OpenSSL_version: fn(c_int) -> *const c_char,
    OSSL_PROVIDER_load: fn(*mut c_void, *const c_char) -> *mut c_void,
    EVP_CIPHER_fetch: fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void,
    EVP_CIPHER_CTX_new: fn() -> *mut c_void,
    EVP_CIPHER_CTX_free: fn(*mut c_void),
    EVP_CIPHER_CTX_set_key_length: fn(*mut c_void, c_int) -> c_int,
    EVP_CIPHER_CTX_set_padding: fn(*mut c_void, c_int) -> c_int,
    EVP_CipherInit_ex: fn(*mut c_void, *const c_void, *mut c_void, *const c_uchar, *const c_uchar, c_int) -> c_int,
    EVP_CipherUpdate: fn(*mut c_void, *mut c_uchar, *mut c_int, *const c_uchar, c_int) -> c_int,
    EVP_MD_fetch: fn(*mut c_void, *const c_char, *const c_char) -> *const c_void,
    PKCS5_PBKDF2_HMAC: fn(*const c_char, c_int, *const c_uchar, c_int, c_int, *const c_void, c_int, *mut c_uchar) -> c_int,
});

/// One of the two OpenSSLs.
pub(crate) struct OpenSsl(Functions);

impl OpenSsl {
    pub(crate) fn load(path: &Path) -> Option<Self> {
        let functions = Functions::load(path)?;
        for provider in [c"default", c"legacy"] {
            // SAFETY: a null context is the default one; a provider that is not
            // there gives null, and has no ciphers.
            unsafe { (functions.OSSL_PROVIDER_load)(null_mut(), provider.as_ptr()) };
        }
        Some(Self(functions))
    }

    pub(crate) fn version(&self) -> String {
        // SAFETY: returns a constant string.
        unsafe { CStr::from_ptr((self.0.OpenSSL_version)(0)) }.to_string_lossy().into_owned()
    }

    pub(crate) fn pbkdf2(&self, hash: &str, secret: Secret<'_>, iterations: u32, out: &mut [u8]) {
        let name = CString::new(hash).expect("a name");
        let len = |bytes: &[u8]| c_int::try_from(bytes.len()).expect("short");
        // SAFETY: every pointer comes with its length.
        let done = unsafe {
            let digest = (self.0.EVP_MD_fetch)(null_mut(), name.as_ptr(), null());
            (self.0.PKCS5_PBKDF2_HMAC)(
                secret.password.as_ptr().cast(),
                len(secret.password),
                secret.salt.as_ptr(),
                len(secret.salt),
                c_int::try_from(iterations).expect("not that many"),
                digest,
                len(out),
                out.as_mut_ptr(),
            )
        };
        assert_eq!(done, 1, "PKCS5_PBKDF2_HMAC");
    }
}

impl Library for OpenSsl {
    fn keyed(&'static self, cipher: &str, mode: &str, key: &[u8], encrypt: bool) -> Option<Box<dyn Keyed>> {
        let bits = 8 * key.len() / if mode == "xts" { 2 } else { 1 };
        let name = match cipher {
            "aes" | "camellia" | "aria" => format!("{cipher}-{bits}-{mode}"),
            // Its SM4-XTS is GB/T 17964's, which doubles tweaks in
            // another order of bits than IEEE 1619.
            "sm4" if mode == "xts" => return None,
            "sm4" | "seed" => format!("{cipher}-{mode}"),
            "cast5" => format!("CAST5-{mode}"),
            "blowfish" => format!("BF-{mode}"),
            "des" => format!("DES-{mode}"),
            "des3_ede" => format!("DES-EDE3-{mode}"),
            _ => return None,
        };
        let name = CString::new(name.to_uppercase()).expect("a name");
        // SAFETY: null context and properties are the default ones; an unknown name gives null.
        let kind = unsafe { (self.0.EVP_CIPHER_fetch)(null_mut(), name.as_ptr(), null()) };
        if kind.is_null() {
            return None;
        }
        // SAFETY: takes nothing, returns a context or null.
        let context = unsafe { (self.0.EVP_CIPHER_CTX_new)() };
        assert!(!context.is_null());
        let key_len = c_int::try_from(key.len()).expect("a key");
        // SAFETY: the context is ours and knows the key's length before the key
        // is read; no IV is read when it is null.
        let done = unsafe {
            (self.0.EVP_CipherInit_ex)(context, kind, null_mut(), null(), null(), encrypt.into())
                & (self.0.EVP_CIPHER_CTX_set_key_length)(context, key_len)
                & (self.0.EVP_CipherInit_ex)(context, null(), null_mut(), key.as_ptr(), null(), -1)
                & (self.0.EVP_CIPHER_CTX_set_padding)(context, 0)
        };
        assert_eq!(done, 1, "{name:?} takes {key_len} bytes of key");
        Some(Box::new(Context { functions: &self.0, context }))
    }
}

struct Context {
    functions: &'static Functions,
    context: *mut c_void,
}

impl Keyed for Context {
    fn run(&mut self, iv: &[u8], data: &mut [u8]) {
        let iv = if iv.is_empty() { null() } else { iv.as_ptr() };
        let mut written: c_int = 0;
        let len = c_int::try_from(data.len()).expect("a run of sectors");
        // SAFETY: the context is ours; null cipher and key mean "as before", -1 "same
        // direction"; as many bytes of IV are read as the caller made for this cipher; output
        // and input are the same buffer, which EVP allows.
        let done = unsafe {
            (self.functions.EVP_CipherInit_ex)(self.context, null(), null_mut(), null(), iv, -1)
                & (self.functions.EVP_CipherUpdate)(
                    self.context,
                    data.as_mut_ptr(),
                    &raw mut written,
                    data.as_ptr(),
                    len,
                )
        };
        assert!(done == 1 && written == len);
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: made by EVP_CIPHER_CTX_new, freed once.
        unsafe { (self.functions.EVP_CIPHER_CTX_free)(self.context) }
    }
}
