//! XTS (IEEE 1619-2018, section 5): an engine of two keys, of which one encrypts the IVs to tweaks.
//! [`crate::chaining::xts`] has the rest.

use crate::block_cipher::{Block, Cipher128};
use crate::engine::{BATCH, Engine, Run};
use crate::iv::IvGenerator;
use alloc::boxed::Box;

/// XTS with its two keys.
pub(crate) struct Xts {
    pub(crate) data: Box<dyn Cipher128>,
    pub(crate) tweak: Box<dyn Cipher128>,
    pub(crate) iv: IvGenerator<16>,
}

impl Xts {
    /// Runs `work` over batches of sectors with their encrypted tweaks.
    fn with_tweaks(&self, run: &Run, data: &mut [u8], work: impl Fn(&[Block], &mut [u8])) {
        run.batches(data, |run, data| {
            let mut tweaks = [[0; 16]; BATCH];
            let tweaks = self.iv.fill(run, data.len(), &mut tweaks);
            self.tweak.encrypt_blocks(tweaks);
            work(tweaks, data);
        });
    }
}

impl Engine for Xts {
    fn encrypt(&self, run: &Run, data: &mut [u8]) {
        self.with_tweaks(run, data, |tweaks, data| self.data.xts_encrypt(tweaks, run.sector, data));
    }

    fn decrypt(&self, run: &Run, data: &mut [u8]) {
        self.with_tweaks(run, data, |tweaks, data| self.data.xts_decrypt(tweaks, run.sector, data));
    }

    fn code(&self) -> &'static str {
        self.data.code()
    }
}
