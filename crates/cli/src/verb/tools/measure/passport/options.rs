//! `passport`'s options.

use crate::args::{Kind, Opt, shared};
use crate::output::failure::{Exit, Failure};
use crate::verb::tools::cpu::{RATE_FILE, SAMPLE_BUDGET};

/// Those with a name of their own.
#[rustfmt::skip]
pub(super) const TARGETS: &[&str] = &[
    "linux", "cryptsetup", "grub-2.06", "grub-2.12", "grub-2.14", "grub-2.14-accel",
    "grub-debian-12", "grub-debian-13", "grub-debian-14", "grub-fedora", "grub-rhel-10", "grub-tumbleweed",
    "grub-ubuntu-22.04", "grub-ubuntu-24.04", "grub-ubuntu-26.04", "pi3", "pi4",
];

pub(super) static TARGET: Opt = Opt {
    long: "target",
    short: None,
    value: "NAME",
    kind: Kind::Words(TARGETS),
    help: "What unlocks: grub-2.14, pi4 ... (linux).",
    man: "",
};
pub(super) static TARGET_MEMORY: Opt = Opt {
    long: "target-memory",
    short: None,
    value: "SIZE",
    kind: Kind::Size,
    help: "Memory of the target (1G, 512M).",
    man: "Read from this machine, or from the rate file, where that is the target. Argon2 that needs more than three \
          quarters of it does not fit.",
};
pub(super) static WITHIN: Opt = Opt {
    long: "within",
    short: None,
    value: "TIME",
    kind: Kind::Text,
    help: "Advise how to open in this time (4s).",
    man: "",
};
pub(super) static MEASURED: Opt = Opt {
    long: "measured",
    short: None,
    value: "[KEYSLOT=]TIME",
    kind: Kind::Text,
    help: "Time measured on the target (45s, 1=45s).",
    man: "The seconds between the passphrase and the opened volume, as it is now. All times of the target are scaled so \
          that this keyslot takes as long; the keyslot's number may be left out where the target opens only one, or \
          --key-slot names it.",
};
pub(super) static ENTROPY: Opt = Opt {
    long: "entropy",
    short: None,
    value: "BITS",
    kind: Kind::Text,
    help: "Bits of the passphrase (51.7).",
    man: "Four words from a list of 7776 have 51.7 bits, eight random letters and digits 47.6; passphrases that \
        people make up have far fewer.",
};
pub(super) static HARDWARE: Opt = Opt {
    long: "hardware",
    short: None,
    value: "NAME",
    kind: Kind::Words(&["rtx4090", "rtx4090x1000"]),
    help: "Hardware that searches for it (rtx4090).",
    man: "",
};
pub(super) static PRICE: Opt = Opt {
    long: "price",
    short: None,
    value: "DOLLARS",
    kind: Kind::Text,
    help: "Price of an hour of that hardware.",
    man: "",
};
pub(super) static APPLY: Opt = Opt {
    long: "apply",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Make the change, after a header backup.",
    man: "",
};

pub(super) static HTML: Opt = Opt {
    long: "html",
    short: None,
    value: "FILE",
    kind: Kind::Path,
    help: "Also write a page for a browser.",
    man: "",
};

// ---- volumes without a LUKS header ----

pub(super) static HASH: Opt = Opt {
    long: shared::HASH.long,
    short: shared::HASH.short,
    value: "NAME",
    kind: Kind::Text,
    help: "The hash, of --type tcrypt, plain and loopaes.",
    man: "With tcrypt: of its key derivation, if that is known (sha512, argon2id).",
};
pub(super) static CIPHER: Opt = Opt {
    long: shared::CIPHER.long,
    short: shared::CIPHER.short,
    value: "SPEC",
    kind: Kind::Text,
    help: "The cipher, of --type tcrypt, plain and loopaes.",
    man: "With tcrypt: the chain, in the order in which they encrypt (serpent-twofish-aes).",
};
pub(super) static KEY_SIZE: Opt = Opt {
    long: shared::KEY_SIZE.long,
    short: shared::KEY_SIZE.short,
    value: "BITS",
    kind: Kind::Number(u32::MAX as u64),
    help: "The key's size, of --type plain and loopaes.",
    man: "",
};

/// What is about keyslots alone.
pub(super) const OF_KEYSLOTS: &[&Opt] = &[
    &WITHIN,
    &MEASURED,
    &APPLY,
    &shared::HEADER_BACKUP_FILE,
    &shared::KEY_SLOT,
    &shared::PASSWORD_COMMAND,
    &shared::KEYFILE_OFFSET,
    &shared::KEYFILE_SIZE,
];

pub(super) const ALL: &[&Opt] = &[
    &TARGET,
    &RATE_FILE,
    &TARGET_MEMORY,
    &WITHIN,
    &MEASURED,
    &ENTROPY,
    &HARDWARE,
    &PRICE,
    &APPLY,
    &HTML,
    &shared::HEADER_BACKUP_FILE,
    &shared::JSON,
    &shared::KEY_FILE,
    &shared::KEYFILE_OFFSET,
    &shared::KEYFILE_SIZE,
    &shared::PASSWORD_COMMAND,
    &shared::KEY_SLOT,
    &shared::HEADER,
    &shared::TYPE,
    &HASH,
    &CIPHER,
    &KEY_SIZE,
    &shared::TCRYPT_HIDDEN,
    &shared::TCRYPT_SYSTEM,
    &shared::TCRYPT_BACKUP,
    &shared::VERACRYPT,
    &shared::VERACRYPT_PIM,
    &shared::DISABLE_VERACRYPT,
    &shared::TIMEOUT,
    &shared::WEAK_CIPHER,
    &SAMPLE_BUDGET,
    &shared::TIME_LIMIT,
];

/// The failure for a value that an option does not accept.
pub(super) fn wrong(option: &Opt, given: &str, what: &str) -> Failure {
    Failure::new(Exit::Parameters, format!("--{} {given}: {what}.", option.long))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::typed;
    use crate::verb::tools::measure::passport::target::Target;
    use keyway_boot::attack::Hardware;

    #[test]
    fn what_shells_offer_is_known() {
        for name in TARGETS {
            let line = format!("keyway passport --target {name} disk.img");
            assert!(Target::from_args(&typed(&line)).is_ok(), "{name}");
        }
        assert!(keyway::Machine::names().all(|name| TARGETS.contains(&name)), "all are offered");
        let Kind::Words(offered) = HARDWARE.kind else { panic!("words") };
        assert!(Hardware::all().map(|it| it.name).eq(offered.iter().copied()));
    }
}
