//! The words of Gentoo's genkernel(8).

use super::{ENCRYPTED_KEY, Reading};
use crate::crypttab::{Entry, is_known};

/// Gentoo's parameters for the root or the swap.
#[derive(Default)]
pub(super) struct Gentoo {
    devices: Vec<String>,
    key: Option<String>,
    key_device: Option<String>,
    header: Option<String>,
    header_device: Option<String>,
    /// In crypttab's words.
    options: Vec<(String, String)>,
    /// What was written for the devices, each with its parameter.
    words: Vec<String>,
}

/// The place of the root in `Reading::gentoo`, and of the swap.
const ROOT: usize = 0;
const SWAP: usize = 1;
/// What they are called.
const NAMES: [&str; 2] = ["root", "swap"];

impl Reading {
    pub(in crate::cmdline) fn crypt_root(&mut self, value: &str) {
        self.gentoo[ROOT].devices.push(value.to_owned());
    }

    pub(in crate::cmdline) fn root_key(&mut self, value: &str) {
        self.gentoo_word(ROOT, "key", value).key = Some(value.to_owned());
    }

    pub(in crate::cmdline) fn root_keydev(&mut self, value: &str) {
        self.gentoo_word(ROOT, "keydev", value).key_device = Some(value.to_owned());
    }

    pub(in crate::cmdline) fn root_header(&mut self, value: &str) {
        self.gentoo_word(ROOT, "header", value).header = Some(value.to_owned());
    }

    pub(in crate::cmdline) fn root_headerdev(&mut self, value: &str) {
        self.gentoo_word(ROOT, "headerdev", value).header_device = Some(value.to_owned());
    }

    pub(in crate::cmdline) fn root_trim(&mut self, value: &str) {
        let given = self.gentoo_word(ROOT, "trim", value);
        if matches!(value.to_ascii_lowercase().as_str(), "1" | "yes" | "y" | "on" | "true") {
            given.options.push(("discard".into(), String::new()));
        }
    }

    pub(in crate::cmdline) fn root_options(&mut self, value: &str) {
        self.cryptsetups_options(ROOT, value);
    }

    pub(in crate::cmdline) fn crypt_swap(&mut self, value: &str) {
        self.gentoo[SWAP].devices.push(value.to_owned());
    }

    pub(in crate::cmdline) fn swap_key(&mut self, value: &str) {
        self.gentoo_word(SWAP, "key", value).key = Some(value.to_owned());
    }

    pub(in crate::cmdline) fn swap_keydev(&mut self, value: &str) {
        self.gentoo_word(SWAP, "keydev", value).key_device = Some(value.to_owned());
    }

    pub(in crate::cmdline) fn swap_header(&mut self, value: &str) {
        self.gentoo_word(SWAP, "header", value).header = Some(value.to_owned());
    }

    pub(in crate::cmdline) fn swap_headerdev(&mut self, value: &str) {
        self.gentoo_word(SWAP, "headerdev", value).header_device = Some(value.to_owned());
    }

    pub(in crate::cmdline) fn swap_options(&mut self, value: &str) {
        self.cryptsetups_options(SWAP, value);
    }

    /// Keeps a parameter in case that it is for nobody.
    fn gentoo_word(&mut self, place: usize, what: &str, value: &str) -> &mut Gentoo {
        let given = &mut self.gentoo[place];
        given.words.push(format!("{}_{what}={value}", NAMES[place]));
        given
    }

    /// genkernel gives them to cryptsetup as they are, a comma for each space.
    fn cryptsetups_options(&mut self, place: usize, list: &str) {
        for option in list.split(',').filter(|option| !option.is_empty()) {
            let bare = option.strip_prefix("--").unwrap_or(option);
            let (name, value) = bare.split_once('=').unwrap_or((bare, ""));
            let name = if name == "allow-discards" { "discard" } else { name };
            let word = format!("crypt_{}_options={option}", NAMES[place]);
            // crypttab's size is the key's.
            match is_known(name) && name != "size" {
                true => {
                    let given = &mut self.gentoo[place];
                    given.options.push((name.to_owned(), value.to_owned()));
                    given.words.push(word);
                }
                false => self.undone(&word, "crypttab(5) has no such option"),
            }
        }
    }

    pub(super) fn finish_gentoo(&mut self) {
        for (given, name) in std::mem::take(&mut self.gentoo).into_iter().zip(NAMES) {
            match given.devices.is_empty() {
                true => given.words.iter().for_each(|word| {
                    self.undone(word, &format!("it needs a crypt_{name}="));
                }),
                false => self.gentoos_volumes(given, name),
            }
        }
    }

    fn gentoos_volumes(&mut self, mut given: Gentoo, name: &str) {
        if given.key.as_deref().is_some_and(|key| key.ends_with(".gpg")) {
            self.undone(&format!("{name}_key="), ENCRYPTED_KEY);
            given.key = None;
        } else if let (None, Some(device)) = (&given.key, &given.key_device) {
            self.undone(&format!("{name}_keydev={device}"), &format!("it needs a {name}_key="));
        }
        for (number, device) in given.devices.iter().enumerate() {
            let number = if number == 0 { String::new() } else { number.to_string() };
            let header =
                given.header.as_ref().map(|file| ("header".to_owned(), on(file, &given.header_device)));
            self.add(
                Entry {
                    name: format!("{name}{number}").into(),
                    device: device.into(),
                    key_file: given.key.as_ref().map(|key| on(key, &given.key_device).into()),
                    options: header.into_iter().chain(given.options.iter().cloned()).collect(),
                },
                false,
            );
        }
    }
}

/// A file on a device. Without one it is in the image: genkernel looks on everything that can be mounted, too, and whoever adds
/// a partition would supply the key.
fn on(file: &str, device: &Option<String>) -> String {
    let file = file.trim_start_matches('/');
    match device {
        Some(device) => format!("/{file}:{device}"),
        None => format!("/{file}"),
    }
}
