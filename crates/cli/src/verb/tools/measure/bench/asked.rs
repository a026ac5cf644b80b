//! From the command line to the cases to measure.

use super::options;
use crate::args::{Args, Opt, did_you_mean, quoted, shared};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::size;
use keyway_measure::results::Direction;
use keyway_measure::suite::{Asked, Listed, Named, Suite, Unknown, list};

/// The cases that the options ask for.
pub(super) struct Cases(pub(super) Asked);

impl Cases {
    pub(super) fn from_args(args: &Args) -> Result<Self> {
        let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32);
        let texts = |option: &Opt| args.texts(option).into_iter().map(str::to_owned).collect::<Vec<_>>();
        let directions = args.texts(&options::DIRECTION).into_iter().map(|way| match way {
            "encrypt" => Direction::Encrypt,
            _ => Direction::Decrypt,
        });
        let only_kdfs = args.operand(0).is_some_and(|verb| verb == "kdf");
        if let Some(option) = OF_CIPHERS.into_iter().find(|option| only_kdfs && args.given(option)) {
            let why = format!("bench kdf measures key derivation: --{} does not apply.", option.long);
            return Err(Failure::new(Exit::Parameters, why));
        }
        let compare = args.texts(&options::COMPARE).into_iter().flat_map(|list| list.split(','));
        let asked = Asked {
            suite: args.text(&options::SUITE).map(suite).transpose()?,
            ciphers: texts(&options::CIPHER),
            key_bits: numbers(&options::KEY_SIZE, args.texts(&options::KEY_SIZE))?,
            sector_sizes: sectors(args.texts(&options::SECTOR_SIZE))?,
            messages: args.texts(&options::MESSAGE).into_iter().map(message).collect::<Result<_>>()?,
            directions: directions.collect(),
            threads: threads(args.texts(&options::THREADS), cpus)?,
            kdfs: texts(&options::PBKDF),
            hashes: texts(&options::HASH),
            memory_kib: args.number32(&shared::PBKDF_MEMORY),
            lanes: args.number32(&shared::PBKDF_PARALLEL),
            iter_time_ms: args.number32(&options::ITER_TIME).filter(|ms| *ms > 0),
            compare: compare.map(str::to_owned).collect(),
            cpus,
        };
        // A run that is resumed goes on with what it was begun with.
        let whole = only_kdfs && !args.given(&options::RESUME);
        Ok(Self(if whole { asked.key_derivation() } else { asked }))
    }
}

/// What chooses ciphers, and how they are measured.
const OF_CIPHERS: [&Opt; 6] = [
    &options::SUITE,
    &options::CIPHER,
    &options::KEY_SIZE,
    &options::SECTOR_SIZE,
    &options::MESSAGE,
    &options::DIRECTION,
];

/// The cases. An unknown name is refused with the closest known one.
pub(super) fn cases(asked: &Asked) -> Result<Vec<Listed>> {
    list(asked).map_err(|unknown| refuse(&unknown))
}

fn refuse(unknown: &Unknown) -> Failure {
    if let (Named::Peer, Some((_, why))) =
        (unknown.what, LIBRARIES.iter().find(|(name, _)| *name == unknown.name))
    {
        return Failure::new(
            Exit::Parameters,
            format!("A static program cannot load {}: {why}", unknown.name),
        );
    }
    let hint = match did_you_mean(&unknown.name, unknown.known.iter().map(String::as_str), quoted) {
        Some(question) => question,
        None if unknown.what == Named::Cipher => "\"keyway ciphers\" lists them.".to_owned(),
        None => format!("There are {}.", unknown.known.join(", ")),
    };
    Failure::new(Exit::Parameters, format!("{unknown}; {hint}"))
}

/// Libraries that users may want to compare with, but that this program cannot load, and what to do
/// instead.
const LIBRARIES: &[(&str, &str)] = &[
    ("libcrypto", USE_OPENSSL),
    ("libssl", USE_OPENSSL),
    ("libgcrypt", USE_THE_SOURCE),
    ("gcrypt", USE_THE_SOURCE),
];
const USE_OPENSSL: &str = "\"--compare openssl\" measures it with its own program, \"openssl speed\".";
const USE_THE_SOURCE: &str =
    "it has no benchmark program; \"./dev bench engine\" in Keyway's source compares with it.";

fn suite(name: &str) -> Result<Suite> {
    Suite::find(name).ok_or_else(|| {
        let known = Suite::NAMES.map(|(name, _)| name.to_owned()).into();
        refuse(&Unknown { what: Named::Suite, name: name.to_owned(), known })
    })
}

fn numbers(option: &Opt, texts: Vec<&str>) -> Result<Vec<u32>> {
    let number = |text: &str| size::parse_number(text).and_then(|number| u32::try_from(number).ok());
    let wrong = |text: &str| wrong(option, text, "a whole number is needed");
    texts.into_iter().map(|text| number(text).ok_or_else(|| wrong(text))).collect()
}

fn sectors(texts: Vec<&str>) -> Result<Vec<u32>> {
    let sizes = numbers(&options::SECTOR_SIZE, texts)?;
    match sizes.iter().find(|size| ![512, 1024, 2048, 4096].contains(*size)) {
        Some(size) => {
            Err(wrong(&options::SECTOR_SIZE, &size.to_string(), "one of 512, 1024, 2048, 4096 is needed"))
        }
        None => Ok(sizes),
    }
}

fn message(text: &str) -> Result<u32> {
    let fits = |bytes: &u64| (512..=MOST_MESSAGE).contains(bytes) && bytes.is_multiple_of(512);
    let bytes = size::parse(text).filter(fits).map(|bytes| bytes as u32);
    bytes.ok_or_else(|| wrong(&options::MESSAGE, text, "whole sectors are needed, 16 MiB at most"))
}

/// The longest message.
const MOST_MESSAGE: u64 = 16 << 20;

fn threads(lists: Vec<&str>, cpus: u32) -> Result<Vec<u32>> {
    let one = |text: &str| match text {
        "all" => Ok(cpus),
        text => size::parse_number(text)
            .filter(|number| (1..=MOST_THREADS).contains(number))
            .map(|number| number as u32)
            .ok_or_else(|| wrong(&options::THREADS, text, "numbers from 1 to 1024, or all, are needed")),
    };
    lists.into_iter().flat_map(|list| list.split(',')).map(one).collect()
}

/// The most threads that run at once.
const MOST_THREADS: u64 = 1024;

fn wrong(option: &Opt, text: &str, why: &str) -> Failure {
    Failure::new(Exit::Parameters, format!("--{} {text}: {why}.", option.long))
}
