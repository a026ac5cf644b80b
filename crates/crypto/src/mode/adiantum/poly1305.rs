//! Poly1305's polynomial (RFC 8439, section 2.5) without the final addition, on 64-bit limbs, in
//! constant time: the outer hash of Adiantum takes few blocks, so one chain of scalar code runs in
//! parallel with the vector code of NH.

/// The clamped point at which the polynomial is evaluated.
#[derive(Clone, Copy)]
pub(super) struct Point {
    low: u64,
    high: u64,
}

impl Point {
    pub(super) const ZERO: Self = Self { low: 0, high: 0 };

    /// Clamps 16 bytes of key.
    pub(super) fn new(key: [u8; 16]) -> Self {
        let key = u128::from_le_bytes(key) & 0x0fff_fffc_0fff_fffc_0fff_fffc_0fff_ffff;
        Self { low: key as u64, high: (key >> 64) as u64 }
    }
}

/// A polynomial's value so far, below 2^131, in limbs of 64 bits.
#[derive(Clone, Copy)]
pub(super) struct Poly1305([u64; 3]);

impl Poly1305 {
    pub(super) const fn new() -> Self {
        Self([0; 3])
    }

    /// Absorbs a block of 16 bytes, given as two little-endian words: (value + block + 2^128) ·
    /// point mod 2^130 - 5.
    #[inline(always)]
    pub(super) fn block(&mut self, point: &Point, [low, high]: [u64; 2]) {
        let [h0, h1, h2] = self.0;
        let (h0, carry) = h0.overflowing_add(low);
        let (h1, first) = h1.overflowing_add(high);
        let (h1, second) = h1.overflowing_add(u64::from(carry));
        let h2 = h2 + 1 + u64::from(first) + u64::from(second);

        // The point's upper limb is a multiple of 4, so multiplying by 2^128 = 2^130 / 4 is
        // multiplying by 5 / 4.
        let folded = point.high + (point.high >> 2);
        let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
        let d0 = product(h0, point.low) + product(h1, folded);
        let d1 = product(h0, point.high) + product(h1, point.low) + u128::from(h2 * folded);
        let d1 = d1 + (d0 >> 64);
        let d2 = h2 * point.low + (d1 >> 64) as u64;

        let over = (d2 & !3) + (d2 >> 2);
        let (h0, carry) = (d0 as u64).overflowing_add(over);
        let (h1, carry) = (d1 as u64).overflowing_add(u64::from(carry));
        self.0 = [h0, h1, (d2 & 3) + u64::from(carry)];
    }

    /// The value modulo 2^130 - 5, then modulo 2^128.
    #[inline(always)]
    pub(super) fn finish(self) -> u128 {
        let [h0, h1, h2] = self.0;
        let value = u128::from(h1) << 64 | u128::from(h0);
        let (reduced, carry) = value.overflowing_add(5);
        let reached = (h2 + u64::from(carry)) >> 2;
        let mask = u128::from(reached).wrapping_neg();
        (reduced & mask) | (value & !mask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8439, section 2.5.2: the value before `s` is added, after the text's two whole blocks
    /// ("Cryptographic Forum Research Group" without its last two bytes).
    #[test]
    fn rfc_8439_section_2_5_2() {
        let key = 0xa806_d542_fe52_447f_336d_5557_78be_d685_u128;
        let point = Point::new(key.to_le_bytes());
        assert_eq!((point.high, point.low), (0x0806_d540_0e52_447c, 0x036d_5554_08be_d685));
        let mut poly = Poly1305::new();
        for block in b"Cryptographic Forum Research Gro".as_chunks::<16>().0 {
            let block = u128::from_le_bytes(*block);
            poly.block(&point, [block as u64, (block >> 64) as u64]);
        }
        assert_eq!(poly.finish(), 0xd8ad_af23_b033_7fa7_cccf_b4ea_344b_30de);
    }

    /// RFC 8439, appendix A.3, test vectors 7, 9, 10 and 11: values
    /// at the edge of the modulus, with `s` = 0.
    #[test]
    fn rfc_8439_appendix_a_3() {
        let ones = u128::MAX.to_le_bytes();
        let low = |byte: u8| u128::from(byte).to_le_bytes();
        let edge = |first: u8, rest: u8| {
            let mut block = [rest; 16];
            block[0] = first;
            block
        };
        let cases: [(u128, &[[u8; 16]], u128); 4] = [
            (2, &[ones], 3),
            (1, &[ones, edge(0xf0, 0xff), low(0x11)], 5),
            (1, &[ones, edge(0xfb, 0xfe), [1; 16]], 0),
            (2, &[edge(0xfd, 0xff)], u128::MAX - 5),
        ];
        for (key, blocks, expected) in cases {
            let point = Point::new(key.to_le_bytes());
            let mut poly = Poly1305::new();
            for block in blocks {
                let block = u128::from_le_bytes(*block);
                poly.block(&point, [block as u64, (block >> 64) as u64]);
            }
            assert_eq!(poly.finish(), expected);
        }
    }
}
