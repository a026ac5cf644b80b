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
