//! What is measured, how, and what the figures mean.
//!
//! A suite is a list of cases → a runner yields raw samples → statistics → the same samples to terminal, CSV, JSON, Markdown and
//! HTML. A case that cannot exist is a row with its reason, never a number; a sample whose output was not right is no sample.
//!
//! [`results`] is the data model that everything here reads and writes; [`stats`] what samples say; [`machine`] where they come from;
//! [`kernel`] the kernel's crypto API.
#![deny(unsafe_code)]

pub mod clock;
pub mod kernel;
pub mod machine;
pub mod results;
pub mod stats;

pub use clock::Clock;
pub use results::{Results, Row};
