//! Modes that need a block cipher and one IV per sector, and nothing else: they differ only in
//! their bodies.

use crate::block_cipher::BlockCipher;
use crate::chaining::ctr;
use crate::engine::{BATCH, Engine, Run};
use crate::iv::IvGenerator;
use alloc::boxed::Box;

pub(crate) struct ByIv<const N: usize> {
    pub(crate) cipher: Box<dyn BlockCipher<N>>,
    pub(crate) iv: IvGenerator<N>,
    pub(crate) body: Body<N>,
}

/// What a mode does with at most [`BATCH`] sectors.
pub(crate) struct Body<const N: usize> {
    pub(crate) encrypt: Sectors<N>,
    pub(crate) decrypt: Sectors<N>,
}

/// Works in place on sectors of the given size in bytes; may use their IVs as workspace.
pub(crate) type Sectors<const N: usize> = fn(&dyn BlockCipher<N>, &mut [[u8; N]], usize, &mut [u8]);

/// CBC.
pub(crate) fn cbc<const N: usize>() -> Body<N> {
    Body {
        encrypt: |cipher, ivs, sector, data| cipher.cbc_encrypt(ivs, sector, data),
        decrypt: |cipher, ivs, sector, data| cipher.cbc_decrypt(ivs, sector, data),
    }
}

/// CTR.
pub(crate) fn ctr<const N: usize>() -> Body<N> {
    let crypt: Sectors<N> = |cipher, ivs, sector, data| {
        ctr::crypt(ctr::count, ivs, sector, data, |blocks| cipher.encrypt_blocks(blocks));
    };
    Body { encrypt: crypt, decrypt: crypt }
}

/// XCTR.
pub(crate) fn xctr<const N: usize>() -> Body<N> {
    let crypt: Sectors<N> = |cipher, ivs, sector, data| {
        ctr::crypt(ctr::count_beside, ivs, sector, data, |blocks| cipher.encrypt_blocks(blocks));
    };
    Body { encrypt: crypt, decrypt: crypt }
}

impl<const N: usize> ByIv<N> {
    fn run(&self, body: Sectors<N>, run: &Run, data: &mut [u8]) {
        run.batches(data, |run, data| {
            let mut ivs = [[0; N]; BATCH];
            body(&*self.cipher, self.iv.fill(run, data.len(), &mut ivs), run.sector, data);
        });
    }
}

impl<const N: usize> Engine for ByIv<N> {
    fn encrypt(&self, run: &Run, data: &mut [u8]) {
        self.run(self.body.encrypt, run, data);
    }

    fn decrypt(&self, run: &Run, data: &mut [u8]) {
        self.run(self.body.decrypt, run, data);
    }

    fn code(&self) -> &'static str {
        self.cipher.code()
    }
}
