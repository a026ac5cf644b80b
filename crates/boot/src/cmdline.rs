//! What the kernel's command line says about volumes, in the parameters that existing tools use:
//!
//! ```text
//! rd.luks.uuid=UUID  rd.luks.name=UUID=NAME  rd.luks.key=[UUID=]PATH[:DEVICE]  rd.luks.options=[UUID=]OPTION,…  rd.luks=0
//! cryptdevice=DEVICE:NAME[:OPTION,…]  cryptkey=DEVICE:FILE-SYSTEM:PATH | DEVICE:OFFSET:SIZE | rootfs:PATH
//! keyway.device=DEVICE  keyway.name=NAME  keyway.key=PATH[:DEVICE]  keyway.header=PATH  keyway.options=OPTION,…
//! keyway.wait=SECONDS  keyway.shell  keyway.require=POLICY  keyway.rekey=yes|before|after|no
//! ```
//! (systemd-cryptsetup-generator(8), also without `rd.`; mkinitcpio's hook
//! `encrypt`, and what dracut has in common with them.)

use crate::crypttab::{Entry, options_of};
use std::ffi::OsString;
use std::time::Duration;

/// The parsed command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// The volumes that it names.
    pub entries: Vec<Entry>,
    /// `rd.luks=0`: no volume is to be opened.
    pub off: bool,
    /// How long to wait for a device.
    pub wait: Option<Duration>,
    /// Whether a shell is offered if no volume opens.
    pub shell: bool,
    /// Policies that every volume must meet, wherever it is named.
    pub require: Vec<String>,
    /// When volumes that wait for their first boot get another volume key, whatever the tables say.
    pub rekey: Option<String>,
}

/// Parameters for a volume that another parameter names, or for all volumes.
#[derive(Default)]
struct Loose {
    keys: Vec<(Option<String>, String)>,
    options: Vec<(Option<String>, String)>,
}

impl CommandLine {
    /// Parses the text of /proc/cmdline.
    pub fn parse(text: &str) -> Self {
        let mut this = Self::default();
        let (mut loose, mut own, mut cryptkey) = (Loose::default(), Entry::default(), None);
        for word in words(text) {
            let (name, value) = word.split_once('=').unwrap_or((&word, ""));
            match name.strip_prefix("rd.").unwrap_or(name) {
                "luks" => this.off = matches!(value, "0" | "no" | "off" | "false"),
                "luks.name" => match value.split_once('=') {
                    Some((uuid, name)) => this.named(uuid, name),
                    None => this.named(value, ""),
                },
                "luks.uuid" => this.named(value, ""),
                "luks.key" => loose.keys.push(of_uuid(value)),
                "luks.options" => loose.options.push(of_uuid(value)),
                "cryptdevice" => this.entries.extend(cryptdevice(value)),
                "cryptkey" => cryptkey = Some(value.to_owned()),
                "keyway.device" => own.device = value.into(),
                "keyway.name" => own.name = value.into(),
                "keyway.key" => own.key_file = Some(value.into()),
                "keyway.header" => own.options.push(("header".into(), value.into())),
                "keyway.options" => own.options.extend(options_of(value)),
                "keyway.wait" => this.wait = value.parse().ok().map(Duration::from_secs),
                "keyway.require" => this.require.push(value.to_owned()),
                "keyway.rekey" => this.rekey = Some(value.to_owned()),
                "keyway.shell" => this.shell = !matches!(value, "0" | "no"),
                _ => {}
            }
        }
        if !own.device.is_empty() {
            if own.name.is_empty() {
                own.name = "root".into();
            }
            this.entries.push(own);
        }
        loose.spread(&mut this.entries);
        if let (Some(value), Some(entry)) = (cryptkey, this.entries.first_mut()) {
            give_cryptkey(entry, &value);
        }
        this
    }

    /// Adds a volume by its UUID; the name of one that was added before may come later.
    fn named(&mut self, uuid: &str, name: &str) {
        let uuid = uuid.strip_prefix("luks-").unwrap_or(uuid).to_ascii_lowercase();
        let device = OsString::from(format!("UUID={uuid}"));
        let place = self.entries.iter().position(|entry| entry.device == device);
        let place = place.unwrap_or_else(|| {
            self.entries.push(Entry { name: format!("luks-{uuid}").into(), device, ..Entry::default() });
            self.entries.len() - 1
        });
        if !name.is_empty() {
            self.entries[place].name = name.into();
        }
    }
}

impl Loose {
    fn spread(self, entries: &mut [Entry]) {
        for entry in entries {
            let device = entry.device.to_string_lossy().into_owned();
            let is_its = |uuid: &Option<String>| {
                uuid.as_ref().is_none_or(|uuid| device.strip_prefix("UUID=") == Some(uuid))
            };
            // A value for this volume takes precedence over one for all.
            let its = |all: &[(Option<String>, String)]| {
                let found = all.iter().filter(|(uuid, _)| is_its(uuid));
                found.max_by_key(|(uuid, _)| uuid.is_some()).map(|(_, value)| value.clone())
            };
            if entry.key_file.is_none() {
                entry.key_file =
                    its(&self.keys).filter(|key| key != "none" && key != "-").map(OsString::from);
            }
            entry.options.extend(its(&self.options).map(|list| options_of(&list)).unwrap_or_default());
        }
    }
}

/// `UUID=VALUE`, or a value for all volumes.
fn of_uuid(value: &str) -> (Option<String>, String) {
    let is_uuid = |text: &str| text.len() == 36 && text.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit());
    match value.split_once('=') {
        Some((uuid, value)) if is_uuid(uuid) => (Some(uuid.to_ascii_lowercase()), value.to_owned()),
        _ => (None, value.to_owned()),
    }
}

/// `DEVICE:NAME[:OPTION,…]`.
fn cryptdevice(value: &str) -> Option<Entry> {
    let mut fields = value.splitn(3, ':');
    let (device, name) = (fields.next()?, fields.next().filter(|name| !name.is_empty())?);
    let options = options_of(fields.next().unwrap_or_default());
    let options = options.into_iter().map(|(name, value)| match name.as_str() {
        "allow-discards" => ("discard".to_owned(), value),
        _ => (name, value),
    });
    Some(Entry { name: name.into(), device: device.into(), key_file: None, options: options.collect() })
}

/// A file in this image, a file on another device, or a range of a device.
fn give_cryptkey(entry: &mut Entry, value: &str) {
    let mut fields = value.splitn(3, ':');
    let (first, second, third) = (fields.next().unwrap_or_default(), fields.next(), fields.next());
    let numbers = second.zip(third).filter(|(offset, size)| {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number(offset) && is_number(size)
    });
    entry.key_file = match (first, second, third) {
        ("rootfs", Some(path), _) => Some(path.into()),
        (device, ..) if numbers.is_some() => Some(device.into()),
        (device, Some(_), Some(path)) => Some(format!("{path}:{device}").into()),
        _ => return,
    };
    if let Some((offset, size)) = numbers {
        entry.options.push(("keyfile-offset".into(), offset.into()));
        entry.options.push(("keyfile-size".into(), size.into()));
    }
}

/// Splits the text into words as the kernel does: at spaces that are not within double quotes.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            c if c.is_ascii_whitespace() && !quoted => words.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// The value of another parameter of the kernel's command line; if it is repeated, the last one
/// counts.
pub fn parameter(text: &str, name: &str) -> Option<String> {
    let value = |word: &String| match word.split_once('=') {
        Some((known, value)) => (known == name).then(|| value.to_owned()),
        None => (word == name).then(String::new),
    };
    words(text).iter().rev().find_map(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "0a1b2c3d-0000-4000-8000-0123456789ab";

    fn lines(text: &str) -> Vec<String> {
        CommandLine::parse(text).entries.iter().map(Entry::to_string).collect()
    }

    #[test]
    fn systemds_words() {
        let uuid = UUID.to_ascii_uppercase();
        assert_eq!(
            lines(&format!("quiet rd.luks.uuid={uuid} ro")),
            [format!("luks-{UUID} UUID={UUID} none")]
        );
        let text = format!(
            "rd.luks.options=discard rd.luks.options={UUID}=tries=5,readonly luks.name={UUID}=root \
             rd.luks.key={UUID}=/k:LABEL=stick rd.luks.uuid=luks-{UUID}"
        );
        assert_eq!(lines(&text), [format!("root UUID={UUID} /k:LABEL=stick tries=5,readonly")]);
        assert!(CommandLine::parse("rd.luks=0").off && !CommandLine::parse("rd.luks=1").off);
    }

    #[test]
    fn mkinitcpios_words() {
        let text =
            "cryptdevice=UUID=ab-c:root:allow-discards,no-read-workqueue cryptkey=LABEL=stick:ext4:/k/f";
        assert_eq!(lines(text), ["root UUID=ab-c /k/f:LABEL=stick discard,no-read-workqueue"]);
        assert_eq!(
            lines("cryptdevice=/dev/sda2:r cryptkey=/dev/sdb:4096:512"),
            ["r /dev/sda2 /dev/sdb keyfile-offset=4096,keyfile-size=512"]
        );
        assert_eq!(lines("cryptdevice=/dev/sda2:r cryptkey=rootfs:/key"), ["r /dev/sda2 /key"]);
        assert!(lines("cryptdevice=/dev/sda2").is_empty());
    }

    #[test]
    fn our_own_words() {
        let text =
            "keyway.device=/dev/mmcblk0p2 keyway.header=/h keyway.options=tries=1 keyway.wait=7 keyway.shell";
        let found = CommandLine::parse(text);
        assert_eq!(found.entries[0].to_string(), "root /dev/mmcblk0p2 none header=/h,tries=1");
        assert_eq!((found.wait, found.shell), (Some(Duration::from_secs(7)), true));
        let policies = CommandLine::parse("keyway.require=/p keyway.require=sealed").require;
        assert_eq!(policies, ["/p", "sealed"]);
        let rekey = |text| CommandLine::parse(text).rekey;
        assert_eq!(
            (rekey("quiet"), rekey("keyway.rekey=no keyway.rekey=after")),
            (None, Some("after".into()))
        );
    }

    #[test]
    fn words_may_be_quoted_and_the_last_counts() {
        assert_eq!(words("a=\"b c\"  d\n"), ["a=b c", "d"]);
        assert_eq!(parameter("root=/dev/sda root=/dev/sdb ro", "root").as_deref(), Some("/dev/sdb"));
        assert_eq!(parameter("ro quiet", "ro").as_deref(), Some(""));
        assert_eq!(parameter("rootwait", "root"), None);
    }
}
