//! The inverses of Serpent's S-boxes, Osvik's circuits as in [`super`].

use super::Gates;

/// The inverse of S0.
#[inline(always)]
pub(super) fn s0<W: Gates>([a, b, c, d]: [W; 4]) -> [W; 4] {
    let t1 = b ^ a;
    let t2 = d | t1;
    let t3 = d ^ t1;
    let t4 = !a;
    let t5 = c ^ t2;
    let t6 = t2 ^ t4;
    let t7 = t4 & t1;
    let t8 = t7 ^ t5;
    let t9 = t5 & t6;
    let t10 = t6 ^ t3;
    let t11 = t9 ^ t10;
    let t12 = t1 ^ t10;
    let t13 = t10 & t8;
    let t14 = t12 ^ t8;
    let t15 = t8 ^ t11;
    let t16 = t3 ^ t13;
    [t11, t16, t14, t15]
}

/// The inverse of S1.
#[inline(always)]
pub(super) fn s1<W: Gates>([a, b, c, d]: [W; 4]) -> [W; 4] {
    let t1 = b ^ d;
    let t2 = a ^ c;
    let t3 = !c;
    let t4 = a | t1;
    let t5 = t4 ^ d;
    let t6 = d & t1;
    let t7 = t1 ^ t3;
    let t8 = t3 & t5;
    let t9 = t5 ^ t7;
    let t10 = t7 | t6;
    let t11 = t6 ^ t2;
    let t12 = t8 ^ t2;
    let t13 = t2 | t9;
    let t14 = t12 ^ t9;
    let t15 = t10 ^ t13;
    let t16 = t9 ^ t15;
    [t16, t15, t14, t11]
}

/// The inverse of S2.
#[inline(always)]
pub(super) fn s2<W: Gates>([a, b, c, d]: [W; 4]) -> [W; 4] {
    let t1 = c ^ b;
    let t2 = !d | t1;
    let t3 = t1 ^ d;
    let t4 = d ^ a;
    let t5 = t2 ^ b;
    let t6 = b | t3;
    let t7 = t3 ^ a;
    let t8 = t6 ^ t4;
    let t9 = t4 | t5;
    let t10 = t7 ^ t5;
    let t11 = t9 ^ t10;
    let t12 = t10 & t8;
    let t13 = t12 ^ t5;
    let t14 = t5 ^ t11;
    let t15 = t11 ^ a;
    [t8, t15, t14, t13]
}

/// The inverse of S3.
#[inline(always)]
pub(super) fn s3<W: Gates>([a, b, c, d]: [W; 4]) -> [W; 4] {
    let t1 = c ^ b;
    let t2 = b & t1;
    let t3 = t2 ^ a;
    let t4 = a | b;
    let t5 = b ^ d;
    let t6 = t4 ^ d;
    let t7 = d | t3;
    let t8 = t3 ^ t1;
    let t9 = t8 ^ t7;
    let t10 = t6 ^ t1;
    let t11 = t1 ^ t7;
    let t12 = t7 & t9;
    let t13 = t9 ^ t10;
    let t14 = t10 & t11;
    let t15 = t5 ^ t12;
    let t16 = t12 ^ t14;
    let t17 = t14 ^ t13;
    [t11, t17, t15, t16]
}

/// The inverse of S4.
#[inline(always)]
pub(super) fn s4<W: Gates>([a, b, c, d]: [W; 4]) -> [W; 4] {
    let t1 = c ^ d;
    let t2 = a & b;
    let t3 = t2 ^ t1;
    let t4 = t1 | d;
    let t5 = !a;
    let t6 = b ^ t3;
    let t7 = t3 ^ t4;
    let t8 = t4 & t5;
    let t9 = t8 ^ t7;
    let t10 = t7 | t5;
    let t11 = t10 ^ d;
    let t12 = d & t9;
    let t13 = t5 ^ t12;
    let t14 = t12 ^ t6;
    let t15 = t6 & t11;
    let t16 = t13 ^ t15;
    let t17 = t11 ^ t14;
    [t17, t9, t16, t14]
}

/// The inverse of S5.
#[inline(always)]
pub(super) fn s5<W: Gates>([a, b, c, d]: [W; 4]) -> [W; 4] {
    let t1 = b | c;
    let t2 = c ^ b;
    let t3 = t1 ^ d;
    let t4 = d & b;
    let t5 = t2 ^ t4;
    let t6 = t4 | a;
    let t7 = !a;
    let t8 = t6 ^ t5;
    let t9 = t5 | t7;
    let t10 = b ^ t3;
    let t11 = t9 ^ t10;
    let t12 = t10 & t7;
    let t13 = t7 ^ t3;
    let t14 = t3 ^ t8;
    let t15 = t13 & t11;
    let t16 = t11 ^ t8;
    let t17 = t15 ^ t16;
    let t18 = t16 ^ t12;
    let t19 = t12 ^ t8;
    [t14, t19, t17, t18]
}

/// The inverse of S6.
#[inline(always)]
pub(super) fn s6<W: Gates>([a, b, c, d]: [W; 4]) -> [W; 4] {
    let t1 = a ^ c;
    let t2 = t1 & d;
    let t3 = c ^ d;
    let t4 = t2 ^ t3;
    let t5 = d ^ b;
    let t6 = t3 | t1;
    let t7 = t6 ^ t5;
    let t8 = t5 & t4;
    let t9 = !t4;
    let t10 = t8 ^ b;
    let t11 = b & t7;
    let t12 = t1 ^ t9;
    let t13 = t10 ^ t12;
    let t14 = t12 ^ t7;
    let t15 = t9 ^ t11;
    let t16 = t7 ^ t15;
    [t16, t14, t13, t15]
}

/// The inverse of S7.
#[inline(always)]
pub(super) fn s7<W: Gates>([a, b, c, d]: [W; 4]) -> [W; 4] {
    let t1 = d & a;
    let t2 = a ^ c;
    let t3 = c | d;
    let t4 = d ^ b;
    let t5 = !t2;
    let t6 = b | t1;
    let t7 = t4 ^ t5;
    let t8 = t5 & t3;
    let t9 = t8 ^ t6;
    let t10 = t6 & t3;
    let t11 = t1 ^ t3;
    let t12 = t7 ^ t11;
    let t13 = t3 & t11;
    let t14 = t11 | t9;
    let t15 = t10 ^ t12;
    let t16 = t14 ^ t12;
    let t17 = t12 & t9;
    let t18 = t17 ^ t13;
    [t15, t16, t9, t18]
}
