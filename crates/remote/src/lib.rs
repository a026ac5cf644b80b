//! Storage in an object accessed over HTTP: a file on a web server, or an object in an
//! S3-compatible store.
//!
//! An [`Object`] is read by ranges, block by block into a bounded cache, and never written. It is
//! pinned to the version that existed when it was opened: if the object changes on the server,
//! reads fail and never mix two versions.
#![forbid(unsafe_code)]

mod answer;
mod cache;
mod credentials;
mod date;
mod error;
mod location;
mod object;
mod options;
mod readahead;
mod s3;
mod source;
mod timeouts;
mod transport;
mod version;

pub use error::{Cause, Error, Refusal, Result};
pub use object::Object;
pub use options::{Notice, Options};
