//! `open` by a name in `/etc/crypttab`: what a line there means on `open`'s command line.
//!
//! (crypttab(5) of Debian's cryptsetup and of systemd; the format itself is read by keyway-boot.)

use crate::door::shared::{self, ALLOW_DISCARDS, PERF_NO_READ, PERF_NO_WRITE, PERF_SAME_CPU, PERF_SUBMIT};
use crate::door::{Args, Opt, Preset, address};
use crate::say::failure::{Exit, Failure, Result};
use crate::{device, session};
use keyway_boot::crypttab::{self, Entry};
use std::fs;
use std::path::{Path, PathBuf};

/// Completes `open NAME` from the table: device, key file and options, where the
/// command line does not say otherwise. Anything else stays as it is; a name that the
/// table gives to another device is warned about.
pub(super) fn complete(args: &Args) -> Result<Option<Args>> {
    let entries = crypttab::parse(&fs::read(FILE).unwrap_or_default());
    match args.operands() {
        [name] if !Path::new(name).exists() => match entries.iter().find(|entry| entry.name == *name) {
            Some(entry) => completed(args, entry).map(Some),
            None => Ok(None),
        },
        [device, name, ..] => {
            if let Some(entry) = entries.iter().find(|entry| entry.name == *name) {
                warn_of_another(args, entry, &device::resolve(Path::new(device)));
            }
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// `open`'s command line with this entry's values where it gives none.
pub(crate) fn completed(args: &Args, entry: &Entry) -> Result<Args> {
    let mut presets = Vec::new();
    if let Some(key_file) = &entry.key_file {
        presets.push((&shared::KEY_FILE, key_file.clone()));
    }
    for (option, value) in &entry.options {
        if let Some(preset) = preset(entry, option, value)? {
            presets.push(preset);
        }
    }
    args.completed(vec![path(entry).into_os_string(), entry.name.clone()], presets)
}

fn preset(entry: &Entry, option: &str, value: &str) -> Result<Option<Preset>> {
    if let Some((_, why)) = REFUSED.iter().find(|(name, _)| *name == option) {
        let message = format!("{FILE}: {}: {option} {why}.", entry.name.to_string_lossy());
        return Err(Failure::new(Exit::Parameters, message));
    }
    if TYPES.contains(&option) {
        let kind = if option == "tcrypt-veracrypt" { "tcrypt" } else { option };
        return Ok(Some((&shared::TYPE, kind.into())));
    }
    let known = KNOWN.iter().find(|(name, _)| *name == option);
    Ok(known.map(|(_, of)| (*of, value.into())))
}

fn warn_of_another(args: &Args, entry: &Entry, device: &Path) {
    if !args.manner().batch_mode && !session::is_background() && !device::is_same(&path(entry), device) {
        say!(
            "WARNING: {FILE} gives the name {} to {}, not to {}.",
            entry.name.to_string_lossy(),
            address::without_secrets(entry.device.clone()).to_string_lossy(),
            device.display()
        );
    }
}

/// The device's path: udev keeps links for each kind of name.
fn path(entry: &Entry) -> PathBuf {
    let text = entry.device.to_string_lossy();
    let link = LINKS.iter().find_map(|(tag, links)| Some((links, text.strip_prefix(tag)?)));
    match link {
        Some((links, name)) => Path::new("/dev/disk").join(links).join(name.trim_matches('"')),
        None => device::resolve(Path::new(&entry.device)),
    }
}

const FILE: &str = "/etc/crypttab";
/// A policy that the volume must meet. Named as crypttab's options
/// are that other programs pass over.
pub(crate) const REQUIRE: &str = "x-keyway.require";

const TYPES: &[&str] = &["luks", "plain", "tcrypt", "tcrypt-veracrypt", "bitlk", "fvault2", "loopaes"];

/// Options of the table that are ours too. Those that are about booting (`noauto`, `nofail`,
/// `initramfs`, `_netdev`, `x-systemd.…`) are of no concern here.
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
    ("weak-cipher-is-fine", &shared::WEAK_CIPHER),
    (REQUIRE, &shared::REQUIRE),
    ("x-keyway.seal-context", &shared::SEAL_CONTEXT),
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

    fn entry(line: &str) -> Entry {
        crypttab::parse(line.as_bytes()).remove(0)
    }

    #[test]
    fn devices_are_found_by_udevs_links() {
        let path = |device: &str| path(&entry(&format!("name {device}")));
        assert_eq!(path("PARTLABEL=crypt"), Path::new("/dev/disk/by-partlabel/crypt"));
        assert_eq!(path("UUID=0123-AB"), Path::new("/dev/disk/by-uuid/0123-ab"));
        assert_eq!(path("/dev/vg/home"), Path::new("/dev/vg/home"));
    }

    #[test]
    fn what_would_open_something_else_is_refused() {
        let entry = entry("x /dev/sdb none luks,keyscript=/bin/key,noauto");
        let refused = preset(&entry, "keyscript", "/bin/key").unwrap_err();
        assert!(refused.message().contains("/etc/crypttab: x: keyscript"));
        assert!(preset(&entry, "noauto", "").unwrap().is_none());
        let (option, value) = preset(&entry, "tcrypt-veracrypt", "").unwrap().unwrap();
        assert_eq!((option.long, value), ("type", "tcrypt".into()));
    }
}
