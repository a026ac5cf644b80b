//! The inside of a sector cipher: what a mode with its keys does to a run of sectors. The engine for
//! a specification is built in [`crate::choice`].

mod turns;

pub(crate) use crate::chaining::BATCH;
pub(crate) use turns::Turns;

/// A keyed mode over runs of sectors.
pub(crate) trait Engine: Send + Sync {
    /// Encrypts a run of whole sectors in place.
    fn encrypt(&self, run: &Run, data: &mut [u8]);

    /// The inverse of [`Engine::encrypt`].
    fn decrypt(&self, run: &Run, data: &mut [u8]);

    /// The code in use, as shown in tables: "vaes-avx512", "avx2", "portable".
    fn code(&self) -> &'static str;
}

/// How a run of sectors is numbered and divided.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    /// The first sector's number in 512-byte units, the volume's IV
    /// offset included (dm-crypt's `cc_sector`).
    pub(crate) first: u64,
    /// Bytes per sector.
    pub(crate) sector: usize,
    /// Whether IVs count sectors (dm-crypt's `iv_large_sectors`) and not 512-byte units.
    pub(crate) large_ivs: bool,
}

impl Run {
    /// The number of sector `index` of the run, in 512-byte units.
    pub(crate) fn unit(&self, index: usize) -> u64 {
        self.first.wrapping_add(self.units_a_sector() * index as u64)
    }

    /// The number that the IV of sector `index` of the run is computed from.
    pub(crate) fn iv(&self, index: usize) -> u64 {
        let unit = self.unit(index);
        if self.large_ivs { unit / self.units_a_sector() } else { unit }
    }

    /// The byte offset of sector `index` of the run, as dm-crypt computes it for BitLocker: the
    /// IV's number times the sector size, which is a true offset only where IVs count sectors.
    pub(crate) fn byte_offset(&self, index: usize) -> u64 {
        self.iv(index).wrapping_mul(self.sector as u64)
    }

    /// The run without its first sectors.
    pub(crate) fn skip(&self, sectors: usize) -> Self {
        Self { first: self.unit(sectors), ..*self }
    }

    /// Divides `data` into batches of [`BATCH`] sectors and passes each to `work` with its own run.
    pub(crate) fn batches(&self, data: &mut [u8], mut work: impl FnMut(&Run, &mut [u8])) {
        for (index, batch) in data.chunks_mut(BATCH * self.sector).enumerate() {
            work(&self.skip(index * BATCH), batch);
        }
    }

    fn units_a_sector(&self) -> u64 {
        (self.sector / 512) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_are_numbered_in_units_or_in_sectors() {
        let mut run = Run { first: 16, sector: 4096, large_ivs: false };
        assert_eq!([run.unit(0), run.unit(3), run.iv(3), run.skip(2).iv(1)], [16, 40, 40, 40]);
        run.large_ivs = true;
        assert_eq!([run.unit(3), run.iv(0), run.iv(3), run.skip(2).iv(1)], [40, 2, 5, 5]);
        run = Run { first: u64::MAX, sector: 512, large_ivs: false };
        assert_eq!([run.iv(0), run.iv(1)], [u64::MAX, 0]);
    }

    #[test]
    fn batches_cover_the_run() {
        let run = Run { first: 8, sector: 512, large_ivs: false };
        let mut data = vec![0; 512 * (BATCH + 3)];
        let mut seen = Vec::new();
        run.batches(&mut data, |batch, data| seen.push((batch.first, data.len())));
        assert_eq!(seen, [(8, 512 * BATCH), (8 + BATCH as u64, 512 * 3)]);
    }
}
