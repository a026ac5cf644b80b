//! ECB (NIST SP 800-38A, section 6.1): each block on its own, without IVs.

use crate::block_cipher::BlockCipher;
use crate::engine::{Engine, Run};
use alloc::boxed::Box;

pub(crate) struct Ecb<const N: usize> {
    pub(crate) cipher: Box<dyn BlockCipher<N>>,
}

impl<const N: usize> Engine for Ecb<N> {
    fn encrypt(&self, _: &Run, data: &mut [u8]) {
        self.cipher.encrypt_blocks(data.as_chunks_mut().0);
    }

    fn decrypt(&self, _: &Run, data: &mut [u8]) {
        self.cipher.decrypt_blocks(data.as_chunks_mut().0);
    }

    fn code(&self) -> &'static str {
        self.cipher.code()
    }
}
