//! The components of Twofish (the paper, section 4.3): the permutations q0 and q1, the MDS matrix
//! and the RS matrix.

/// The fixed permutations of bytes, q0 and q1.
pub(super) const Q: [[u8; 256]; 2] = [permutation(&NIBBLES[0]), permutation(&NIBBLES[1])];

/// The MDS matrix, over GF(2^8) modulo [`MDS_FIELD`], row by row.
pub(super) const MDS: [[u8; 4]; 4] =
    [[0x01, 0xef, 0x5b, 0x5b], [0x5b, 0xef, 0xef, 0x01], [0xef, 0x5b, 0x01, 0xef], [0xef, 0x01, 0xef, 0x5b]];

/// The RS matrix, over GF(2^8) modulo [`RS_FIELD`], row by row.
pub(super) const RS: [[u8; 8]; 4] = [
    [0x01, 0xa4, 0x55, 0x87, 0x5a, 0x58, 0xdb, 0x9e],
    [0xa4, 0x56, 0x82, 0xf3, 0x1e, 0xc6, 0x68, 0xe5],
    [0x02, 0xa1, 0xfc, 0xc1, 0x47, 0xae, 0x3d, 0x19],
    [0xa4, 0x55, 0x87, 0x5a, 0x58, 0xdb, 0x9e, 0x03],
];

/// x^8 + x^6 + x^5 + x^3 + 1.
pub(super) const MDS_FIELD: u32 = 0x169;

/// x^8 + x^6 + x^3 + x^2 + 1.
pub(super) const RS_FIELD: u32 = 0x14d;

/// The product in GF(2^8) modulo `field`.
pub(super) const fn multiply(a: u8, b: u8, field: u32) -> u8 {
    let (mut power, mut product) = (a as u32, 0);
    let mut bit = 0;
    while bit < 8 {
        product ^= power * ((b as u32 >> bit) & 1);
        power = (power << 1) ^ ((power >> 7) * field);
        bit += 1;
    }
    product as u8
}

/// A permutation of bytes from four of nibbles (section 4.3.5).
const fn permutation(t: &[[u8; 16]; 4]) -> [u8; 256] {
    let mut q = [0; 256];
    let mut x = 0;
    while x < 256 {
        let (a, b) = mix(x as u8 >> 4, x as u8 & 15);
        let (a, b) = mix(t[0][a as usize], t[1][b as usize]);
        q[x] = t[2][a as usize] | t[3][b as usize] << 4;
        x += 1;
    }
    q
}

/// a ^ b, and a ^ ROR4(b, 1) ^ 8a.
const fn mix(a: u8, b: u8) -> (u8, u8) {
    (a ^ b, a ^ (b >> 1) ^ ((b & 1) << 3) ^ ((a << 3) & 15))
}

/// t0 to t3 of q0 and of q1.
const NIBBLES: [[[u8; 16]; 4]; 2] = [
    [
        [8, 1, 7, 13, 6, 15, 3, 2, 0, 11, 5, 9, 14, 12, 10, 4],
        [14, 12, 11, 8, 1, 2, 3, 5, 15, 4, 10, 6, 7, 0, 9, 13],
        [11, 10, 5, 14, 6, 13, 9, 0, 12, 8, 15, 3, 2, 4, 7, 1],
        [13, 7, 15, 4, 1, 2, 6, 14, 9, 11, 3, 0, 8, 5, 12, 10],
    ],
    [
        [2, 8, 11, 13, 15, 7, 6, 14, 3, 1, 9, 4, 0, 10, 12, 5],
        [1, 14, 2, 11, 4, 12, 3, 7, 6, 13, 10, 5, 15, 9, 0, 8],
        [4, 12, 7, 5, 1, 6, 9, 10, 0, 14, 13, 8, 2, 11, 3, 15],
        [11, 9, 5, 1, 12, 3, 13, 14, 6, 4, 7, 15, 2, 0, 8, 10],
    ],
];
