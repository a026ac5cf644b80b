//! What `open` and `refresh` refuse of a line, in cryptsetup's words and order.

use super::options::PERSISTENT;
use crate::args::rule::Rule;
use crate::args::shared::{
    ALLOW_DISCARDS, DEVICE_SIZE, HASH, IV_LARGE_SECTORS, KEY_SIZE, OFFSET, SECTOR_SIZE, SHARED, SIZE, SKIP,
    TCRYPT_HIDDEN, TEST_PASSPHRASE, UNBOUND, VOLUME_KEY_FILE, VOLUME_KEY_KEYRING,
};
use crate::volume::kinds::plain::given::{IV_LARGE_SECTORS_ALONE, SECTOR_SIZE_OF_OTHERS, SKIP_OF_OTHERS};

pub(super) static RULES: &[Rule] = &[
    Rule::excludes(&PERSISTENT, &[&TEST_PASSPHRASE])
        .saying("Option --persistent is not allowed with --test-passphrase."),
    Rule::line(
        |a| a.is_refreshed() && a.given(&TEST_PASSPHRASE),
        "Options --refresh and --test-passphrase are mutually exclusive.",
    ),
    // Keyway's own front ends can share any volume.
    Rule::line(|a| a.is_cryptsetup() && a.given(&SHARED) && a.is_other_than(PLAIN), SHARED_OF_OTHERS),
    Rule::only_of(WITH_OFFSETS, &[&SKIP], SKIP_OF_OTHERS),
    Rule::only_of(
        WITH_OFFSETS,
        &[&OFFSET],
        "Option --offset with open action is only supported for plain and loopaes devices.",
    ),
    Rule::excludes(&TCRYPT_HIDDEN, &[&ALLOW_DISCARDS])
        .saying("Option --tcrypt-hidden cannot be combined with --allow-discards."),
    Rule::only_of(PLAIN, &[&SECTOR_SIZE], SECTOR_SIZE_OF_OTHERS),
    Rule::line(
        |a| {
            let has_small = a.numbers(&SECTOR_SIZE).all(|bytes| bytes <= 512);
            a.given(&IV_LARGE_SECTORS) && (a.is_other_than(PLAIN) || has_small)
        },
        IV_LARGE_SECTORS_ALONE,
    ),
    Rule::line(
        |a| {
            let is_tested = a.is_luks() || !a.is_other_than(&["tcrypt", "bitlk", "fvault2"]);
            a.given(&TEST_PASSPHRASE) && !is_tested
        },
        UNTESTED,
    ),
    Rule::excludes(&DEVICE_SIZE, &[&SIZE]),
    Rule::line(|a| a.given(&UNBOUND) && !a.is_luks(), UNBOUND_OF_OTHERS),
    Rule::needs(&UNBOUND, &TEST_PASSPHRASE).saying(UNBOUND_ALONE),
    Rule::line(
        |a| {
            let other = a.given(&HASH) || a.given(&VOLUME_KEY_FILE);
            other && a.given(&VOLUME_KEY_KEYRING) && a.kind() == Some("plain")
        },
        "Option --volume-key-keyring cannot be combined with --hash or --volume-key-file.",
    ),
    Rule::line(
        |a| a.times(&VOLUME_KEY_FILE) > 1 && a.times(&KEY_SIZE) < 2,
        "Both --volume-key-file options must be paired with respective --key-size options.",
    ),
];

const PLAIN: &[&str] = &["plain"];
const WITH_OFFSETS: &[&str] = &["plain", "loopaes"];

// These are said of an entry of /etc/crypttab, too.
pub(super) const SHARED_OF_OTHERS: &str = "Option --shared is allowed only for open of plain device.";
pub(super) const UNTESTED: &str =
    "Option --test-passphrase is allowed only for open of LUKS, TCRYPT, BITLK and FVAULT2 devices.";
pub(super) const UNPROVEN_KEY: &str = "Nothing in a BitLocker volume confirms a volume key, so --test-passphrase cannot test one; \
     it tests a passphrase, a recovery password or a start-up key.";
pub(super) const UNBOUND_OF_OTHERS: &str = "Option --unbound is allowed only for open of luks device.";
pub(super) const UNBOUND_ALONE: &str = "Option --unbound cannot be used without --test-passphrase.";
