//! What a command refuses of a line: a value that is out of range, options that exclude or need each other. A rule
//! stands beside the options that it is about, or beside the command that has it, and is checked when the line is
//! parsed.

use super::Args;
use super::option::Opt;

/// A combination that is refused.
#[derive(Debug)]
pub(crate) struct Rule {
    refused: Refused,
    /// What is said; without it, the words that every rule of its kind has.
    says: Option<&'static str>,
}

/// What breaks a rule.
#[derive(Debug)]
enum Refused {
    /// The option together with one of the others.
    With(&'static Opt, &'static [&'static Opt]),
    /// The first option without the second.
    Without(&'static Opt, &'static Opt),
    /// One of the options for a volume of another type than these.
    OtherThan(&'static [&'static str], &'static [&'static Opt]),
    /// One of the options where the line names none of these types.
    Unnamed(&'static [&'static str], &'static [&'static Opt]),
    /// Whatever else a line has.
    Line(fn(&Args) -> bool),
}

impl Rule {
    /// `option` excludes each of `others`.
    pub(crate) const fn excludes(option: &'static Opt, others: &'static [&'static Opt]) -> Self {
        Self { refused: Refused::With(option, others), says: None }
    }

    /// `option` is for what `other` asks for.
    pub(crate) const fn needs(option: &'static Opt, other: &'static Opt) -> Self {
        Self { refused: Refused::Without(option, other), says: None }
    }

    /// `options` are those of volumes of the types `kinds`. A line whose type is not known yet is taken.
    pub(crate) const fn only_of(
        kinds: &'static [&'static str],
        options: &'static [&'static Opt],
        says: &'static str,
    ) -> Self {
        Self { refused: Refused::OtherThan(kinds, options), says: Some(says) }
    }

    /// The same, but the line has to name the type.
    pub(crate) const fn only_of_named(
        kinds: &'static [&'static str],
        options: &'static [&'static Opt],
        says: &'static str,
    ) -> Self {
        Self { refused: Refused::Unnamed(kinds, options), says: Some(says) }
    }

    /// A line that `breaks` the rule.
    pub(crate) const fn line(breaks: fn(&Args) -> bool, says: &'static str) -> Self {
        Self { refused: Refused::Line(breaks), says: Some(says) }
    }

    /// The same rule, in these words.
    pub(crate) const fn saying(self, says: &'static str) -> Self {
        Self { says: Some(says), ..self }
    }

    /// What is said of a line that breaks it.
    pub(super) fn broken_by(&self, args: &Args) -> Option<String> {
        let usual = match self.refused {
            Refused::With(option, others) => {
                let other = others.iter().find(|other| args.given(option) && args.given(other))?;
                format!("Options --{} and --{} cannot be combined.", option.long, other.long)
            }
            Refused::Without(option, other) => {
                (args.given(option) && !args.given(other)).then_some(())?;
                format!("Option --{} goes with --{}.", option.long, other.long)
            }
            Refused::OtherThan(kinds, options) => {
                (is_any_given(args, options) && args.is_other_than(kinds)).then(String::new)?
            }
            Refused::Unnamed(kinds, options) => {
                (is_any_given(args, options) && !args.is_of(kinds)).then(String::new)?
            }
            Refused::Line(breaks) => breaks(args).then(String::new)?,
        };
        Some(self.says.map_or(usual, str::to_owned))
    }
}

fn is_any_given(args: &Args, options: &[&Opt]) -> bool {
    options.iter().any(|option| args.given(option))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{parse, shared, typed};
    use crate::output::failure::Failure;
    use crate::verb::COMMANDS;

    impl Rule {
        /// The options that it names.
        fn options(&self) -> Vec<&'static Opt> {
            match self.refused {
                Refused::With(one, others) => others.iter().copied().chain([one]).collect(),
                Refused::Without(one, other) => vec![one, other],
                Refused::OtherThan(_, options) | Refused::Unnamed(_, options) => options.to_vec(),
                Refused::Line(_) => Vec::new(),
            }
        }
    }

    #[test]
    fn every_rule_can_be_broken() {
        for command in COMMANDS.all {
            for option in command.rules.iter().flat_map(Rule::options) {
                let is_taken = command.all_options().any(|own| own.long == option.long);
                // `refresh` has the rules of `open`.
                assert!(is_taken || command.name == "refresh", "{} --{}", command.name, option.long);
            }
        }
        let with = shared::RULES_WITH.into_iter().map(|(_, rules)| rules);
        let general = shared::RULES.into_iter().chain(with).flatten();
        for rule in general {
            let takes_all = COMMANDS.all.iter().any(|command| {
                rule.options()
                    .iter()
                    .all(|option| command.all_options().any(|own| std::ptr::eq(own, *option)))
            });
            assert!(takes_all, "{rule:?}");
        }
    }

    #[test]
    fn a_broken_rule_is_reported_in_its_words() {
        let refused = |line: &str| {
            let argv = line.split(' ').map(Into::into);
            parse(&COMMANDS, argv).err().map(|failure: Failure| failure.message().to_owned())
        };
        let usual = "keyway: Options --align-payload and --offset cannot be combined.";
        for (line, message) in [
            ("keyway luksFormat --align-payload 8 --offset 4096 x", Some(usual)),
            ("keyway luksFormat --align-payload 8 x", None),
            ("keyway serve --address :: x", Some("keyway: Option --address goes with --port.")),
            ("keyway serve --address :: --port 1 x", None),
            (
                "keyway serve --protect-hidden x",
                Some("keyway: Option --protect-hidden is for --type tcrypt."),
            ),
            ("keyway serve --type tcrypt --protect-hidden x", None),
            (
                "keyway open --skip 8 x name",
                Some("keyway: Option --skip is supported only for open of plain and loopaes devices."),
            ),
            ("keyway open --type plain --skip 8 x name", None),
            // A mapping that is refreshed, and an entry of /etc/crypttab, have a type of their own.
            ("keyway open --refresh --skip 8 x name", None),
            ("keyway open --skip 8 name", None),
            (
                "cryptsetup open --skip 8 x",
                Some("cryptsetup: Option --skip is supported only for open of plain and loopaes devices."),
            ),
        ] {
            let said = refused(line);
            assert_eq!(said.as_deref().and_then(|said| said.lines().last()), message, "{line}");
        }
    }

    #[test]
    fn a_commands_name_may_imply_the_type() {
        for (line, expected) in [
            ("keyway tcryptDump x", Some("tcrypt")),
            ("keyway luksOpen x name", Some("luks")),
            ("keyway create name x", Some("plain")),
            ("keyway open x name", Some("luks")),
            ("keyway open name", None),
            ("keyway refresh name", None),
        ] {
            assert_eq!(typed(line).kind(), expected, "{line}");
        }
    }
}
