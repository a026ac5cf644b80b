//! The location of an object: a URL of a web server, or a bucket and a key.

use crate::credentials::{Login, decoded};
use crate::error::Cause;
use keyway_volume::Address;
use url::Url;

/// A parsed address. It deliberately cannot be printed; an [`Address`] is what may be shown.
pub(crate) enum Location {
    /// On a web server.
    Web {
        /// Including the query, without a login.
        url: Url,
        /// The login sent to the server.
        login: Option<Login>,
    },
    /// In an S3-compatible store.
    S3 {
        /// The bucket's name.
        bucket: String,
        /// The object's key.
        key: String,
        /// The keys in the address.
        login: Option<Login>,
    },
}

impl Location {
    pub(crate) fn parse(address: &Address) -> Result<Self, Cause> {
        let url = Url::parse(address.expose());
        let mut url = url.map_err(|e| Cause::Address(format!("this is not a URL: {e}")))?;
        match url.scheme() {
            "http" | "https" => Ok(Self::Web { login: Login::for_web(&mut url)?, url }),
            "s3" => Self::s3(url),
            other => Err(Cause::Address(format!("{other}:// is not supported"))),
        }
    }

    fn s3(mut url: Url) -> Result<Self, Cause> {
        let login = Login::take_from(&mut url);
        let bucket = url.host_str().unwrap_or_default().to_owned();
        let key = object_key(url.path()).filter(|key| !key.is_empty() && !bucket.is_empty());
        let Some(key) = key.filter(|_| url.port().is_none()) else {
            return Err(Cause::Address("an object in S3 is s3://BUCKET/KEY".into()));
        };
        if login.as_ref().is_some_and(|login| login.user.is_empty() || login.password.is_empty()) {
            let why = "keys in an S3 address are s3://KEY:SECRET@BUCKET/KEY, with / written %2F";
            return Err(Cause::Address(why.into()));
        }
        Ok(Self::S3 { bucket, key, login })
    }
}

/// The object key for a URL's path: names between slashes, none of which may be empty, `.` or `..`,
/// or unprintable.
fn object_key(path: &str) -> Option<String> {
    let path = String::from_utf8(decoded(path).expose().to_vec()).ok()?;
    let key = path.strip_prefix('/').unwrap_or(&path);
    let key = key.strip_suffix('/').unwrap_or(key);
    let is_name =
        |name: &str| !matches!(name, "" | "." | "..") && !name.chars().any(|c| c.is_ascii_control());
    key.split('/').all(is_name).then(|| key.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Location, Cause> {
        Location::parse(&Address::new(text).unwrap())
    }

    #[test]
    fn logins_and_places_are_told_apart() {
        let Ok(Location::Web { url, login: Some(login) }) = parse("https://me:secret@h:81/x?sig=1") else {
            panic!()
        };
        assert_eq!((url.as_str(), login.user.as_str()), ("https://h:81/x?sig=1", "me"));
        let Ok(Location::S3 { bucket, key, login }) = parse("s3://AKIA:se%2Fcret@disks/lab/one%20two.img")
        else {
            panic!()
        };
        assert_eq!((bucket.as_str(), key.as_str()), ("disks", "lab/one two.img"));
        assert_eq!(login.unwrap().password.expose(), b"se/cret");
        let Ok(Location::S3 { login: None, .. }) = parse("s3://disks/one") else { panic!() };
    }

    #[test]
    fn half_an_address_is_refused() {
        for text in [
            "s3://bucket",
            "s3:///key",
            "s3://AKIA@bucket/key",
            "s3://:secret@bucket/key",
            "s3://bucket:1/key",
            "s3://bucket//key",
            "s3://bucket/a//key",
            "s3://bucket/a%2F..%2Fkey",
            "s3://bucket/a%0Akey",
            "s3://bucket/%FF",
            "ftp://host/x",
            "http://",
            "http://user:sec/ret@host/x",
        ] {
            let Err(Cause::Address(why)) = parse(text) else { panic!("{text}") };
            assert!(!why.contains("ret"), "{why}");
        }
    }
}
