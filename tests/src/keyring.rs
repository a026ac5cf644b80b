//! Keys in the user's keyring of the kernel.

use crate::peer;
use std::path::Path;

/// A key of type "user" in the user's keyring, with a unique name; removed on drop.
pub struct InKeyring(pub String);

impl InKeyring {
    /// A name; there is no key yet.
    pub fn new(name: &str) -> Self {
        Self(format!("keyway-test:{}-{name}", std::process::id()))
    }

    /// The key is what the file holds.
    #[track_caller]
    pub fn holds(&self, file: &Path) {
        peer("keyctl", "padd user").arg(&self.0).arg("@u").stdin(std::fs::read(file).unwrap()).ok();
    }
}

impl Drop for InKeyring {
    fn drop(&mut self) {
        let _ = peer("keyctl", "unlink").arg(format!("%user:{}", self.0)).arg("@u").outcome();
    }
}

/// Whether there is a keyring at all.
pub fn keyring_is_usable() -> bool {
    peer("keyctl", "show @u").outcome().code == Some(0)
}
