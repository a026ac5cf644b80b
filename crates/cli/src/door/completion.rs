//! Completions for bash, zsh and fish, made by clap from the same tables.

use super::parser::clap_command;
use super::table::Commands;
use clap_complete::Shell;

/// The completion script for a shell ("bash", "zsh", "fish").
pub(crate) fn script(commands: &'static Commands, shell: &str) -> Option<String> {
    let shell: Shell = match shell {
        "bash" => Shell::Bash,
        "zsh" => Shell::Zsh,
        "fish" => Shell::Fish,
        _ => return None,
    };
    let mut tree = clap::Command::new("keyway").disable_help_subcommand(true);
    for command in commands.shown() {
        let names = command.aliases.iter().map(|a| a.name);
        tree = tree.subcommand(clap_command(command).no_binary_name(false).visible_aliases(names));
    }
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut tree, "keyway", &mut script);
    String::from_utf8(script).ok()
}
