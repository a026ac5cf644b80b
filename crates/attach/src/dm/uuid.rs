//! UUIDs of mappings as cryptsetup writes them. They tell cryptsetup's `status`, udev's rules and
//! ramdisks what a mapping is.
//!
//! ```text
//! CRYPT-LUKS2-0123456789abcdef0123456789abcdef-NAME      the volume's UUID without dashes
//! CRYPT-PLAIN-NAME                                       formats without a UUID
//! ```
//!
//! Source: cryptsetup lib/libdevmapper.c, dm_prepare_uuid.

/// The UUID of a mapping of `kind` (`LUKS1`, `LUKS2`, `PLAIN`, `TEMP`, …), including the volume's
/// UUID if it has one.
pub fn of_mapping(kind: &str, volume: Option<&str>, name: &str) -> String {
    let mut uuid = format!("{PREFIX}{kind}-");
    if let Some(volume) = volume {
        uuid.extend(volume.chars().filter(|&c| c != '-'));
        uuid.push('-');
    }
    uuid + name
}

/// What a mapping's UUID says about it: the kind of volume and, if present, the volume's UUID, with
/// dashes. `None` if the mapping was made neither by cryptsetup nor by Keyway.
pub fn kind_and_volume(uuid: &str) -> Option<(&str, Option<String>)> {
    let (kind, rest) = uuid.strip_prefix(PREFIX)?.split_once('-')?;
    Some((kind, volume_uuid(rest)))
}

/// Whether a mapping with this UUID was made by cryptsetup or Keyway; others must not be closed.
pub fn is_crypt(uuid: &str) -> bool {
    uuid.starts_with(PREFIX)
}

/// Whether a mapping with this UUID is a logical volume, or a part of one.
pub fn is_lvm(uuid: &str) -> bool {
    uuid.starts_with("LVM-")
}

/// The 32 hexadecimal digits before a dash, as a UUID.
fn volume_uuid(text: &str) -> Option<String> {
    let (digits, _) = text.split_once('-')?;
    if digits.len() != 32 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    Some(parts.join("-"))
}

const PREFIX: &str = "CRYPT-";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_mappings_are_known_by_their_uuids() {
        for ours in
            ["CRYPT-LUKS2-0123456789abcdef0123456789abcdef-home", "CRYPT-PLAIN-swap", "CRYPT-SUBDEV-x"]
        {
            assert!(is_crypt(ours), "{ours}");
        }
        for others in ["", "LVM-abcdef", "mpath-1234", "CRYPT", "crypt-plain-swap", "part1-CRYPT-x"] {
            assert!(!is_crypt(others), "{others}");
        }
    }

    #[test]
    fn as_cryptsetup_writes_them() {
        let volume = "01234567-89ab-cdef-0123-456789abcdef";
        let luks2 = of_mapping("LUKS2", Some(volume), "my-home");
        assert_eq!(luks2, "CRYPT-LUKS2-0123456789abcdef0123456789abcdef-my-home");
        assert_eq!(kind_and_volume(&luks2), Some(("LUKS2", Some(volume.into()))));
        assert_eq!(of_mapping("PLAIN", None, "swap"), "CRYPT-PLAIN-swap");
        assert_eq!(kind_and_volume("CRYPT-PLAIN-my-swap"), Some(("PLAIN", None)));
        // Names that partly look like UUIDs.
        let digits = "0123456789abcdef0123456789abcdef";
        for name in ["abc-def", &format!("{digits}0-x"), &format!("{}-x", digits.replace('f', "g")), digits] {
            assert_eq!(kind_and_volume(&format!("CRYPT-PLAIN-{name}")), Some(("PLAIN", None)), "{name}");
        }
        assert_eq!(kind_and_volume("LVM-abc"), None);
        assert_eq!(kind_and_volume("CRYPT-"), None);
    }
}
