//! The plaintext of a volume.
//!
//! ```text
//! volume       Volume: the plaintext of an unlocked volume, a Storage itself
//! build        a volume made together with its content in one pass, its header last
//! compare      whether a volume holds what an image holds
//! unused       which holes of an image are free space and may stay holes
//! ```

pub mod build;
pub mod compare;
pub mod unused;
pub mod volume;
