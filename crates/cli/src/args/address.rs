//! Addresses on the command line: passwords and signatures are taken out before other code sees
//! them.
//!
//! Everywhere else in the program, an address is the part of it that may be shown: in paths,
//! messages, facts, descriptions of exports, and sources of mounts. Passwords and signatures are
//! kept here, and only the code that connects asks for them.

use crate::args::option::{Kind, Opt};
use crate::args::table::Commands;
use crate::process::sys;
use keyway::storage::PartitionName;
use keyway_crypto::Secret;
use keyway_volume::Address;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The secrets that were taken out of one address.
struct Kept {
    /// The name by which the program knows the address.
    name: String,
    address: Arc<Address>,
}

/// Returns the command line without passwords and signatures, which are kept here. If the system
/// permits it, process lists no longer show them either. The values of text options (`--label`) are
/// not changed.
pub(crate) fn take_secrets(commands: &Commands, argv: &[OsString]) -> Vec<OsString> {
    let taken = strip(commands, argv);
    sys::retitle(argv, &taken);
    taken
}

fn strip(commands: &Commands, argv: &[OsString]) -> Vec<OsString> {
    let mut taken = Vec::with_capacity(argv.len());
    // Whether the next argument is an option's value, and if so, whether the option names a file or
    // a device.
    let mut value = None;
    let mut options = true;
    for argument in argv {
        let Some(text) = argument.to_str() else {
            value = None;
            taken.push(argument.clone());
            continue;
        };
        taken.push(
            match value.take() {
                Some(names_storage) => {
                    if names_storage {
                        known_as(text)
                    } else {
                        text.to_owned()
                    }
                }
                None if options && text == "--" => {
                    options = false;
                    text.to_owned()
                }
                None if options && text.starts_with('-') => match value_of(commands, text) {
                    Some((names_storage, "")) => {
                        value = Some(names_storage);
                        text.to_owned()
                    }
                    Some((true, attached)) => {
                        text[..text.len() - attached.len()].to_owned() + &known_as(attached)
                    }
                    _ => text.to_owned(),
                },
                None => known_as(text),
            }
            .into(),
        );
    }
    taken
}

/// The name by which the program knows an operand that it found elsewhere, in `/etc/crypttab`.
pub(crate) fn without_secrets(operand: OsString) -> OsString {
    operand.to_str().map(known_as).map_or(operand, OsString::from)
}

/// The address known as `name`, with its password and signature.
#[cfg(any(test, feature = "remote"))]
pub(crate) fn find(name: &str) -> Option<Arc<Address>> {
    let found = kept().iter().find(|kept| kept.name == name).map(|kept| Arc::clone(&kept.address));
    found.or_else(|| Address::new(name).map(Arc::new))
}

/// The secrets to hand to the background process, whose command line contains none of them.
pub(crate) fn secrets() -> Secret {
    let kept = kept();
    let texts = || kept.iter().flat_map(|kept| [kept.name.as_str(), kept.address.expose()]);
    let mut told = Secret::zeroed(texts().map(|text| 4 + text.len()).sum());
    let mut rest = told.expose_mut();
    for text in texts() {
        let (now, behind) = rest.split_at_mut(4 + text.len());
        now[..4].copy_from_slice(&(text.len() as u32).to_le_bytes());
        now[4..].copy_from_slice(text.as_bytes());
        rest = behind;
    }
    told
}

/// Takes over what [`secrets`] returned in the first process; ignores damaged data.
pub(crate) fn learn(told: &[u8]) {
    let mut rest = told;
    let mut text = || {
        let (len, behind) = rest.split_first_chunk::<4>()?;
        let (text, behind) = behind.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        rest = behind;
        std::str::from_utf8(text).ok()
    };
    while let (Some(name), Some(whole)) = (text(), text()) {
        if let Some(address) = Address::new(whole).map(Arc::new) {
            kept().push(Kept { name: name.to_owned(), address });
        }
    }
}

/// Addresses that differ only in their secrets get different names: they may be different objects.
/// The number of a partition stays behind whichever it is.
fn known_as(text: &str) -> String {
    if let Some((address, number)) = PartitionName::of_url(text).filter(|_| Address::new(text).is_some()) {
        return format!("{}#{number}", known_as(address));
    }
    let Some(address) = Address::new(text).filter(Address::holds_secrets) else { return text.to_owned() };
    let mut kept = kept();
    if kept.iter().any(|kept| kept.name == text) {
        return text.to_owned();
    }
    if let Some(known) = kept.iter().find(|kept| kept.address.expose() == text) {
        return known.name.clone();
    }
    let shown = address.shown();
    let same = kept.iter().filter(|kept| kept.address.shown() == shown).count();
    let name = if same == 0 { shown.to_owned() } else { format!("{shown}#other-{}", same + 1) };
    kept.push(Kept { name: name.clone(), address: Arc::new(address) });
    name
}

/// For an option that takes a value: whether the value names a file or a device, and the value
/// itself if it is attached to the option.
fn value_of<'a>(commands: &Commands, argument: &'a str) -> Option<(bool, &'a str)> {
    if let Some(long) = argument.strip_prefix("--") {
        let (name, value) = long.split_once('=').unwrap_or((long, ""));
        let named = |option: &Opt| option.long == name && option.takes_value();
        commands.any_option(named)?;
        return Some((
            commands.any_option(|option| named(option) && option.kind == Kind::Path).is_some(),
            value,
        ));
    }
    let (at, letter) = argument.char_indices().skip(1).find(|(_, letter)| {
        commands.any_option(|option| option.short == Some(*letter) && option.takes_value()).is_some()
    })?;
    let named = |option: &Opt| option.short == Some(letter) && option.kind == Kind::Path;
    Some((commands.any_option(named).is_some(), &argument[at + letter.len_utf8()..]))
}

fn kept() -> MutexGuard<'static, Vec<Kept>> {
    static KEPT: Mutex<Vec<Kept>> = Mutex::new(Vec::new());
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::COMMANDS;

    fn taken(line: &[&str]) -> Vec<String> {
        let line: Vec<OsString> = line.iter().map(OsString::from).collect();
        strip(&COMMANDS, &line).iter().map(|word| word.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn the_command_line_loses_its_secrets() {
        let url = "https://user:secret@h/one?sig=secret";
        for (line, expected) in [
            (vec!["open", url, "name"], vec!["open", "https://h/one", "name"]),
            (vec!["open", "--", url, "-x"], vec!["open", "--", "https://h/one", "-x"]),
            (vec!["open", "--header", url, "-q"], vec!["open", "--header", "https://h/one", "-q"]),
            (vec!["open", &format!("--header={url}")], vec!["open", "--header=https://h/one"]),
            (vec!["open", "-d", url, url], vec!["open", "-d", "https://h/one", "https://h/one"]),
            (vec!["open", &format!("-qd{url}")], vec!["open", "-qdhttps://h/one"]),
            (vec!["open", "-q", url], vec!["open", "-q", "https://h/one"]),
            // The values of text options are not addresses.
            (vec!["config", "--label", url, url], vec!["config", "--label", url, "https://h/one"]),
            (vec!["open", "-c", url, url], vec!["open", "-c", url, "https://h/one"]),
            (vec!["config", &format!("--label={url}")], vec!["config", &format!("--label={url}")]),
            (vec!["open", "--", "--header", url], vec!["open", "--", "--header", "https://h/one"]),
            (vec!["open", "--", "--label", url], vec!["open", "--", "--label", "https://h/one"]),
            (vec!["open", "--unknown", url], vec!["open", "--unknown", "https://h/one"]),
        ] {
            assert_eq!(taken(&line), expected);
        }
        assert_eq!(find("https://h/one").unwrap().expose(), url);
    }

    #[test]
    fn the_command_line_is_what_was_left() {
        let line = ["open", "https://user:secret@h/four"].map(OsString::from);
        assert_eq!(take_secrets(&COMMANDS, &line), ["open", "https://h/four"]);
        let found = OsString::from("https://user:secret@h/five");
        assert_eq!(without_secrets(found), "https://h/five");
        assert_eq!(find("https://h/five").unwrap().expose(), "https://user:secret@h/five");
        assert_eq!(without_secrets("disk.img".into()), "disk.img");
    }

    #[test]
    fn addresses_that_differ_in_secrets_only_stay_apart() {
        let (one, two) = ("https://h/two?version=1", "https://h/two?version=2");
        assert_eq!(taken(&[one, two, one]), ["https://h/two", "https://h/two#other-2", "https://h/two"]);
        assert_eq!(find("https://h/two#other-2").unwrap().expose(), two);
        // As the background process sees them again.
        assert_eq!(taken(&["https://h/two#other-2"]), ["https://h/two#other-2"]);
        // And a partition of it.
        assert_eq!(taken(&["https://h/two?version=2#3"]), ["https://h/two#other-2#3"]);
        assert_eq!(
            taken(&["https://h/two#other-2#3", "nbd://h/x#1"]),
            ["https://h/two#other-2#3", "nbd://h/x#1"]
        );
        assert_eq!(find("https://h/unknown").unwrap().expose(), "https://h/unknown");
        assert!(find("disk.img").is_none());
    }

    #[test]
    fn the_second_process_learns_what_the_first_took() {
        taken(&["https://user:secret@h/three"]);
        let told = secrets();
        let told = told.expose();
        assert!(told.last() != Some(&0), "nothing but what was taken");
        kept().retain(|kept| kept.name != "https://h/three");
        assert_eq!(find("https://h/three").unwrap().expose(), "https://h/three");
        learn(told);
        assert_eq!(find("https://h/three").unwrap().expose(), "https://user:secret@h/three");
        for end in 0..told.len() {
            learn(&told[..end]);
        }
        learn(&[0xff; 9]);
    }
}
