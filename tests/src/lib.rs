//! Shared by all tests: scratch directories, commands with a time limit, random data, skips by
//! name.
//!
//! A test runs real programs on real files:
//!
//! ```no_run
//! use keyway_tests::{Scratch, cryptsetup, keyway, need};
//!
//! fn keyway_opens_what_cryptsetup_made() {
//!     need!("cryptsetup");
//!     let scratch = Scratch::new();
//!     let volume = scratch.sized("volume", 20 << 20);
//!     cryptsetup("luksFormat -q --type luks1 --pbkdf-force-iterations 1000").arg(&volume).stdin("secret").ok();
//!     keyway("open --test-passphrase").arg(&volume).stdin("secret").ok();
//!     keyway("open --test-passphrase").arg(&volume).stdin("wrong").fails(2).says("No key available");
//! }
//! ```
//!
//! Environment: `KEYWAY_BIN` is the program under test (by default this workspace's debug build,
//! which is built if needed); `KEYWAY_SKIPS` is a file that collects the names of skipped tests;
//! `KEYWAY_SCRATCH` is the parent of scratch directories; `KEYWAY_TIMEOUT_FACTOR`: see [`timeouts`].

pub mod background;
pub mod bitlk;
pub mod browser;
pub mod compare;
pub mod console;
pub mod data;
pub mod debian;
pub mod fio;
pub mod fvault2;
pub mod kernel;
pub mod keyring;
pub mod memory;
pub mod nbd;
pub mod neighbours;
pub mod peers;
pub mod printed;
pub mod programs;
pub mod pty;
pub mod run;
pub mod scratch;
pub mod skip;
pub mod tcrypt;
pub mod texts;
pub mod timeouts;
pub mod vm;

pub use background::{Background, killed, until};
pub use compare::{assert_same_bytes, assert_same_lines};
pub use console::{Board, Console};
pub use data::random;
pub use peers::{cryptsetup, fusermount, keyway, peer};
pub use pty::Terminal;
pub use run::{Outcome, Run};
pub use scratch::Scratch;
