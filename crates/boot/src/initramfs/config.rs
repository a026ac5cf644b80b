//! `/keyway/unlock.conf`: which volumes the program opens in the initramfs. Its lines are crypttab(5)'s:
//!
//! ```text
//! NAME  DEVICE  KEY-FILE|none  [OPTION[=VALUE],…]
//! ```
//!
//! Fields are parted by spaces or tabs; in them a space is `\040`, a tab `\011`, a backslash `\134`. DEVICE may be a path, UUID=…, LABEL=…,
//! PARTUUID=… or PARTLABEL=…; KEY-FILE a path in the initramfs or PATH:DEVICE. Lines that are empty or start with # say nothing.

use std::fmt;

/// The file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnlockConfig {
    /// Its lines.
    pub entries: Vec<UnlockEntry>,
}

/// A volume to open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnlockEntry {
    /// What its mapping is called.
    pub name: String,
    /// Where it is.
    pub device: String,
    /// What opens it; without one somebody is asked.
    pub key_file: Option<String>,
    /// "discard", "tries=3", "header=/keyway/headers/root".
    pub options: Vec<String>,
}

/// A line that says nothing sensible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigError {
    /// Counted from 1.
    pub line: usize,
    /// Which rule it breaks.
    pub why: &'static str,
}

impl UnlockConfig {
    /// Reads the file.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let mut entries = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.trim();
            if !text.is_empty() && !text.starts_with('#') {
                entries.push(UnlockEntry::parse(text).map_err(|why| ConfigError { line, why })?);
            }
        }
        Ok(Self { entries })
    }
}

impl UnlockEntry {
    fn parse(line: &str) -> Result<Self, &'static str> {
        let mut fields = line.split_ascii_whitespace().map(plain);
        let (Some(name), Some(device)) = (fields.next(), fields.next()) else {
            return Err("a name and a device are needed");
        };
        if name.contains('/') || matches!(&name[..], "." | "..") {
            return Err("a mapping's name is no path");
        }
        let key_file = fields.next().filter(|key| !matches!(&key[..], "none" | "-"));
        let options = fields.next().unwrap_or_default();
        let options = options.split(',').filter(|option| !option.is_empty()).map(str::to_owned).collect();
        match fields.next() {
            None => Ok(Self { name, device, key_file, options }),
            Some(_) => Err("there are more than four fields"),
        }
    }

    /// The value of an option: "3" of "tries=3", "" of a flag.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find_map(|option| match option.split_once('=') {
            Some((known, value)) => (known == name).then_some(value),
            None => (option == name).then_some(""),
        })
    }
}

impl fmt::Display for UnlockConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "# What keyway opens when neither the kernel's command line nor /etc/crypttab names a volume."
        )?;
        self.entries.iter().try_for_each(|entry| writeln!(f, "{entry}"))
    }
}

impl fmt::Display for UnlockEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key_file = self.key_file.as_deref().unwrap_or("none");
        write!(f, "{} {} {}", escaped(&self.name), escaped(&self.device), escaped(key_file))?;
        match self.options.is_empty() {
            true => Ok(()),
            false => write!(f, " {}", escaped(&self.options.join(","))),
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl std::error::Error for ConfigError {}

/// A field as it stands in the file.
fn escaped(field: &str) -> String {
    let mut text = String::new();
    for c in field.chars() {
        match c {
            ' ' | '\t' | '\n' | '\\' => text += &format!("\\{:03o}", c as u32),
            '#' if text.is_empty() => text += "\\043",
            c => text.push(c),
        }
    }
    text
}

/// What a field stands for.
fn plain(field: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = field.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|digits| digits.iter().all(|digit| matches!(digit, b'0'..=b'7')));
        match digits.map(|digits| digits.iter().fold(0, |sum, digit| sum * 8 + u32::from(digit - b'0'))) {
            Some(code @ 1..=0xff) if *byte == b'\\' => {
                bytes.push(code as u8);
                rest = &after[3..];
            }
            _ => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_crypttab() {
        let text = "# comment\n\nroot  UUID=0815\tnone luks,discard,tries=5\n data /dev/disk/by-label/a\\040b /keyway/keys/data\n";
        let config = UnlockConfig::parse(text).unwrap();
        let [root, data] = &config.entries[..] else { panic!("{config:?}") };
        assert_eq!((&root.name[..], &root.device[..], &root.key_file), ("root", "UUID=0815", &None));
        assert_eq!(
            (root.option("tries"), root.option("discard"), root.option("luk")),
            (Some("5"), Some(""), None)
        );
        assert_eq!(
            (&data.device[..], data.key_file.as_deref()),
            ("/dev/disk/by-label/a b", Some("/keyway/keys/data"))
        );
        assert_eq!(UnlockConfig::parse(&config.to_string()).unwrap(), config);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let entry = UnlockEntry {
            name: "#odd \\name".into(),
            device: "/dev/x\ty".into(),
            key_file: Some("/a b:LABEL=k".into()),
            options: vec!["header=/h h".into()],
        };
        let config = UnlockConfig { entries: vec![entry] };
        assert_eq!(UnlockConfig::parse(&config.to_string()).unwrap(), config);
    }

    #[test]
    fn lines_that_say_nothing_sensible() {
        let why = |text| UnlockConfig::parse(text).unwrap_err().to_string();
        assert_eq!(why("\nroot"), "line 2: a name and a device are needed");
        assert_eq!(why("../x /dev/a"), "line 1: a mapping's name is no path");
        assert_eq!(why("a b c d e"), "line 1: there are more than four fields");
    }
}
