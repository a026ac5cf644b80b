//! Which verb of a command takes which option: the verbs share one table, and an option of another
//! verb would otherwise be accepted and ignored.

use super::option::Opt;
use super::table::Verb;
use super::values::Args;
use crate::output::failure::{Exit, Failure, Result};

impl Args {
    /// Refuses an option that belongs to other verbs than the one that is typed; the line ends with
    /// what `hint` adds. (An unknown verb is refused by its command.)
    pub(crate) fn check_verb(&self, hint: impl Fn(&Verb, &Opt) -> &'static str) -> Result<()> {
        let command = self.command();
        let typed = self.operand(0).and_then(|word| word.to_str()).unwrap_or_default();
        let Some(verb) = command.verbs().iter().find(|verb| verb.name == typed) else { return Ok(()) };
        let foreign = command.own_options().find(|option| self.given(option) && !verb.takes(option));
        let Some(option) = foreign else { return Ok(()) };
        let named = |verb: &Verb| format!("{} {}", command.name, verb.name).trim_end().to_owned();
        let takers: Vec<String> =
            command.verbs().iter().filter(|other| other.takes(option)).map(named).collect();
        let (name, takers, hint) = (option.long, takers.join(", "), hint(verb, option));
        let message = format!("{} takes no --{name}, which is for {takers}{hint}.", named(verb));
        Err(Failure::new(Exit::Parameters, message))
    }
}

#[cfg(test)]
mod tests {
    use crate::verb::COMMANDS;

    #[test]
    fn every_option_belongs_to_a_verb_and_every_verb_takes_its_commands_options() {
        for command in COMMANDS.all.iter().filter(|command| !command.verbs().is_empty()) {
            for option in command.own_options() {
                let taken = command.verbs().iter().any(|verb| verb.takes(option));
                assert!(taken, "{} --{}", command.name, option.long);
            }
            for verb in command.verbs() {
                for option in verb.options.iter().copied().flatten() {
                    let known = command.own_options().any(|own| std::ptr::eq(own, *option));
                    assert!(known, "{} {} --{}", command.name, verb.name, option.long);
                }
            }
        }
    }
}
