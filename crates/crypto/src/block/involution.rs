//! What Anubis and Khazad share: an S-box that is its own inverse,
//! made of two small ones, and GF(2^8).
//!
//! Barreto and Rijmen, "The KHAZAD legacy-level block cipher" (NESSIE
//! 2001), section 3.2 and appendix B of the tweak.

/// S(S(x)) = x, for every x.
pub(super) static SBOX: [u8; 256] = sbox();

/// The product in GF(2^8) modulo x^8 + x^4 + x^3 + x^2 + 1.
pub(super) const fn multiply(a: u8, b: u8) -> u8 {
    let mut product: u16 = 0;
    let mut bit = 8;
    while bit > 0 {
        bit -= 1;
        product = (product << 1) ^ ((product >> 7 & 1) * 0x11d);
        product ^= (b as u16 >> bit & 1) * a as u16;
    }
    product as u8
}

/// Three layers of the small S-boxes, between which the halves exchange two bits each.
const fn sbox() -> [u8; 256] {
    let mut sbox = [0; 256];
    let mut x = 0;
    while x < 256 {
        let (high, low) = exchange(P[x >> 4], Q[x & 15]);
        let (high, low) = exchange(Q[high as usize], P[low as usize]);
        sbox[x] = P[high as usize] << 4 | Q[low as usize];
        x += 1;
    }
    sbox
}

const fn exchange(high: u8, low: u8) -> (u8, u8) {
    (high & 12 | low >> 2, (high & 3) << 2 | low & 3)
}

const P: [u8; 16] = [3, 15, 14, 0, 5, 4, 11, 12, 13, 10, 9, 6, 7, 8, 2, 1];
const Q: [u8; 16] = [9, 14, 5, 6, 10, 2, 3, 12, 15, 0, 4, 13, 7, 11, 1, 8];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sbox_is_its_own_inverse() {
        assert!((0..=255).all(|x: u8| SBOX[SBOX[x as usize] as usize] == x));
        assert_eq!(SBOX[..4], [0xba, 0x54, 0x2f, 0x74]);
    }

    #[test]
    fn products_reduce() {
        assert_eq!((multiply(0x80, 2), multiply(7, 1), multiply(3, 3)), (0x1d, 7, 5));
    }
}
