//! Where a mapping's volume key is: in dm-crypt's table line, or in the kernel's keyring, which
//! cryptsetup uses for LUKS2.

use crate::args::Args;
use crate::args::shared::{LINK_VK, TOO_MANY_LINKS};
use crate::device::explain;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::sentence;
use keyway::parts::Luks;
use keyway::{ErrorKind, KeyLink as Link, KeyLinks, LinkedKeys, MapOptions, Unlinkable};
use keyway_crypto::Secret;
use std::error::Error;
use std::path::Path;

/// Where a volume key is left, too (`--link-vk-to-keyring`).
#[derive(Debug, Clone)]
pub(crate) struct KeyLink(KeyLinks);

impl KeyLink {
    /// A second one names the other key of a volume whose re-encryption has begun; other volumes
    /// have one key.
    pub(crate) fn from_args(args: &Args) -> Result<Option<Self>> {
        let links = args.texts(&LINK_VK).into_iter().map(link).collect::<Result<Vec<_>>>()?;
        if links.len() > 2 {
            return Err(Failure::new(Exit::Parameters, TOO_MANY_LINKS));
        }
        let mut links = links.into_iter();
        let Some(first) = links.next() else { return Ok(None) };
        Ok(Some(Self(KeyLinks::new(first, links.next())?)))
    }

    /// A mapping whose key is left there.
    pub(crate) fn onto(&self, how: MapOptions) -> MapOptions {
        how.links(self.0.clone())
    }

    /// Adds the key of the volume with this header.
    pub(crate) fn add(&self, luks: &Luks, volume_key: &Secret) -> Result<LinkedKeys> {
        self.0.add(luks, volume_key, None).map_err(|error| front_end(&error))
    }
}

fn link(text: &str) -> Result<Link> {
    text.parse().map_err(|_| {
        let message = format!("--link-vk-to-keyring {text}: KEYRING::KEY is needed, such as @u::%user:home.");
        Failure::new(Exit::Parameters, message)
    })
}

/// An error of mapping the volume on `device`.
pub(crate) fn not_mapped(device: &Path, error: keyway::Error) -> Failure {
    match (error.into_volume_error(), device.display()) {
        (Ok(error), _) => explain::on_device(device, &error),
        (Err(error), device) => match error.kind() {
            ErrorKind::InUse { by } if error.source().is_none() => {
                let message = format!("Cannot use device {device} which is in use ({by}).");
                Failure::new(Exit::Busy, message)
            }
            _ => front_end(&error),
        },
    }
}

/// An error of the kernel's, or of a key that cannot be left in a keyring.
pub(super) fn front_end(error: &keyway::Error) -> Failure {
    if let Some(why) = cause::<Unlinkable>(error) {
        return Failure::new(Exit::Parameters, unlinkable(*why));
    }
    match cause::<keyway_attach::Error>(error) {
        Some(error) => sentence::attaching(error),
        None => Failure::new(Exit::Parameters, sentence::sentence(&error.to_string())),
    }
}

fn unlinkable(why: Unlinkable) -> String {
    match why {
        Unlinkable::NotLuks2 => "--link-vk-to-keyring is for LUKS2 volumes.".to_owned(),
        Unlinkable::SecondMissing => {
            "The volume is in the middle of a reencryption, and has two volume keys: give \
             --link-vk-to-keyring twice."
                .to_owned()
        }
        _ => sentence::sentence(&why.to_string()),
    }
}

pub(super) fn cause<T: Error + 'static>(error: &keyway::Error) -> Option<&T> {
    error.source()?.downcast_ref()
}
