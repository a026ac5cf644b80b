//! From an operand to a volume with its key, and on to its plaintext.

pub(crate) mod kinds;
mod noise;
mod opening;
mod unlocked;
mod usage;

pub(crate) use opening::{Kind, Opening};
pub(crate) use unlocked::{Plaintext, Unlocked, check_range};
pub(crate) use usage::{Data, Sharing};
