//! What a passphrase's stretching starts from: SHA-256, twice, of the passphrase in UTF-16 (libyal, "User key").

use keyway_crypto::{Hash, Secret};

/// The digest of a passphrase; `None` if it is not UTF-8.
pub fn passphrase_digest(passphrase: &Secret) -> Option<Secret> {
    let text = core::str::from_utf8(passphrase.expose()).ok()?;
    let mut units = Secret::zeroed(2 * text.encode_utf16().count());
    let bytes = units.expose_mut().as_chunks_mut().0.iter_mut();
    bytes.zip(text.encode_utf16()).for_each(|(bytes, unit)| *bytes = unit.to_le_bytes());
    let mut once = Secret::zeroed(32);
    Hash::Sha256.digest_into(&[units.expose()], once.expose_mut());
    let mut twice = Secret::zeroed(32);
    Hash::Sha256.digest_into(&[once.expose()], twice.expose_mut());
    Some(twice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_of_utf_16() {
        let digest = passphrase_digest(&Secret::copy_from("aß𝄞".as_bytes())).unwrap();
        let once = Hash::Sha256.digest(&[b"a\0\xdf\0\x34\xd8\x1e\xdd"]);
        assert_eq!(digest.expose(), Hash::Sha256.digest(&[&once]));
        assert!(passphrase_digest(&Secret::copy_from(b"\xff")).is_none());
    }
}
