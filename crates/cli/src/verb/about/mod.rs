//! Keyway itself: its manual, and what packagers need.

pub(crate) mod manual;
pub(crate) mod packaging;
