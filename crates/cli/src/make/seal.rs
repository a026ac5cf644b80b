//! `--seal`: a new volume that is sealed as soon as it exists.

use crate::args::{Args, Kind, Opt};
use crate::output::failure::{Exit, Failure, Result};
use crate::unlock::seal_context::SealContext;
use keyway::{Create, Version};

/// `--seal`, for the commands that make volumes.
pub(crate) static SEAL: Opt = Opt {
    long: "seal",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Seal the header (LUKS2).",
    man: "As keyway seal does for an existing volume, with the string of --seal-context if given.",
};

/// Whether a new volume is sealed, and the string that its seal is bound to.
#[derive(Debug, Clone)]
pub(crate) struct NewSeal {
    wanted: bool,
    context: Option<String>,
}

impl NewSeal {
    /// Refuses a seal if there will be no room for one, and a context without a seal.
    pub(crate) fn from_args(args: &Args, version: Version) -> Result<Self> {
        let refuse = |why: &str| Err(Failure::new(Exit::Parameters, why));
        match args.given(&SEAL) {
            true if version == Version::Luks1 => {
                refuse("--seal: a LUKS1 header has no room for a seal; nothing was written.")
            }
            wanted => match SealContext::from_args(args)? {
                SealContext { option: Some(option), .. } if !wanted => {
                    refuse(&format!("--{option} needs --seal."))
                }
                SealContext { text, .. } => Ok(Self { wanted, context: text }),
            },
        }
    }

    /// No seal.
    pub(crate) const NONE: Self = Self { wanted: false, context: None };

    /// The volume that is to be created, sealed if requested.
    pub(crate) fn of(&self, create: Create) -> Create {
        if self.wanted { create.seal(self.context.as_deref()) } else { create }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::typed;

    #[test]
    fn what_cannot_be_sealed_is_refused_before_it_is_made() {
        for (options, version, why) in [
            (
                "--seal",
                Version::Luks1,
                Some("--seal: a LUKS1 header has no room for a seal; nothing was written."),
            ),
            ("--seal", Version::Luks2, None),
            ("--seal --seal-context x", Version::Luks2, None),
            ("--seal-context x", Version::Luks2, Some("--seal-context needs --seal.")),
            ("--seal-context-file /dev/null", Version::Luks2, Some("--seal-context-file needs --seal.")),
            ("-q", Version::Luks1, None),
            ("-q", Version::Luks2, None),
        ] {
            let args = typed(&format!("keyway luksFormat {options} volume"));
            let refused = NewSeal::from_args(&args, version).err();
            assert_eq!(refused.as_ref().map(Failure::message), why, "{options} {version}");
        }
    }
}
