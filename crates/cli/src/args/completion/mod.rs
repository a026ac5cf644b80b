//! Completions for bash, zsh and fish, written from the tables: commands, options, and the values
//! of options and operands.

mod bash;
mod fish;
mod zsh;

use super::option::{Kind, Opt};
use super::shared;
use super::table::{Command, Commands, Offers, Verb};

/// The completion script for a shell ("bash", "zsh", "fish").
pub(crate) fn script(commands: &'static Commands, shell: &str) -> Option<String> {
    match shell {
        "bash" => Some(bash::script(commands)),
        "zsh" => Some(zsh::script(commands)),
        "fish" => Some(fish::script(commands)),
        _ => None,
    }
}

/// What a shell offers as the value of an option.
fn of_value(option: &Opt) -> Offers {
    match option.kind {
        Kind::Path if option.value == "DIR" => Offers::Directories,
        Kind::Path => Offers::Files,
        Kind::Choice(words) | Kind::Words(words) | Kind::Numbers(_, words) => Offers::Words(words),
        Kind::Flag | Kind::Text | Kind::Number(_) | Kind::Size => Offers::Nothing,
    }
}

/// The options to offer: its own and those of every command. What cryptsetup's commands accept
/// without a use for it is not offered.
fn options(command: &'static Command) -> impl Iterator<Item = &'static Opt> {
    let own = command.own_options();
    let listed = own.clone();
    let everywhere = shared::EVERYWHERE.iter().copied();
    own.chain(everywhere.filter(move |option| !listed.clone().any(|mine| mine.long == option.long)))
}

/// Its name and its aliases.
fn names(command: &'static Command) -> impl Iterator<Item = &'static str> {
    std::iter::once(command.name).chain(command.aliases.iter().map(|alias| alias.name))
}

/// "--cipher", "-c".
fn spellings(option: &Opt) -> impl Iterator<Item = String> {
    std::iter::once(format!("--{}", option.long)).chain(option.short.map(|letter| format!("-{letter}")))
}

/// In single quotes, for any of the three shells but a backslash in fish, which no table has.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The names of open volumes: the first column of `keyway list`, as wide as its heading says.
const OPEN_VOLUMES: &str = r#"list 2>/dev/null | awk '
        NR == 1 { width = index($0, "BACKEND") - 1; next }
        { name = substr($0, 1, width); sub(/ +$/, "", name); print name }'"#;

/// udev's names for devices, as operands take them, and where they are kept.
const TAGS: &[(&str, &str)] =
    &[("UUID", "by-uuid"), ("LABEL", "by-label"), ("PARTUUID", "by-partuuid"), ("PARTLABEL", "by-partlabel")];

/// The names of the verbs that are typed.
fn verb_names(verbs: &'static [Verb]) -> Vec<&'static str> {
    verbs.iter().map(|verb| verb.name).filter(|name| !name.is_empty()).collect()
}

/// The names of commands, for an operand that is one.
fn command_names(commands: &'static Commands) -> Vec<&'static str> {
    commands.shown().map(|command| command.name).collect()
}

/// Where a file system of FUSE's or of a loop device is mounted, spaces and tabs decoded.
const MOUNT_POINTS: &str = r#"awk '$3 ~ /^fuse/ || $1 ~ /^\/dev\/loop/ {
        gsub(/\\040/, " ", $2); gsub(/\\011/, "\t", $2); print $2 }' /proc/self/mounts"#;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::COMMANDS;
    use keyway_crypto::{CipherSpec, Hash};

    /// What is offered is accepted, at least by the option's own check.
    #[test]
    fn every_offered_value_is_accepted() {
        let all = COMMANDS.all.iter().flat_map(|command| options(command).map(|it| (command.name, it)));
        for (command, option) in all {
            let Offers::Words(words) = of_value(option) else { continue };
            for word in words {
                assert!(option.check(word.as_ref()).is_ok(), "--{} {word}", option.long);
                match option.value {
                    // U-Boot's names, and VeraCrypt's.
                    _ if option.long == "hash" && ["boot", "tcryptFormat"].contains(&command) => {}
                    "SPEC" => assert!(CipherSpec::parse(word).is_ok(), "{word}"),
                    _ if option.long == "hash" => assert!(Hash::parse(word).is_ok(), "{word}"),
                    _ => {}
                }
            }
        }
    }
}
