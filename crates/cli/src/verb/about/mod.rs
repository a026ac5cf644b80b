//! Keyway itself: what its commands can destroy, what it lacks, and what packagers need.

pub(crate) mod absent;
pub(crate) mod destructive;
pub(crate) mod effects;
pub(crate) mod manual;
pub(crate) mod packaging;
