//! What every implementation of a vector says again, around its instructions.

/// Defines `Proof`: that the CPU has the features, of which the caller's vectors are made.
macro_rules! proof {
    ($features:literal) => {
        /// The CPU has the features that this module is compiled for.
        #[derive(Clone, Copy)]
        pub(super) struct Proof(());

        impl Proof {
            /// For functions compiled for these features: they run only on a CPU that has them.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn inside() -> Self {
                Self(())
            }
        }
    };
}
pub(crate) use proof;

/// Implements `&`, `|` and `^` for a vector around a register.
#[cfg(feature = "alloc")]
macro_rules! bitwise {
    ($vector:ty, $and:ident, $or:ident, $xor:ident) => {
        impl core::ops::BitAnd for $vector {
            type Output = Self;

            #[inline(always)]
            fn bitand(self, other: Self) -> Self {
                // SAFETY: a value shows the features.
                unsafe { Self($and(self.0, other.0)) }
            }
        }

        impl core::ops::BitOr for $vector {
            type Output = Self;

            #[inline(always)]
            fn bitor(self, other: Self) -> Self {
                // SAFETY: a value shows the features.
                unsafe { Self($or(self.0, other.0)) }
            }
        }

        impl core::ops::BitXor for $vector {
            type Output = Self;

            #[inline(always)]
            fn bitxor(self, other: Self) -> Self {
                // SAFETY: a value shows the features.
                unsafe { Self($xor(self.0, other.0)) }
            }
        }
    };
}
#[cfg(feature = "alloc")]
pub(crate) use bitwise;
