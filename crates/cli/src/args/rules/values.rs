//! Rules for the value of one option.

use crate::args::option::Opt;
use crate::args::shared::{
    DEVICE_SIZE, HOTZONE_SIZE, INTEGRITY_KEY_SIZE, KEY_SIZE, KEYSLOT_KEY_SIZE, LIMIT_RATE, LINK_VK,
    NOT_A_SECTOR, NOT_BYTES, REDUCE_DEVICE_SIZE, SECTOR_SIZE, TOO_MANY_LINKS, TRIES, VOLUME_KEY_FILE,
    VOLUME_KEY_KEYRING,
};
use crate::args::values::{Args, NUMERIC};

/// Option, what its number must satisfy, and the message otherwise.
type Bound = (&'static Opt, fn(u64) -> bool, &'static str);

static BOUNDS: &[Bound] = &[
    (&DEVICE_SIZE, |bytes| bytes > 0, NUMERIC),
    (&DEVICE_SIZE, |bytes| bytes % 512 == 0, "Device size must be multiple of 512 bytes sector."),
    (&HOTZONE_SIZE, |bytes| bytes > 0, "Invalid max reencryption hotzone size specification."),
    (&KEY_SIZE, |bits| bits % 8 == 0, NOT_BYTES),
    (&INTEGRITY_KEY_SIZE, |bits| bits > 0, NUMERIC),
    (&INTEGRITY_KEY_SIZE, |bits| bits % 8 == 0, NOT_BYTES),
    (&KEYSLOT_KEY_SIZE, |bits| bits > 0, NUMERIC),
    (&KEYSLOT_KEY_SIZE, |bits| bits % 8 == 0, NOT_BYTES),
    (&LIMIT_RATE, |bytes| bytes > 0, "--limit-rate 0 would never finish: give a rate above 0."),
    (&REDUCE_DEVICE_SIZE, |bytes| bytes <= 1 << 30, "Maximum device reduce size is 1 GiB."),
    (&REDUCE_DEVICE_SIZE, |bytes| bytes % 512 == 0, "Reduce size must be multiple of 512 bytes sector."),
    (&SECTOR_SIZE, is_sector_size, NOT_A_SECTOR),
    (&TRIES, |times| times > 0, "Invalid maximal tries specification."),
];

fn is_sector_size(bytes: u64) -> bool {
    (512..=4096).contains(&bytes) && bytes.is_power_of_two()
}

/// Options that may be given twice at most, for the two keys of a volume that is reencrypted.
static PAIRS: &[(&Opt, &str)] = &[
    (&KEY_SIZE, "At most 2 key size specifications can be supplied."),
    (&VOLUME_KEY_FILE, "At most 2 volume key specifications can be supplied."),
    (&VOLUME_KEY_KEYRING, "At most 2 volume key specifications can be supplied."),
    (&LINK_VK, TOO_MANY_LINKS),
];

/// The message for the first value that breaks a rule.
pub(super) fn broken(args: &Args) -> Option<String> {
    let bound = || BOUNDS.iter().find(|(option, holds, _)| !args.numbers(option).all(holds));
    let pair = || PAIRS.iter().find(|(option, _)| args.times(option) > 2).map(|(_, message)| *message);
    let hexadecimal = (args.is_cryptsetup() && args.has_hexadecimal()).then_some(NUMERIC);
    hexadecimal.or_else(|| bound().map(|(.., message)| *message)).or_else(pair).map(str::to_owned)
}
