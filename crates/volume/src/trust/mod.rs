//! Which volumes may be opened, and what their users may do.
//!
//! ```text
//! admission    which headers may be opened: judged once, on the copy that everything then uses
//! policy       demands on a volume (TOML), judged on the header alone
//! facts        what a header says about its volume, and what in it deserves attention
//! rights       what the users of a volume may do with it: everything that serves it asks the same value
//! ```

pub mod admission;
pub mod facts;
pub mod policy;
mod rights;

pub use rights::Rights;
