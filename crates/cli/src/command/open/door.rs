//! Keyway's own doors: a background process of the user's holds the key and serves the plaintext.

use super::backend::Backend;
use crate::args::Args;
use crate::failure::{Exit, Failure, Result};

/// Opens the volume as the session `name`.
pub(super) fn run(_: &Args, backend: Backend, name: &str) -> Result<()> {
    super::refuse_taken(name)?;
    let message = format!(
        "open: {backend:?} is not built yet; \"keyway read\" and \"keyway write\" reach the data without mapping it."
    );
    Err(Failure::new(Exit::Parameters, message))
}
