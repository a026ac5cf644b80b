//! Where an object is: a URL of a web server, or a bucket and a key.

use crate::error::Cause;
use object_store::path::Path;
use std::fmt;
use url::Url;

/// A parsed URL. Shown without credentials and query, which may hold a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Location {
    /// On a web server; the query is part of it.
    Web(Url),
    /// In an S3-compatible store.
    S3 {
        /// The bucket's name.
        bucket: String,
        /// The object's key.
        key: Path,
    },
}

impl Location {
    pub(crate) fn parse(text: &str) -> Result<Self, Cause> {
        let url = Url::parse(text).map_err(|e| Cause::Address(format!("this is not a URL: {e}")))?;
        match url.scheme() {
            "http" | "https" => Ok(Self::Web(url)),
            "s3" => Self::s3(&url),
            other => Err(Cause::Address(format!("{other}:// is not known here"))),
        }
    }

    fn s3(url: &Url) -> Result<Self, Cause> {
        let bucket = url.host_str().unwrap_or_default().to_owned();
        let key = Path::from_url_path(url.path()).unwrap_or_default();
        if bucket.is_empty() || key.as_ref().is_empty() {
            return Err(Cause::Address("an object in S3 is s3://BUCKET/KEY".into()));
        }
        Ok(Self::S3 { bucket, key })
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Web(url) => {
                let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
                write!(f, "{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
            }
            Self::S3 { bucket, key } => write!(f, "s3://{bucket}/{key}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_shown_without_their_secrets() {
        let url = "https://user:secret@example.org:8443/a%20b.img?X-Amz-Signature=secret#part";
        assert_eq!(Location::parse(url).unwrap().to_string(), "https://example.org:8443/a%20b.img");
        let s3 = Location::parse("s3://disks/lab/one%20two.img").unwrap();
        assert_eq!(s3, Location::S3 { bucket: "disks".into(), key: Path::from("lab/one two.img") });
    }

    #[test]
    fn half_an_address_is_refused() {
        for url in ["s3://bucket", "s3:///key", "ftp://host/x", "http://", "disk.img"] {
            assert!(matches!(Location::parse(url), Err(Cause::Address(_))), "{url}");
        }
    }
}
