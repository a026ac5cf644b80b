//! The process itself: what it keeps from others, its signals, the few calls that need `unsafe`.

pub(crate) mod handed;
pub(crate) mod harden;
pub(crate) mod interrupt;
#[allow(unsafe_code)]
pub(crate) mod sys;
