//! The words of Gentoo's genkernel(8).

use super::Reading;
use crate::crypttab::Entry;

/// Gentoo's parameters for the root or the swap.
#[derive(Default)]
pub(super) struct Gentoo {
    devices: Vec<String>,
    key: Option<String>,
    key_device: Option<String>,
    header: Option<String>,
    header_device: Option<String>,
    trim: bool,
}

/// The place of the root in `Reading::gentoo`, and of the swap.
const ROOT: usize = 0;
const SWAP: usize = 1;

impl Reading {
    pub(in crate::cmdline) fn crypt_root(&mut self, value: &str) {
        self.gentoo[ROOT].devices.push(value.to_owned());
    }

    pub(in crate::cmdline) fn root_key(&mut self, value: &str) {
        self.gentoo[ROOT].key = Some(value.to_owned());
    }

    pub(in crate::cmdline) fn root_keydev(&mut self, value: &str) {
        self.gentoo[ROOT].key_device = Some(value.to_owned());
    }

    pub(in crate::cmdline) fn root_header(&mut self, value: &str) {
        self.gentoo[ROOT].header = Some(value.to_owned());
    }

    pub(in crate::cmdline) fn root_headerdev(&mut self, value: &str) {
        self.gentoo[ROOT].header_device = Some(value.to_owned());
    }

    pub(in crate::cmdline) fn root_trim(&mut self, value: &str) {
        self.gentoo[ROOT].trim = value == "yes";
    }

    pub(in crate::cmdline) fn crypt_swap(&mut self, value: &str) {
        self.gentoo[SWAP].devices.push(value.to_owned());
    }

    pub(in crate::cmdline) fn swap_key(&mut self, value: &str) {
        self.gentoo[SWAP].key = Some(value.to_owned());
    }

    pub(in crate::cmdline) fn swap_keydev(&mut self, value: &str) {
        self.gentoo[SWAP].key_device = Some(value.to_owned());
    }

    pub(super) fn finish_gentoo(&mut self) {
        for (mut given, name) in std::mem::take(&mut self.gentoo).into_iter().zip(["root", "swap"]) {
            let on = |file: String, device: &Option<String>| match device {
                Some(device) => format!("/{}:{device}", file.trim_start_matches('/')),
                // genkernel looks on everything that can be mounted, too: whoever adds a partition would supply the key.
                None => format!("/{}", file.trim_start_matches('/')),
            };
            if given.key.as_deref().is_some_and(|key| key.ends_with(".gpg")) {
                self.undone(&format!("{name}_key="), "a key that GPG encrypted is not read here");
                given.key = None;
            }
            for (number, device) in given.devices.iter().enumerate() {
                let number = if number == 0 { String::new() } else { number.to_string() };
                let mut entry = Entry {
                    name: format!("{name}{number}").into(),
                    device: device.into(),
                    key_file: given.key.clone().map(|key| on(key, &given.key_device).into()),
                    options: Vec::new(),
                };
                if let Some(header) = given.header.clone() {
                    entry.options.push(("header".into(), on(header, &given.header_device)));
                }
                if given.trim {
                    entry.options.push(("discard".into(), String::new()));
                }
                self.add(entry, false);
            }
        }
    }
}
