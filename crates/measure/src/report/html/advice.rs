//! Which of the fastest ciphers must not be used for a disk. The benchmark measures everything that
//! dm-crypt runs; a ranking without this warning would recommend ciphers that hide nothing.

/// Why a specification does not protect a disk; `None` if it does, or is not known not to.
pub(in crate::report) fn against(spec: &str) -> Option<&'static str> {
    let mut parts = spec.split('-');
    let cipher = parts.next().unwrap_or_default();
    // dm-crypt's rule: a cipher alone means CBC with the 32-bit number of the sector.
    let alone = !spec.contains('-') && !spec.starts_with("capi:");
    let (mode, iv) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let (mode, iv) = if alone { ("cbc", "plain") } else { (mode, iv) };
    match (cipher, mode, iv) {
        ("cipher_null" | "null", ..) => Some("encrypts nothing"),
        ("arc4" | "ecb(arc4)", ..) => Some("RC4 is broken"),
        ("des", ..) => Some("a key of 56 bits can be searched"),
        (_, "ecb", _) => Some("ECB: equal blocks look equal"),
        (_, "ctr" | "xctr" | "ofb", _) => {
            Some("a key stream that repeats: two versions of a sector reveal both")
        }
        (_, "cfb", "plain" | "plain64" | "plain64be" | "null" | "benbi") => {
            Some("two versions of a sector reveal their beginnings")
        }
        (_, _, "null") => Some("a null IV: equal sectors look equal"),
        (_, "cbc" | "pcbc", "plain" | "plain64" | "plain64be" | "benbi") => {
            Some("a predictable IV: files can be made that show through (watermarks)")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_for_disks_is_not_warned_of() {
        let good = "aes-xts-plain64 aes-cbc-essiv:sha256 xchacha12,aes-adiantum-plain64 serpent-xts-plain \
                    aes-hctr2-plain64 aes-lrw-benbi capi:xts(aes)-plain64";
        for spec in good.split(' ') {
            assert_eq!(against(spec), None, "{spec}");
        }
        let bad = "aes-ecb aes-cbc-null aes-ctr-plain64 aes-cbc-plain64 des-cbc-essiv:sha256 arc4 aes";
        for spec in bad.split(' ') {
            assert!(against(spec).is_some(), "{spec}");
        }
    }
}
