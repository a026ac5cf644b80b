//! The wide modes, in which every bit of a sector depends on every other bit, with 256-bit IVs
//! computed from the sector's number.

use crate::engine::{BATCH, Engine, Run};
use crate::iv::IvGenerator;

/// A keyed wide mode.
pub(crate) trait Wide: Send + Sync {
    /// Encrypts sectors of `sector` bytes (a multiple of 512), with one IV per sector.
    fn encrypt(&self, ivs: &[[u8; 32]], sector: usize, data: &mut [u8]);

    /// The inverse of [`Wide::encrypt`].
    fn decrypt(&self, ivs: &[[u8; 32]], sector: usize, data: &mut [u8]);

    /// The code in use, as shown in tables.
    fn code(&self) -> &'static str;
}

/// A wide mode with its IVs.
pub(crate) struct WithIvs<M> {
    pub(crate) mode: M,
    pub(crate) iv: IvGenerator<32>,
}

impl<M: Wide> WithIvs<M> {
    fn batches(&self, run: &Run, data: &mut [u8], work: impl Fn(&[[u8; 32]], &mut [u8])) {
        run.batches(data, |run, data| {
            let mut ivs = [[0; 32]; BATCH];
            work(self.iv.fill(run, data.len(), &mut ivs), data);
        });
    }
}

impl<M: Wide> Engine for WithIvs<M> {
    fn encrypt(&self, run: &Run, data: &mut [u8]) {
        self.batches(run, data, |ivs, data| self.mode.encrypt(ivs, run.sector, data));
    }

    fn decrypt(&self, run: &Run, data: &mut [u8]) {
        self.batches(run, data, |ivs, data| self.mode.decrypt(ivs, run.sector, data));
    }

    fn code(&self) -> &'static str {
        self.mode.code()
    }
}
