//! An object in an S3-compatible store: its location, and requests for it that the store accepts.
//!
//! The store's parameters come from the address, the environment and Amazon's files, under the
//! names that Amazon's tools and other programs use: `AWS_REGION`, `AWS_ENDPOINT_URL`, and those
//! below.

mod session;
mod sign;

use crate::credentials::{Access, KeySource, Login, flag, set};
use crate::error::Cause;
use crate::transport::{Request, Transport};
use http::header::{HeaderName, HeaderValue};
use keyway_crypto::Hash;
use keyway_format::base64;
use session::Sessions;
use sign::{Signer, encoded};
use std::ops::Range;
use std::time::SystemTime;
use url::Url;

/// An object and the credentials for it.
pub(crate) struct Store {
    object: Url,
    signer: Signer,
    keys: KeySource,
    /// For a directory bucket (S3 Express One Zone), which has its own keys.
    sessions: Option<Sessions>,
    /// Additional header fields for each request.
    fields: Vec<(HeaderName, String)>,
}

impl Store {
    /// The object `key` in `bucket`, accessed with `login` or otherwise with the credentials from
    /// the environment.
    pub(crate) fn new(bucket: &str, key: &str, login: Option<Login>) -> Result<Self, Cause> {
        let access = Access::find(login)?;
        let region = access.region.unwrap_or_else(|| "us-east-1".to_owned());
        let express = flag("AWS_S3_EXPRESS")?.then(|| directory_bucket(bucket, &region)).transpose()?;
        let virtual_hosted = flag("AWS_VIRTUAL_HOSTED_STYLE_REQUEST")?;
        let at = match (&access.endpoint, &express) {
            (Some(endpoint), _) if virtual_hosted => endpoint.clone(),
            (Some(endpoint), _) => format!("{}/{bucket}", endpoint.trim_end_matches('/')),
            (None, Some(zonal)) => zonal.clone(),
            (None, None) if virtual_hosted => format!("https://{bucket}.s3.{region}.amazonaws.com"),
            (None, None) => format!("https://s3.{region}.amazonaws.com/{bucket}"),
        };
        let object = url(&format!("{at}/{}", encoded(key, b"/")))?;
        let signer = Signer { region, signs_payload: !flag("AWS_UNSIGNED_PAYLOAD")? };
        let sessions = express.map(|zonal| url(&format!("{zonal}?session"))).transpose()?.map(Sessions::new);
        Ok(Self { object, signer, keys: access.keys, sessions, fields: fields()? })
    }

    /// Whether the store is accessed without TLS, as in a test setup.
    pub(crate) fn is_plain(&self) -> bool {
        self.object.scheme() == "http"
    }

    /// A signed request for some bytes of the object. Temporary keys are fetched first.
    pub(crate) async fn request(
        &self,
        transport: &Transport,
        range: &Range<u64>,
        condition: Option<(HeaderName, HeaderValue)>,
    ) -> Result<Request, Cause> {
        let request = Request::range(self.object.clone(), range, condition);
        let request =
            self.fields.iter().fold(request, |request, (name, value)| request.with(name.clone(), value));
        let Some(keys) = self.keys.keys(transport).await? else { return Ok(request) };
        let (keys, token) = match &self.sessions {
            Some(sessions) => (sessions.keys(transport, &self.signer, &keys).await?, SESSION_TOKEN),
            None => (keys, TOKEN),
        };
        Ok(self.signer.sign(request, &keys, token, now()))
    }
}

/// The host of a directory bucket, whose name ends with its zone's name.
fn directory_bucket(bucket: &str, region: &str) -> Result<String, Cause> {
    let base = bucket.strip_suffix("--x-s3").or_else(|| bucket.strip_suffix("--xa-s3"));
    let (_, zone) = base
        .and_then(|base| base.rsplit_once("--"))
        .ok_or_else(|| Cause::Address(format!("{bucket} is not a directory bucket (AWS_S3_EXPRESS)")))?;
    Ok(format!("https://{bucket}.s3express-{zone}.{region}.amazonaws.com"))
}

/// Who pays, and the key of an object that the store encrypts with a customer-provided key (SSE-C).
fn fields() -> Result<Vec<(HeaderName, String)>, Cause> {
    let mut fields = Vec::new();
    let payer = set("AWS_REQUEST_PAYER").is_some_and(|payer| payer.eq_ignore_ascii_case("requester"));
    if payer || flag("AWS_REQUEST_PAYER")? {
        fields.push((PAYER, "requester".to_owned()));
    }
    if set("AWS_SERVER_SIDE_ENCRYPTION").is_some_and(|kind| kind == "sse-c") {
        let wrong = || Cause::Credentials("AWS_SSE_CUSTOMER_KEY_BASE64 is not a key in base64".into());
        let text = set("AWS_SSE_CUSTOMER_KEY_BASE64").ok_or_else(wrong)?;
        let key = base64::decode(&text).ok_or_else(wrong)?;
        let hash = base64::encode(&Hash::Md5.digest(&[&key]));
        fields.extend([
            (CUSTOMER_ALGORITHM, "AES256".to_owned()),
            (CUSTOMER_KEY, text),
            (CUSTOMER_HASH, hash),
        ]);
    }
    Ok(fields)
}

fn url(text: &str) -> Result<Url, Cause> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    url.ok_or_else(|| Cause::Address("the store's endpoint is not an HTTP URL (AWS_ENDPOINT_URL)".into()))
}

fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

const TOKEN: HeaderName = HeaderName::from_static("x-amz-security-token");
const SESSION_TOKEN: HeaderName = HeaderName::from_static("x-amz-s3session-token");
const PAYER: HeaderName = HeaderName::from_static("x-amz-request-payer");
const CUSTOMER_ALGORITHM: HeaderName =
    HeaderName::from_static("x-amz-server-side-encryption-customer-algorithm");
const CUSTOMER_KEY: HeaderName = HeaderName::from_static("x-amz-server-side-encryption-customer-key");
const CUSTOMER_HASH: HeaderName = HeaderName::from_static("x-amz-server-side-encryption-customer-key-md5");
