//! The AES S-box as a circuit of 113 gates, over planes of bits.
//!
//! The circuit is Boyar's and Peralta's ("A depth-16 circuit for the AES S-box", 2011; the smaller
//! and deeper one in the authors' list): 23 additions into a tower field, the inversion there, and
//! 30 additions back. The inverse S-box is the same circuit between two inverse affine maps.

use super::Plane;

/// SubBytes (FIPS 197, 5.1.1). Plane k is bit k, the lowest first.
#[inline(always)]
#[rustfmt::skip]
pub(super) fn forward<P: Plane>(planes: [P; 8]) -> [P; 8] {
    // The circuit counts bits from the highest.
    let [x7, x6, x5, x4, x3, x2, x1, x0] = planes;
    let add = P::xor;
    let mul = P::and;

    let y14 = add(x3, x5);   let y13 = add(x0, x6);   let y9 = add(x0, x3);    let y8 = add(x0, x5);
    let t0 = add(x1, x2);    let y1 = add(t0, x7);    let y4 = add(y1, x3);    let y12 = add(y13, y14);
    let y2 = add(y1, x0);    let y5 = add(y1, x6);    let y3 = add(y5, y8);    let t1 = add(x4, y12);
    let y15 = add(t1, x5);   let y20 = add(t1, x1);   let y6 = add(y15, x7);   let y10 = add(y15, t0);
    let y11 = add(y20, y9);  let y7 = add(x7, y11);   let y17 = add(y10, y11); let y19 = add(y10, y8);
    let y16 = add(t0, y11);  let y21 = add(y13, y16); let y18 = add(x0, y16);

    let t2 = mul(y12, y15);  let t3 = mul(y3, y6);    let t4 = add(t3, t2);    let t5 = mul(y4, x7);
    let t6 = add(t5, t2);    let t7 = mul(y13, y16);  let t8 = mul(y5, y1);    let t9 = add(t8, t7);
    let t10 = mul(y2, y7);   let t11 = add(t10, t7);  let t12 = mul(y9, y11);  let t13 = mul(y14, y17);
    let t14 = add(t13, t12); let t15 = mul(y8, y10);  let t16 = add(t15, t12); let t17 = add(t4, t14);
    let t18 = add(t6, t16);  let t19 = add(t9, t14);  let t20 = add(t11, t16); let t21 = add(t17, y20);
    let t22 = add(t18, y19); let t23 = add(t19, y21); let t24 = add(t20, y18);

    let t25 = add(t21, t22); let t26 = mul(t21, t23); let t27 = add(t24, t26); let t28 = mul(t25, t27);
    let t29 = add(t28, t22); let t30 = add(t23, t24); let t31 = add(t22, t26); let t32 = mul(t31, t30);
    let t33 = add(t32, t24); let t34 = add(t23, t33); let t35 = add(t27, t33); let t36 = mul(t24, t35);
    let t37 = add(t36, t34); let t38 = add(t27, t36); let t39 = mul(t29, t38); let t40 = add(t25, t39);

    let t41 = add(t40, t37); let t42 = add(t29, t33); let t43 = add(t29, t40); let t44 = add(t33, t37);
    let t45 = add(t42, t41);
    let z0 = mul(t44, y15);  let z1 = mul(t37, y6);   let z2 = mul(t33, x7);   let z3 = mul(t43, y16);
    let z4 = mul(t40, y1);   let z5 = mul(t29, y7);   let z6 = mul(t42, y11);  let z7 = mul(t45, y17);
    let z8 = mul(t41, y10);  let z9 = mul(t44, y12);  let z10 = mul(t37, y3);  let z11 = mul(t33, y4);
    let z12 = mul(t43, y13); let z13 = mul(t40, y5);  let z14 = mul(t29, y2);  let z15 = mul(t42, y9);
    let z16 = mul(t45, y14); let z17 = mul(t41, y8);

    let t46 = add(z15, z16); let t47 = add(z10, z11); let t48 = add(z5, z13);  let t49 = add(z9, z10);
    let t50 = add(z2, z12);  let t51 = add(z2, z5);   let t52 = add(z7, z8);   let t53 = add(z0, z3);
    let t54 = add(z6, z7);   let t55 = add(z16, z17); let t56 = add(z12, t48); let t57 = add(t50, t53);
    let t58 = add(z4, t46);  let t59 = add(z3, t54);  let t60 = add(t46, t57); let t61 = add(z14, t57);
    let t62 = add(t52, t58); let t63 = add(t49, t58); let t64 = add(z4, t59);  let t65 = add(t61, t62);
    let t66 = add(z1, t63);  let s0 = add(t59, t63);  let s6 = add(t56, t62).not(); let s7 = add(t48, t60).not();
    let t67 = add(t64, t65); let s3 = add(t53, t66);  let s4 = add(t51, t66);  let s5 = add(t47, t65);
    let s1 = add(t64, s3).not(); let s2 = add(t55, t67).not();
    [s7, s6, s5, s4, s3, s2, s1, s0]
}

/// InvSubBytes (5.3.2): with S = affine ∘ inversion, its inverse is affine⁻¹ ∘ S ∘ affine⁻¹.
#[inline(always)]
pub(super) fn inverse<P: Plane>(planes: [P; 8]) -> [P; 8] {
    unaffine(forward(unaffine(planes)))
}

/// The inverse of FIPS 197's affine map: bit i is the sum of bits i + 2, i + 5 and i + 7, plus 05.
#[inline(always)]
fn unaffine<P: Plane>(bits: [P; 8]) -> [P; 8] {
    let mut sums: [P; 8] = core::array::from_fn(|index| {
        bits[(index + 2) % 8].xor(bits[(index + 5) % 8]).xor(bits[(index + 7) % 8])
    });
    sums[0] = sums[0].not();
    sums[2] = sums[2].not();
    sums
}
