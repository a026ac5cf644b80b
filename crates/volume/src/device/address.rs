//! Addresses of remote storage: `https://…`, `s3://…`, `nbd://…`, shown without the parts that give
//! access.
//!
//! RFC 3986: `scheme://userinfo@host:port/path?query#fragment`. The user information can hold a
//! password, the query a signature. An [`Address`] always prints without these two; callers must
//! ask for the whole address explicitly. The query of an NBD address is shown: it names sockets and
//! files, and holds no secrets (the NBD URI specification).

use keyway_crypto::Secret;
use std::fmt;

/// An address. `Display` and `Debug` leave user information and query out.
pub struct Address {
    shown: String,
    /// The whole address, if it holds more than is shown.
    whole: Option<Secret>,
}

impl Address {
    /// The address that `text` is; `None` where `text` is not an address, such as a file name.
    pub fn new(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://").filter(|(scheme, _)| is_scheme(scheme))?;
        let shown = shown(scheme, rest);
        let whole = (shown != text).then(|| Secret::copy_from(text.as_bytes()));
        Some(Self { shown, whole })
    }

    /// The part of the address that may be shown.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// The whole address, for connecting to it.
    pub fn expose(&self) -> &str {
        let whole = self.whole.as_ref().map(|whole| std::str::from_utf8(whole.expose()));
        whole.map_or(self.shown.as_str(), Result::unwrap_or_default)
    }

    /// Whether the whole address holds more than is shown.
    pub fn holds_secrets(&self) -> bool {
        self.whole.is_some()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({})", self.shown)
    }
}

/// RFC 3986, 3.1.
fn is_scheme(text: &str) -> bool {
    let mut letters = text.bytes();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_alphanumeric() || b"+-.".contains(&c))
}

fn shown(scheme: &str, rest: &str) -> String {
    let (front, behind) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
    let (authority, path) = front.split_at(front.find('/').unwrap_or(front.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    // A password that contains an unencoded slash or question mark ends the authority too early.
    // The text before it is then not a host and port, and no part of the address is safe to show.
    if !is_host(host) && rest.contains('@') {
        return format!("{scheme}://…");
    }
    let behind = if is_nbd(scheme) { behind } else { "" };
    format!("{scheme}://{host}{path}{behind}")
}

/// A name, an IPv4 address, or an IPv6 address in brackets; optionally followed by a port in
/// digits.
fn is_host(text: &str) -> bool {
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']').unwrap_or((rest, "]")),
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let port = port.strip_prefix(':').unwrap_or(port);
    !name.contains(['[', ']', '@']) && port.bytes().all(|c| c.is_ascii_digit())
}

fn is_nbd(scheme: &str) -> bool {
    let scheme = scheme.to_ascii_lowercase();
    scheme.strip_prefix("nbd").is_some_and(|rest| {
        let rest = rest.strip_prefix('s').unwrap_or(rest);
        rest.is_empty() || rest.starts_with('+')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let address = Address::new(text).unwrap();
        assert_eq!(address.expose(), text);
        assert_eq!(address.holds_secrets(), address.shown() != text);
        assert_eq!(format!("{address:?}"), format!("Address({address})"));
        address.to_string()
    }

    #[test]
    fn what_gives_access_is_not_shown() {
        for (text, expected) in [
            ("https://user:secret@host:81/a/b@c.img?signature=secret#x", "https://host:81/a/b@c.img"),
            ("https://token@host/x", "https://host/x"),
            ("http://user:pa@ss@host/x", "http://host/x"),
            ("http://user:secret@[::1]:80/x", "http://[::1]:80/x"),
            ("https://host/x?X-Amz-Signature=secret", "https://host/x"),
            ("https://host?secret", "https://host"),
            ("https://host/x#secret", "https://host/x"),
            ("s3://AKIA:secret@bucket/key", "s3://bucket/key"),
            ("nbd://user:secret@host:7/export", "nbd://host:7/export"),
            ("nbds+unix://user:secret@/export?socket=/run/a@b", "nbds+unix:///export?socket=/run/a@b"),
            ("NBD://user@host/?tls-certificates=/etc/pki", "NBD://host/?tls-certificates=/etc/pki"),
            ("nbdx://host/?secret", "nbdx://host/"),
            ("ftp://user:secret@host/x", "ftp://host/x"),
            // Passwords that end the authority too early.
            ("https://user:sec/ret@host/x", "https://…"),
            ("https://user:sec?ret@host/x", "https://…"),
            ("https://user:sec#ret@host/x", "https://…"),
            ("s3://AKIA:sec/ret@bucket/key", "s3://…"),
            ("nbd://user:sec/ret@host/x", "nbd://…"),
            ("https://[user:sec/ret@host/x", "https://…"),
            ("https://user[:se/cret@host", "https://…"),
        ] {
            assert_eq!(shown(text), expected);
        }
    }

    #[test]
    fn an_address_without_secrets_is_shown_whole() {
        for text in [
            "https://host/a%20b.img",
            "http://127.0.0.1:8080/x@y",
            "http://[fe80::1%25eth0]/x",
            "s3://bucket/some/key@1",
            "nbd+unix:///?socket=/run/keyway/nbd",
            "nbd://host:ten/",
            "http://",
        ] {
            assert_eq!(shown(text), text);
        }
    }

    #[test]
    fn file_names_are_no_addresses() {
        for text in
            ["disk.img", "/dev/sda", "./http://x@y", "://a@b", "1x://a@b", "a b://c@d", "http:/x@y", ""]
        {
            assert!(Address::new(text).is_none(), "{text}");
        }
        assert!(Address::new("a+b-c.1://x").is_some());
    }
}
