//! The process itself: its hardening, its signals, and the few calls that need `unsafe`.

pub(crate) mod background;
pub(crate) mod encoding;
pub(crate) mod harden;
pub(crate) mod interrupt;
#[allow(unsafe_code)]
pub(crate) mod sys;
