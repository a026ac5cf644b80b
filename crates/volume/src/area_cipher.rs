//! What encrypts a LUKS2 keyslot's area when nobody asks for a cipher: the data's own, if it can, or the default
//! (cryptsetup, lib/luks2/luks2_keyslot.c, `LUKS2_keyslot_cipher_incompatible`, `LUKS2_keyslot_params_default`).
//!
//! The data's cipher cannot when cryptsetup's own table of ciphers does not have it, when it is named in the kernel's
//! crypto API ("capi:"), when it has several keys, or when its IV is one that only dm-crypt makes.

use keyway_crypto::CipherSpec;

/// The cipher and the bytes of its key for a keyslot of a volume whose data is under `cipher` and a key of `key_bytes`.
pub(crate) fn default_for(cipher: &str, key_bytes: u32) -> (String, u32) {
    let fits = |spec: CipherSpec| {
        let table = TABLE.contains(&spec.cipher_name().as_str());
        let iv = !DM_CRYPT_IVS.contains(&spec.mode_name().rsplit('-').next().unwrap_or_default());
        table && iv && spec.check_key_bits(8 * key_bytes as usize).is_ok()
    };
    match CipherSpec::parse(cipher).is_ok_and(fits) {
        true => (cipher.to_owned(), key_bytes),
        false => (DEFAULT_CIPHER.to_owned(), DEFAULT_KEY_BYTES),
    }
}

/// cryptsetup's default.
const DEFAULT_CIPHER: &str = "aes-xts-plain64";
/// And its key: 512 bits.
const DEFAULT_KEY_BYTES: u32 = 64;

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
        ] {
            assert_eq!(default_for(cipher, key), ("aes-xts-plain64".to_owned(), 64), "{cipher}");
        }
    }
}
