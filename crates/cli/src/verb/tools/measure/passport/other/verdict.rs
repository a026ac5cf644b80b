//! What `open` says of a volume before it asks for a key.

use keyway::parts::Kind;
use keyway::storage::Storage;
use keyway::{Bitlk, Device, Error, ErrorKind, Unlock};
use std::path::Path;
use std::sync::Arc;

/// What it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It asks for the key, if the volume needs one.
    Opens,
    /// It opens the volume for reading alone, for this reason.
    Reads(String),
    /// Nothing that it can ask for opens the volume; the volume key would.
    Locked(String),
    /// It is of Windows Vista: it opens for reading where the user says so, unless nothing that it can ask for opens it.
    Vista { locked: Option<String> },
    /// It does not open the volume, for this reason.
    Refuses(String),
}

impl Verdict {
    /// Of a volume on `data`. TrueCrypt's and VeraCrypt's show nothing that could be refused before their header opens.
    pub(super) fn of(kind: &dyn Kind, device: &Path, data: &Arc<dyn Storage>) -> Self {
        // As `open`, which accepts weak ciphers of other programs' volumes.
        let terms = Unlock::new().unclaimed().weak_ciphers();
        let over = |writes| Device::options().write(writes).over(device, Arc::clone(data), Arc::clone(data));
        let admit = |writes| over(writes).admit_described(kind, &terms);
        match kind.row().name {
            "tcrypt" => Self::Opens,
            name => match admit(false).map(|admitted| admitted.try_without_key().map(drop)) {
                Err(error) if is_unvouched(&error) => {
                    match over(false).admit_as(&Bitlk::new().allow_vista(), &terms) {
                        Err(error) => Self::Refuses(why(error)),
                        Ok(admitted) => Self::Vista { locked: admitted.try_without_key().err().map(why) },
                    }
                }
                Err(error) => Self::Refuses(why(error)),
                Ok(Err(error)) => Self::Locked(why(error)),
                // What the options describe could be written over anything.
                Ok(Ok(())) if name != "bitlk" => Self::Opens,
                Ok(Ok(())) => admit(true).map_or_else(|error| Self::Reads(why(error)), |_| Self::Opens),
            },
        }
    }
}

fn is_unvouched(error: &Error) -> bool {
    error.kind() == &ErrorKind::Policy { rule: "unvouched-metadata" }
}

/// The reason without the device's name.
fn why(error: Error) -> String {
    error.into_volume_error().map_or_else(|error| error.to_string(), |error| error.to_string())
}
