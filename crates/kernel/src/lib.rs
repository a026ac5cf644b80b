//! The kernel's crypto API: which drivers it has, which one it selects, how fast they are and
//! whether their output is right.
//!
//! ```text
//! proc_crypto, netlink   what the kernel has, and the flags of it
//! algorithm, pick        what dm-crypt asks for, and what it gets
//! engines, code          which drivers are no code of the CPU's; how the others compute
//! af_alg, check, speed   each driver by its name: its output beside Keyway's, its speed
//! chosen                 the one that dm-crypt gets, to be measured
//! config                 how the kernel was built, where that is known
//! system, xray, verdict  one specification on one kernel, and what that means
//! needs, modules         what a volume needs, and whether a system or an initramfs image has it
//! lacking                what this kernel certainly does not have for a cipher
//! ```
#![forbid(unsafe_code)]

pub mod af_alg;
mod algorithm;
mod check;
mod chosen;
mod code;
mod config;
mod engines;
mod flags;
mod lacking;
mod missing;
pub mod modules;
mod needs;
mod netlink;
mod pick;
pub mod proc_crypto;
mod random;
pub mod reference;
mod speed;
mod system;
mod verdict;
mod version;
mod wrong;
mod xray;

pub use algorithm::Algorithm;
pub use check::{Checked, check};
pub use chosen::Chosen;
pub use code::Code;
pub use config::{Built, Config};
pub use engines::Engine;
pub use flags::Flags;
pub use lacking::lacking;
pub use missing::Missing;
pub use needs::{Need, Running, accelerators, needs, needs_of_tags};
pub use pick::{Choice, Registry, User};
pub use proc_crypto::Driver;
pub use random::Random;
pub use speed::{Speed, of_keyway, speed};
pub use system::{SelfTests, System};
pub use verdict::{CpuFacts, Line, Severity, in_words, verdict};
pub use version::Version;
pub use wrong::Wrong;
pub use xray::{Row, Xray};
