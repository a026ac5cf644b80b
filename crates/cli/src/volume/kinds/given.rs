//! The options of all kinds.

use super::plain::given::GivenPlain;
use super::tcrypt::given::GivenTcrypt;
use crate::args::{Args, shared};
use crate::output::failure::Result;

/// The options of all kinds as given, without defaults.
#[derive(Debug, Clone, Default)]
pub(crate) struct Given {
    pub(crate) plain: GivenPlain,
    pub(crate) tcrypt: GivenTcrypt,
}

impl Given {
    /// For commands that open such volumes, too. Where `--cipher` and its like are a new volume's, none is given.
    pub(crate) fn from_args(args: &Args) -> Self {
        let describes = args.takes(&shared::SKIP);
        let plain = if describes { GivenPlain::from_args(args) } else { GivenPlain::default() };
        Self { plain, tcrypt: GivenTcrypt::from_args(args) }
    }

    /// Refuses options that LUKS volumes do not have.
    pub(crate) fn refuse(&self) -> Result<()> {
        self.plain.refuse()
    }
}
