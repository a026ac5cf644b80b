//! What examples of several verbs do.

pub(crate) const ASKS_YES: &str = "Asks for the word YES first.";
pub(crate) const ASKS_OLD_THEN_NEW: &str = "Asks for the old one, then for the new one twice.";
pub(crate) const ESTIMATES: &str = "How long it would take; nothing is changed.";
