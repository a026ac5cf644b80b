//! Commands for a workstation, used before a boot: images and measurements. The program for
//! ramdisks leaves them out (feature `tools`).

pub(crate) mod boot;
pub(crate) mod cpu;
pub(crate) mod measure;
