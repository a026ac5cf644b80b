//! What `--json` prints: an object with the version of its form. The forms are
//! described in `docs/NAME.schema.json`; a member that is added leaves the version as it is, any
//! other change raises it.

use crate::output::failure::Result;
use crate::output::stdio;
use keyway_format::json::{Object, Value};

/// The beginning of a document.
pub(crate) fn document() -> Object {
    Object::new().with("version", VERSION)
}

/// The whole text of a document.
pub(crate) fn text(document: Object) -> String {
    format!("{}\n", Value::from(document).to_pretty())
}

/// Prints a document.
pub(crate) fn print(document: Object) -> Result<()> {
    stdio::print(&text(document))
}

/// Of all forms, so far.
const VERSION: u32 = 1;
