//! Which ciphers may encrypt a keyslot's area, and which one LUKS2 uses by default.
//!
//! A keyslot proves knowledge of a passphrase only if its area's cipher needs the whole key that is
//! derived from the passphrase. Under an 8-bit key every 256th passphrase opens the area to its
//! maker's content, and with no cipher at all every passphrase does: an attacker who can write the
//! header, without knowing a passphrase, could add a keyslot that opens to a volume key of the
//! attacker's choice. So areas are opened and made only under ciphers that protect their content,
//! with keys that cannot be guessed.
//!
//! The default is the data's own cipher, if it is suitable, or else cryptsetup's default
//! (lib/luks2/luks2_keyslot.c, `LUKS2_keyslot_cipher_incompatible`,
//! `LUKS2_keyslot_params_default`). The data's cipher is not suitable when it is weak, when it is
//! not in cryptsetup's own table of ciphers, when it is named in the kernel's crypto API ("capi:"),
//! when it has several keys, or when its IV is one that only dm-crypt generates.

use keyway_crypto::CipherSpec;

/// Which ciphers an area may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Areas<'a> {
    /// Those that protect a key.
    Strong,
    /// Also the data's own cipher, which the user accepted although it is weak: cryptsetup uses it
    /// for the areas as well.
    StrongOr {
        /// As the header names it.
        cipher: &'a str,
        /// The length of the volume key in bytes.
        key_len: usize,
    },
}

impl Areas<'_> {
    /// Refuses an area that could have been made without a passphrase, and says why.
    pub(crate) fn check(self, spec: &CipherSpec, key_len: usize) -> Result<(), String> {
        let Some(why) = spec.weakness_with(key_len) else { return Ok(()) };
        match self {
            Self::StrongOr { cipher, key_len: len } if len == key_len && is(spec, cipher) => Ok(()),
            _ => Err(format!(
                "its area uses {spec}{why}: anyone who can write the header could have forged it without a passphrase"
            )),
        }
    }
}

fn is(spec: &CipherSpec, cipher: &str) -> bool {
    CipherSpec::parse(cipher).is_ok_and(|own| own.means(spec))
}

/// The cipher and its key length in bytes for a keyslot of a volume whose data is encrypted with
/// `cipher` and a key of `key_bytes` bytes.
pub(crate) fn default_for(cipher: &str, key_bytes: u32) -> (String, u32) {
    let fits = |spec: CipherSpec| {
        let table = TABLE.contains(&spec.cipher_name().as_str());
        let iv = !DM_CRYPT_IVS.contains(&spec.mode_name().rsplit('-').next().unwrap_or_default());
        let strong = spec.weakness_with(key_bytes as usize).is_none();
        table && iv && strong && spec.check_key_bits(8 * key_bytes as usize).is_ok()
    };
    match CipherSpec::parse(cipher).is_ok_and(fits) {
        true => (cipher.to_owned(), key_bytes),
        false => (CipherSpec::DEFAULT.to_owned(), CipherSpec::DEFAULT_KEY_BITS / 8),
    }
}

/// The ciphers that cryptsetup knows by name (lib/crypto_backend/cipher_generic.c).
const TABLE: [&str; 18] = [
    "aes",
    "serpent",
    "twofish",
    "anubis",
    "blowfish",
    "camellia",
    "cast5",
    "cast6",
    "des",
    "des3_ede",
    "khazad",
    "seed",
    "tea",
    "xtea",
    "aria",
    "sm4",
    "xchacha12,aes",
    "xchacha20,aes",
];

/// IVs that depend on the data or on parts of the key, which keyslots do not have.
const DM_CRYPT_IVS: [&str; 3] = ["lmk", "tcw", "elephant"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_need_a_cipher_that_hides_and_a_key_that_nobody_guesses() {
        let check =
            |areas: Areas<'_>, cipher: &str, len| areas.check(&CipherSpec::parse(cipher).unwrap(), len);
        for (cipher, len) in [
            ("aes-xts-plain64", 64),
            ("aes-xts-plain64", 32),
            ("aes-cbc-essiv:sha256", 16),
            ("serpent-cbc-plain", 16),
            ("xchacha12,aes-adiantum-plain64", 32),
            ("des3_ede-cbc-plain", 24),
            ("aes-lrw-benbi", 32),
        ] {
            assert_eq!(check(Areas::Strong, cipher, len), Ok(()), "{cipher}");
        }
        for (cipher, len, why) in [
            ("arc4-ecb", 1, "which uses the same key stream for each version of a sector"),
            ("arc4-ecb", 32, "which uses the same key stream"),
            ("cipher_null-ecb", 0, "which encrypts nothing"),
            ("aes-ecb", 32, "which shows which blocks are equal"),
            ("aes-ctr-plain64", 32, "key stream"),
            ("aes-xts-null", 64, "which shows which sectors are equal"),
            ("serpent-xts-plain64", 0, "with a key of 0 bits (128 are needed)"),
            ("serpent-xts-plain64", 16, "with a key of 64 bits (128 are needed)"),
            ("serpent-xts-plain64", 30, "with a key of 120 bits"),
            ("serpent-cbc-plain64", 15, "with a key of 120 bits"),
            ("blowfish-cbc-plain64", 4, "with a key of 32 bits"),
            ("des-cbc-plain64", 8, "with a key of 64 bits"),
        ] {
            let refused = check(Areas::Strong, cipher, len).unwrap_err();
            assert!(refused.contains(why) && refused.contains(cipher), "{cipher}: {refused}");
            let own = Areas::StrongOr { cipher, key_len: len };
            assert_eq!(check(own, cipher, len), Ok(()), "the data's own {cipher}");
            let longer = Areas::StrongOr { cipher, key_len: len + 1 };
            assert!(check(longer, cipher, len).is_err(), "with another key, {cipher}");
            let other = Areas::StrongOr { cipher: "anubis-ecb", key_len: len };
            assert!(check(other, cipher, len).is_err(), "of other data, {cipher}");
        }
    }

    #[test]
    fn the_data_s_cipher_where_cryptsetup_would_take_it() {
        for (cipher, key) in [
            ("aes-xts-plain64", 64),
            ("serpent-xts-plain64", 32),
            ("xchacha12,aes-adiantum-plain64", 32),
            ("blowfish-cbc-essiv:sha256", 32),
            ("des3_ede-cbc-plain", 24),
        ] {
            assert_eq!(default_for(cipher, key), (cipher.to_owned(), key));
        }
        for (cipher, key) in [
            ("capi:xts(aes)-plain64", 64),
            ("aes:64-cbc-lmk", 64 * 32),
            ("aes-cbc-tcw", 64),
            ("aes-cbc-elephant", 64),
            ("cipher_null-ecb", 0),
            ("arc4-ecb", 32),
            ("aes-xts-plain64", 65),
            ("aes-ecb", 32),
            ("aes-ctr-plain64", 32),
            ("aes-cbc-null", 32),
            ("des-cbc-plain64", 8),
            ("cast5-cbc-plain64", 8),
        ] {
            assert_eq!(default_for(cipher, key), ("aes-xts-plain64".to_owned(), 64), "{cipher}");
        }
    }
}
