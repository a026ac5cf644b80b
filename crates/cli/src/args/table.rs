//! The row types that tables are made of.

use super::Args;
use super::option::Opt;
use super::risk::Risk;
use super::rule::Rule;
use crate::output::failure::Result;

/// What a shell's completion offers for an operand or a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Offers {
    /// Nothing: the user knows it, or it is new.
    Nothing,
    /// Names of files.
    Files,
    /// Names of directories.
    Directories,
    /// Files and devices, by udev's names for these too (PARTLABEL=…).
    Volumes,
    /// These words.
    Words(&'static [&'static str]),
    /// The verbs of a command; the first operand names one.
    Verbs(&'static [Verb]),
    /// The names of commands.
    Commands,
    /// The names of open volumes.
    OpenVolumes,
    /// Where file systems are mounted that `umount` may take.
    MountPoints,
}

/// A verb of a command that has several, such as `check` of `boot`.
#[derive(Debug)]
pub(crate) struct Verb {
    /// The word; empty for what the command does without one.
    pub(crate) name: &'static str,
    /// Its operands, as help shows them.
    pub(crate) operands: &'static str,
    /// One line.
    pub(crate) about: &'static str,
    /// Those of the command's options that it takes, in lists. None: all of them.
    pub(crate) options: &'static [&'static [&'static Opt]],
}

impl Verb {
    /// The options that it takes, in the command's order.
    pub(super) fn all_options(&self, command: &Command) -> impl Iterator<Item = &'static Opt> + use<'_> {
        command.own_options().filter(|option| self.takes(option))
    }

    /// Whether it takes this option of the command's.
    pub(super) fn takes(&self, option: &Opt) -> bool {
        let mut own = self.options.iter().copied().flatten();
        self.options.is_empty() || own.any(|own| own.long == option.long)
    }
}

/// One operand (an argument that is not an option).
#[derive(Debug)]
pub(crate) struct Operand {
    /// As shown in help: `DEVICE`.
    pub(crate) name: &'static str,
    /// Whether the command refuses to run without it.
    pub(crate) required: bool,
    /// One line for the man page.
    pub(crate) help: &'static str,
    /// What completion offers for it.
    pub(crate) offers: Offers,
}

impl Operand {
    /// Whether it stands for all that follow, too: `FILE...`.
    pub(crate) fn repeats(&self) -> bool {
        self.name.ends_with("...")
    }
}

/// Another name for a command; cryptsetup's old names also fix the
/// type ("luksOpen" is `open --type luks`).
#[derive(Debug)]
pub(crate) struct Alias {
    /// The name.
    pub(crate) name: &'static str,
    /// The value of `--type` that it stands for.
    pub(crate) device_type: Option<&'static str>,
}

/// Where help lists a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// Keyway's own verbs, which need no root. Those that `keyway` alone shows whoever is new to it:
    First,
    /// those that have a line in `--help` alone;
    Rootless,
    /// those that `--help` only names: another line or the name itself says what they are for.
    Also,
    /// Keyway's own verbs for TrueCrypt, VeraCrypt and BitLocker volumes, which need no root.
    Containers,
    /// Keyway's own verbs for a boot, which need root and the kernel's dm-crypt.
    Boot,
    /// cryptsetup's commands, by topic.
    Cryptsetup(Topic),
    /// What shows the manual.
    Itself,
    /// For packagers; not listed in `--help`.
    Hidden,
}

/// The topic of a cryptsetup command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topic {
    /// Making, opening and converting volumes.
    Volumes,
    /// Passphrases and the keyslots behind them.
    Passphrases,
    /// The header as a whole.
    Headers,
    /// Queries that change nothing.
    Questions,
}

impl Topic {
    /// All topics, in the order of help.
    pub(crate) const ALL: [Self; 4] = [Self::Volumes, Self::Passphrases, Self::Headers, Self::Questions];
}

/// An example for help and the man page.
#[derive(Debug)]
pub(crate) struct Example {
    /// The command line to type.
    pub(crate) line: &'static str,
    /// What it does.
    pub(crate) does: &'static str,
}

/// One command.
pub(crate) struct Command {
    /// Its name, in cryptsetup's spelling.
    pub(crate) name: &'static str,
    /// Other names.
    pub(crate) aliases: &'static [Alias],
    /// Where it is listed in help.
    pub(crate) group: Group,
    /// Its operands in order.
    pub(crate) operands: &'static [Operand],
    /// One line, for the list of commands.
    pub(crate) about: &'static str,
    /// Paragraphs for the man page, separated by empty lines.
    pub(crate) man: &'static str,
    /// Its options in the order of help, in one list or several. Options that every command takes
    /// (`shared::EVERYWHERE`) are not repeated.
    pub(crate) options: &'static [&'static [&'static Opt]],
    /// What it refuses of a line, beside the rules that its options have everywhere.
    pub(crate) rules: &'static [Rule],
    /// A few examples at most.
    pub(crate) examples: &'static [Example],
    /// What it puts at risk; nothing if it only looks.
    pub(crate) risks: &'static [Risk],
    /// The function that runs it: [`run`] with its [`Request`].
    pub(crate) run: fn(&Args) -> Result<()>,
}

/// Everything that a command was asked to do, as typed values, which other code of the program can
/// construct as well. The arguments themselves are not passed on.
pub(crate) trait Request: Sized {
    /// Reads the arguments, which break none of the command's rules; refuses values that mean nothing.
    fn from_args(args: &Args) -> Result<Self>;

    /// Carries it out.
    fn run(self) -> Result<()>;
}

/// Carries out what the arguments ask for: the function that a [`Command`]'s table refers to.
pub(crate) fn run<R: Request>(args: &Args) -> Result<()> {
    let request = R::from_args(args).map_err(|failure| failure.of_command_line(args.program()))?;
    request.run()
}

/// All commands of a program.
pub(crate) struct Commands {
    /// In the order of `keyway --help`.
    pub(crate) all: &'static [&'static Command],
    /// The names of commands that a small program leaves out, so that they are not reported as
    /// unknown.
    pub(crate) left_out: &'static [&'static str],
}

impl Commands {
    /// The first row in any table that satisfies `fits`.
    pub(super) fn any_option(&self, fits: impl Fn(&Opt) -> bool) -> Option<&'static Opt> {
        self.options().find(|o| fits(o))
    }

    /// The rows of all tables.
    pub(super) fn options(&self) -> impl Iterator<Item = &'static Opt> + Clone + use<> {
        self.all.iter().flat_map(|c| c.all_options())
    }

    /// The commands of one group.
    pub(super) fn of(&self, group: Group) -> impl Iterator<Item = &'static Command> + use<> {
        self.all.iter().copied().filter(move |c| c.group == group)
    }

    /// Keyway's own verbs, which need no root.
    pub(super) fn rootless(&self) -> impl Iterator<Item = &'static Command> + use<> {
        self.all.iter().copied().filter(|c| matches!(c.group, Group::First | Group::Rootless | Group::Also))
    }

    /// The commands that are shown to users.
    pub(super) fn shown(&self) -> impl Iterator<Item = &'static Command> + use<> {
        self.all.iter().copied().filter(|c| c.group != Group::Hidden)
    }
}

impl Command {
    /// Whether `name` is this command's name or one of its aliases.
    pub(crate) fn answers_to(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|a| a.name == name)
    }

    /// Its verbs, if its first operand names one.
    pub(crate) fn verbs(&self) -> &'static [Verb] {
        match self.operands.first().map(|operand| operand.offers) {
            Some(Offers::Verbs(verbs)) => verbs,
            _ => &[],
        }
    }

    /// Those of its verbs that are typed.
    pub(crate) fn named_verbs(&self) -> impl Iterator<Item = &'static Verb> + Clone + use<> {
        self.verbs().iter().filter(|verb| !verb.name.is_empty())
    }

    /// The options in its own table.
    pub(crate) fn own_options(&self) -> impl Iterator<Item = &'static Opt> + Clone + use<> {
        self.options.iter().copied().flatten().copied()
    }
}

#[cfg(test)]
mod tests {
    use crate::verb::COMMANDS;
    use std::collections::BTreeMap;

    /// The parser finds the command before it knows which table applies: an option must take a
    /// value in all tables or in none, and a letter must stand for options of one kind.
    #[test]
    fn tables_agree_on_what_takes_a_value() {
        let (mut longs, mut letters) = (BTreeMap::new(), BTreeMap::new());
        for option in COMMANDS.all.iter().flat_map(|c| c.all_options()) {
            let takes = option.takes_value();
            assert_eq!(*longs.entry(option.long).or_insert(takes), takes, "--{}", option.long);
            assert_eq!(option.value.is_empty(), !takes, "--{}", option.long);
            if let Some(letter) = option.short {
                assert_eq!(*letters.entry(letter).or_insert(takes), takes, "-{letter} (--{})", option.long);
            }
        }
    }

    #[test]
    fn names_are_unique_and_lines_are_sentences() {
        let mut names: Vec<&str> = COMMANDS.all.iter().map(|c| c.name).collect();
        names.extend(COMMANDS.all.iter().flat_map(|c| c.aliases).map(|a| a.name));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        for command in COMMANDS.all {
            assert!(command.about.ends_with(['.', '?', '1']), "{}", command.name);
            let mut seen: Vec<&str> = command.all_options().map(|o| o.long).collect();
            let all = seen.len();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), all, "{} has an option twice", command.name);
            for option in command.all_options() {
                assert!(
                    option.help.ends_with('.') || option.help.ends_with(')'),
                    "--{}: {}",
                    option.long,
                    option.help
                );
            }
        }
    }

    #[test]
    fn every_table_makes_a_sound_parser() {
        for command in COMMANDS.all {
            crate::args::parser::clap_command(command).debug_assert();
        }
    }
}
