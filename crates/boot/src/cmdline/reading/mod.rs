//! The command line word by word: what each parameter of the table changes, and what the words mean together.

mod encrypt;
mod gentoo;
mod luks;
mod own;

use super::{CommandLine, Given, What, give};
use crate::crypttab::{Entry, is_demand, list_of, options_of, writes_demand};
use crate::device_spec::{Tagged, is_one, same_form};
use gentoo::Gentoo;
use std::ffi::OsString;
use std::time::Duration;

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
    /// Says that a word does nothing, unless it has a demand in it: that one is refused.
    pub(in crate::cmdline) fn undone(&mut self, word: &str, why: &str) {
        match writes_demand(word) {
            true => self.line.unknown.push(word.to_owned()),
            false => self.line.undone.push(format!("{word}: {why}.")),
        }
    }

    fn give(&mut self, word: String, whose: Whose, what: What) {
        let everywhere = whose != Whose::All || !matches!(what, What::List(_));
        self.given.push(Given { word, whose, what, everywhere, done: false });
    }

    /// Reads a list of options. Its demands are no part of it: no other list takes their place.
    fn list(&mut self, word: String, whose: Whose, list: &str) {
        let (demands, options): (Vec<_>, Vec<_>) =
            options_of(list).into_iter().partition(|(name, _)| is_demand(name));
        if options.iter().any(|(name, value)| writes_demand(name) || writes_demand(value)) {
            // `11111111=x-keyway.require=sealed`: who is meant?
            self.line.unknown.push(word.clone());
        }
        let only_demands = !demands.is_empty() && options.is_empty();
        match &whose {
            Whose::All => self.line.demands.extend(demands),
            // A partition's UUID may be meant.
            Whose::Uuid(spec) | Whose::Device(spec) if !demands.is_empty() => {
                for device in [spec.clone(), spec.replacen("UUID=", "PARTUUID=", 1)] {
                    let (device, options) = (device.into(), demands.clone());
                    self.line.demanding.push(Entry { device, options, ..Entry::default() });
                }
            }
            _ => {}
        }
        self.give(word, whose, What::List(options));
        if let Some(given) = self.given.last_mut() {
            given.done = only_demands;
        }
    }

    pub(in crate::cmdline) fn finish(mut self) -> CommandLine {
        self.finish_own();
        self.finish_alpine();
        self.finish_gentoo();
        self.finish_encrypt();
        self.spread();
        self.move_data();
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

    /// A value for a volume takes precedence over one for all.
    fn spread(&mut self) {
        for volume in &mut self.volumes {
            let mut its: Vec<_> =
                self.given.iter_mut().filter(|given| given.whose.means(&volume.named)).collect();
            its.iter_mut().for_each(|given| given.done = true);
            // The last one for the volume, else the last one for all.
            let key = |given: &&mut Given| match &given.what {
                What::Key(key) => Some((given.whose != Whose::All, key.clone())),
                _ => None,
            };
            let key = its.iter().filter_map(key).max_by_key(|(special, _)| *special);
            if volume.entry.key_file.is_none() {
                let key = key.map(|(_, key)| key).filter(|key| is_key(key));
                volume.entry.key_file = key.map(OsString::from);
            }
            let lists: Vec<_> = its.iter().filter(|given| matches!(given.what, What::List(_))).collect();
            let special: Vec<_> = lists.iter().copied().filter(|given| given.whose != Whose::All).collect();
            let lists =
                if special.is_empty() { lists.into_iter().last().into_iter().collect() } else { special };
            let beside = its.iter().filter(|given| matches!(given.what, What::Beside(_)));
            for given in lists.iter().copied().chain(beside) {
                match &given.what {
                    What::List(options) => volume.entry.options.extend(options.iter().cloned()),
                    What::Beside(options) => give(&mut volume.entry, options, false),
                    What::Key(_) => {}
                }
            }
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
        _ if !is_hex && (value.starts_with('/') || Tagged::parse(value.as_ref()).is_some()) => {
            value.to_owned()
        }
        UUID_LEN.. => format!("{tag}={bare}"),
        _ if tag == "UUID" && is_hex => format!("{tag}={bare}*"),
        _ => format!("{tag}={bare}"),
    }
}

/// `UUID=VALUE`, or a value for all volumes.
fn of_uuid(value: &str) -> (Whose, String) {
    let is_uuid =
        |text: &str| text.len() == UUID_LEN && text.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit());
    let bare = value.strip_prefix("UUID=").unwrap_or(value);
    let bare = bare.strip_prefix("luks-").unwrap_or(bare);
    match bare.split_once('=') {
        Some((uuid, value)) if is_uuid(uuid) => (Whose::Uuid(uuid_spec("UUID", uuid)), value.to_owned()),
        _ => (Whose::All, value.to_owned()),
    }
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
