//! The command line as tables, one per command. The parser, `--help`, the man pages and the
//! completions are generated from them.
//!
//! `table` holds the types, `shared` the options that several commands take, with the rules between them, `parser` turns an
//! argument vector into [`Args`], `help`, `man` and `completion` print the same tables for people
//! and shells.

pub(crate) mod address;
pub(crate) mod completion;
mod foreign;
pub(crate) mod groups;
mod habits;
mod help;
pub(crate) mod man;
mod option;
mod parser;
mod release;
pub(crate) mod risk;
pub(crate) mod rule;
mod rules;
pub(crate) mod shared;
mod suggest;
mod table;
mod values;
#[cfg(feature = "tools")]
mod verbs;

pub(crate) use option::{Kind, Opt};
pub(crate) use parser::{Invocation, parse};
pub(crate) use release::Release;
pub(crate) use suggest::{did_you_mean, quoted};
pub(crate) use table::{
    Alias, Command, Commands, Example, Group, Offers, Operand, Request, Topic, Verb, run,
};
pub(crate) use values::{Args, NOT_A_KEYSLOT};

/// The arguments of a command line that a test types; its first word is the program's name.
#[cfg(test)]
pub(crate) fn typed(line: &str) -> Args {
    match parse(&crate::verb::COMMANDS, line.split(' ').map(Into::into)) {
        Ok(Invocation::Run(args)) => *args,
        Ok(Invocation::Print(text)) => panic!("{line}: {text}"),
        Err(failure) => panic!("{line}: {}", failure.message()),
    }
}
