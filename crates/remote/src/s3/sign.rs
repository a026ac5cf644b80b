//! Requests signed with a secret key: AWS Signature Version 4, in the `Authorization` header.
//!
//! Amazon S3 API Reference, "Authenticating Requests: Using the Authorization Header". The
//! signature covers the request in a canonical form: the method, the path, the query, the fields
//! sorted by name, and the hash of the body.

use crate::credentials::Keys;
use crate::date;
use crate::transport::Request;
use http::HeaderMap;
use http::header::{AUTHORIZATION, HeaderName};
use keyway_crypto::{Hash, Secret, kdf};
use std::fmt::Write;
use url::{Position, Url};

/// How a store's requests are signed.
#[derive(Debug, Clone)]
pub(super) struct Signer {
    /// The region that the store claims to be in.
    pub(super) region: String,
    /// Whether the (empty) body's hash is signed.
    pub(super) signs_payload: bool,
}

impl Signer {
    /// Adds a signature for the time `now`, in seconds since 1970. If `keys` include a token, it
    /// goes into the field `token`.
    pub(super) fn sign(&self, request: Request, keys: &Keys, token: HeaderName, now: u64) -> Request {
        let time = date::to_basic(now);
        let day = &time[..8];
        let payload = if self.signs_payload { hex(&Hash::Sha256.digest(&[])) } else { UNSIGNED.to_owned() };
        let mut request = request.with(DATE, &time).with(PAYLOAD, &payload);
        if let Some(value) = keys.token() {
            request = request.with(token, value);
        }
        let scope = format!("{day}/{}/s3/aws4_request", self.region);
        let (fields, names) = canonical_fields(&request.fields, &request.url);
        let (method, path, query) = (&request.method, request.url.path(), canonical_query(&request.url));
        let canonical = format!("{method}\n{path}\n{query}\n{fields}\n{names}\n{payload}");
        let hash = hex(&Hash::Sha256.digest(&[canonical.as_bytes()]));
        let text = format!("{ALGORITHM}\n{time}\n{scope}\n{hash}");
        let signature = hex(mac(&self.key(keys, day), &text).expose());
        let id = &keys.id;
        let value =
            format!("{ALGORITHM} Credential={id}/{scope}, SignedHeaders={names}, Signature={signature}");
        request.with(AUTHORIZATION, &value)
    }

    /// The signing key for one day, region and service.
    fn key(&self, keys: &Keys, day: &str) -> Secret {
        let secret = keys.secret.expose();
        let mut key = Secret::zeroed(4 + secret.len());
        key.expose_mut()[..4].copy_from_slice(b"AWS4");
        key.expose_mut()[4..].copy_from_slice(secret);
        [day, &self.region, "s3", "aws4_request"].iter().fold(key, |key, part| mac(&key, part))
    }
}

/// Percent-encodes everything that is neither unreserved (RFC 3986, 2.3) nor in `kept`.
pub(super) fn encoded(text: &str, kept: &[u8]) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        match byte {
            b if b.is_ascii_alphanumeric() || b"-._~".contains(&b) || kept.contains(&b) => {
                encoded.push(char::from(b));
            }
            b => write!(encoded, "%{b:02X}").unwrap_or_default(),
        }
        encoded
    })
}

/// The fields, one per line and sorted by name, and the list of their names.
fn canonical_fields(fields: &HeaderMap, url: &Url) -> (String, String) {
    let host = url[Position::BeforeHost..Position::AfterPort].to_owned();
    let mut all = vec![("host", host)];
    for (name, value) in fields {
        let value = String::from_utf8_lossy(value.as_bytes());
        all.push((name.as_str(), value.split_whitespace().collect::<Vec<_>>().join(" ")));
    }
    all.sort_unstable();
    let lines = all.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    (lines, names.join(";"))
}

fn canonical_query(url: &Url) -> String {
    let pairs = url.query_pairs().map(|(name, value)| [encoded(&name, &[]), encoded(&value, &[])].join("="));
    let mut pairs: Vec<String> = pairs.collect();
    pairs.sort_unstable();
    pairs.join("&")
}

fn mac(key: &Secret, text: &str) -> Secret {
    let mut mac = Secret::zeroed(32);
    kdf::hmac(Hash::Sha256, key.expose(), text.as_bytes(), mac.expose_mut());
    mac
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const DATE: HeaderName = HeaderName::from_static("x-amz-date");
const PAYLOAD: HeaderName = HeaderName::from_static("x-amz-content-sha256");
const UNSIGNED: &str = "UNSIGNED-PAYLOAD";

#[cfg(test)]
mod tests {
    use super::*;
    use http::Method;

    const TOKEN: HeaderName = HeaderName::from_static("x-amz-security-token");

    /// Friday, 24 May 2013, as in Amazon's examples.
    const NOW: u64 = 1_369_353_600;

    fn keys(token: Option<&str>) -> Keys {
        let secret = Secret::copy_from(b"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY");
        Keys::new("AKIAIOSFODNN7EXAMPLE", secret, token)
    }

    fn signed(request: Request, keys: &Keys, signs_payload: bool) -> Request {
        let signer = Signer { region: "us-east-1".into(), signs_payload };
        signer.sign(request, keys, TOKEN, NOW)
    }

    fn field(request: &Request, name: HeaderName) -> &str {
        request.fields.get(name).map_or("", |value| value.to_str().unwrap())
    }

    fn url(path: &str) -> Url {
        Url::parse(&format!("https://examplebucket.s3.amazonaws.com{path}")).unwrap()
    }

    /// Amazon S3 API Reference, "Signature Calculations for the Authorization Header", GET Object.
    #[test]
    fn amazons_example_of_a_range() {
        let request = signed(Request::range(url("/test.txt"), &(0..10), None), &keys(None), true);
        assert_eq!(
            field(&request, AUTHORIZATION),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, \
             SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, \
             Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
        );
    }

    /// The same page, GET Bucket Lifecycle and Get Bucket (List Objects).
    #[test]
    fn amazons_examples_of_queries() {
        for (query, signature) in [
            ("/?lifecycle", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
            ("/?max-keys=2&prefix=J", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
            ("/?prefix=J&max-keys=2", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
        ] {
            let request = signed(Request::new(Method::GET, url(query)), &keys(None), true);
            assert!(field(&request, AUTHORIZATION).ends_with(signature), "{query}");
        }
    }

    #[test]
    fn token_and_payload_are_signed_fields() {
        let request = signed(Request::new(Method::GET, url("/a")), &keys(Some("t/o+k")), false);
        assert_eq!(field(&request, TOKEN), "t/o+k");
        assert_eq!(field(&request, PAYLOAD), "UNSIGNED-PAYLOAD");
        assert!(field(&request, AUTHORIZATION).contains("x-amz-date;x-amz-security-token, "));
    }

    #[test]
    fn what_is_reserved_is_encoded() {
        assert_eq!(encoded("lab/a b+ü~_-.", b"/"), "lab/a%20b%2B%C3%BC~_-.");
        assert_eq!(encoded("a/=&%", &[]), "a%2F%3D%26%25");
    }
}
