//! bash: one function, with a branch for each command (bash(1), "Programmable Completion").

use super::super::table::{Command, Commands, Offers};
use super::{
    MOUNT_POINTS, OPEN_VOLUMES, TAGS, command_names, names, of_value, options, quoted, spellings, verb_names,
};
use std::fmt::Write;

pub(super) fn script(commands: &'static Commands) -> String {
    let all: Vec<&str> = commands.shown().flat_map(names).collect();
    let mut text = HEAD.replace("@OPEN@", OPEN_VOLUMES).replace("@MOUNTED@", MOUNT_POINTS);
    text = text.replace("@COMMANDS@", &all.join(" "));
    let places = TAGS.iter().map(|(tag, at)| format!("    {tag}) at={at} ;;\n"));
    text = text.replace("@PLACES@", &places.collect::<String>());
    for command in commands.shown() {
        branch(&mut text, command);
    }
    text.push_str(TAIL);
    text.replace("@NAMES@", &command_names(commands).join(" "))
}

/// Sets the options, those that take a value, and what is offered for a value or an operand.
fn branch(text: &mut String, command: &'static Command) {
    let spelled: Vec<String> = options(command).flat_map(spellings).collect();
    let valued: Vec<String> =
        options(command).filter(|option| option.takes_value()).flat_map(spellings).collect();
    let _ = writeln!(text, "    {})", names(command).collect::<Vec<_>>().join(" | "));
    let _ = writeln!(text, "        options={}", quoted(&spelled.join(" ")));
    let _ = writeln!(text, "        valued={}", quoted(&valued.join(" ")));
    text.push_str("        case $prev in\n");
    // Options that offer the same share a line.
    let mut offers: Vec<(String, Vec<String>)> = Vec::new();
    for option in options(command).filter(|option| option.takes_value()) {
        let offer = call(of_value(option));
        match offers.iter_mut().find(|(known, _)| *known == offer) {
            Some((_, takers)) => takers.extend(spellings(option)),
            None => offers.push((offer, spellings(option).collect())),
        }
    }
    for (offer, takers) in offers {
        let _ = writeln!(text, "        {}) {offer}; return ;;", takers.join(" | "));
    }
    text.push_str("        esac\n        _keyway_operand\n        case $operand in\n");
    for (index, operand) in command.operands.iter().enumerate() {
        let pattern = if operand.repeats() { "*".to_owned() } else { index.to_string() };
        let _ = writeln!(text, "        {pattern}) {} ;;", call(operand.offers));
    }
    text.push_str("        esac ;;\n");
}

/// The call of a function of [`HEAD`].
fn call(offers: Offers) -> String {
    match offers {
        Offers::Nothing => ":".to_owned(),
        Offers::Files => "_keyway_files -f".to_owned(),
        Offers::Volumes => "_keyway_volumes".to_owned(),
        Offers::Verbs(verbs) => format!("_keyway_words {}", quoted(&verb_names(verbs).join(" "))),
        Offers::Commands => "_keyway_words '@NAMES@'".to_owned(),
        Offers::Directories => "_keyway_files -d".to_owned(),
        Offers::Words(words) => format!("_keyway_words {}", quoted(&words.join(" "))),
        Offers::OpenVolumes => "_keyway_lines \"$(_keyway_open)\"".to_owned(),
        Offers::MountPoints => "_keyway_lines \"$(_keyway_mounted)\"".to_owned(),
    }
}

const HEAD: &str = r#"# bash completion for keyway

_keyway_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }
_keyway_files() { compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen "$1" -- "$cur"); }
_keyway_open() { "${COMP_WORDS[0]}" @OPEN@; }
_keyway_mounted() { @MOUNTED@; }

# Those of the lines that begin with what is typed, spaces included.
_keyway_lines() {
    local line
    compopt -o filenames 2>/dev/null
    while IFS= read -r line; do
        [[ -n $line && $line == "$cur"* ]] && COMPREPLY+=("$line")
    done <<<"$1"
}

# Files, and devices by udev's names: bash takes PARTLABEL=name apart.
_keyway_volumes() {
    local at
    case $prev in
@PLACES@    *) _keyway_files -f; return ;;
    esac
    _keyway_lines "$(cd /dev/disk/$at 2>/dev/null && printf '%s\n' *)"
}

# Counts the operands before the cursor, or offers options.
_keyway_operand() {
    local word index
    if [[ $cur == -* ]]; then
        _keyway_words "$options"
        operand=none
        return
    fi
    operand=0
    for ((index = at + 1; index < COMP_CWORD; index++)); do
        word=${COMP_WORDS[index]}
        if [[ " $valued " == *" $word "* ]]; then
            [[ ${COMP_WORDS[index + 1]} == = ]] && ((index++))
            ((index++))
        elif [[ $word == = ]]; then
            ((operand--))
        elif [[ $word != -* ]]; then
            ((operand++))
        fi
    done
    # The name of a device, taken apart.
    [[ ${COMP_WORDS[COMP_CWORD]} == = ]] && ((operand--))
}

_keyway() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command='' at=0 index
    local options='' valued='' operand='' commands='@COMMANDS@'
    COMPREPLY=()
    # bash takes --name=value apart.
    [[ $cur == = ]] && cur=
    [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD - 2]}
    for ((index = 1; index < COMP_CWORD; index++)); do
        if [[ " $commands " == *" ${COMP_WORDS[index]} "* ]]; then
            command=${COMP_WORDS[index]} at=$index
            break
        fi
    done
    case $command in
    '') _keyway_words "$commands" ;;
"#;

const TAIL: &str = "    esac\n}\n\ncomplete -F _keyway keyway\n";
