//! The peers' C interfaces, each behind a safe type.

use aws_lc_sys as aws;
use std::ffi::{c_int, c_void};
use std::ptr::null;

/// A cipher of aws-lc's EVP interface with its key expanded: the fair counterpart of a `SectorCipher`.
pub(crate) struct Evp {
    context: *mut aws::EVP_CIPHER_CTX,
}

/// Ciphers and directions that are measured.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EvpCipher {
    XtsEncrypt,
    XtsDecrypt,
    CbcEncrypt,
    CbcDecrypt,
}

impl Evp {
    /// Expands `key`: 64 bytes for XTS, 32 for CBC.
    pub(crate) fn new(cipher: EvpCipher, key: &[u8]) -> Self {
        let (kind, key_len, encrypt) = match cipher {
            // SAFETY: these return pointers to constants.
            EvpCipher::XtsEncrypt => (unsafe { aws::EVP_aes_256_xts() }, 64, 1),
            // SAFETY: as above.
            EvpCipher::XtsDecrypt => (unsafe { aws::EVP_aes_256_xts() }, 64, 0),
            // SAFETY: as above.
            EvpCipher::CbcEncrypt => (unsafe { aws::EVP_aes_256_cbc() }, 32, 1),
            // SAFETY: as above.
            EvpCipher::CbcDecrypt => (unsafe { aws::EVP_aes_256_cbc() }, 32, 0),
        };
        assert_eq!(key.len(), key_len);
        // SAFETY: takes nothing, returns a context or null.
        let context = unsafe { aws::EVP_CIPHER_CTX_new() };
        assert!(!context.is_null());
        // SAFETY: the context is ours, the key has the length that the cipher reads, and no IV is read when it is null.
        let done = unsafe {
            aws::EVP_CipherInit_ex(context, kind, std::ptr::null_mut(), key.as_ptr(), null(), encrypt)
                & aws::EVP_CIPHER_CTX_set_padding(context, 0)
        };
        assert_eq!(done, 1);
        Self { context }
    }

    /// Runs one sector in place with this IV.
    pub(crate) fn sector(&mut self, iv: &[u8; 16], data: &mut [u8]) {
        let mut written: c_int = 0;
        let len = c_int::try_from(data.len()).expect("a sector");
        // SAFETY: the context is ours; null cipher and key mean "as before", -1 "same direction"; 16 bytes of IV are
        // read; output and input are the same buffer, which EVP allows, and without padding it writes `len` bytes.
        let done = unsafe {
            aws::EVP_CipherInit_ex(self.context, null(), std::ptr::null_mut(), null(), iv.as_ptr(), -1)
                & aws::EVP_CipherUpdate(self.context, data.as_mut_ptr(), &raw mut written, data.as_ptr(), len)
        };
        assert!(done == 1 && written == len);
    }
}

impl Drop for Evp {
    fn drop(&mut self) {
        // SAFETY: made by EVP_CIPHER_CTX_new, freed once.
        unsafe { aws::EVP_CIPHER_CTX_free(self.context) }
    }
}

/// Argon2id by Debian's libargon2, the code that Debian's cryptsetup runs.
pub(crate) fn libargon2_id(
    passes: u32,
    memory_kib: u32,
    lanes: u32,
    password: &[u8],
    salt: &[u8],
    out: &mut [u8],
) {
    // SAFETY: all pointers come with their lengths; libargon2 keeps none of them.
    let result = unsafe {
        argon2id_hash_raw(
            passes,
            memory_kib,
            lanes,
            password.as_ptr().cast(),
            password.len(),
            salt.as_ptr().cast(),
            salt.len(),
            out.as_mut_ptr().cast(),
            out.len(),
        )
    };
    assert_eq!(result, 0, "libargon2");
}

#[link(name = "argon2")]
unsafe extern "C" {
    fn argon2id_hash_raw(
        t_cost: u32,
        m_cost: u32,
        parallelism: u32,
        pwd: *const c_void,
        pwdlen: usize,
        salt: *const c_void,
        saltlen: usize,
        hash: *mut c_void,
        hashlen: usize,
    ) -> c_int;
}
