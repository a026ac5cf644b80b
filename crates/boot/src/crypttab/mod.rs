//! `/etc/crypttab` and tables in the same format (Debian's `/cryptroot/crypttab`,
//! `/keyway/unlock.conf`): volumes to open, under names chosen by the machine's administrator.
//!
//! ```text
//! NAME  DEVICE  [KEY-FILE|none|-  [OPTION[=VALUE],…]]
//! ```
//! Fields are separated by spaces or tabs; within them a space is written as `\040`, a tab as
//! `\011`, a backslash as `\134`. Lines that are empty, start with # or lack a device are ignored.
//! Names and paths are bytes, as everywhere in Unix; options are text. Source: crypttab(5) of
//! Debian's cryptsetup and of systemd.

mod options;
#[cfg(test)]
mod tests;

pub use options::{REKEY, REQUIRE, SEAL_CONTEXT, SEAL_CONTEXT_FILE, is_demand, is_known};
pub(crate) use options::{is_ours, writes_demand};

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

/// A line of the table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// The name of the mapping.
    pub name: OsString,
    /// A path, or `UUID=`, `LABEL=` and the like.
    pub device: OsString,
    /// `None` if the passphrase is to be asked for.
    pub key_file: Option<OsString>,
    /// Options with their values; flags have empty values.
    pub options: Vec<(String, String)>,
}

impl Entry {
    /// The value of an option: "3" for "tries=3", "" for a flag.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The options that make a demand of the volume. Demands accumulate: one that is made in one place
    /// cannot be withdrawn in another.
    pub fn demands(&self) -> impl Iterator<Item = &(String, String)> {
        self.options.iter().filter(|(name, _)| is_demand(name))
    }

    /// Adds the demands that `other` makes and this entry does not make yet.
    pub fn demand_as(&mut self, other: &Self) {
        let new: Vec<_> = other.demands().filter(|demand| !self.options.contains(demand)).cloned().collect();
        self.options.extend(new);
    }

    /// What is to become of the volume if it waits for its first boot; an error is the word that means
    /// nothing.
    pub fn rekey(&self) -> Result<Rekey, &str> {
        match self.option(REKEY) {
            None | Some("" | "yes" | "before") => Ok(Rekey::Before),
            Some("after") => Ok(Rekey::After),
            Some("no") => Ok(Rekey::No),
            Some(other) => Err(other),
        }
    }

    /// Whether it gets a random key each time it is opened: a swap or a /tmp, which the system makes that starts.
    pub fn is_made_anew(&self) -> bool {
        self.key_file.as_deref().is_some_and(|file| RANDOM.iter().any(|random| file == *random))
    }

    /// The entry as a line of a table, without the newline.
    pub fn line(&self) -> Vec<u8> {
        let key_file = self.key_file.as_deref().unwrap_or("none".as_ref());
        let mut line = [&*self.name, &*self.device, key_file].map(escaped).join(&b' ');
        if !self.options.is_empty() {
            line.push(b' ');
            line.extend(escaped(list_of(&self.options).as_ref()));
        }
        line
    }
}

/// The line for display; bytes that are not UTF-8 are replaced.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.line()))
    }
}

/// When a marked volume gets another volume key. The mark asks for it; this only says when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rekey {
    /// Before the volume is mapped and mounted.
    Before,
    /// While it is in use: the system does it.
    After,
    /// Not this time; the mark stays.
    No,
}

/// A time as systemd.time(7) writes it: `90`, `90s`, `1min 30s`, `500ms`; 0 and `infinity` are for ever. `None` if it is
/// none.
pub fn duration(text: &str) -> Option<Duration> {
    if text == "infinity" {
        return Some(Duration::ZERO);
    }
    let (mut whole, mut rest) = (Duration::ZERO, text.trim());
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let letters = after.trim_start().find(|c: char| !c.is_ascii_alphabetic());
        let (unit, after) = after.trim_start().split_at(letters.unwrap_or(after.trim_start().len()));
        let millis = match unit {
            "ms" | "msec" => 1,
            "" | "s" | "sec" | "second" | "seconds" => 1000,
            "m" | "min" | "minute" | "minutes" => 60_000,
            "h" | "hr" | "hour" | "hours" => 3_600_000,
            "d" | "day" | "days" => 86_400_000,
            _ => return None,
        };
        let time = number.parse::<u64>().ok()?.checked_mul(millis)?;
        whole = whole.checked_add(Duration::from_millis(time))?;
        rest = after.trim_start();
    }
    (!text.trim().is_empty()).then_some(whole)
}

/// The entries of a table.
pub fn parse(text: &[u8]) -> Vec<Entry> {
    text.split(|&byte| byte == b'\n').filter_map(entry).take(MOST_ENTRIES).collect()
}

/// Parses a comma-separated list of options. In a value, `\,` is a comma and `\\` a backslash (systemd's
/// crypttab(5): `cipher=xchacha12\,aes-adiantum-plain64`).
pub fn options_of(list: &str) -> Vec<(String, String)> {
    let options = split(list).into_iter().map(|option| {
        let (name, value) = option.split_once('=').unwrap_or((&option, ""));
        (name.trim().to_owned(), value.trim().to_owned())
    });
    options.filter(|(name, _)| !name.is_empty()).take(MOST_OPTIONS).collect()
}

fn split(list: &str) -> Vec<String> {
    let (mut parts, mut part, mut letters) = (Vec::new(), String::new(), list.chars().peekable());
    while let Some(c) = letters.next() {
        match c {
            ',' => parts.push(std::mem::take(&mut part)),
            '\\' => part.push(letters.next_if(|next| [',', '\\'].contains(next)).unwrap_or(c)),
            c => part.push(c),
        }
    }
    parts.push(part);
    parts
}

/// Formats options as a comma-separated list.
pub(crate) fn list_of(options: &[(String, String)]) -> String {
    let option = |(name, value): &(String, String)| match value.is_empty() {
        true => in_list(name),
        false => format!("{}={}", in_list(name), in_list(value)),
    };
    options.iter().map(option).collect::<Vec<_>>().join(",")
}

fn in_list(text: &str) -> String {
    text.replace('\\', "\\\\").replace(',', "\\,")
}

fn entry(line: &[u8]) -> Option<Entry> {
    let mut fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
    let name = fields.next().filter(|name| !name.starts_with(b"#")).map(plain)?;
    let mut fields = fields.map(plain);
    let device = fields.next()?;
    let key_file = fields.next().filter(|file| file != "none" && file != "-");
    let mut options = options_of(&fields.next().unwrap_or_default().to_string_lossy());
    // A demand holds although a space or a missing field puts it where no option is read.
    let (misplaced, key_file): (Vec<_>, _) = match key_file {
        Some(file) if writes_demand(&file.to_string_lossy()) => (vec![file], None),
        key_file => (Vec::new(), key_file),
    };
    for field in misplaced.into_iter().chain(fields) {
        let all = options_of(&field.to_string_lossy());
        options.extend(all.into_iter().filter(|(name, _)| is_demand(name)));
    }
    Some(Entry { name, device, key_file, options })
}

/// A field as written in a table.
fn escaped(field: &OsStr) -> Vec<u8> {
    let mut text = Vec::with_capacity(field.len());
    for &byte in field.as_bytes() {
        let comment = byte == b'#' && text.is_empty();
        match comment || byte == b'\\' || byte.is_ascii_whitespace() {
            true => text.extend(format!("\\{byte:03o}").bytes()),
            false => text.push(byte),
        }
    }
    text
}

/// The content of a field: decodes `\040` and other octal escapes, as in fstab(5).
fn plain(field: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| first == b'\\');
        let byte = digits.and_then(octal);
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &after[3..] } else { after };
    }
    OsString::from_vec(bytes)
}

fn octal(digits: &[u8]) -> Option<u8> {
    digits.iter().try_fold(0_u8, |number, digit| match digit {
        b'0'..=b'7' => number.checked_mul(8)?.checked_add(digit - b'0'),
        _ => None,
    })
}

/// Files whose content is another one at each start.
const RANDOM: &[&str] = &["/dev/urandom", "/dev/random", "/dev/hw_random", "/dev/hwrng"];

/// No machine opens more volumes; an entry in memory takes fifty times its size in the table.
const MOST_ENTRIES: usize = 1 << 14;
/// Both manual pages together list fewer than a hundred.
const MOST_OPTIONS: usize = 1 << 10;
