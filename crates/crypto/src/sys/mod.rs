//! Memory for keys: pages of the system where there are any, the
//! value's own bytes where there is no allocator.

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
