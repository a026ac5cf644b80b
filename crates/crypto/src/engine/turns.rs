//! Several keys per volume, which sectors use in turn (dm-crypt's `cipher:count`): sector n,
//! counted in 512-byte units whatever the sector size, uses key n modulo count.

use super::{Engine, Run};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// One engine per key; the number of keys is a power of two.
pub(crate) struct Turns(pub(crate) Vec<Box<dyn Engine>>);

impl Turns {
    fn each(&self, run: &Run, data: &mut [u8], work: impl Fn(&dyn Engine, &Run, &mut [u8])) {
        for (index, sector) in data.chunks_exact_mut(run.sector).enumerate() {
            let run = run.skip(index);
            let turn = run.first % self.0.len() as u64;
            work(&*self.0[turn as usize], &run, sector);
        }
    }
}

impl Engine for Turns {
    fn encrypt(&self, run: &Run, data: &mut [u8]) {
        self.each(run, data, |engine, run, sector| engine.encrypt(run, sector));
    }

    fn decrypt(&self, run: &Run, data: &mut [u8]) {
        self.each(run, data, |engine, run, sector| engine.decrypt(run, sector));
    }

    fn code(&self) -> &'static str {
        self.0[0].code()
    }
}
