//! Memory for keys: system pages where available, the value's own bytes without an allocator.

#[cfg(not(feature = "alloc"))]
mod inline;
#[cfg(feature = "alloc")]
pub(crate) mod pages;
#[cfg(feature = "std")]
pub(crate) mod wipe;

#[cfg(not(feature = "alloc"))]
pub(crate) use inline::{Pages, SecretBox};
#[cfg(feature = "alloc")]
pub(crate) use pages::Pages;

/// Types made of plain data: `EMPTY` is where filling starts; being
/// `Copy`, they have nothing to drop.
pub(crate) trait Plain: Copy + Send + Sync + 'static {
    const EMPTY: Self;
}

impl<const N: usize> Plain for [u8; N] {
    const EMPTY: Self = [0; N];
}

impl<const N: usize> Plain for [u32; N] {
    const EMPTY: Self = [0; N];
}
