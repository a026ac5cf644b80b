//! One passphrase for several volumes: what opened one is tried on the others before anybody is asked again, as systemd,
//! dracut and mkinitcpio do. It is kept locked in memory, and wiped when the program ends or the root takes over.
//!
//! Somebody else may have written the other volume's header. Trying a passphrase there is reading what would be read
//! for any other, and writing nothing; and a volume that anything opens (without a header, without a cipher) is none that
//! it is tried on.

use crate::unlock::passphrase::Heard;
use crate::verb::session::open::crypttab;
use keyway_boot::crypttab::Entry;
use keyway_crypto::Secret;
use std::cell::RefCell;

/// The passphrases that opened volumes.
#[derive(Default)]
pub(super) struct Typed(RefCell<Vec<Secret>>);

impl Typed {
    /// Copies of what is tried on this volume before anybody is asked, the newest first.
    pub(super) fn to_try(&self, entry: &Entry, forgets: bool) -> Vec<Secret> {
        let empty = is_yes(entry.option("try-empty-password")).then(|| Secret::zeroed(0));
        let known = self.0.borrow();
        let known = known.iter().rev().filter(|_| !forgets && may(entry, Use::Try));
        // Anything opens a volume without a header.
        let known = known.map(|typed| Secret::copy_from(typed.expose())).chain(empty);
        if is_plain(entry) { Vec::new() } else { known.collect() }
    }

    /// Keeps what was typed for this volume, which it opened.
    pub(super) fn keep(&self, heard: Option<&Heard>, entry: &Entry, forgets: bool) {
        let Some(typed) = heard.and_then(Heard::take) else { return };
        let mut known = self.0.borrow_mut();
        let is_new = !known.iter().any(|other| other.ct_eq(typed.expose()));
        if is_new && !forgets && !is_plain(entry) && may(entry, Use::Keep) {
            known.push(typed);
        }
    }
}

enum Use {
    Try,
    Keep,
}

/// `password-cache=yes|no|read-only`, as systemd has it.
fn may(entry: &Entry, how: Use) -> bool {
    match (entry.option("password-cache"), how) {
        (None | Some(""), _) => true,
        (Some("read-only"), Use::Try) => true,
        (Some("read-only"), Use::Keep) => false,
        (said, _) => is_yes(said),
    }
}

/// Whether it has no header that tells a wrong passphrase from the right one.
fn is_plain(entry: &Entry) -> bool {
    match crypttab::kind(entry) {
        Some(kind) => ["plain", "loopaes"].contains(&kind),
        None => ["swap", "tmp"].iter().any(|kind| entry.option(kind).is_some()),
    }
}

/// A flag, or one with a boolean.
pub(super) fn is_yes(value: Option<&str>) -> bool {
    value.is_some_and(|value| !matches!(value, "no" | "0" | "false" | "off" | "n" | "f"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyway_boot::crypttab::parse;

    fn entry(options: &str) -> Entry {
        parse(format!("x /dev/x none {options}").as_bytes()).remove(0)
    }

    fn tried(options: &str, forgets: bool) -> Vec<String> {
        let typed = Typed(RefCell::new(["one", "two"].map(|text| Secret::copy_from(text.as_bytes())).into()));
        let secrets = typed.to_try(&entry(options), forgets);
        secrets.iter().map(|secret| String::from_utf8_lossy(secret.expose()).into_owned()).collect()
    }

    #[test]
    fn what_is_tried_and_what_is_not() {
        assert_eq!(tried("luks", false), ["two", "one"]);
        assert_eq!(tried("password-cache=read-only", false), ["two", "one"]);
        assert_eq!(tried("luks,try-empty-password", false), ["two", "one", ""]);
        assert_eq!(tried("try-empty-password=yes", true), [""]);
        assert_eq!(tried("luks,plain", false), ["two", "one"]);
        // The first word for a kind is the one that open takes.
        for options in
            ["plain,cipher=aes-xts-plain64", "plain,luks", "loopaes", "tmp=ext4", "password-cache=no", "swap"]
        {
            assert!(tried(options, false).is_empty(), "{options}");
        }
        assert!(tried("luks", true).is_empty());
    }
}
