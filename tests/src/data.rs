//! Data that no bug reproduces by accident: deterministic, different for every seed and offset,
//! never zeros.
//!
//! SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom
//! number generators", OOPSLA 2014).

/// `len` bytes that depend on `seed` only.
pub fn random(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(GOLDEN_GAMMA);
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        state = state.wrapping_add(GOLDEN_GAMMA);
        bytes.extend_from_slice(&mix(state).to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// 2^64 divided by the golden ratio, made odd.
const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use super::random;

    #[test]
    fn the_same_seed_gives_the_same_bytes_and_another_does_not() {
        assert_eq!(random(1, 1000), random(1, 1000));
        assert_eq!(random(1, 1000)[..999], random(1, 999)[..]);
        assert_ne!(random(1, 1000), random(2, 1000));
    }

    #[test]
    fn no_two_sectors_are_alike() {
        let bytes = random(7, 64 * 512);
        let mut sectors: Vec<&[u8]> = bytes.chunks(512).collect();
        sectors.sort_unstable();
        sectors.dedup();
        assert_eq!(sectors.len(), 64);
    }
}
