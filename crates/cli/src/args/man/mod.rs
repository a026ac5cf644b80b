//! Man pages (section 8, roff with the man macros) from the tables.

pub(crate) mod plain;

use super::option::Opt;
use super::parser::look_up;
use super::table::{Command, Commands, Group, Topic, Verb};
use super::{help, shared};
use crate::output::failure::{Exit, Result};
use std::fmt::Write;

/// All pages: file name and text.
pub(crate) fn pages(commands: &'static Commands) -> Vec<(String, String)> {
    let mut pages = vec![("keyway.8".to_owned(), overview(commands))];
    for command in commands.shown() {
        pages.push((format!("keyway-{}.8", command.name), page(command)));
    }
    pages
}

/// The page of that name: "keyway", or a command, by any of its names.
///
/// # Errors
/// There is none.
pub(crate) fn find(commands: &'static Commands, name: &str) -> Result<String> {
    let name = name.strip_prefix("keyway-").unwrap_or(name);
    if name == "keyway" {
        return Ok(overview(commands));
    }
    look_up(commands, "keyway", name).map(|(command, _)| page(command))
}

fn overview(commands: &Commands) -> String {
    let mut text = title("KEYWAY");
    text.push_str(".SH NAME\nkeyway \\- Linux disk encryption without root\n");
    text.push_str(".SH SYNOPSIS\n.B keyway\n[\\fIOPTION\\fR...] \\fICOMMAND\\fR [\\fIOPERAND\\fR...]\n");
    text.push_str(".SH DESCRIPTION\n");
    paragraphs(&mut text, OVERVIEW);
    listed(&mut text, "COMMANDS WITHOUT ROOT", commands.rootless());
    for (heading, group) in [
        ("COMMANDS FOR TRUECRYPT, VERACRYPT AND BITLOCKER VOLUMES", Group::Containers),
        ("COMMANDS AS ROOT, WITH THE KERNEL'S DM-CRYPT", Group::Boot),
        ("CRYPTSETUP'S COMMANDS: VOLUMES", Group::Cryptsetup(Topic::Volumes)),
        ("CRYPTSETUP'S COMMANDS: PASSPHRASES", Group::Cryptsetup(Topic::Passphrases)),
        ("CRYPTSETUP'S COMMANDS: HEADERS", Group::Cryptsetup(Topic::Headers)),
        ("CRYPTSETUP'S COMMANDS: QUESTIONS", Group::Cryptsetup(Topic::Questions)),
        ("KEYWAY ITSELF", Group::Itself),
    ] {
        listed(&mut text, heading, commands.of(group));
    }
    options(&mut text, "OPTIONS OF EVERY COMMAND", shared::EVERYWHERE.iter().copied());
    options(&mut text, "OPTIONS OF CRYPTSETUP'S COMMANDS", shared::CRYPTSETUP_EVERYWHERE.iter().copied());
    text.push_str(".SH \"DEVICES BEHIND URLS\"\n");
    paragraphs(&mut text, URLS);
    text.push_str(".SH \"PARTITIONS OF AN IMAGE\"\n");
    paragraphs(&mut text, PARTITIONS);
    text.push_str(".SH PASSPHRASES\n");
    paragraphs(&mut text, PASSPHRASES);
    text.push_str(".SH EXIT STATUS\n");
    exit_status(&mut text);
    text
}

fn listed(text: &mut String, heading: &str, commands: impl Iterator<Item = &'static Command>) {
    let _ = writeln!(text, ".SH \"{}\"", escape(heading));
    for command in commands {
        let _ = writeln!(text, ".TP\n.BR keyway\\-{} (8)\n{}", escape(command.name), escape(command.about));
    }
}

fn page(command: &'static Command) -> String {
    let name = format!("keyway-{}", command.name);
    let mut text = title(&name.to_uppercase());
    let _ = writeln!(text, ".SH NAME\n{} \\- {}", escape(&name), escape(command.about.trim_end_matches('.')));
    let _ = writeln!(text, ".SH SYNOPSIS\n.B {}", escape(&help::synopsis("keyway", command)));
    text.push_str(".SH DESCRIPTION\n");
    paragraphs(&mut text, if command.man.is_empty() { command.about } else { command.man });
    if !command.aliases.is_empty() {
        let names: Vec<&str> = command.aliases.iter().map(|a| a.name).collect();
        let _ = writeln!(text, ".PP\nOther names: {}.", escape(&names.join(", ")));
    }
    if !command.operands.is_empty() {
        text.push_str(".SH OPERANDS\n");
        for operand in command.operands {
            let _ = writeln!(text, ".TP\n.I {}\n{}", escape(operand.name), escape(operand.help));
        }
    }
    verbs(&mut text, command.verbs());
    options(&mut text, "OPTIONS", command.own_options());
    let unlisted = |o: &&Opt| !command.own_options().any(|own| own.long == o.long);
    options(&mut text, "COMMON OPTIONS", shared::EVERYWHERE.iter().copied().filter(|o| unlisted(o)));
    let accepted = command.accepted().filter(|o| unlisted(o)).map(|o| format!("--{}", o.long));
    let accepted: Vec<String> = accepted.collect();
    if !accepted.is_empty() {
        let names = escape(&accepted.join(", "));
        let _ = writeln!(text, ".PP\nAlso accepted for compatibility with cryptsetup (see keyway): {names}.");
    }
    if !command.risks.is_empty() {
        text.push_str(".SH SAFETY\n");
        for risk in command.risks {
            let _ = writeln!(text, ".PP\n{}", escape(&risk.to_string()));
        }
    }
    if !command.examples.is_empty() {
        text.push_str(".SH EXAMPLES\n");
        for example in command.examples {
            let _ = writeln!(text, ".TP\n.B {}\n{}", escape(example.line), escape(example.does));
        }
    }
    text.push_str(".SH EXIT STATUS\n");
    exit_status(&mut text);
    text.push_str(".SH SEE ALSO\n.BR keyway (8)\n");
    text
}

fn verbs(text: &mut String, verbs: &[Verb]) {
    for (index, verb) in verbs.iter().filter(|verb| !verb.name.is_empty()).enumerate() {
        let heading = if index == 0 { ".SH VERBS\n" } else { "" };
        let line = format!("{} {}", verb.name, verb.operands);
        let _ = writeln!(text, "{heading}.TP\n.B {}\n{}", escape(line.trim_end()), escape(verb.about));
    }
}

fn title(name: &str) -> String {
    format!(".TH \"{}\" 8 \"\" \"keyway {}\"\n", escape(name), env!("CARGO_PKG_VERSION"))
}

fn options(text: &mut String, heading: &str, options: impl Iterator<Item = &'static Opt>) {
    let mut options = options.peekable();
    if options.peek().is_none() {
        return;
    }
    let _ = writeln!(text, ".SH \"{}\"", escape(heading));
    for option in options {
        let _ =
            writeln!(text, ".TP\n.B {}\n{}", escape(help::names(option).trim_start()), escape(option.help));
        if !option.man.is_empty() {
            let _ = writeln!(text, "{}", escape(option.man));
        }
    }
}

fn paragraphs(text: &mut String, body: &str) {
    for paragraph in body.split("\n\n") {
        let _ = writeln!(text, ".PP\n{}", escape(paragraph));
    }
}

fn exit_status(text: &mut String) {
    for (code, meaning) in Exit::table() {
        let _ = writeln!(text, ".TP\n.B {code}\n{}", escape(meaning));
    }
}

/// Escapes roff's special characters: backslashes, dashes, and a dot or quote that starts a line.
fn escape(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    let protect =
        |line: &str| if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line.to_owned() };
    text.lines().map(protect).collect::<Vec<_>>().join("\n")
}

const OVERVIEW: &str = "Keyway makes, opens, edits, reads and writes LUKS1 and LUKS2 volumes in user space: in \
files and on block devices, without root, without loop devices and without the kernel's device mapper.\n\nIt takes \
cryptsetup's commands and options unchanged, and behaves as cryptsetup when called by that name. Options may be \
anywhere on the line; -- ends them.";

const URLS: &str = "A URL can be used wherever a device, volume or image is expected, --header included. \
                    nbd://HOST:PORT/EXPORT and nbd+unix:///EXPORT?socket=PATH are exports of NBD servers: \
                    nbdkit, qemu-nbd (for qcow2 images and Ceph's rbd), or keyway serve. nbds:// and \
                    nbds+unix:// are the same over TLS, with the certificates in the directory of \
                    ?tls-certificates=DIR, or libnbd's (~/.pki/libnbd, ~/.config/pki/libnbd, \
                    /etc/pki/libnbd); tls-hostname=NAME and tls-verify-peer=0 control which server is \
                    trusted. https://, http:// and s3:// are files on web servers and in object stores; they \
                    are read-only.\n\nNothing locks an export: two programs that write to the same one \
                    destroy its content, and only its server can notice. A lost connection is retried for ten \
                    seconds. Reads then continue; a write that was not acknowledged fails, and so does every \
                    later one if the server may have lost unflushed writes.\n\nFor a file whose name looks \
                    like a URL, write ./nbd://NAME.";

const PARTITIONS: &str = "disk.img#2 is partition 2 of the image disk.img, wherever a device, volume or image \
                          is expected, --header included: with a GPT, or an MBR whose logical partitions \
                          count from 5, in sectors of 512 or 4096 bytes. A file named disk.img#2 takes \
                          precedence. On a disk, #2 means the kernel's device for that partition, if it \
                          exists. A command that finds partitions where it needs a volume lists them. URLs \
                          take a number too: nbd://HOST/EXPORT#2; a # in a name is written %23.\n\nNothing \
                          outside the partition is read or written, and it does not grow. Several partitions \
                          of an image can be in use at once; together with the whole image, it and they can \
                          only be opened for reading. Overlapping partitions are refused. The kernel maps a partition \
                          through a loop device of that part of the file.";

const PASSPHRASES: &str = "A passphrase typed on a terminal is not echoed and has at most 512 bytes.\n\nIf \
                           standard input is not a terminal, the passphrase is read from it up to the first \
                           newline, which is dropped. With --key-file -, everything up to the end is the \
                           passphrase, newlines included.\n\nA key file is read whole, newlines included, up \
                           to 8 MiB, unless --keyfile-offset and --keyfile-size select a part of \
                           it.\n\n--password-command runs a command and uses its output, without one trailing \
                           newline. It does not wait for processes that the command leaves in the background.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::COMMANDS;

    #[test]
    fn special_characters_do_not_reach_roff() {
        assert_eq!(escape("a\\b --x"), "a\\eb \\-\\-x");
        assert_eq!(escape(".start\n'quote"), "\\&.start\n\\&'quote");
    }

    #[test]
    fn every_command_has_a_page_with_its_options() {
        let pages = pages(&COMMANDS);
        for command in COMMANDS.shown() {
            let (_, page) = pages.iter().find(|(n, _)| *n == format!("keyway-{}.8", command.name)).unwrap();
            for option in command.all_options() {
                let name = escape(&format!("--{}", option.long));
                assert!(page.contains(&name), "{} lacks {name}", command.name);
            }
            for risk in command.risks {
                assert!(page.contains(&escape(&risk.to_string())), "{} lacks {risk}", command.name);
            }
        }
    }
}
