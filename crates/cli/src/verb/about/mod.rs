//! Keyway itself: its manual, what it lacks, and what packagers need.

pub(crate) mod absent;
pub(crate) mod manual;
pub(crate) mod packaging;
