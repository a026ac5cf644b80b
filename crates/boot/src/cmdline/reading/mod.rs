//! The command line word by word: what each parameter of the table changes, and what the words mean together.

mod demands;
mod encrypt;
mod gentoo;
mod luks;
mod lvm;
mod md;
mod own;

use super::{CommandLine, Given, Takes, What, give};
use crate::crypttab::{Entry, list_of, options_of, writes_demand};
use crate::device_spec::{Tagged, is_device, is_one, same_form};
use gentoo::Gentoo;
use std::ffi::OsString;
use std::time::Duration;

/// Why a value is no time to wait.
const NO_TIME: &str = "a number of seconds is needed";
/// Why a key file whose name ends in ".gpg" is none.
const ENCRYPTED_KEY: &str = "GPG-encrypted keys are not supported";

/// What was read so far.
#[derive(Default)]
pub(in crate::cmdline) struct Reading {
    pub(in crate::cmdline) line: CommandLine,
    volumes: Vec<Volume>,
    given: Vec<Given>,
    data: Vec<(String, String)>,
    own: Entry,
    alpine: Entry,
    gentoo: [Gentoo; 2],
    crypto: Option<String>,
    cryptkey: Option<String>,
    waits: Vec<Duration>,
}

/// A volume that the line names.
#[derive(Default)]
struct Volume {
    entry: Entry,
    /// The device as it was named first: rd.luks.data= gives another one, and keys and options still mean this one.
    named: String,
    /// Its key may be where mkinitcpio and Alpine put it.
    usual_key: bool,
}

/// The volumes that a key or an option is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cmdline) enum Whose {
    All,
    /// `UUID=…`.
    Uuid(String),
    /// Any name of a device, or its beginning.
    Device(String),
}

impl Reading {
    fn give(&mut self, word: String, whose: Whose, what: What) {
        if matches!(&what, What::Key(key) if writes_demand(key)) {
            return self.line.unknown.push(word);
        }
        // As a table would have them: without white space around.
        let as_read = |options: Vec<_>| options_of(&list_of(&options));
        let what = match what {
            What::Key(key) => What::Key(key),
            What::List(options) => What::List(as_read(options)),
            What::Beside(options) => What::Beside(as_read(options)),
        };
        let everywhere = whose != Whose::All || !matches!(what, What::List(_));
        self.given.push(Given { word, whose, what, everywhere, done: false });
    }

    pub(in crate::cmdline) fn finish(mut self) -> CommandLine {
        self.finish_own();
        self.finish_alpine();
        self.finish_gentoo();
        self.finish_encrypt();
        self.spread();
        self.move_data();
        self.refuse_demands_for_keys();
        let named = self.volumes.iter().filter(|volume| volume.usual_key);
        self.line.usual_key = named.map(|volume| volume.entry.name.clone()).collect();
        // As a table would have them: without white space around, and a key that is named.
        let as_read = |Entry { name, device, key_file, options }: Entry| Entry {
            key_file: key_file.filter(|file| !file.is_empty()),
            options: options_of(&list_of(&options)),
            name,
            device,
        };
        self.line.entries = self.volumes.into_iter().map(|volume| as_read(volume.entry)).collect();
        let longest = self.waits.into_iter().max().filter(|time| *time > USUAL_WAIT);
        self.line.wait = self.line.wait.or(longest);
        self.line
    }

    /// Gives each volume what is said for it. What is said for all comes later, behind the tables.
    fn spread(&mut self) {
        for volume in &mut self.volumes {
            let is_its = |given: &&mut Given| given.whose != Whose::All && given.whose.means(&volume.named);
            let (mut takes, mut key, mut beside) = (Takes { key: true, list: true }, None, Vec::new());
            for given in self.given.iter_mut().filter(is_its) {
                given.done = true;
                match &given.what {
                    What::Key(file) => key = Some(file.clone()),
                    What::List(options) => {
                        takes.list = false;
                        volume.entry.options.extend(options.iter().cloned());
                    }
                    What::Beside(options) => beside.extend(options.iter().cloned()),
                }
            }
            takes.key = key.is_none();
            let key = key.filter(|key| is_key(key)).map(OsString::from);
            volume.entry.key_file = volume.entry.key_file.take().or(key);
            give(&mut volume.entry, &beside, false);
            self.line.takes.push(takes);
            for other in &self.line.demanding {
                if is_one(volume.named.as_ref(), &other.device) {
                    volume.entry.demand_as(other);
                }
            }
        }
        self.line.given = std::mem::take(&mut self.given);
    }

    fn move_data(&mut self) {
        for (uuid, device) in std::mem::take(&mut self.data) {
            let form = same_form(uuid.as_ref());
            match self.volumes.iter_mut().find(|volume| same_form(volume.named.as_ref()) == form) {
                Some(volume) => volume.entry.device = device.into(),
                None => self.undone(
                    &format!("rd.luks.data={}={device}", uuid.trim_start_matches("UUID=")),
                    "no rd.luks.uuid= or rd.luks.name= names that volume",
                ),
            }
        }
    }

    /// Adds a volume by its UUID; the name of one that was added before may come later.
    fn named(&mut self, spec: &str, name: &str) {
        if spec.ends_with("=*") || spec.ends_with('=') {
            return self.undone(&format!("rd.luks {spec}"), "a UUID is missing");
        }
        let place = self.volumes.iter().position(|volume| volume.named == spec);
        let place = place.unwrap_or_else(|| {
            let bare = spec.rsplit(['=', '/']).next().unwrap_or(spec).trim_end_matches('*');
            let entry =
                Entry { name: format!("luks-{bare}").into(), device: spec.into(), ..Entry::default() };
            self.add(entry, false);
            self.volumes.len() - 1
        });
        if !name.is_empty() {
            self.volumes[place].entry.name = name.into();
        }
    }

    pub(in crate::cmdline) fn keymap(&mut self, value: &str) {
        self.line.keymap = Some(value.to_owned()).filter(|name| !name.is_empty());
    }

    fn add(&mut self, entry: Entry, usual_key: bool) {
        if entry.device.is_empty() || entry.name.is_empty() {
            return self.undone(&entry.to_string(), "a volume without a name or a device");
        }
        let named = entry.device.to_string_lossy().into_owned();
        self.volumes.push(Volume { entry, named, usual_key });
    }
}

impl Whose {
    pub(super) fn means(&self, named: &str) -> bool {
        match self {
            Self::All => true,
            Self::Uuid(spec) => is_one(spec.as_ref(), named.as_ref()),
            Self::Device(start) => match (Tagged::parse(start.as_ref()), Tagged::parse(named.as_ref())) {
                (Some(start), Some(named)) => {
                    start.tag == named.tag && Tagged { is_start: true, ..start }.means(&named.value)
                }
                _ => start.eq_ignore_ascii_case(named),
            },
        }
    }
}

/// `UUID=…` for a LUKS UUID as systemd, dracut and people write it; a beginning of one ends in `*`. Other
/// names of devices are left as they are.
fn uuid_spec(tag: &str, value: &str) -> String {
    let value = value.trim_matches(['"', '\'']);
    let bare = value.strip_prefix(tag).and_then(|rest| rest.strip_prefix('=')).unwrap_or(value);
    let bare = bare.strip_prefix("luks-").unwrap_or(bare).to_ascii_lowercase();
    let is_hex = bare.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit());
    match bare.len() {
        _ if !is_hex && (value.starts_with('/') || is_device(value)) => value.to_owned(),
        UUID_LEN.. => format!("{tag}={bare}"),
        _ if tag == "UUID" && is_hex => format!("{tag}={bare}*"),
        _ => format!("{tag}={bare}"),
    }
}

/// `UUID=VALUE`, or a value for all volumes.
fn of_uuid(value: &str) -> (Whose, String) {
    let bare = value.strip_prefix("UUID=").unwrap_or(value);
    let bare = bare.strip_prefix("luks-").unwrap_or(bare);
    match bare.split_once('=') {
        Some((uuid, value)) if is_uuid(uuid) => (Whose::Uuid(uuid_spec("UUID", uuid)), value.to_owned()),
        _ => (Whose::All, value.to_owned()),
    }
}

/// Whether it is a whole UUID.
fn is_uuid(text: &str) -> bool {
    text.len() == UUID_LEN && text.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit())
}

pub(super) fn is_key(text: &str) -> bool {
    !matches!(text, "" | "none" | "-")
}

/// A parameter without a value says yes.
fn is_yes(value: &str) -> bool {
    !matches!(value.to_ascii_lowercase().as_str(), "0" | "no" | "n" | "off" | "false" | "f")
}

const UUID_LEN: usize = 36;
/// Waits that others give are minimums: no machine of theirs waits less.
const USUAL_WAIT: Duration = Duration::from_secs(30);
