//! fish: a `complete` line for each option and operand (fish's complete(1)).

use super::super::table::{Command, Commands, Offers};
use super::{MOUNT_POINTS, OPEN_VOLUMES, TAGS, command_names, names, of_value, options, quoted, verb_names};
use std::fmt::Write;

pub(super) fn script(commands: &'static Commands) -> String {
    let mut text = HEAD.replace("@OPEN@", OPEN_VOLUMES).replace("@MOUNTED@", MOUNT_POINTS);
    let places = TAGS.iter().map(|(tag, at)| format!("    for link in /dev/disk/{at}/*\n        echo {tag}=(string replace -r '.*/' '' $link)\n    end\n"));
    text = text.replace("@PLACES@", &places.collect::<String>());
    for command in commands.shown() {
        for name in names(command) {
            let about = quoted(command.about);
            let _ = writeln!(text, "complete -c keyway -n __fish_use_subcommand -a {name} -d {about}");
        }
        lines(&mut text, command);
    }
    text.replace("@NAMES@", &command_names(commands).join(" "))
}

fn lines(text: &mut String, command: &'static Command) {
    let of_command = names(command).collect::<Vec<_>>().join(" ");
    let seen = format!("complete -c keyway -n '__fish_seen_subcommand_from {of_command}'");
    for option in options(command) {
        let letter = option.short.map(|letter| format!(" -s '{letter}'")).unwrap_or_default();
        let value = if option.takes_value() { value(of_value(option)) } else { String::new() };
        let _ = writeln!(text, "{seen} -l {}{letter}{value} -d {}", option.long, quoted(option.help));
    }
    for (index, operand) in command.operands.iter().enumerate() {
        let place = if operand.repeats() { String::new() } else { format!(" {index}") };
        let offer = match operand.offers {
            Offers::Nothing => continue,
            Offers::Files => "-F".to_owned(),
            Offers::Volumes => "-F -a '(__keyway_volumes)'".to_owned(),
            Offers::Verbs(verbs) => {
                for verb in verbs.iter().filter(|verb| !verb.name.is_empty()) {
                    let condition = format!("{}; and __keyway_operand{place}'", seen.trim_end_matches('\''));
                    let _ = writeln!(text, "{condition} -a {} -d {}", verb.name, quoted(verb.about));
                }
                continue;
            }
            Offers::Commands => "-a '@NAMES@'".to_owned(),
            offers => format!("-a {}", words(offers)),
        };
        let _ = writeln!(text, "{}; and __keyway_operand{place}' {offer}", seen.trim_end_matches('\''));
    }
}

/// The rest of an option's line: it takes a value.
fn value(offers: Offers) -> String {
    match offers {
        Offers::Nothing => " -x".to_owned(),
        Offers::Files | Offers::Volumes => " -r -F".to_owned(),
        offers => format!(" -x -a {}", words(offers)),
    }
}

fn words(offers: Offers) -> String {
    match offers {
        Offers::Words(words) => quoted(&words.join(" ")),
        Offers::Directories => "'(__fish_complete_directories)'".to_owned(),
        Offers::OpenVolumes => "'(__keyway_open)'".to_owned(),
        Offers::MountPoints => "'(__keyway_mounted)'".to_owned(),
        Offers::Verbs(verbs) => quoted(&verb_names(verbs).join(" ")),
        Offers::Commands => "'@NAMES@'".to_owned(),
        Offers::Nothing | Offers::Files | Offers::Volumes => "''".to_owned(),
    }
}

/// The values of options count as operands here: fish has no tables of who takes one.
const HEAD: &str = r#"# fish completion for keyway

function __keyway_open
    keyway @OPEN@
end

# Devices by udev's names: PARTLABEL=home.
function __keyway_volumes
@PLACES@end

function __keyway_mounted
    @MOUNTED@
end

# Whether the next operand is the one of this index; any, without an index.
function __keyway_operand
    set -l words (commandline -opc | string match -v -- '-*')
    test (count $argv) -eq 0; or test (math (count $words) - 2) -ge $argv[1]
end

complete -c keyway -f
"#;
