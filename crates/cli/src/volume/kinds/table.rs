//! The table of kinds.

use super::{Described, Row, bitlk, fvault2, loopaes, plain, tcrypt};
use crate::process::encoding::Encoded;
use std::sync::Arc;

/// Every kind.
static KINDS: &[&Row] = &[&plain::ROW, &tcrypt::ROW, &bitlk::ROW, &fvault2::ROW, &loopaes::ROW];

/// The kind that `--type` names, in any case.
pub(crate) fn named(name: &str) -> Option<&'static Row> {
    KINDS.iter().copied().find(|row| row.of.name.eq_ignore_ascii_case(name))
}

/// For the process that holds the volume open.
impl Encoded for Arc<dyn Described> {
    fn put(&self, to: &mut Vec<u8>) {
        self.row().of.name.to_owned().put(to);
        (**self).put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let name: String = Encoded::take(from)?;
        (named(&name)?.taken)(from)
    }
}
