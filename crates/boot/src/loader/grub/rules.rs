//! All rules by which the oracle judges, each with its place in GRUB's sources. `./dev test oracle`
//! compares them with the real GRUB; each rule names its witness.

use super::Version;
use std::fmt;

/// Something that GRUB does or does not do.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// The rule's name in tests and in JSON.
    pub id: &'static str,
    /// The first version to which the rule applies, and the first to which it no longer applies.
    pub versions: (Version, Option<Version>),
    /// File and function in GRUB's sources.
    pub source: &'static str,
    /// What demonstrates the rule.
    pub witness: Witness,
}

/// Where a rule can be observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Witness {
    /// In `grub-fstest`, which reads volumes with GRUB's own code.
    Fstest,
    /// In GRUB on a machine: its prompt, keyboard, options and memory differ from those of
    /// `grub-fstest`.
    Machine,
    /// In `grub-install`, or only in its source.
    Source,
}

/// A rule that applies to a volume, described for that volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// The rest of a sentence that begins with "because".
    pub because: String,
}

impl Rule {
    pub(super) fn says(&'static self, because: impl Into<String>) -> Finding {
        Finding { rule: self, because: because.into() }
    }
}

/// Why GRUB would make other bytes of a keyslot than it holds.
pub(super) fn misread_slot(why: &str) -> Finding {
    MISREAD_SLOT.says(format!("{why}, and so misreads the keyslot"))
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.because)
    }
}

const ALL: (Version, Option<Version>) = (Version::V2_06, None);
const UNTIL_2_12: (Version, Option<Version>) = (Version::V2_06, Some(Version::V2_12));
const UNTIL_2_14: (Version, Option<Version>) = (Version::V2_06, Some(Version::V2_14));
const FROM_2_12: (Version, Option<Version>) = (Version::V2_12, None);
const FROM_2_14: (Version, Option<Version>) = (Version::V2_14, None);

/// A table of rules: defines a static for each, and a list of all in order.
macro_rules! rules {
    ($($name:ident: $id:literal, $versions:ident, $source:literal, $witness:ident;)*) => {
        $(pub(super) static $name: Rule =
            Rule { id: $id, versions: $versions, source: $source, witness: Witness::$witness };)*
        /// Every rule.
        pub static RULES: &[&Rule] = &[$(&$name),*];
    };
}

rules! {
    NOT_LUKS: "not-luks", ALL, "disk/luks.c luks_scan, disk/luks2.c luks2_read_header", Fstest;
    BOTH_COPIES: "both-copies", ALL, "disk/luks2.c luks2_read_header: magic and version of both copies, no checksum", Fstest;
    BROKEN_JSON: "broken-json", ALL, "disk/luks2.c luks2_recover_key: grub_json_parse of the copy with the higher sequence id", Fstest;
    LUKS1_HASH: "luks1-hash", ALL, "disk/luks.c luks_scan: grub_crypto_lookup_md_by_name", Fstest;
    LUKS1_CIPHER: "luks1-cipher", ALL, "disk/luks.c luks_scan: grub_cryptodisk_setcipher", Fstest;
    KEY_TOO_LONG: "key-too-long", ALL, "include/grub/cryptodisk.h GRUB_CRYPTODISK_MAX_KEYLEN, 128 bytes", Fstest;
    RAGGED_MATERIAL: "ragged-material", ALL, "disk/luks.c luks_recover_key: grub_cryptodisk_decrypt of keysize * stripes bytes, whole sectors at a time", Fstest;
    KEY_SIZE: "key-size", ALL, "disk/cryptodisk.c grub_cryptodisk_setkey: the cipher refuses the key's length", Fstest;
    MD_CONTEXT: "md-context", FROM_2_14, "lib/crypto.c grub_crypto_hash: GRUB_CRYPTO_MAX_MD_CONTEXT_SIZE, 256 bytes", Fstest;
    UNREADABLE_SLOT: "unreadable-slot", UNTIL_2_12, "disk/luks2.c luks2_recover_key: goto err after luks2_get_keyslot", Fstest;
    SKIPPED_SLOT: "skipped-slot", FROM_2_12, "disk/luks2.c luks2_recover_key: continue after luks2_get_keyslot", Fstest;
    PRIORITY: "priority", ALL, "disk/luks2.c luks2_recover_key: keyslot.priority == 0", Fstest;
    NO_ARGON2: "no-argon2", UNTIL_2_14, "disk/luks2.c luks2_decrypt_key: Argon2 not supported", Fstest;
    ARGON2_MEMORY: "argon2-memory", FROM_2_14, "lib/libgcrypt/cipher/kdf.c argon2_init: one xtrymalloc of 1024 * memory_blocks, in 32 bits", Machine;
    SLOT_HASH: "slot-hash", ALL, "disk/luks2.c luks2_decrypt_key, luks2_verify_key: grub_crypto_lookup_md_by_name", Fstest;
    SLOT_CIPHER: "slot-cipher", ALL, "disk/luks2.c luks2_decrypt_key: grub_cryptodisk_setcipher of the keyslot's area", Fstest;
    MISREAD_SLOT: "misread-slot", ALL, "disk/cryptodisk.c grub_cryptodisk_setcipher: the IV is matched by its beginning", Fstest;
    DATA_CIPHER: "data-cipher", ALL, "disk/luks2.c luks2_recover_key: grub_cryptodisk_setcipher of the segment", Fstest;
    MISREAD_DATA: "misread-data", ALL, "disk/cryptodisk.c grub_cryptodisk_endecrypt, lrw_xor", Fstest;
    IV_TWEAK: "iv-tweak", ALL, "disk/luks2.c luks2_parse_segment: iv_tweak is not read", Fstest;
    INTEGRITY: "integrity", ALL, "disk/luks2.c luks2_parse_segment: integrity is not read", Fstest;
    REQUIREMENTS: "requirements", ALL, "disk/luks2.c: config is not read", Fstest;
    ESCAPED_BASE64: "escaped-base64", UNTIL_2_12, "disk/luks2.c: base64_decode without grub_json_unescape", Fstest;
    PASSPHRASE_LENGTH: "passphrase-length", ALL, "lib/crypto.c grub_password_get: cur_len + 2 < 256", Machine;
    PASSPHRASE_EMPTY: "passphrase-empty", FROM_2_12, "disk/luks.c, luks2.c: cargs->key_len == 0, no key data", Machine;
    PASSPHRASE_LETTERS: "passphrase-letters", ALL, "lib/crypto.c grub_password_get: grub_isprint", Machine;
    KEYBOARD: "keyboard", ALL, "term/at_keyboard.c, kern/term.c: an US layout unless keylayouts is loaded before", Machine;
    KEY_FILE_NONE: "key-file-none", UNTIL_2_12, "disk/cryptodisk.c options: no --key-file", Machine;
    KEY_FILE_SIZE: "key-file-size", FROM_2_12, "disk/cryptodisk.c grub_cmd_cryptomount: --keyfile-size over GRUB_CRYPTODISK_MAX_KEYFILE_SIZE, 8192; whole files may be longer", Machine;
    UUID_DASHES: "uuid-dashes", UNTIL_2_12, "disk/luks.c, luks2.c: compared with a UUID without dashes", Machine;
    INSTALL_LUKS2: "install-luks2", UNTIL_2_12, "grub-core/osdep/devmapper/getroot.c: CRYPT-LUKS1- alone; release notes of 2.12", Source;
    SIGNED_IMAGE: "signed-image", ALL, "kern/lockdown.c lockdown_verifier_init: no modules; which are built in is each distribution's choice", Source;
    DETACHED: "detached-header", UNTIL_2_12, "disk/cryptodisk.c options: no --header", Machine;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_have_names_of_their_own() {
        let mut ids: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }
}
