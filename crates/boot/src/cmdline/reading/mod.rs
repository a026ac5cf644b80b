//! The command line word by word: what each parameter of the table changes, and what the words mean together.

mod encrypt;
mod gentoo;
mod luks;
mod own;

use super::{CommandLine, Given};
use crate::crypttab::{Entry, options_of};
use crate::device_spec::{Tagged, same_form};
use gentoo::Gentoo;
use std::ffi::OsString;
use std::time::Duration;

/// What was read so far.
#[derive(Default)]
pub(in crate::cmdline) struct Reading {
    pub(in crate::cmdline) line: CommandLine,
    volumes: Vec<Volume>,
    keys: Vec<(Whose, String)>,
    options: Vec<(Whose, String)>,
    /// Options beside those of the lists.
    beside: Vec<(Whose, String)>,
    data: Vec<(String, String)>,
    /// Options for all that the line names.
    all: Vec<(String, String)>,
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
#[derive(Clone, PartialEq, Eq)]
pub(in crate::cmdline) enum Whose {
    All,
    /// `UUID=…`.
    Uuid(String),
    /// Any name of a device, or its beginning.
    Device(String),
}

impl Reading {
    pub(in crate::cmdline) fn undone(&mut self, word: &str, why: &str) {
        self.line.undone.push(format!("{word}: {why}."));
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
        self.line.entries = self.volumes.into_iter().map(|volume| volume.entry).collect();
        let longest = self.waits.into_iter().max().filter(|time| *time > USUAL_WAIT);
        self.line.wait = self.line.wait.or(longest);
        self.line
    }

    /// A value for a volume takes precedence over one for all.
    fn spread(&mut self) {
        for volume in &mut self.volumes {
            let its = |all: &[(Whose, String)]| {
                let found = all.iter().filter(|(whose, _)| whose.means(&volume.named));
                found.max_by_key(|(whose, _)| *whose != Whose::All).map(|(_, value)| value.clone())
            };
            if volume.entry.key_file.is_none() {
                volume.entry.key_file = its(&self.keys).filter(|key| is_key(key)).map(OsString::from);
            }
            let special = self.options.iter().filter(|(whose, _)| *whose != Whose::All);
            let special: Vec<_> = special.filter(|(whose, _)| whose.means(&volume.named)).collect();
            let lists: Vec<String> = match special.is_empty() {
                true => its(&self.options).into_iter().collect(),
                false => special.into_iter().map(|(_, list)| list.clone()).collect(),
            };
            let beside = self.beside.iter().filter(|(whose, _)| whose.means(&volume.named));
            let lists = lists.iter().chain(beside.map(|(_, list)| list));
            volume.entry.options.extend(lists.flat_map(|list| options_of(list)));
            for (name, value) in &self.all {
                if volume.entry.option(name).is_none() {
                    volume.entry.options.push((name.clone(), value.clone()));
                }
            }
        }
        let unnamed = |whose: &Whose| !self.volumes.iter().any(|volume| whose.means(&volume.named));
        let keys = self.keys.iter().filter(|(whose, _)| unnamed(whose)).cloned();
        let keys = keys.map(|(whose, key)| (whose, Given::Key(key)));
        let options = self.options.iter().chain(&self.beside).filter(|(whose, _)| unnamed(whose)).cloned();
        let options = options.map(|(whose, list)| (whose, Given::Options(options_of(&list))));
        for (whose, given) in keys.chain(options).collect::<Vec<_>>() {
            self.line.keep(whose, given);
        }
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
    fn means(&self, named: &str) -> bool {
        match self {
            Self::All => true,
            Self::Uuid(spec) => same_form(spec.as_ref()) == same_form(named.as_ref()),
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

fn is_key(text: &str) -> bool {
    !matches!(text, "" | "none" | "-")
}

/// A parameter without a value says yes.
fn is_yes(value: &str) -> bool {
    !matches!(value.to_ascii_lowercase().as_str(), "0" | "no" | "n" | "off" | "false" | "f")
}

const UUID_LEN: usize = 36;
/// Waits that others give are minimums: no machine of theirs waits less.
const USUAL_WAIT: Duration = Duration::from_secs(30);
