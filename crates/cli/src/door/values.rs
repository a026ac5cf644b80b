//! What the user typed, looked up by the same table row that defined it.

use super::shared;
use super::table::{Command, Kind, Opt};
use crate::door::address;
use crate::say::failure::{Exit, Failure, Result};
use crate::say::manner::Manner;
use crate::say::progress::Progress;
use crate::say::size;
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
    /// What stands for options that were not given.
    presets: Vec<Preset>,
}

/// An option and its value, which a flag has not.
pub(crate) type Preset = (&'static Opt, OsString);

impl Args {
    /// Checks each given value against its row.
    pub(super) fn new(
        program: &'static str,
        command: &'static Command,
        matches: ArgMatches,
        operands: Vec<OsString>,
        device_type: Option<&'static str>,
    ) -> Result<Self> {
        let args = Self { program, command, matches, operands, device_type, presets: Vec::new() };
        for option in command.all_options().filter(|o| o.takes_value()) {
            args.check(option)?;
        }
        Ok(args)
    }

    /// A command line that nobody typed: one command runs another with these values.
    pub(crate) fn untyped(command: &'static Command, presets: Vec<Preset>) -> Self {
        let (matches, operands) = (ArgMatches::default(), Vec::new());
        Self { program: "keyway", command, matches, operands, device_type: None, presets }
    }

    /// The same command line with these operands, and these values where it gives none.
    pub(crate) fn completed(&self, operands: Vec<OsString>, presets: Vec<Preset>) -> Result<Self> {
        let (program, command, device_type) = (self.program, self.command, self.device_type);
        let matches = self.matches.clone();
        let operands = operands.into_iter().map(address::without_secrets).collect();
        let presets = presets.into_iter().map(|(option, value)| match option.kind {
            Kind::Path => (option, address::without_secrets(value)),
            _ => (option, value),
        });
        let presets = self.presets.iter().cloned().chain(presets).collect();
        let args = Self { program, command, matches, operands, device_type, presets };
        args.presets.iter().try_for_each(|(option, _)| args.check(option))?;
        Ok(args)
    }

    /// What was given for these options, for another command line:
    /// every value of those that add up.
    pub(crate) fn handed_on(&self, options: &[&'static Opt]) -> Vec<Preset> {
        let values = |option: &'static Opt| match option.takes_value() {
            true => self.all(option).into_iter().map(|value| (option, value.to_owned())).collect(),
            false if self.given(option) => vec![(option, OsString::new())],
            false => Vec::new(),
        };
        options.iter().flat_map(|option| values(option)).collect()
    }

    /// Every value, typed or preset, of an option whose values add up.
    pub(crate) fn all(&self, option: &Opt) -> Vec<&OsStr> {
        let typed = self.matches.try_get_raw(option.long).ok().flatten().into_iter().flatten();
        let preset = self.presets.iter().filter(|(of, _)| of.long == option.long);
        typed.chain(preset.map(|(_, value)| value.as_os_str())).collect()
    }

    /// Whether the program was called by cryptsetup's name.
    pub(crate) fn is_cryptsetup(&self) -> bool {
        self.program == "cryptsetup"
    }

    /// The command's table.
    pub(crate) fn command(&self) -> &'static Command {
        self.command
    }

    /// Whether the command has this very option: another of the same name may mean something else.
    pub(crate) fn takes(&self, option: &Opt) -> bool {
        self.command.all_options().any(|own| std::ptr::eq(own, option))
    }

    /// Whether the option was given (flag or value).
    pub(crate) fn given(&self, option: &Opt) -> bool {
        if option.takes_value() {
            self.raw(option).is_some()
        } else {
            let typed = self.matches.try_get_one::<bool>(option.long).ok().flatten().copied();
            typed.unwrap_or(false) || self.preset(option).is_some()
        }
    }

    /// The value as text; the last one when it was given several times.
    pub(crate) fn text(&self, option: &Opt) -> Option<&str> {
        self.raw(option).and_then(OsStr::to_str)
    }

    /// All values of an option that may be given several times, in order.
    pub(crate) fn texts(&self, option: &Opt) -> Vec<&str> {
        let raw = self.matches.try_get_raw(option.long).ok().flatten();
        raw.into_iter().flatten().filter_map(OsStr::to_str).collect()
    }

    /// The value as a file name.
    pub(crate) fn path(&self, option: &Opt) -> Option<&Path> {
        self.raw(option).map(Path::new)
    }

    /// The value of a [`Kind::Number`] or [`Kind::Size`] option (the latter in bytes).
    pub(crate) fn number(&self, option: &Opt) -> Option<u64> {
        let text = self.text(option)?;
        match option.kind {
            Kind::Size => size::parse(text),
            _ => size::parse_number(text),
        }
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

    /// All operands.
    pub(crate) fn operands(&self) -> &[OsString] {
        &self.operands
    }

    /// `--type`, or what the command's old name stands for ("luksOpen": luks).
    pub(crate) fn device_type(&self) -> Option<&str> {
        self.device_type.or_else(|| self.text(&shared::TYPE))
    }

    /// How much is said, and whether anybody is asked.
    pub(crate) fn manner(&self) -> Manner {
        let debug_json = self.given(&shared::DEBUG_JSON);
        let debug = debug_json || self.given(&shared::DEBUG);
        let verbose = debug || self.given(&shared::VERBOSE);
        Manner { verbose, debug, debug_json, batch_mode: self.given(&shared::BATCH_MODE) }
    }

    /// How the progress of long work is shown.
    pub(crate) fn progress(&self) -> Progress {
        let every = self.number(&shared::PROGRESS_FREQUENCY).filter(|s| *s > 0).map(Duration::from_secs);
        Progress { every, json: self.given(&shared::PROGRESS_JSON), quiet: self.given(&shared::BATCH_MODE) }
    }

    fn raw(&self, option: &Opt) -> Option<&OsStr> {
        let typed = self.matches.try_get_raw(option.long).ok().flatten();
        typed.and_then(|mut values| values.next_back()).or_else(|| self.preset(option))
    }

    fn preset(&self, option: &Opt) -> Option<&OsStr> {
        self.presets.iter().find(|(of, _)| of.long == option.long).map(|(_, value)| value.as_os_str())
    }

    fn check(&self, option: &Opt) -> Result<()> {
        let Some(raw) = self.raw(option) else { return Ok(()) };
        if option.kind == Kind::Path {
            return Ok(());
        }
        let wrong = |why: String| {
            Failure::new(Exit::Parameters, format!("--{} {}: {why}.", option.long, raw.to_string_lossy()))
        };
        let text = raw.to_str().ok_or_else(|| wrong("not valid UTF-8".to_owned()))?;
        match option.kind {
            Kind::Flag | Kind::Path | Kind::Text => Ok(()),
            Kind::Number(most) => match size::parse_number(text) {
                Some(n) if n <= most => Ok(()),
                Some(_) => Err(wrong(format!("at most {most} is possible"))),
                None => Err(wrong("a whole number is needed".to_owned())),
            },
            Kind::Size => size::parse(text)
                .map(drop)
                .ok_or_else(|| wrong("a size is needed, such as 4096, 16M or 2GiB".to_owned())),
            Kind::Choice(words) if words.contains(&text) => Ok(()),
            Kind::Choice(words) => Err(wrong(format!("one of {} is needed", words.join(", ")))),
        }
    }
}
