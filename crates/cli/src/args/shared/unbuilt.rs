//! Options for what cryptsetup has and this program has not: parsed as cryptsetup parses them, so
//! that a command can say by name what it does not do. Help does not list them.

use super::{U32, flag, option};
use crate::args::option::{Kind, Opt};
use crate::args::rule::Rule;

const fn no(long: &'static str, help: &'static str) -> Opt {
    flag(long, None, help, "")
}

// ---- self-encrypting drives and integrity protection ----

pub(crate) static HW_OPAL: Opt = no("hw-opal", "Refused: no self-encrypting drives.");
pub(crate) static HW_OPAL_ONLY: Opt = no("hw-opal-only", "Refused: see --hw-opal.");
pub(crate) static HW_OPAL_FACTORY_RESET: Opt = no("hw-opal-factory-reset", "Refused: see --hw-opal.");
pub(crate) static INTEGRITY: Opt =
    option("integrity", Some('I'), "SPEC", Kind::Text, "Refused: integrity is not implemented yet.", "");
pub(crate) static INTEGRITY_INLINE: Opt = no("integrity-inline", "Refused with --integrity.");
pub(crate) static INTEGRITY_NO_WIPE: Opt = no("integrity-no-wipe", "Refused with --integrity.");
pub(crate) static INTEGRITY_NO_JOURNAL: Opt = no("integrity-no-journal", "No effect without --integrity.");
pub(crate) static INTEGRITY_LEGACY_PADDING: Opt =
    no("integrity-legacy-padding", "No effect without --integrity.");
pub(crate) static INTEGRITY_KEY_SIZE: Opt =
    option("integrity-key-size", None, "BITS", U32, "No effect without --integrity.", "");
pub(crate) static DISABLE_SUM: Opt = no("disable-sum", "Accepted, no effect.");

pub(crate) static UNBUILT_RULES: &[Rule] = &[Rule::needs(&INTEGRITY_INLINE, &INTEGRITY)
    .saying("Inline integrity must be used together with --integrity option.")];
