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
    /// `--allow-vista`.
    pub(crate) allows_vista: bool,
}

impl Given {
    /// For commands that open such volumes, too. Where `--cipher` and its like are a new volume's,
    /// `--source-cipher` and its like are the source's, if the command takes them.
    pub(crate) fn from_args(args: &Args) -> Self {
        let plain = if args.takes(&shared::SKIP) {
            GivenPlain::from_args(args)
        } else if args.takes(&shared::SOURCE_CIPHER) {
            GivenPlain::of_source(args)
        } else {
            GivenPlain::default()
        };
        let allows_vista = args.given(&shared::ALLOW_VISTA);
        Self { plain, tcrypt: GivenTcrypt::from_args(args), allows_vista }
    }

    /// Refuses options that LUKS volumes do not have.
    pub(crate) fn refuse(&self) -> Result<()> {
        self.plain.refuse()
    }
}
