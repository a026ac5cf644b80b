//! Serpent's S-boxes and their inverses as circuits of AVX-512's ternary logic: seven or eight
//! gates each, where two-input circuits merged by the compiler take eleven.
//!
//! Found by a search over functions of three available signals: first gates that are outputs, then
//! gates that bring an output within reach. A gate's number is its truth table, in the form
//! VPTERNLOG takes.

/// A vector of bits with VPTERNLOG.
pub(super) trait Ternary: Copy {
    /// Any function of three bits: `TABLE` holds its values.
    fn gate<const TABLE: i32>(a: Self, b: Self, c: Self) -> Self;
}

/// S-box number `BOX`.
#[inline(always)]
pub(super) fn substitute<T: Ternary, const BOX: usize>(words: [T; 4]) -> [T; 4] {
    match BOX {
        0 => s0(words),
        1 => s1(words),
        2 => s2(words),
        3 => s3(words),
        4 => s4(words),
        5 => s5(words),
        6 => s6(words),
        _ => s7(words),
    }
}

/// The inverse of S-box number `BOX`.
#[inline(always)]
pub(super) fn restore<T: Ternary, const BOX: usize>(words: [T; 4]) -> [T; 4] {
    match BOX {
        0 => inverse_s0(words),
        1 => inverse_s1(words),
        2 => inverse_s2(words),
        3 => inverse_s3(words),
        4 => inverse_s4(words),
        5 => inverse_s5(words),
        6 => inverse_s6(words),
        _ => inverse_s7(words),
    }
}

/// S0.
#[inline(always)]
fn s0<T: Ternary>([a, b, c, d]: [T; 4]) -> [T; 4] {
    let t1 = T::gate::<0xe2>(a, b, d);
    let t2 = T::gate::<0x36>(a, b, d);
    let t3 = T::gate::<0x66>(a, c, t2);
    let t4 = T::gate::<0xe8>(c, t1, t2);
    let t5 = T::gate::<0x69>(a, d, t4);
    let t6 = T::gate::<0x96>(c, t1, t5);
    let t7 = T::gate::<0xe1>(t2, t5, t6);
    [t6, t5, t7, t3]
}

/// S1.
#[inline(always)]
fn s1<T: Ternary>([a, b, c, d]: [T; 4]) -> [T; 4] {
    let t1 = T::gate::<0x6a>(a, b, d);
    let t2 = T::gate::<0x69>(b, c, t1);
    let t3 = T::gate::<0x6c>(a, c, t1);
    let t4 = T::gate::<0xd8>(a, b, d);
    let t5 = T::gate::<0xe1>(t1, t3, t4);
    let t6 = T::gate::<0x36>(t2, t3, t4);
    let t7 = T::gate::<0x4b>(t4, t5, t6);
    [t7, t5, t2, t6]
}

/// S2.
#[inline(always)]
fn s2<T: Ternary>([a, b, c, d]: [T; 4]) -> [T; 4] {
    let t1 = T::gate::<0x3a>(a, c, d);
    let t2 = T::gate::<0xac>(a, c, d);
    let t3 = T::gate::<0x36>(a, b, d);
    let t4 = T::gate::<0x96>(a, t2, t3);
    let t5 = T::gate::<0x1e>(t1, t2, t4);
    let t6 = T::gate::<0x1e>(t2, t3, t5);
    let t7 = T::gate::<0x87>(t2, t3, t5);
    [t4, t5, t6, t7]
}

/// S3.
#[inline(always)]
fn s3<T: Ternary>([a, b, c, d]: [T; 4]) -> [T; 4] {
    let t1 = T::gate::<0x56>(a, b, d);
    let t2 = T::gate::<0x68>(a, c, d);
    let t3 = T::gate::<0x3a>(a, b, d);
    let t4 = T::gate::<0x9c>(c, t1, t3);
    let t5 = T::gate::<0x1e>(c, t2, t3);
    let t6 = T::gate::<0x96>(a, t4, t5);
    let t7 = T::gate::<0xa6>(t1, t3, t5);
    let t8 = T::gate::<0xb4>(t3, t6, t7);
    [t8, t6, t7, t4]
}

/// S4.
#[inline(always)]
fn s4<T: Ternary>([a, b, c, d]: [T; 4]) -> [T; 4] {
    let t1 = T::gate::<0xc6>(a, c, d);
    let t2 = T::gate::<0xb4>(a, b, t1);
    let t3 = T::gate::<0x96>(d, t1, t2);
    let t4 = T::gate::<0x93>(b, t1, t3);
    let t5 = T::gate::<0xd2>(b, c, t1);
    let t6 = T::gate::<0x6a>(t2, t3, t5);
    let t7 = T::gate::<0xe1>(t2, t4, t6);
    [t4, t6, t7, t3]
}

/// S5.
#[inline(always)]
fn s5<T: Ternary>([a, b, c, d]: [T; 4]) -> [T; 4] {
    let t1 = T::gate::<0x6a>(a, b, c);
    let t2 = T::gate::<0xe4>(a, b, d);
    let t3 = T::gate::<0x69>(d, t1, t2);
    let t4 = T::gate::<0x96>(a, b, d);
    let t5 = T::gate::<0x56>(d, t3, t4);
    let t6 = T::gate::<0x1d>(t2, t3, t4);
    let t7 = T::gate::<0xd2>(t1, t4, t6);
    [t3, t5, t6, t7]
}

/// S6.
#[inline(always)]
fn s6<T: Ternary>([a, b, c, d]: [T; 4]) -> [T; 4] {
    let t1 = T::gate::<0x56>(a, b, d);
    let t2 = T::gate::<0x36>(a, c, t1);
    let t3 = T::gate::<0x69>(b, t1, t2);
    let t4 = T::gate::<0x1e>(a, b, t2);
    let t5 = T::gate::<0xb4>(t1, t3, t4);
    let t6 = T::gate::<0x9c>(t1, t2, t4);
    let t7 = T::gate::<0x1e>(t4, t5, t6);
    [t7, t3, t5, t6]
}

/// S7.
#[inline(always)]
fn s7<T: Ternary>([a, b, c, d]: [T; 4]) -> [T; 4] {
    let t1 = T::gate::<0xb6>(a, b, c);
    let t2 = T::gate::<0x6a>(a, d, t1);
    let t3 = T::gate::<0x1a>(a, b, d);
    let t4 = T::gate::<0x56>(c, t2, t3);
    let t5 = T::gate::<0x76>(a, b, c);
    let t6 = T::gate::<0x5e>(c, d, t1);
    let t7 = T::gate::<0x69>(d, t5, t6);
    let t8 = T::gate::<0x9c>(t4, t6, t7);
    [t7, t4, t8, t2]
}

/// The inverse of S0.
#[inline(always)]
fn inverse_s0<T: Ternary>([a, b, c, d]: [T; 4]) -> [T; 4] {
    let t1 = T::gate::<0x4e>(a, b, d);
    let t2 = T::gate::<0x26>(a, b, d);
    let t3 = T::gate::<0xa9>(c, t1, t2);
    let t4 = T::gate::<0x56>(a, b, c);
    let t5 = T::gate::<0x8b>(t1, t3, t4);
    let t6 = T::gate::<0x99>(a, d, t4);
    let t7 = T::gate::<0x96>(t1, t3, t4);
    [t3, t5, t6, t7]
}

/// The inverse of S1.
#[inline(always)]
fn inverse_s1<T: Ternary>([a, b, c, d]: [T; 4]) -> [T; 4] {
    let t1 = T::gate::<0xb4>(b, c, d);
    let t2 = T::gate::<0x1e>(a, d, t1);
    let t3 = T::gate::<0x96>(c, t1, t2);
    let t4 = T::gate::<0x6c>(c, d, t2);
    let t5 = T::gate::<0xd8>(t1, t2, t4);
    let t6 = T::gate::<0xc9>(t3, t4, t5);
    let t7 = T::gate::<0x93>(t1, t2, t4);
    [t6, t5, t7, t3]
}

/// The inverse of S2.
#[inline(always)]
fn inverse_s2<T: Ternary>([a, b, c, d]: [T; 4]) -> [T; 4] {
    let t1 = T::gate::<0x6a>(b, c, d);
    let t2 = T::gate::<0x72>(b, c, d);
    let t3 = T::gate::<0x6c>(a, b, t2);
    let t4 = T::gate::<0x9a>(c, d, t3);
    let t5 = T::gate::<0x69>(a, t2, t4);
    let t6 = T::gate::<0x69>(t1, t3, t5);
    let t7 = T::gate::<0x87>(t2, t5, t6);
    [t6, t4, t5, t7]
}

/// The inverse of S3.
#[inline(always)]
fn inverse_s3<T: Ternary>([a, b, c, d]: [T; 4]) -> [T; 4] {
    let t1 = T::gate::<0x68>(a, b, d);
    let t2 = T::gate::<0x2c>(b, c, d);
    let t3 = T::gate::<0x56>(a, d, t2);
    let t4 = T::gate::<0x9c>(c, t1, t3);
    let t5 = T::gate::<0x96>(a, b, c);
    let t6 = T::gate::<0xb6>(a, c, t3);
    let t7 = T::gate::<0x36>(t4, t5, t6);
    let t8 = T::gate::<0x36>(d, t6, t7);
    [t3, t7, t4, t8]
}

/// The inverse of S4.
#[inline(always)]
fn inverse_s4<T: Ternary>([a, b, c, d]: [T; 4]) -> [T; 4] {
    let t1 = T::gate::<0xba>(a, c, d);
    let t2 = T::gate::<0x56>(a, b, c);
    let t3 = T::gate::<0x96>(b, t1, t2);
    let t4 = T::gate::<0x78>(a, d, t3);
    let t5 = T::gate::<0x87>(t2, t3, t4);
    let t6 = T::gate::<0x96>(d, t2, t4);
    let t7 = T::gate::<0x2d>(t4, t5, t6);
    [t5, t3, t7, t6]
}

/// The inverse of S5.
#[inline(always)]
fn inverse_s5<T: Ternary>([a, b, c, d]: [T; 4]) -> [T; 4] {
    let t1 = T::gate::<0xc6>(a, c, d);
    let t2 = T::gate::<0xd6>(a, b, t1);
    let t3 = T::gate::<0x69>(a, d, t2);
    let t4 = T::gate::<0x2d>(a, b, t3);
    let t5 = T::gate::<0x96>(b, t1, t4);
    let t6 = T::gate::<0x4b>(t1, t3, t4);
    let t7 = T::gate::<0xd2>(t4, t5, t6);
    [t5, t6, t7, t3]
}

/// The inverse of S6.
#[inline(always)]
fn inverse_s6<T: Ternary>([a, b, c, d]: [T; 4]) -> [T; 4] {
    let t1 = T::gate::<0x72>(a, c, d);
    let t2 = T::gate::<0xa6>(a, c, d);
    let t3 = T::gate::<0x99>(a, b, t2);
    let t4 = T::gate::<0xca>(b, t1, t2);
    let t5 = T::gate::<0x69>(a, c, t4);
    let t6 = T::gate::<0x69>(t1, t3, t5);
    let t7 = T::gate::<0x78>(t2, t5, t6);
    [t5, t3, t7, t6]
}

/// The inverse of S7.
#[inline(always)]
fn inverse_s7<T: Ternary>([a, b, c, d]: [T; 4]) -> [T; 4] {
    let t1 = T::gate::<0xb6>(a, b, d);
    let t2 = T::gate::<0x54>(a, c, d);
    let t3 = T::gate::<0x96>(c, t1, t2);
    let t4 = T::gate::<0x4e>(a, c, d);
    let t5 = T::gate::<0xb4>(b, t1, t4);
    let t6 = T::gate::<0x69>(d, t3, t5);
    let t7 = T::gate::<0x93>(t4, t5, t6);
    let t8 = T::gate::<0x9c>(t3, t4, t7);
    [t6, t7, t3, t8]
}
