//! `toLuks --estimate`: of a volume of another kind, whose passphrase nobody is asked for.

use super::{Estimate, Estimating, NewFile};
use crate::output::failure::Result;
use keyway::estimate::Estimate as Measured;
use std::path::Path;

impl Estimating {
    /// Shows what turning the volume on `device` into LUKS2 takes, with the new header in `header`.
    pub(in crate::verb) fn of_conversion(
        &self,
        device: &Path,
        header: &Path,
        measured: Measured,
        limit: Option<u64>,
    ) -> Result<()> {
        let bytes = measured.header_len.unwrap_or(0);
        self.show(&Estimate {
            device: device.display().to_string(),
            is_under_way: false,
            measured,
            limit,
            backup: None,
            header: Some(NewFile::new(header.to_owned(), bytes, false)),
            given_up: None,
        })
    }
}
