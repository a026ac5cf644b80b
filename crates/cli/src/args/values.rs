//! The values that the user typed, looked up by the table row that defines them.

use super::option::{Kind, Opt};
use super::shared;
use super::table::{Command, Group, Offers};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::manner::Manner;
use crate::output::progress::Progress;
use crate::output::size;
use clap::ArgMatches;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

/// The invoked command with its options and operands; every value has been checked against its row.
pub(crate) struct Args {
    program: &'static str,
    command: &'static Command,
    matches: ArgMatches,
    operands: Vec<OsString>,
    device_type: Option<&'static str>,
}

impl Args {
    /// Checks each given value against its row.
    pub(super) fn new(
        program: &'static str,
        command: &'static Command,
        matches: ArgMatches,
        operands: Vec<OsString>,
        device_type: Option<&'static str>,
    ) -> Result<Self> {
        let args = Self { program, command, matches, operands, device_type };
        for option in command.all_options().filter(|o| o.takes_value()) {
            for raw in args.all(option) {
                option.check(raw).map_err(|failure| args.in_cryptsetups_words(option, raw, failure))?;
            }
        }
        Ok(args)
    }

    /// A value that is refused, as scripts written for cryptsetup read it: its message first.
    fn in_cryptsetups_words(&self, option: &Opt, raw: &OsStr, failure: Failure) -> Failure {
        if !self.is_cryptsetup() {
            return failure;
        }
        let is_negative = raw.to_str().is_some_and(|text| text.starts_with('-'));
        let words = match option.kind {
            _ if option.long == "key-slot" && is_negative => NOT_A_KEYSLOT.to_owned(),
            _ if option.long == "priority" => {
                "Option --priority can be only ignore/normal/prefer.".to_owned()
            }
            Kind::Number(_) | Kind::Numbers(..) => NUMERIC.to_owned(),
            Kind::Size => format!("Invalid size specification in parameter --{}.", option.long),
            Kind::Flag | Kind::Text | Kind::Path | Kind::Choice(_) | Kind::Words(_) => return failure,
        };
        Failure::new(Exit::Parameters, format!("{}: {words} ({})", self.program, failure.message()))
    }

    /// All values of an option that accumulates them.
    pub(crate) fn all(&self, option: &Opt) -> Vec<&OsStr> {
        self.matches.try_get_raw(option.long).ok().flatten().into_iter().flatten().collect()
    }

    /// Whether the program was called as cryptsetup.
    pub(crate) fn is_cryptsetup(&self) -> bool {
        self.program == "cryptsetup"
    }

    /// The name that the program was called by.
    pub(super) fn program(&self) -> &'static str {
        self.program
    }

    /// The numbers given with the option, if the command takes it.
    pub(crate) fn numbers(&self, option: &Opt) -> impl Iterator<Item = u64> + use<'_> {
        // A command's own option of the same name may take other values.
        let row = self.command.all_options().find(|own| own.long == option.long);
        let texts = row.map(|row| self.texts(row)).unwrap_or_default();
        texts.into_iter().filter_map(move |text| row?.parse(text))
    }

    /// Whether a number is in hexadecimal, which cryptsetup does not read.
    pub(super) fn has_hexadecimal(&self) -> bool {
        let is_number = |option: &&Opt| matches!(option.kind, Kind::Number(_) | Kind::Numbers(..));
        let mut numbers = self.command.all_options().filter(is_number);
        numbers.any(|option| self.texts(option).iter().any(|text| text.starts_with("0x")))
    }

    /// The command's table.
    pub(crate) fn command(&self) -> &'static Command {
        self.command
    }

    /// Whether the command has exactly this option: another one of the same name may mean something
    /// else.
    pub(crate) fn takes(&self, option: &Opt) -> bool {
        self.command.all_options().any(|own| std::ptr::eq(own, option))
    }

    /// Whether the command is one of cryptsetup's actions.
    pub(super) fn is_action(&self) -> bool {
        matches!(self.command.group, Group::Cryptsetup(_))
    }

    /// Whether the option is in the command's own table. (cryptsetup's actions accept many more, and ignore them.)
    pub(super) fn owns(&self, option: &Opt) -> bool {
        self.command.own_options().any(|own| std::ptr::eq(own, option))
    }

    /// Whether the option was given (flag or value).
    pub(crate) fn given(&self, option: &Opt) -> bool {
        if option.takes_value() {
            self.raw(option).is_some()
        } else {
            let typed = self.matches.try_get_one::<bool>(option.long).ok().flatten().copied();
            typed.unwrap_or(false)
        }
    }

    /// The value as text; the last one if it was given several times.
    pub(crate) fn text(&self, option: &Opt) -> Option<&str> {
        self.raw(option).and_then(OsStr::to_str)
    }

    /// All values of an option that may be given several times, in order.
    pub(crate) fn texts(&self, option: &Opt) -> Vec<&str> {
        let raw = self.matches.try_get_raw(option.long).ok().flatten();
        raw.into_iter().flatten().filter_map(OsStr::to_str).collect()
    }

    /// The value as a path.
    pub(crate) fn path(&self, option: &Opt) -> Option<&Path> {
        self.raw(option).map(Path::new)
    }

    /// The value of a [`Kind::Number`] or [`Kind::Size`] option (the latter in bytes).
    pub(crate) fn number(&self, option: &Opt) -> Option<u64> {
        option.parse(self.text(option)?)
    }

    /// The value of a [`Kind::Number`] option whose row bounds it to 32 bits.
    pub(crate) fn number32(&self, option: &Opt) -> Option<u32> {
        self.number(option).and_then(|n| u32::try_from(n).ok())
    }

    /// How many times the option was given.
    pub(crate) fn times(&self, option: &Opt) -> usize {
        self.matches.try_get_raw(option.long).ok().flatten().map_or(0, Iterator::count)
    }

    /// The operand at `index`, counted from 0.
    pub(crate) fn operand(&self, index: usize) -> Option<&Path> {
        self.operands.get(index).map(Path::new)
    }

    /// Whether the first operand is one of these words.
    pub(crate) fn names_verb(&self, words: &[&str]) -> bool {
        self.operand(0).and_then(Path::to_str).is_some_and(|word| words.contains(&word))
    }

    /// All operands.
    pub(crate) fn operands(&self) -> &[OsString] {
        &self.operands
    }

    /// The files that options name, with the options; those that may be given several times, each.
    pub(crate) fn paths(&self) -> Vec<(&'static Opt, &Path)> {
        let options = self.command.all_options().filter(|option| matches!(option.kind, Kind::Path));
        options
            .flat_map(|option| self.all(option).into_iter().map(move |it| (option, Path::new(it))))
            .collect()
    }

    /// The operands that name files, with their places; none that the command ignores.
    pub(crate) fn operand_paths(&self) -> impl Iterator<Item = (usize, &Path)> {
        let rows = self.command.operands;
        self.operands.iter().enumerate().filter_map(move |(index, operand)| {
            // What follows the last one is ignored, as cryptsetup ignores it, unless that stands for several.
            let row = rows.get(index).or_else(|| rows.last().filter(|last| last.repeats()))?;
            matches!(row.offers, Offers::Files | Offers::Volumes).then(|| (index, Path::new(operand)))
        })
    }

    /// `--type`, or the type that the command's name implies ("luksOpen": luks; "tcryptDump": tcrypt).
    pub(crate) fn device_type(&self) -> Option<&str> {
        let only_tcrypt = self.owns(&shared::TCRYPT_HIDDEN) && !self.owns(&shared::TYPE);
        let implied = self.device_type.or(only_tcrypt.then_some("tcrypt"));
        implied.or_else(|| self.text(&shared::TYPE))
    }

    /// The type of the volume, if there is one to judge by: without `--type` it is LUKS. An open mapping has its own,
    /// and so has a volume that /etc/crypttab names.
    pub(crate) fn kind(&self) -> Option<&str> {
        let from_crypttab = self.command.name == "open" && !self.is_cryptsetup() && self.operands.len() == 1;
        match self.device_type() {
            _ if self.is_refreshed() => None,
            None if from_crypttab => None,
            kind => kind.or(Some("luks")),
        }
    }

    /// Whether the type is known, and one of these.
    pub(crate) fn is_of(&self, kinds: &[&str]) -> bool {
        self.kind().is_some_and(|kind| kinds.iter().any(|known| known.eq_ignore_ascii_case(kind)))
    }

    /// Whether the type is known and none of these.
    pub(crate) fn is_other_than(&self, kinds: &[&str]) -> bool {
        self.kind().is_some() && !self.is_of(kinds)
    }

    /// Whether the type may be a version of LUKS.
    pub(crate) fn is_luks(&self) -> bool {
        !self.is_other_than(&["luks", "luks1", "luks2"])
    }

    /// Whether the volume is open already, and stays so.
    pub(crate) fn is_refreshed(&self) -> bool {
        self.command.name == "refresh" || self.given(&shared::REFRESH)
    }

    /// How much is printed, and whether the user is asked questions.
    pub(crate) fn manner(&self) -> Manner {
        let debug_json = self.given(&shared::DEBUG_JSON);
        let debug = debug_json || self.given(&shared::DEBUG);
        let verbose = debug || self.given(&shared::VERBOSE);
        Manner { verbose, debug, debug_json, batch_mode: self.given(&shared::BATCH_MODE) }
    }

    /// How the progress of long work is shown.
    pub(crate) fn progress(&self) -> Progress {
        let every = self.number(&shared::PROGRESS_FREQUENCY).filter(|s| *s > 0).map(Duration::from_secs);
        Progress {
            every,
            json: self.given(&shared::PROGRESS_JSON),
            quiet: self.given(&shared::BATCH_MODE),
            on_output: false,
        }
    }

    fn raw(&self, option: &Opt) -> Option<&OsStr> {
        let typed = self.matches.try_get_raw(option.long).ok().flatten();
        typed.and_then(|mut values| values.next_back())
    }
}

impl Opt {
    /// The number that `text` means.
    fn parse(&self, text: &str) -> Option<u64> {
        match self.kind {
            Kind::Size => size::parse(text),
            _ => size::parse_number(text),
        }
    }

    /// Refuses a value that its row does not allow.
    pub(crate) fn check(&self, raw: &OsStr) -> Result<()> {
        if self.kind == Kind::Path {
            return Ok(());
        }
        let wrong = |why: String| {
            Failure::new(Exit::Parameters, format!("--{} {}: {why}.", self.long, raw.to_string_lossy()))
        };
        let text = raw.to_str().ok_or_else(|| wrong("not valid UTF-8".to_owned()))?;
        match self.kind {
            Kind::Flag | Kind::Path | Kind::Text | Kind::Words(_) => Ok(()),
            Kind::Number(most) | Kind::Numbers(most, _) => match size::parse_number(text) {
                Some(n) if n <= most => Ok(()),
                Some(_) => Err(wrong(format!("at most {most} is allowed"))),
                None => Err(wrong("a whole number, 0 or more, is needed".to_owned())),
            },
            Kind::Size => size::parse(text)
                .map(drop)
                .ok_or_else(|| wrong("a size is needed, such as 4096, 16M or 2GiB".to_owned())),
            Kind::Choice(words) if words.contains(&text) => Ok(()),
            Kind::Choice(words) => Err(wrong(format!("one of {} is needed", words.join(", ")))),
        }
    }
}

/// cryptsetup's words for a number that is none.
pub(super) const NUMERIC: &str = "invalid numeric value";

/// cryptsetup's words for a keyslot below 0.
pub(crate) const NOT_A_KEYSLOT: &str = "Key slot is invalid.";
