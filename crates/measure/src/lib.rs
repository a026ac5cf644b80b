//! What is measured, how, and what the figures mean.
//!
//! A suite is a list of cases → a runner yields raw samples → statistics → the same samples as
//! terminal output, CSV, JSON, Markdown and HTML. A case that cannot exist is a row with its
//! reason, never a number; a sample with wrong output does not count.
//!
//! [`results`] is the data model that everything here reads and writes; [`stats`] evaluates
//! samples; [`machine`] describes where they come from.
#![deny(unsafe_code)]
#![allow(clippy::result_large_err, reason = "what keeps a case from being measured is passed up once a case")]

pub mod clock;
pub mod disk;
pub mod machine;
pub mod memory;
pub mod peers;
mod prepare;
pub mod report;
pub mod results;
pub mod rounds;
pub mod stats;
pub mod suite;

pub use clock::Clock;
pub use prepare::prepare;
pub use results::{Results, Row};
