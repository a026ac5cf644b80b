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
