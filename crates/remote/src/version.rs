//! Which version of an object is read: that of the first response, requested explicitly from then
//! on.
//!
//! RFC 9110: entity tags (8.8.3; weak ones never match `If-Match`, 13.1.1), `Last-Modified` (8.8.2)
//! and `If-Unmodified-Since` (13.1.4). Servers that do not support these conditions ignore them, so
//! every response is compared as well.

use http::HeaderMap;
use http::header::{ETAG, HeaderName, HeaderValue, IF_MATCH, IF_UNMODIFIED_SINCE, LAST_MODIFIED};

/// What distinguishes one version of an object from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    /// The object's length in bytes.
    pub(crate) size: u64,
    tag: Option<HeaderValue>,
    /// Used where there is no tag, or a weak one.
    modified: Option<HeaderValue>,
}

impl Version {
    /// The version given by a response's fields, for an object of `size` bytes.
    pub(crate) fn of(size: u64, fields: &HeaderMap) -> Self {
        let tag = fields.get(ETAG).filter(|tag| !tag.is_empty()).cloned();
        let is_strong = tag.as_ref().is_some_and(is_strong);
        let modified = fields.get(LAST_MODIFIED).filter(|date| !is_strong && !date.is_empty()).cloned();
        Self { size, tag, modified }
    }

    /// Whether the server sends anything that distinguishes the object from another of the same
    /// length.
    pub(crate) fn is_named(&self) -> bool {
        self.tag.is_some() || self.modified.is_some()
    }

    /// The condition to send with a request.
    pub(crate) fn condition(&self) -> Option<(HeaderName, HeaderValue)> {
        match (&self.tag, &self.modified) {
            (Some(tag), _) if is_strong(tag) => Some((IF_MATCH, tag.clone())),
            (_, Some(date)) => Some((IF_UNMODIFIED_SINCE, date.clone())),
            _ => None,
        }
    }

    /// How `now` differs from this version.
    pub(crate) fn difference(&self, now: &Self) -> Option<String> {
        if self.size != now.size {
            return Some(format!("it had {} bytes and has {}", self.size, now.size));
        }
        let differs = |name: &str, one: &Option<HeaderValue>, other: &Option<HeaderValue>| {
            (one != other).then(|| format!("its {name} was {} and is {}", shown(one), shown(other)))
        };
        differs("ETag", &self.tag, &now.tag)
            .or_else(|| differs("Last-Modified", &self.modified, &now.modified))
    }
}

fn is_strong(tag: &HeaderValue) -> bool {
    !tag.as_bytes().starts_with(b"W/")
}

/// A shortened form of a server's text that is safe for a terminal.
fn shown(value: &Option<HeaderValue>) -> String {
    let Some(value) = value else { return "none".to_owned() };
    let plain = |byte: &u8| if byte.is_ascii_graphic() || *byte == b' ' { char::from(*byte) } else { '?' };
    value.as_bytes().iter().take(LONGEST_SHOWN).map(plain).collect()
}

const LONGEST_SHOWN: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    fn version(size: u64, fields: &[(HeaderName, &[u8])]) -> Version {
        let value = |bytes: &[u8]| HeaderValue::from_bytes(bytes).unwrap();
        Version::of(size, &fields.iter().map(|(name, bytes)| (name.clone(), value(bytes))).collect())
    }

    #[test]
    fn the_strongest_condition_is_asked_for() {
        let date = "Mon, 23 Nov 2026 05:47:13 GMT".as_bytes();
        let condition = |fields: &[(HeaderName, &[u8])]| {
            let condition = version(1, fields).condition();
            condition.map(|(name, value)| (name, value.to_str().unwrap().to_owned()))
        };
        let strong = condition(&[(ETAG, b"\"one\""), (LAST_MODIFIED, date)]);
        assert_eq!(strong, Some((IF_MATCH, "\"one\"".to_owned())));
        let since = Some((IF_UNMODIFIED_SINCE, "Mon, 23 Nov 2026 05:47:13 GMT".to_owned()));
        assert_eq!(condition(&[(ETAG, b"W/\"one\""), (LAST_MODIFIED, date)]), since);
        assert_eq!(condition(&[(LAST_MODIFIED, date)]), since);
        assert_eq!(condition(&[(ETAG, b"W/\"one\"")]), None);
        assert_eq!(condition(&[]), None);
        assert!(version(1, &[(ETAG, b"W/\"one\"")]).is_named());
        assert!(version(1, &[(LAST_MODIFIED, date)]).is_named());
        assert!(!version(1, &[(ETAG, b""), (LAST_MODIFIED, b"")]).is_named());
    }

    #[test]
    fn what_changed_is_named() {
        let one = version(5, &[(ETAG, b"\"one\"")]);
        let difference = |now: &Version| one.difference(now);
        assert_eq!(difference(&one), None);
        assert_eq!(difference(&version(6, &[(ETAG, b"\"one\"")])).unwrap(), "it had 5 bytes and has 6");
        let two = difference(&version(5, &[(ETAG, b"\"two\xff\t\"")])).unwrap();
        assert_eq!(two, "its ETag was \"one\" and is \"two??\"");
        assert_eq!(difference(&version(5, &[])).unwrap(), "its ETag was \"one\" and is none");
        let long = difference(&version(5, &[(ETAG, &[b'x'; 5000])])).unwrap();
        assert!(long.len() < 120, "{long}");
        let (old, new) = (version(5, &[(LAST_MODIFIED, b"then")]), version(5, &[(LAST_MODIFIED, b"now")]));
        assert_eq!(old.difference(&new).unwrap(), "its Last-Modified was then and is now");
        // If there is a strong tag, the date is ignored: it may differ between the disks of one
        // service.
        let other = version(5, &[(ETAG, b"\"one\""), (LAST_MODIFIED, b"now")]);
        assert_eq!(one.difference(&other), None);
        let (weak, weaker) = (
            version(5, &[(ETAG, b"W/\"one\""), (LAST_MODIFIED, b"then")]),
            version(5, &[(ETAG, b"W/\"one\""), (LAST_MODIFIED, b"now")]),
        );
        assert_eq!(weak.difference(&weaker).unwrap(), "its Last-Modified was then and is now");
    }
}
