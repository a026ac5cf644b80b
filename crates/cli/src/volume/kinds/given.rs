//! The options of all kinds.

use super::plain::given::GivenPlain;
use super::tcrypt::given::GivenTcrypt;
use crate::door::Args;
use crate::output::failure::Result;

/// The options of all kinds as given, without defaults.
#[derive(Debug, Clone, Default)]
pub(crate) struct Given {
    pub(crate) plain: GivenPlain,
    pub(crate) tcrypt: GivenTcrypt,
}

impl Given {
    /// For commands that open such volumes, too.
    pub(crate) fn from_args(args: &Args) -> Self {
        Self { plain: GivenPlain::from_args(args), tcrypt: GivenTcrypt::from_args(args) }
    }

    /// Refuses options that LUKS volumes do not have.
    pub(crate) fn refuse(&self) -> Result<()> {
        self.plain.refuse()
    }
}
