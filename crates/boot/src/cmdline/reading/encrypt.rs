//! The words of mkinitcpio's hook encrypt, of Alpine's mkinitfs-bootparam(7) and of Debian's cryptsetup-initramfs.

use super::{Reading, is_key, is_yes};
use crate::cmdline::{CRYPTO, plain_options};
use crate::crypttab::{Entry, options_of};
use std::ffi::OsString;

impl Reading {
    pub(in crate::cmdline) fn cryptdevice(&mut self, value: &str) {
        let Some(mut entry) = cryptdevice(value) else {
            return self.undone(&format!("cryptdevice={value}"), "DEVICE:NAME is needed");
        };
        let known = |(name, value): (String, String)| match name.as_str() {
            "allow-discards" => ("discard".to_owned(), value),
            _ => (name, value),
        };
        entry.options = entry.options.into_iter().map(known).collect();
        self.add(entry, true);
    }

    pub(in crate::cmdline) fn cryptkey(&mut self, value: &str) {
        self.cryptkey = Some(value.to_owned());
    }

    pub(in crate::cmdline) fn crypto(&mut self, value: &str) {
        self.crypto = Some(value.to_owned());
    }

    pub(in crate::cmdline) fn cryptroot(&mut self, value: &str) {
        self.alpine.device = value.into();
    }

    pub(in crate::cmdline) fn cryptdm(&mut self, value: &str) {
        self.alpine.name = value.into();
    }

    pub(in crate::cmdline) fn cryptheader(&mut self, value: &str) {
        self.alpine.options.push(("header".into(), value.into()));
    }

    pub(in crate::cmdline) fn cryptoffset(&mut self, value: &str) {
        self.alpine.options.push(("offset".into(), value.into()));
    }

    pub(in crate::cmdline) fn cryptdiscards(&mut self, value: &str) {
        if is_yes(value) {
            self.alpine.options.push(("discard".into(), String::new()));
        }
    }

    pub(in crate::cmdline) fn cryptopts(&mut self, value: &str) {
        // One that is empty turns the table of the image off.
        self.line.without_crypttab = true;
        let (mut entry, mut options) = (Entry { name: "cryptroot".into(), ..Entry::default() }, Vec::new());
        for (name, value) in options_of(value) {
            match name.as_str() {
                "target" => entry.name = value.into(),
                "source" => entry.device = value.into(),
                "key" => entry.key_file = Some(value).filter(|key| is_key(key)).map(OsString::from),
                _ => options.push((name, value)),
            }
        }
        entry.options = options;
        match entry.device.is_empty() {
            false => self.add(entry, false),
            true if value.is_empty() => {}
            true => self.undone(&format!("cryptopts={value}"), "source= is missing"),
        }
    }

    /// Alpine's `cryptkey` alone says that the key is at the usual place; `FILE:OFFSET:SIZE` is a part of it.
    pub(super) fn finish_alpine(&mut self) {
        let mut entry = std::mem::take(&mut self.alpine);
        if entry.device.is_empty() {
            return self.alpine_for_nobody(entry);
        }
        if entry.name.is_empty() {
            entry.name = "root".into();
        }
        let key = self.cryptkey.take();
        match key.as_deref() {
            None | Some("" | "yes") => {}
            Some(command) if command.starts_with("EXEC=") => {
                self.undone(&format!("cryptkey={command}"), "keys from a program are not supported")
            }
            Some(key) => match range(key) {
                Some((file, offset, size)) => part(&mut entry, file, offset, size),
                None => entry.key_file = Some(key.into()),
            },
        }
        self.add(entry, key.is_some_and(|key| key.is_empty() || key == "yes"));
    }

    fn alpine_for_nobody(&mut self, entry: Entry) {
        let name = Some(entry.name.to_string_lossy()).filter(|name| !name.is_empty());
        let options = entry.options.iter().map(|(option, value)| match option.as_str() {
            "discard" => "cryptdiscards".to_owned(),
            _ => format!("crypt{option}={value}"),
        });
        for word in name.map(|name| format!("cryptdm={name}")).into_iter().chain(options) {
            self.undone(&word, "it needs a cryptroot=");
        }
    }

    pub(super) fn finish_encrypt(&mut self) {
        if let Some(value) = self.cryptkey.take() {
            let first = self.volumes.iter_mut().find(|volume| volume.usual_key);
            if !first.is_some_and(|volume| give_cryptkey(&mut volume.entry, &value)) {
                self.undone(&format!("cryptkey={value}"), "it needs a cryptdevice=, or is malformed");
            }
        }
        if let Some(value) = self.crypto.take() {
            let first = self.volumes.iter_mut().find(|volume| volume.usual_key);
            match first.filter(|_| plain_options(&value).is_some()) {
                Some(volume) => volume.entry.options.push((CRYPTO.into(), value)),
                None => {
                    let why = "HASH:CIPHER:SIZE:OFFSET:SKIP and a cryptdevice= are needed";
                    self.undone(&format!("crypto={value}"), why);
                }
            }
        }
    }
}

/// `DEVICE:NAME[:OPTION,…]`.
fn cryptdevice(value: &str) -> Option<Entry> {
    let (device, rest) = split_device(value)?;
    let (name, options) = rest.split_once(':').unwrap_or((rest, ""));
    (!name.is_empty() && !device.is_empty()).then(|| Entry {
        name: name.into(),
        device: device.into(),
        key_file: None,
        options: options_of(options),
    })
}

/// A device and what follows its colon. udev's links by-id and by-path have bus addresses with colons.
fn split_device(value: &str) -> Option<(&str, &str)> {
    let has_addresses = ["/dev/disk/by-id/", "/dev/disk/by-path/"].iter().any(|dir| value.starts_with(dir));
    if !has_addresses {
        return value.split_once(':');
    }
    let mut from = 0;
    loop {
        let colon = from + value[from..].find(':')?;
        let start = value[from..colon].rfind(['-', '/']).map_or(from, |before| from + before + 1);
        match pci_address(&value[start..]).or_else(|| numbers(&value[start..])) {
            Some(len) => from = start + len,
            None => return Some((&value[..colon], &value[colon + 1..])),
        }
    }
}

/// How long the address is that the text begins with: `0000:af:00.0`.
fn pci_address(text: &str) -> Option<usize> {
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let (domain, rest) = text.split_once(':')?;
    let (bus, rest) = rest.split_once(':')?;
    let (device, function) = (rest.get(..2)?, rest.get(2..4)?);
    let is_function = function.starts_with('.') && function.ends_with(|c| ('0'..='7').contains(&c));
    let is_address =
        (4..=8).contains(&domain.len()) && bus.len() == 2 && [domain, bus, device].into_iter().all(is_hex);
    (is_address && is_function).then(|| domain.len() + bus.len() + "::00.0".len())
}

/// The same for numbers: `0:0`, `0:1.4:1.0`, `0:0:0:0`.
fn numbers(text: &str) -> Option<usize> {
    let text = text.split('-').next()?;
    let is_number =
        |field: &&str| !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let fields: Vec<_> = text.split(':').take_while(is_number).collect();
    (fields.len() > 1).then(|| fields.iter().map(|field| field.len() + 1).sum::<usize>() - 1)
}

/// A file in this image, a file on another device, or a range of a device.
fn give_cryptkey(entry: &mut Entry, value: &str) -> bool {
    if let Some((device, offset, size)) = range(value) {
        part(entry, device, offset, size);
        return true;
    }
    if let Some(path) = value.strip_prefix("rootfs:") {
        entry.key_file = Some(path.into());
        return true;
    }
    let split = split_device(value);
    let Some((device, (_, path))) = split.and_then(|(device, rest)| Some((device, rest.split_once(':')?)))
    else {
        return false;
    };
    entry.key_file = Some(format!("{path}:{device}").into());
    true
}

/// `FILE:OFFSET:SIZE`, in bytes.
fn range(value: &str) -> Option<(&str, &str, &str)> {
    let is_number = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut fields = value.rsplitn(3, ':');
    let (size, offset) = (fields.next().filter(is_number)?, fields.next().filter(is_number)?);
    Some((fields.next()?, offset, size))
}

fn part(entry: &mut Entry, file: &str, offset: &str, size: &str) {
    entry.key_file = Some(file.into());
    entry.options.push(("keyfile-offset".into(), offset.into()));
    entry.options.push(("keyfile-size".into(), size.into()));
}
