//! Rules for the value of one option.

use crate::door::values::Args;

/// Option, what its number must satisfy, and the message otherwise.
type Bound = (&'static str, fn(u64) -> bool, &'static str);

const NUMERIC: &str = "invalid numeric value";
const BITS: &str = "Key size must be a multiple of 8 bits";

static BOUNDS: &[Bound] = &[
    ("device-size", |bytes| bytes > 0, NUMERIC),
    ("device-size", |bytes| bytes % 512 == 0, "Device size must be multiple of 512 bytes sector."),
    ("hotzone-size", |bytes| bytes > 0, "Invalid max reencryption hotzone size specification."),
    ("key-size", |bits| bits % 8 == 0, BITS),
    ("integrity-key-size", |bits| bits > 0, NUMERIC),
    ("integrity-key-size", |bits| bits % 8 == 0, BITS),
    ("keyslot-key-size", |bits| bits > 0, NUMERIC),
    ("keyslot-key-size", |bits| bits % 8 == 0, BITS),
    ("limit-rate", |bytes| bytes > 0, "--limit-rate 0: nothing would ever be done."),
    ("reduce-device-size", |bytes| bytes <= 1 << 30, "Maximum device reduce size is 1 GiB."),
    ("reduce-device-size", |bytes| bytes % 512 == 0, "Reduce size must be multiple of 512 bytes sector."),
    ("sector-size", is_sector_size, "Unsupported encryption sector size."),
    ("tries", |times| times > 0, "Invalid maximal tries specification."),
];

fn is_sector_size(bytes: u64) -> bool {
    (512..=4096).contains(&bytes) && bytes.is_power_of_two()
}

/// Options that may be given twice at most, for the two keys of a volume that is reencrypted.
static PAIRS: &[(&str, &str)] = &[
    ("key-size", "At most 2 key size specifications can be supplied."),
    ("volume-key-file", "At most 2 volume key specifications can be supplied."),
    ("volume-key-keyring", "At most 2 volume key specifications can be supplied."),
    ("link-vk-to-keyring", "At most 2 keyring link specifications can be supplied."),
];

/// The message for the first value that breaks a rule.
pub(super) fn broken(args: &Args) -> Option<String> {
    let bound = || BOUNDS.iter().find(|(name, holds, _)| !args.numbers(name).all(holds));
    let pair = || PAIRS.iter().find(|(name, _)| args.count(name) > 2).map(|(_, message)| *message);
    let hexadecimal = (args.is_cryptsetup() && args.has_hexadecimal()).then_some(NUMERIC);
    hexadecimal.or_else(|| bound().map(|(.., message)| *message)).or_else(pair).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::COMMANDS;

    #[test]
    fn every_rule_is_about_an_option_that_exists() {
        let names = BOUNDS.iter().map(|(name, ..)| name).chain(PAIRS.iter().map(|(name, _)| name));
        for name in names {
            assert!(COMMANDS.options().any(|option| option.long == *name), "--{name}");
        }
    }
}
