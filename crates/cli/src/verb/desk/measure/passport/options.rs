//! `passport`'s options, and what they ask for.

use super::target::Target;
use crate::door::{Args, Kind, Opt, shared};
use crate::say::failure::{Exit, Failure, Result};

use keyway_boot::attack::Hardware;

pub(super) static TARGET: Opt = Opt {
    long: "target",
    short: None,
    value: "NAME",
    kind: Kind::Text,
    help: "Who unlocks: grub-2.14, pi4 ... (linux).",
    man: "",
};
pub(super) static RATE_FILE: Opt = Opt {
    long: "rate-file",
    short: None,
    value: "FILE",
    kind: Kind::Path,
    help: "What keyway bench --save wrote there.",
    man: "The rows of Keyway's own PBKDF2 and Argon2 are used; for GRUB, that of PBKDF2 with SHA-512 is the measure.",
};
pub(super) static WITHIN: Opt = Opt {
    long: "within",
    short: None,
    value: "TIME",
    kind: Kind::Text,
    help: "Advise how it opens in this time (4s).",
    man: "",
};
pub(super) static ENTROPY: Opt = Opt {
    long: "entropy",
    short: None,
    value: "BITS",
    kind: Kind::Text,
    help: "Bits of the passphrase (51.7).",
    man: "Four words of a list of 7776 have 51.7 bits, eight letters and digits drawn at random 47.6; what people make up has far fewer.",
};
pub(super) static HARDWARE: Opt = Opt {
    long: "hardware",
    short: None,
    value: "NAME",
    kind: Kind::Text,
    help: "What searches for it (rtx4090).",
    man: "",
};
pub(super) static PRICE: Opt = Opt {
    long: "price",
    short: None,
    value: "DOLLARS",
    kind: Kind::Text,
    help: "What an hour of that hardware costs.",
    man: "",
};
pub(super) static APPLY: Opt = Opt {
    long: "apply",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Do it, after a header backup.",
    man: "",
};

pub(super) static HTML: Opt = Opt {
    long: "html",
    short: None,
    value: "FILE",
    kind: Kind::Path,
    help: "Write a page for a browser, too.",
    man: "",
};

pub(super) const ALL: &[&Opt] = &[
    &TARGET,
    &RATE_FILE,
    &WITHIN,
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
    &shared::KEY_SLOT,
    &shared::HEADER,
    &shared::TYPE,
    &shared::TIMEOUT,
    &shared::WEAK_CIPHER,
    &shared::MEMORY_BUDGET,
    &shared::TIME_LIMIT,
];

/// What is asked for, all of it sound.
pub(super) struct Request {
    pub(super) target: Target,
    pub(super) within: Option<f64>,
    pub(super) entropy: f64,
    pub(super) hardware: &'static Hardware,
    pub(super) price: f64,
    pub(super) slot: Option<u32>,
}

impl Request {
    pub(super) fn from_args(args: &Args) -> Result<Self> {
        let hardware = match args.text(&HARDWARE) {
            None => Hardware::find("rtx4090"),
            Some(name) => Hardware::find(name),
        };
        let Some(hardware) = hardware else {
            let names: Vec<&str> = Hardware::all().map(|device| device.name).collect();
            return Err(wrong(&HARDWARE, args, &format!("there are {}", names.join(" and "))));
        };
        let within = match args.text(&WITHIN) {
            None => None,
            Some(text) => {
                Some(seconds(text).ok_or_else(|| wrong(&WITHIN, args, "a time is written 4s, 500ms or 2m"))?)
            }
        };
        if args.given(&APPLY) && within.is_none() {
            return Err(Failure::new(
                Exit::Parameters,
                "--apply does what --within advises: say --within TIME too.",
            ));
        }
        Ok(Self {
            target: Target::from_args(args)?,
            within,
            entropy: decimal(args, &ENTROPY, 1.0..=1024.0)?.unwrap_or(FOUR_WORDS),
            hardware,
            price: decimal(args, &PRICE, 0.0..=1e12)?.unwrap_or(hardware.dollars_per_hour),
            slot: args.number32(&shared::KEY_SLOT),
        })
    }
}

fn decimal(args: &Args, option: &'static Opt, range: std::ops::RangeInclusive<f64>) -> Result<Option<f64>> {
    let Some(text) = args.text(option) else { return Ok(None) };
    match text.parse::<f64>() {
        Ok(number) if range.contains(&number) => Ok(Some(number)),
        _ => {
            Err(wrong(option, args, &format!("a number from {} to {} is needed", range.start(), range.end())))
        }
    }
}

/// "4s", "500ms", "2m", "4".
fn seconds(text: &str) -> Option<f64> {
    let (number, unit) = match text.trim() {
        text if text.ends_with("ms") => (&text[..text.len() - 2], 0.001),
        text if text.ends_with('s') => (&text[..text.len() - 1], 1.0),
        text if text.ends_with('m') => (&text[..text.len() - 1], 60.0),
        text => (text, 1.0),
    };
    number.parse::<f64>().ok().map(|n| n * unit).filter(|n| (0.001..=86400.0).contains(n))
}

pub(super) fn wrong(option: &'static Opt, args: &Args, what: &str) -> Failure {
    let given = args.text(option).unwrap_or_default();
    Failure::new(Exit::Parameters, format!("--{} {given}: {what}.", option.long))
}

/// Four words of a list of 7776 (diceware).
const FOUR_WORDS: f64 = 51.7;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (text, found) in
            [("4s", Some(4.0)), ("500ms", Some(0.5)), ("2m", Some(120.0)), ("1.5", Some(1.5))]
        {
            assert_eq!(seconds(text), found, "{text}");
        }
        for text in ["", "s", "-1s", "4h", "nan", "0"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
