//! What is measured, how, and what the figures mean.
//!
//! A suite is a list of cases → a runner yields raw samples → statistics → the same samples to
//! terminal, CSV, JSON, Markdown and HTML. A case that cannot exist is a row with its reason, never
//! a number; a sample whose output was not right is no sample.
//!
//! [`results`] is the data model that everything here reads and writes; [`stats`] what samples say;
//! [`machine`] where they come from.
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
