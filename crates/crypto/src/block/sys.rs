//! The calls from a [`Code`](super::bulk::Code) into functions compiled for one instruction set.

/// Defines `CODE`, the [`Code`](super::bulk::Code) of the instruction set named by `$features`.
///
/// The module that calls this keeps `CODE` behind a check of [`Cpu`](crate::Cpu).
macro_rules! define_code {
    ($name:literal, $features:literal, $schedule:ty, $parallel:expr, $masks:expr,
     encrypt($key:ident, $blocks:ident): $encrypt:expr,
     decrypt($same_key:ident, $same_blocks:ident): $decrypt:expr,) => {
        /// To be called only on a CPU that has the features this module is compiled for.
        pub(super) static CODE: $crate::block::bulk::Code<$schedule> = $crate::block::bulk::Code {
            name: $name,
            parallel: $parallel,
            encrypt: |schedule, blocks| {
                // SAFETY: `choose` hands `CODE` out only for a CPU that has the features.
                unsafe { encrypt(schedule, blocks) }
            },
            decrypt: |schedule, blocks| {
                // SAFETY: `choose` hands `CODE` out only for a CPU that has the features.
                unsafe { decrypt(schedule, blocks) }
            },
            masks: $masks,
        };

        #[target_feature(enable = $features)]
        fn encrypt($key: &$schedule, $blocks: &mut [Block]) {
            $encrypt
        }

        #[target_feature(enable = $features)]
        fn decrypt($same_key: &$schedule, $same_blocks: &mut [Block]) {
            $decrypt
        }
    };
}
pub(super) use define_code;
