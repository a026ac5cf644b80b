//! What is done at a desk, before a boot: images and measurements. The program for ramdisks goes
//! without (feature `desk`).

pub(crate) mod boot;
pub(crate) mod measure;
