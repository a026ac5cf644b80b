//! zsh: a function with `_arguments` for each command (zshcompsys(1)).

use super::super::option::Opt;
use super::super::table::{Command, Commands, Offers, Operand};
use super::{MOUNT_POINTS, OPEN_VOLUMES, TAGS, command_names, names, of_value, options, quoted, spellings};
use std::fmt::Write;

pub(super) fn script(commands: &'static Commands) -> String {
    let mut text = HEAD.replace("@OPEN@", OPEN_VOLUMES).replace("@MOUNTED@", MOUNT_POINTS);
    let places = TAGS.iter().map(|(tag, at)| format!("    {tag}=*) at={at} ;;\n"));
    text = text.replace("@PLACES@", &places.collect::<String>());
    text.push_str("_keyway() {\n    local -a commands=(\n");
    for command in commands.shown() {
        for name in names(command) {
            let _ = writeln!(text, "        {}", quoted(&format!("{name}:{}", command.about)));
        }
    }
    text.push_str(DISPATCH);
    for command in commands.shown() {
        branch(&mut text, command);
    }
    text.push_str(TAIL);
    text.replace("@NAMES@", &command_names(commands).join(" "))
}

fn branch(text: &mut String, command: &'static Command) {
    let _ = writeln!(text, "    {})", names(command).collect::<Vec<_>>().join(" | "));
    text.push_str("        _arguments -s -S");
    for option in options(command) {
        for spelling in spellings(option) {
            let _ = write!(text, " \\\n            {}", quoted(&of_option(option, &spelling)));
        }
    }
    for (index, operand) in command.operands.iter().enumerate() {
        let _ = write!(text, " \\\n            {}", quoted(&of_operand(index, operand)));
    }
    text.push_str(" ;;\n");
}

/// `--cipher=[help]:SPEC:(words)`; a letter's value is the next word.
fn of_option(option: &Opt, spelling: &str) -> String {
    let help = escaped(option.help).replace('[', "\\[").replace(']', "\\]");
    if !option.takes_value() {
        return format!("*{spelling}[{help}]");
    }
    let joint = if spelling.starts_with("--") { "=" } else { "" };
    format!("*{spelling}{joint}[{help}]:{}:{}", escaped(option.value), action(of_value(option)))
}

fn of_operand(index: usize, operand: &Operand) -> String {
    let place = if operand.repeats() { "*".to_owned() } else { format!("{}", index + 1) };
    let optional = if operand.required || place == "*" { ":" } else { "::" };
    format!("{place}{optional}{}:{}", escaped(operand.name), action(operand.offers))
}

fn action(offers: Offers) -> String {
    match offers {
        Offers::Nothing => " ".to_owned(),
        Offers::Files => "_files".to_owned(),
        Offers::Volumes => "_keyway_volumes".to_owned(),
        Offers::Verbs(verbs) => {
            let verbs = verbs.iter().filter(|verb| !verb.name.is_empty());
            let each =
                verbs.map(|verb| format!("{}\\:{}", verb.name, quoted(verb.about).replace(':', "\\:")));
            format!("(({}))", each.collect::<Vec<_>>().join(" "))
        }
        Offers::Commands => "(@NAMES@)".to_owned(),
        Offers::Directories => "_files -/".to_owned(),
        Offers::Words(words) => {
            format!("({})", words.iter().map(|w| escaped(w)).collect::<Vec<_>>().join(" "))
        }
        Offers::OpenVolumes => "_keyway_open".to_owned(),
        Offers::MountPoints => "_keyway_mounted".to_owned(),
    }
}

/// A colon separates the fields of a specification.
fn escaped(text: &str) -> String {
    text.replace(':', "\\:")
}

const HEAD: &str = r#"#compdef keyway

_keyway_open() {
    local -a found=("${(@f)$(keyway @OPEN@)}")
    compadd -- $found
}

# Files, and devices by udev's names.
_keyway_volumes() {
    local at
    case $PREFIX in
@PLACES@    *) _files; return ;;
    esac
    compset -P '*='
    local -a found=(/dev/disk/$at/*(N:t))
    compadd -- $found
}

_keyway_mounted() {
    local -a found=("${(@f)$(@MOUNTED@)}")
    compadd -- $found
}

"#;

/// Autoloaded from a directory of `fpath`, the file is the function; sourced, it defines it.
const TAIL: &str = r#"    esac
}

if [ "$funcstack[1]" = _keyway ]; then
    _keyway "$@"
else
    compdef _keyway keyway
fi
"#;

const DISPATCH: &str = r#"    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    shift words
    (( CURRENT-- ))
    case $words[1] in
"#;
