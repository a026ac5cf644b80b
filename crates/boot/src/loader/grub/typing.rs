//! How a passphrase gets into GRUB: the keyboard layout that GRUB assumes, the characters and
//! length that its prompt accepts, and key files.

use super::rules::{self, Finding};
use super::{Loader, Version};

/// A keyboard layout that differs from the American one.
#[derive(Debug, PartialEq, Eq)]
pub struct Layout {
    /// The layout's `setxkbmap` name.
    pub name: &'static str,
    /// Characters that the same key does not type on an American keyboard.
    differing: &'static str,
}

impl Layout {
    /// Looks up a layout by name.
    pub fn find(name: &str) -> Option<&'static Self> {
        LAYOUTS.iter().find(|layout| layout.name.eq_ignore_ascii_case(name))
    }

    /// How many bytes of a passphrase are on other keys of an American keyboard.
    pub fn moves(&self, passphrase: &[u8]) -> usize {
        passphrase.iter().filter(|byte| self.differing.as_bytes().contains(byte)).count()
    }

    /// All known layouts.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        LAYOUTS.iter()
    }
}

/// What goes wrong with a passphrase typed at the prompt. The findings tell its length in bytes and
/// whether each character is preserved, but never the characters.
pub fn typed(passphrase: &[u8], layout: Option<&Layout>, loader: &Loader) -> Vec<Finding> {
    let mut findings = Vec::new();
    if passphrase.is_empty() && loader.version >= Version::V2_12 {
        findings.push(rules::PASSPHRASE_EMPTY.says("it does not accept an empty passphrase"));
    }
    if passphrase.len() > MOST {
        findings.push(
            rules::PASSPHRASE_LENGTH
                .says(format!("its prompt takes {MOST} bytes and the passphrase has {}", passphrase.len())),
        );
    }
    let lost = passphrase.iter().filter(|byte| !(b' '..=b'~').contains(byte)).count();
    if lost > 0 {
        findings.push(
            rules::PASSPHRASE_LETTERS
                .says(format!("its prompt drops {lost} bytes that are not printable ASCII")),
        );
    }
    if let Some(layout) = layout {
        let moved = layout.moves(passphrase);
        if moved > 0 {
            findings.push(rules::KEYBOARD.says(format!(
                "{moved} of its letters are on other keys of a US keyboard, the layout that GRUB has before it can read another ({})",
                layout.name
            )));
        }
    }
    findings
}

/// What goes wrong with a key file of which this many bytes are used (`--keyfile-size`), or all, in
/// which case any length works.
pub fn key_file(part: Option<u64>, loader: &Loader) -> Vec<Finding> {
    if loader.version < Version::V2_12 {
        return vec![rules::KEY_FILE_NONE.says("key files came with GRUB 2.12")];
    }
    let too_much = part.filter(|len| *len > MOST_KEYFILE_SIZE);
    let finding = too_much.map(|len| {
        rules::KEY_FILE_SIZE.says(format!(
            "its --keyfile-size takes at most {MOST_KEYFILE_SIZE} bytes, and the key has {len}"
        ))
    });
    finding.into_iter().collect()
}

/// A detached header.
pub fn detached(loader: &Loader) -> Option<Finding> {
    (loader.version < Version::V2_12).then(|| rules::DETACHED.says("detached headers came with GRUB 2.12"))
}

/// The UUID in a `cryptomount -u` line.
pub fn cryptomount_uuid(uuid: &str, loader: &Loader) -> Option<Finding> {
    (loader.version < Version::V2_12 && uuid.contains('-')).then(|| {
        rules::UUID_DASHES.says("it compares UUIDs without dashes, but the cryptomount line has dashes")
    })
}

/// GRUB_CRYPTODISK_MAX_PASSPHRASE minus the NUL and one more.
const MOST: usize = 254;
/// GRUB_CRYPTODISK_MAX_KEYFILE_SIZE.
const MOST_KEYFILE_SIZE: u64 = 8192;

/// From xkeyboard-config 2.35 (`xkbcli compile-keymap --layout …`): ASCII characters that no key
/// types under both layouts, except dead keys; the key beside the left shift key types a backslash
/// in GRUB.
#[rustfmt::skip]
const LAYOUTS: &[Layout] = &[
    Layout { name: "us", differing: "" },
    Layout { name: "de", differing: "\"#&'*+-/:;<=>?@YZ[\\]^_`yz{|}~" },
    Layout { name: "fr", differing: "!\"#%&'*,-./0123456789:;<=>?@AMQWZ[\\]^_`amqwz{|}" },
    Layout { name: "gb", differing: "\"#@~" },
    Layout { name: "es", differing: "\"#&'*+-/:;<=>?@[\\]^_`{}~" },
    Layout { name: "it", differing: "\"#&'*+-/:;<=>?@[\\]^_`{|}~" },
    Layout { name: "pt", differing: "\"&'*+-/:;<=>?@[\\]^_`{|}~" },
    Layout { name: "se", differing: "\"&'*+-/:;<=>?@[\\]^_`{|}~" },
    Layout { name: "no", differing: "\"&'*+-/:;<=>?@[\\]^_`{|}~" },
    Layout { name: "dk", differing: "\"&'*+-/:;<=>?@[\\]^_`{|}~" },
    Layout { name: "fi", differing: "\"&'*+-/:;<=>?@[\\]^_`{|}~" },
    Layout { name: "ch", differing: "!\"#&'*+-/:;<=>?@YZ[\\]^_`yz{|}~" },
    Layout { name: "be", differing: "!\"#%&'*+,-./0123456789:;<=>?@AMQWZ[\\]^_`amqwz{|}~" },
    Layout { name: "br", differing: "\"'/:;?[]^`{}~" },
    Layout { name: "latam", differing: "\"&'*+-/:;<=>?@[\\]^_`{|}~" },
    Layout { name: "cz", differing: "!\"#%&'*+-/0123456789:;<=>?@YZ[\\]^_`yz{|}~" },
    Layout { name: "hu", differing: "!\"#&'*+-/0:;<=>?@YZ[\\]^_`yz{|}~" },
    Layout { name: "tr", differing: "\"#&'*+,-./:;<=>?@I[\\]^_`i{|}~" },
    Layout { name: "jp", differing: "\"&'*+:=@[\\]^_`{}~" },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(passphrase: &[u8], layout: Option<&str>, version: Version) -> Vec<&'static str> {
        let layout = layout.map(|name| Layout::find(name).unwrap());
        typed(passphrase, layout, &Loader::new(version)).iter().map(|finding| finding.rule.id).collect()
    }

    #[test]
    fn passphrases() {
        assert_eq!(ids(b"correct horse", Some("de"), Version::V2_06), [""; 0]);
        assert_eq!(ids(b"lazy", Some("de"), Version::V2_06), ["keyboard"]);
        assert_eq!(ids(b"lazy", Some("us"), Version::V2_06), [""; 0]);
        assert_eq!(ids("gr\u{fc}n".as_bytes(), None, Version::V2_14), ["passphrase-letters"]);
        assert_eq!(ids(&[b'x'; 254], None, Version::V2_14), [""; 0]);
        assert_eq!(ids(&[b'x'; 255], None, Version::V2_14), ["passphrase-length"]);
        assert_eq!(ids(b"", None, Version::V2_14), ["passphrase-empty"]);
    }

    #[test]
    fn key_files_and_uuids() {
        let (old, new) = (Loader::new(Version::V2_06), Loader::new(Version::V2_12));
        assert_eq!(key_file(Some(32), &old)[0].rule.id, "key-file-none");
        assert!(key_file(None, &new).is_empty() && key_file(Some(8192), &new).is_empty());
        assert_eq!(key_file(Some(8193), &new)[0].rule.id, "key-file-size");
        assert!(cryptomount_uuid("12-34", &old).is_some() && cryptomount_uuid("12-34", &new).is_none());
        assert!(detached(&old).is_some() && detached(&new).is_none());
    }
}
