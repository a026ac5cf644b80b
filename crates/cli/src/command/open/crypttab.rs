//! `/etc/crypttab`: names that the machine's administrator gave to volumes, with their key files and options.
//!
//! ```text
//! NAME  DEVICE  [KEY-FILE|none|-]  [OPTION[=VALUE],…]
//! ```
//! Fields are separated by spaces or tabs; `\040` is a space. Source: crypttab(5) of Debian's cryptsetup and of systemd.

use super::options::{ALLOW_DISCARDS, PERF_NO_READ, PERF_NO_WRITE, PERF_SAME_CPU, PERF_SUBMIT};
use crate::args::{Args, Opt, Preset, shared};
use crate::device;
use crate::failure::{Exit, Failure, Result};
use crate::session;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Completes `open NAME` from the table: device, key file and options, where the command line does not say otherwise.
/// Anything else stays as it is; a name that the table gives to another device is warned about.
pub(super) fn complete(args: &Args) -> Result<Option<Args>> {
    let entries = parse(&fs::read(FILE).unwrap_or_default());
    match args.operands() {
        [name] if !Path::new(name).exists() => match entries.iter().find(|entry| entry.name == *name) {
            Some(entry) => entry.complete(args).map(Some),
            None => Ok(None),
        },
        [device, name, ..] => {
            if let Some(entry) = entries.iter().find(|entry| entry.name == *name) {
                entry.warn_of_another(args, &device::resolve(Path::new(device)));
            }
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// A line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The mapping's.
    pub(crate) name: OsString,
    /// A path, or `UUID=`, `LABEL=` and their like.
    pub(crate) device: OsString,
    /// None where somebody is to be asked.
    pub(crate) key_file: Option<OsString>,
    /// With their values; those of flags are empty.
    pub(crate) options: Vec<(String, String)>,
}

impl Entry {
    /// The value of an option; that of a flag is empty.
    pub(crate) fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// `open`'s command line with this entry's values where it gives none.
    pub(crate) fn complete(&self, args: &Args) -> Result<Args> {
        let mut presets = Vec::new();
        if let Some(key_file) = &self.key_file {
            presets.push((&shared::KEY_FILE, key_file.clone()));
        }
        for (option, value) in &self.options {
            if let Some(preset) = self.preset(option, value)? {
                presets.push(preset);
            }
        }
        args.completed(vec![self.path().into_os_string(), self.name.clone()], presets)
    }

    fn preset(&self, option: &str, value: &str) -> Result<Option<Preset>> {
        if let Some((_, why)) = REFUSED.iter().find(|(name, _)| *name == option) {
            let message = format!("{FILE}: {}: {option} {why}.", self.name.to_string_lossy());
            return Err(Failure::new(Exit::Parameters, message));
        }
        if TYPES.contains(&option) {
            let kind = if option == "tcrypt-veracrypt" { "tcrypt" } else { option };
            return Ok(Some((&shared::TYPE, kind.into())));
        }
        let known = KNOWN.iter().find(|(name, _)| *name == option);
        Ok(known.map(|(_, of)| (*of, value.into())))
    }

    fn warn_of_another(&self, args: &Args, device: &Path) {
        if !args.batch_mode() && !session::is_background() && !device::is_same(&self.path(), device) {
            eprintln!(
                "WARNING: {FILE} gives the name {} to {}, not to {}.",
                self.name.to_string_lossy(),
                self.device.to_string_lossy(),
                device.display()
            );
        }
    }

    /// The device's path: udev keeps links for each kind of name.
    fn path(&self) -> PathBuf {
        let text = self.device.to_string_lossy();
        let link = LINKS.iter().find_map(|(tag, links)| Some((links, text.strip_prefix(tag)?)));
        match link {
            Some((links, name)) => Path::new("/dev/disk").join(links).join(name.trim_matches('"')),
            None => device::resolve(Path::new(&self.device)),
        }
    }
}

/// The entries of a table.
pub(crate) fn parse(text: &[u8]) -> Vec<Entry> {
    let lines = text.split(|&byte| byte == b'\n');
    lines.filter_map(entry).collect()
}

fn entry(line: &[u8]) -> Option<Entry> {
    let mut fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()).map(unescape);
    let name = fields.next().filter(|name| !name.as_bytes().starts_with(b"#"))?;
    let device = fields.next()?;
    let key_file = fields.next().filter(|file| file != "none" && file != "-");
    let options = fields.next().unwrap_or_default().to_string_lossy().into_owned();
    Some(Entry { name, device, key_file, options: options_of(&options) })
}

/// The options of a comma-separated list.
pub(crate) fn options_of(list: &str) -> Vec<(String, String)> {
    let options = list.split(',').filter(|option| !option.is_empty()).map(|option| {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        (name.to_owned(), value.to_owned())
    });
    options.collect()
}

/// `\040` and other octal escapes, as in fstab(5).
fn unescape(field: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| first == b'\\');
        let byte = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &after[3..] } else { after };
    }
    OsString::from_vec(bytes)
}

const FILE: &str = "/etc/crypttab";

const TYPES: &[&str] = &["luks", "plain", "tcrypt", "tcrypt-veracrypt", "bitlk", "fvault2", "loopaes"];

/// Options of the table that are ours too. Those that are about booting (`noauto`, `nofail`, `initramfs`, `_netdev`,
/// `x-systemd.…`) are of no concern here.
static KNOWN: &[(&str, &Opt)] = &[
    ("cipher", &shared::CIPHER),
    ("size", &shared::KEY_SIZE),
    ("hash", &shared::HASH),
    ("offset", &shared::OFFSET),
    ("skip", &shared::SKIP),
    ("sector-size", &shared::SECTOR_SIZE),
    ("key-slot", &shared::KEY_SLOT),
    ("keyslot", &shared::KEY_SLOT),
    ("keyfile-offset", &shared::KEYFILE_OFFSET),
    ("keyfile-size", &shared::KEYFILE_SIZE),
    ("header", &shared::HEADER),
    ("readonly", &shared::READONLY),
    ("read-only", &shared::READONLY),
    ("discard", &ALLOW_DISCARDS),
    ("same-cpu-crypt", &PERF_SAME_CPU),
    ("perf-same_cpu_crypt", &PERF_SAME_CPU),
    ("submit-from-crypt-cpus", &PERF_SUBMIT),
    ("perf-submit_from_crypt_cpus", &PERF_SUBMIT),
    ("no-read-workqueue", &PERF_NO_READ),
    ("perf-no_read_workqueue", &PERF_NO_READ),
    ("no-write-workqueue", &PERF_NO_WRITE),
    ("perf-no_write_workqueue", &PERF_NO_WRITE),
    ("tries", &shared::TRIES),
    ("timeout", &shared::TIMEOUT),
    ("verify", &shared::VERIFY_PASSPHRASE),
];

/// Options without which something else would be opened than the table means.
static REFUSED: &[(&str, &str)] = &[
    ("keyscript", "runs a program for the key, which is not done here: pipe its output to --key-file -"),
    ("swap", "makes a new swap area each time, which is not done here"),
    ("tmp", "makes a new file system each time, which is not done here"),
    ("tpm2-device", "takes the key from a TPM, which is not built yet"),
    ("fido2-device", "takes the key from a FIDO2 token, which is not built yet"),
    ("pkcs11-uri", "takes the key from a smart card, which is not built yet"),
];

static LINKS: &[(&str, &str)] =
    &[("LABEL=", "by-label"), ("PARTUUID=", "by-partuuid"), ("PARTLABEL=", "by-partlabel"), ("ID=", "by-id")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_crypttab_5_says() {
        let entries = parse(
            b"# name device key options\n\
              home UUID=0123-AB none luks,discard,tries=2\n\
              \t swap\\040two /dev/sdb2 /etc/swap.key plain,cipher=aes-xts-plain64,size=256\n\
              bare /dev/sdc\n\
              half\n",
        );
        let names: Vec<_> = entries.iter().map(|entry| entry.name.to_string_lossy().into_owned()).collect();
        assert_eq!(names, ["home", "swap two", "bare"]);
        assert_eq!(entries[0].path(), Path::new("/dev/disk/by-uuid/0123-ab"));
        assert!(entries[0].key_file.is_none() && entries[2].options.is_empty());
        assert_eq!(entries[0].options[2], ("tries".to_owned(), "2".to_owned()));
        assert_eq!(entries[1].key_file.as_deref(), Some("/etc/swap.key".as_ref()));
    }

    #[test]
    fn devices_are_found_by_udevs_links() {
        let path = |device: &str| entry(format!("name {device}").as_bytes()).unwrap().path();
        assert_eq!(path("PARTLABEL=crypt"), Path::new("/dev/disk/by-partlabel/crypt"));
        assert_eq!(path("/dev/vg/home"), Path::new("/dev/vg/home"));
    }

    #[test]
    fn what_would_open_something_else_is_refused() {
        let entry = entry(b"x /dev/sdb none luks,keyscript=/bin/key,noauto").unwrap();
        assert!(
            entry
                .preset("keyscript", "/bin/key")
                .unwrap_err()
                .message()
                .contains("/etc/crypttab: x: keyscript")
        );
        assert!(entry.preset("noauto", "").unwrap().is_none());
        let (option, value) = entry.preset("tcrypt-veracrypt", "").unwrap().unwrap();
        assert_eq!((option.long, value), ("type", "tcrypt".into()));
    }
}
