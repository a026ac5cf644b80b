//! The parameters of a passport: which machine unlocks, in what time, and what hardware searches
//! for the passphrase.

use super::options::{ENTROPY, HARDWARE, MEASURED, PRICE, WITHIN, wrong};
use super::target::Target;
use crate::args::{Args, Opt, shared};
use crate::output::failure::{Failure, Result};
use crate::verb::tools::cpu::SampleKib;
use keyway_boot::attack::Hardware;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// The parameters, all checked.
pub(super) struct Question {
    pub(super) target: Target,
    /// The time that opening may take, in seconds.
    pub(super) within: Option<f64>,
    /// What a watch showed there.
    pub(super) watched: Option<Watched>,
    /// The entropy of the passphrase in bits.
    pub(super) entropy: f64,
    pub(super) hardware: &'static Hardware,
    /// The price of an hour of the hardware in dollars.
    pub(super) price: f64,
    /// The only keyslot that may be changed.
    pub(super) keyslot: Option<u32>,
    /// The most memory in KiB that a sample of Argon2 takes here.
    pub(super) sample_kib: u32,
    backup: Option<PathBuf>,
}

/// The time that a keyslot took to open on the target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Watched {
    /// The keyslot, if it was named.
    pub(super) keyslot: Option<u32>,
    pub(super) seconds: f64,
}

impl Watched {
    /// "45s", "1=45s".
    fn parse(text: &str) -> Option<Self> {
        let (keyslot, time) = match text.split_once('=') {
            Some((number, time)) => (Some(number.trim().parse().ok()?), time),
            None => (None, text),
        };
        Some(Self { keyslot, seconds: seconds(time)? })
    }

    /// It is about no keyslot that the target opens, or about several.
    pub(super) fn refused(self, why: &str) -> Failure {
        let time = format!("{} s", self.seconds);
        let given = self.keyslot.map_or(time.clone(), |number| format!("{number}={time}"));
        wrong(&MEASURED, &given, why)
    }
}

impl Question {
    pub(super) fn from_args(args: &Args) -> Result<Self> {
        let hardware = hardware(args.text(&HARDWARE).unwrap_or("rtx4090"))?;
        let within = args
            .text(&WITHIN)
            .map(|text| seconds(text).ok_or_else(|| wrong(&WITHIN, text, "write a time as 4s, 500ms or 2m")));
        let within = within.transpose()?;
        let watched = args.text(&MEASURED).map(|text| {
            let needed = "write a time as 45s, or with the keyslot as 1=45s";
            Watched::parse(text).ok_or_else(|| wrong(&MEASURED, text, needed))
        });
        let keyslot = args.number32(&shared::KEY_SLOT);
        let watched =
            watched.transpose()?.map(|watched| Watched { keyslot: watched.keyslot.or(keyslot), ..watched });
        let target = Target::from_args(args)?;
        let entropy = args.text(&ENTROPY).map(|text| decimal(&ENTROPY, text, 1.0..=1024.0));
        let price = args.text(&PRICE).map(|text| decimal(&PRICE, text, 0.0..=1e12));
        Ok(Self {
            target,
            within,
            watched,
            entropy: entropy.transpose()?.unwrap_or(FOUR_WORDS),
            hardware,
            price: price.transpose()?.unwrap_or(hardware.dollars_per_hour),
            keyslot,
            sample_kib: SampleKib::from_args(args).0,
            backup: args.path(&shared::HEADER_BACKUP_FILE).map(Path::to_owned),
        })
    }

    /// Where the header backup goes: as named, else the first free name of the volume's.
    pub(super) fn backup_name(&self, device: &str) -> String {
        if let Some(path) = &self.backup {
            return path.display().to_string();
        }
        let name = format!("{}.header-backup", device.rsplit('/').next().unwrap_or(device));
        let mut names = std::iter::once(name.clone()).chain((2..).map(|number| format!("{name}.{number}")));
        names.find(|name| Path::new(name).symlink_metadata().is_err()).unwrap_or(name)
    }
}

fn hardware(name: &str) -> Result<&'static Hardware> {
    Hardware::find(name).ok_or_else(|| {
        let names: Vec<&str> = Hardware::all().map(|device| device.name).collect();
        wrong(&HARDWARE, name, &format!("there are {}", names.join(" and ")))
    })
}

fn decimal(option: &Opt, text: &str, range: RangeInclusive<f64>) -> Result<f64> {
    match text.parse::<f64>() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => {
            let needed = format!("a number from {} to {} is needed", range.start(), range.end());
            Err(wrong(option, text, &needed))
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

/// Four words from a list of 7776 (diceware).
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
        let watched = |keyslot, seconds| Some(Watched { keyslot, seconds });
        assert_eq!(Watched::parse("45s"), watched(None, 45.0));
        assert_eq!(Watched::parse("2=1m"), watched(Some(2), 60.0));
        for text in ["=45s", "x=45s", "1=", "1=0s", "45"] {
            assert_eq!(Watched::parse(text).is_some(), text == "45", "{text}");
        }
        for text in ["", "s", "-1s", "4h", "nan", "0"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
