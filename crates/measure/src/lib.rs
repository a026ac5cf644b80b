//! What is measured, how, and what the figures mean.
//!
//! A suite is a list of cases → a runner yields raw samples → statistics → the same samples as
//! terminal output, CSV, JSON, Markdown and HTML. A case that cannot exist is a row with its
//! reason, never a number; a sample with wrong output does not count.
//!
//! [`results`] is the data model that everything here reads and writes; [`stats`] evaluates
//! samples; [`machine`] describes where they come from.
//!
//! ```text
//! results        the data model: cases, outcomes, machine; the JSON that all of it reads and writes
//! suite memory   which cases there are; ciphers and KDFs, every output checked
//! spec           what a cipher's row is measured by: dm-crypt's words, or a chain of ciphers
//! rounds         taking turns
//! disk           storage plain and encrypted, in turn: the paths to it, who makes the requests (an
//!                engine here, or fio), checks below the encryption, the model c·d/(c+d)
//! stats machine  what samples say; where they come from
//! report         the results as tables, CSV, JSON lines, Markdown, and compared with another run
//! report::html   and as a page: one file without scripts that loads nothing; plotters draws charts
//!                for desktop and phone; its style sheet colours them for light and dark
//! ```
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
mod spec;
pub mod stats;
pub mod suite;

pub use clock::Clock;
pub use prepare::prepare;
pub use results::{Results, Row};
