//! What machines boot from: images made by Keyway, read by the tools that boot loaders' authors ship, and the other way round.

mod fit;
mod images;
mod kernel;
mod ramdisk;
mod root;
mod uki;
mod unlock;
