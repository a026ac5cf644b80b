//! Nonces for keys that are wrapped: a time in units of 100 ns (8 bytes) and a counter (4), as Windows makes them. The
//! counter goes on where the metadata's "next nonce" stands; that of the digest has the highest bit of the time set.

/// Nonces, of which none is given twice.
#[derive(Debug, Clone)]
pub struct Nonces {
    time: u64,
    next: u32,
}

impl Nonces {
    /// From this counter on. What `time` never was before makes nonces new that were counted already.
    pub fn new(time: u64, next: u32) -> Self {
        Self { time: time & !OF_DIGEST, next }
    }

    /// The next one.
    pub fn take(&mut self) -> [u8; 12] {
        self.nonce(self.time)
    }

    /// The next one, for a digest.
    pub(super) fn take_for_digest(&mut self) -> [u8; 12] {
        self.nonce(self.time | OF_DIGEST)
    }

    /// The counter that comes after so many more.
    pub(super) fn after(&self, more: u32) -> u32 {
        self.next.wrapping_add(more)
    }

    fn nonce(&mut self, time: u64) -> [u8; 12] {
        let mut nonce = [0; 12];
        nonce[..8].copy_from_slice(&time.to_le_bytes());
        nonce[8..].copy_from_slice(&self.next.to_le_bytes());
        self.next = self.next.wrapping_add(1);
        nonce
    }
}

/// The highest bit of a time.
const OF_DIGEST: u64 = 1 << 63;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_another_one() {
        let mut nonces = Nonces::new(0x8102_0304_0506_0708, 9);
        assert_eq!(nonces.take(), [8, 7, 6, 5, 4, 3, 2, 1, 9, 0, 0, 0]);
        assert_eq!(nonces.take_for_digest(), [8, 7, 6, 5, 4, 3, 2, 0x81, 10, 0, 0, 0]);
        assert_eq!((nonces.after(0), nonces.after(2)), (11, 13));
    }
}
