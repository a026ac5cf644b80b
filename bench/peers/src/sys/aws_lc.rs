//! aws-lc's EVP interface: a key expanded once, an IV and an update for each sector.

use crate::{Order, Work};
use aws_lc_sys as aws;
use std::ffi::c_int;
use std::ptr::{null, null_mut};

/// AES-256-XTS (EVP has no other XTS) and AES-CBC.
pub(crate) fn work(order: Order<'_>) -> Option<Work> {
    // SAFETY: these return pointers to constants.
    let kind = unsafe {
        match (order.cipher, order.mode, order.iv, order.key.len()) {
            ("aes", "xts", "plain64", 64) => aws::EVP_aes_256_xts(),
            ("aes", "cbc", "plain64" | "essiv:sha256", 16) => aws::EVP_aes_128_cbc(),
            ("aes", "cbc", "plain64" | "essiv:sha256", 32) => aws::EVP_aes_256_cbc(),
            _ => return None,
        }
    };
    let mut context = Context::new(kind, order.key, order.encrypt);
    let mut essiv = order.iv.starts_with("essiv").then(|| {
        // SAFETY: returns a pointer to a constant.
        Context::new(unsafe { aws::EVP_aes_256_ecb() }, &sha256(order.key), true)
    });
    let (sector, mut ivs) = (order.sector, Vec::new());
    Some(Box::new(move |first, data| {
        ivs.clear();
        let numbers = (first..).step_by(sector / 512).take(data.len() / sector);
        ivs.extend(numbers.flat_map(|number| u128::from(number).to_le_bytes()));
        if let Some(essiv) = &mut essiv {
            essiv.update(&mut ivs);
        }
        for (iv, sector) in ivs.as_chunks().0.iter().zip(data.chunks_mut(sector)) {
            context.restart(iv);
            context.update(sector);
        }
    }))
}

struct Context(*mut aws::EVP_CIPHER_CTX);

impl Context {
    fn new(kind: *const aws::EVP_CIPHER, key: &[u8], encrypt: bool) -> Self {
        // SAFETY: takes nothing, returns a context or null.
        let context = unsafe { aws::EVP_CIPHER_CTX_new() };
        assert!(!context.is_null());
        // SAFETY: the context is ours, the key has the length that the
        // cipher reads, no IV is read when it is null.
        let done = unsafe {
            aws::EVP_CipherInit_ex(context, kind, null_mut(), key.as_ptr(), null(), encrypt.into())
                & aws::EVP_CIPHER_CTX_set_padding(context, 0)
        };
        assert_eq!(done, 1);
        Self(context)
    }

    /// The same key and direction with another IV.
    fn restart(&mut self, iv: &[u8; 16]) {
        // SAFETY: the context is ours; null cipher and key mean "as before",
        // -1 "same direction"; 16 bytes are read.
        let done = unsafe { aws::EVP_CipherInit_ex(self.0, null(), null_mut(), null(), iv.as_ptr(), -1) };
        assert_eq!(done, 1);
    }

    /// Whole blocks in place.
    fn update(&mut self, data: &mut [u8]) {
        let mut written: c_int = 0;
        let len = c_int::try_from(data.len()).expect("a run of sectors");
        // SAFETY: the context is ours; input and output are the same buffer, which EVP
        // allows; without padding it writes `len` bytes.
        let done =
            unsafe { aws::EVP_CipherUpdate(self.0, data.as_mut_ptr(), &raw mut written, data.as_ptr(), len) };
        assert!(done == 1 && written == len);
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: made by EVP_CIPHER_CTX_new, freed once.
        unsafe { aws::EVP_CIPHER_CTX_free(self.0) }
    }
}

fn sha256(data: &[u8]) -> [u8; 32] {
    let mut digest = [0; 32];
    // SAFETY: reads `data`, writes 32 bytes.
    unsafe { aws::SHA256(data.as_ptr(), data.len(), digest.as_mut_ptr()) };
    digest
}
