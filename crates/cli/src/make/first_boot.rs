//! `--rekey-at-first-boot`: a new volume whose key is replaced on each machine that gets a clone of it.

use crate::args::{Args, Kind, Opt};
use crate::output::failure::{Exit, Failure, Result};
use keyway::{Create, Version};

/// `--rekey-at-first-boot`.
pub(crate) static REKEY_AT_FIRST_BOOT: Opt = Opt {
    long: "rekey-at-first-boot",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Mark it: each clone gets its own key.",
    man: "For an image that is built once and written to many machines (LUKS2). A token of type keyway-rekey \
          says that the volume key is the image's. At its first boot, \"keyway unlock\" in the ramdisk \
          re-encrypts the volume under a new random key before anything is mounted, resumes at the next boot \
          if the power fails, and finally removes the mark: keyway-unlock(8). The passphrase stays. Cannot be \
          combined with --seal, which signs with the key that will be replaced.",
};

/// Whether the new volume is marked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FirstBoot(bool);

impl FirstBoot {
    /// Refuses a mark that the header has no room for.
    pub(crate) fn from_args(args: &Args, version: Version) -> Result<Self> {
        let refuse = |why: &str| Err(Failure::new(Exit::Parameters, why));
        match args.given(&REKEY_AT_FIRST_BOOT) {
            true if version == Version::Luks1 => refuse(NO_ROOM),
            wanted => Ok(Self(wanted)),
        }
    }

    /// The volume that is to be created, marked if requested.
    pub(crate) fn of(self, create: Create) -> Create {
        if self.0 { create.rekey_at_first_boot() } else { create }
    }
}

const NO_ROOM: &str = "--rekey-at-first-boot: a LUKS1 header has no room for a mark; nothing was written.";

/// Said of a volume that is to be marked and sealed.
pub(crate) const SEALED: &str = "Options --rekey-at-first-boot and --seal cannot be combined: a seal is made \
                                 with the volume key, which will be replaced. Seal each volume after its \
                                 first boot; nothing was written.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::typed;

    #[test]
    fn what_cannot_be_marked_is_refused_before_it_is_made() {
        for (options, version, why) in [
            ("--rekey-at-first-boot", Version::Luks2, None),
            ("--rekey-at-first-boot", Version::Luks1, Some(NO_ROOM)),
            ("--seal", Version::Luks2, None),
            ("-q", Version::Luks1, None),
        ] {
            let args = typed(&format!("keyway build {options} image volume"));
            let refused = FirstBoot::from_args(&args, version).err();
            assert_eq!(refused.as_ref().map(Failure::message), why, "{options} {version}");
        }
    }
}
