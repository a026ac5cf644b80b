//! One object at its server: ranged reads, repeated when they fail in passing, all of one version of the object.

use crate::error::{Cause, Error};
use crate::location::Location;
use crate::transport::{Transport, cause_of};
use futures_util::StreamExt;
use object_store::aws::AmazonS3Builder;
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore, RetryConfig};
use std::env;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};
use tokio::sync::Semaphore;

/// An object that is read by ranges.
pub(crate) struct Source {
    store: Arc<dyn ObjectStore>,
    path: Path,
    place: String,
    /// Which version is read: that of the first answer.
    version: OnceLock<Version>,
    requests: Semaphore,
    retries: u32,
}

impl Source {
    /// Says nothing to the server yet. At most `requests` are under way at once; each is repeated `retries` times.
    pub(crate) fn new(url: &str, requests: usize, retries: u32) -> Result<Self, Error> {
        let location = Location::parse(url).map_err(|cause| Error { place: url.to_owned(), cause })?;
        let place = location.to_string();
        let (store, path) = connect(&location).map_err(|cause| Error { place: place.clone(), cause })?;
        let requests = Semaphore::new(requests.max(1));
        Ok(Self { store, path, place, version: OnceLock::new(), requests, retries })
    }

    /// The object's URL, without credentials and query.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// The object's length in bytes, known from the first answer on.
    pub(crate) fn len(&self) -> u64 {
        self.version.get().map_or(0, |version| version.size)
    }

    /// Reads `range`, which may end behind the object's end, and hands it to `take` in order, piece by piece.
    pub(crate) async fn read(
        &self,
        range: Range<u64>,
        take: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<(), Error> {
        let mut at = range.start;
        let mut failures = 0;
        loop {
            let missing = at..range.end;
            let mut forward = |bytes: &[u8]| {
                at += bytes.len() as u64;
                take(bytes);
            };
            let Err(cause) = self.attempt(missing, &mut forward).await else { return Ok(()) };
            // A server that was never reached is more likely misspelt than restarting.
            let hopeless = self.version.get().is_none() && matches!(cause, Cause::Unreachable(_));
            if hopeless || !cause.is_passing() || failures == self.retries {
                return Err(Error { place: self.place.clone(), cause });
            }
            tokio::time::sleep(FIRST_PAUSE * 2u32.saturating_pow(failures)).await;
            failures += 1;
        }
    }

    async fn attempt(&self, range: Range<u64>, take: &mut (dyn FnMut(&[u8]) + Send)) -> Result<(), Cause> {
        let _turn = self.requests.acquire().await;
        let options = GetOptions {
            range: Some(GetRange::Bounded(range.clone())),
            if_match: self.version.get().and_then(Version::strong_tag),
            ..GetOptions::default()
        };
        let answer = self.store.get_opts(&self.path, options).await.map_err(|e| cause_of(&e))?;
        let version = Version::of(&answer.meta);
        if *self.version.get_or_init(|| version.clone()) != version {
            return Err(Cause::Changed);
        }
        let mut left = answer.range.end - answer.range.start;
        let mut chunks = answer.into_stream();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|e| cause_of(&e))?;
            left = left
                .checked_sub(chunk.len() as u64)
                .ok_or_else(|| Cause::Broken("the server sends more than it was asked for".into()))?;
            take(&chunk);
        }
        match left {
            0 => Ok(()),
            _ => Err(Cause::Broken(format!("the server's answer ends {left} bytes early"))),
        }
    }
}

/// What tells one version of an object from another.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Version {
    size: u64,
    tag: Option<String>,
    /// Where there is no tag.
    modified: Option<SystemTime>,
}

impl Version {
    fn of(meta: &ObjectMeta) -> Self {
        let tag = meta.e_tag.clone();
        let modified = tag.is_none().then(|| meta.last_modified.into());
        Self { size: meta.size, tag, modified }
    }

    /// A tag that the server may be asked to compare (RFC 9110, 13.1.1: weak ones never match).
    fn strong_tag(&self) -> Option<String> {
        self.tag.clone().filter(|tag| !tag.starts_with("W/"))
    }
}

fn connect(location: &Location) -> Result<(Arc<dyn ObjectStore>, Path), Cause> {
    // Requests are repeated above: in one place, with one limit.
    let retry = RetryConfig { max_retries: 0, ..RetryConfig::default() };
    match location {
        Location::Web(url) => {
            let transport = Transport::new(url.scheme() == "https")?;
            let builder = HttpBuilder::new().with_url(url.as_str()).with_retry(retry);
            let store = builder.with_http_connector(transport).build().map_err(|e| cause_of(&e))?;
            Ok((Arc::new(store), Path::default()))
        }
        Location::S3 { bucket, key } => {
            if !CREDENTIALS.iter().any(|name| env::var_os(name).is_some()) {
                return Err(Cause::NoCredentials);
            }
            let transport = Transport::new(true).or_else(|cause| match endpoint_is_plain() {
                true => Transport::new(false),
                false => Err(cause),
            })?;
            let builder = AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(retry);
            let store = builder.with_http_connector(transport).build().map_err(|e| cause_of(&e))?;
            Ok((Arc::new(store), key.clone()))
        }
    }
}

/// Whether the store is one without TLS, in a laboratory.
fn endpoint_is_plain() -> bool {
    let endpoint = env::var("AWS_ENDPOINT_URL_S3").or_else(|_| env::var("AWS_ENDPOINT_URL"));
    endpoint.is_ok_and(|url| url.starts_with("http://"))
}

/// Any of them says how requests are signed, or that they are not. Without, the library would ask the metadata service of
/// a machine in Amazon's cloud, and wait for it everywhere else: there `AWS_METADATA_ENDPOINT` asks for that.
const CREDENTIALS: [&str; 7] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_METADATA_ENDPOINT",
    "AWS_SKIP_SIGNATURE",
];

/// Before the first repetition; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
