//! Volumes that are open: by the kernel, or by a process of the user's.

pub(crate) mod close;
pub(crate) mod list;
pub(crate) mod mount;
pub(crate) mod open;
pub(crate) mod resize;
pub(crate) mod resume;
pub(crate) mod serve;
pub(crate) mod status;
pub(crate) mod suspend;
pub(crate) mod umount;
