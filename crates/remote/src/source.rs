//! One object at its server: ranged reads, repeated when they fail in
//! passing, all of one version of the object.

use crate::answer::Answer;
use crate::credentials::{self, Login};
use crate::error::{Cause, Error};
use crate::location::Location;
use crate::object::{Notice, Options};
use crate::patience::{Patience, Progress};
use crate::transport::{Transport, cause_of, from_reqwest, too_much};
use crate::version::Version;
use futures_util::StreamExt;
use http::HeaderMap;
use keyway_volume::Address;
use object_store::aws::AmazonS3Builder;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResult, ObjectStore, RetryConfig};
use std::ops::Range;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::sync::Semaphore;
use url::Url;

/// An object that is read by ranges.
pub(crate) struct Source {
    server: Server,
    place: String,
    /// Which version is read: that of the first answer.
    version: OnceLock<Version>,
    requests: Semaphore,
    patience: Patience,
    options: Options,
}

enum Server {
    Web { transport: Transport, url: Url, login: Option<Login> },
    S3 { store: Box<dyn ObjectStore>, path: Path },
}

impl Source {
    /// Says nothing to the server yet.
    pub(crate) fn new(address: &Address, options: &Options) -> Result<Self, Error> {
        let place = address.to_string();
        let server = Location::parse(address).and_then(|location| connect(location, options.timeout));
        let server = server.map_err(|cause| Error { place: place.clone(), cause })?;
        Ok(Self {
            server,
            place,
            version: OnceLock::new(),
            requests: Semaphore::new(options.requests.max(1)),
            patience: Patience::new(options.timeout),
            options: options.clone(),
        })
    }

    /// The object's URL, without credentials and query.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// The object's length in bytes, known from the first answer on.
    pub(crate) fn len(&self) -> u64 {
        self.version.get().map_or(0, |version| version.size)
    }

    /// Reads `range`, which may end behind the object's end, and
    /// hands it to `take` in order, piece by piece.
    pub(crate) async fn read(
        &self,
        range: Range<u64>,
        take: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<(), Error> {
        let _turn = self.requests.acquire().await;
        let progress = self.patience.begin();
        let work = self.attempts(range, take, &progress);
        let tell = |waited| (self.options.tell)(&self.place, &Notice::Waiting(waited));
        let done = self.patience.watch(work, &progress, tell).await;
        let done = done.unwrap_or_else(|| Err(Cause::TimedOut(self.patience.limit())));
        done.map_err(|cause| Error { place: self.place.clone(), cause })
    }

    async fn attempts(
        &self,
        range: Range<u64>,
        take: &mut (dyn FnMut(&[u8]) + Send),
        progress: &Progress,
    ) -> Result<(), Cause> {
        let mut at = range.start;
        let mut failures = 0;
        loop {
            let missing = at..range.end;
            let mut forward = |bytes: &[u8]| {
                at += bytes.len() as u64;
                progress.note(bytes.len());
                take(bytes);
            };
            let Err(cause) = self.attempt(missing, &mut forward).await else { return Ok(()) };
            // A server that was never reached is more likely misspelt than restarting.
            let hopeless = self.version.get().is_none() && matches!(cause, Cause::Unreachable(_));
            let pause = cause.retry_after().unwrap_or_default();
            let pause = pause.max(FIRST_PAUSE * 2u32.saturating_pow(failures));
            // What cannot come in time is not waited for.
            let too_late = pause >= progress.left();
            if hopeless || too_late || !cause.is_passing() || failures == self.options.retries {
                return Err(self.explained(cause).await);
            }
            tokio::time::sleep(pause).await;
            failures += 1;
        }
    }

    async fn attempt(&self, range: Range<u64>, take: &mut (dyn FnMut(&[u8]) + Send)) -> Result<(), Cause> {
        let (answer, body) = self.ask(&range, self.version.get()).await?;
        self.check(&answer.version)?;
        let mut left = answer.len;
        let mut take = |bytes: &[u8]| {
            left = left.checked_sub(bytes.len() as u64).ok_or_else(too_much)?;
            take(bytes);
            Ok(())
        };
        body.each(&mut take).await?;
        match left {
            0 => Ok(()),
            _ => Err(Cause::Broken(format!("the server's answer ends {left} bytes early"))),
        }
    }

    /// Asks for `range` of the version `pinned`, or of any.
    async fn ask(&self, range: &Range<u64>, pinned: Option<&Version>) -> Result<(Answer, Body), Cause> {
        let condition = pinned.and_then(Version::condition);
        match &self.server {
            Server::Web { transport, url, login } => {
                let fields = HeaderMap::from_iter(condition);
                let (answer, response) = transport.get(url, login.as_ref(), range, fields).await?;
                Ok((answer, Body::Web(response)))
            }
            Server::S3 { store, path } => {
                // S3 gives every object a strong tag; object_store takes nothing without one.
                let tag = condition.and_then(|(_, value)| value.to_str().map(str::to_owned).ok());
                let range = Some(GetRange::Bounded(range.clone()));
                let options = GetOptions { range, if_match: tag, ..GetOptions::default() };
                let got = store.get_opts(path, options).await.map_err(|e| cause_of(&e))?;
                let answer = got.extensions.get::<Answer>().cloned();
                let answer = answer.ok_or_else(|| Cause::Broken("an answer that nobody judged".into()))?;
                Ok((answer, Body::S3(Box::new(got))))
            }
        }
    }

    /// Pins the first version that is seen, and refuses any other.
    fn check(&self, version: &Version) -> Result<(), Cause> {
        let pinned = self.version.get_or_init(|| {
            if !version.is_named() {
                (self.options.tell)(&self.place, &Notice::Unpinned);
            }
            version.clone()
        });
        pinned.difference(version).map_or(Ok(()), |what| Err(Cause::Changed(what)))
    }

    /// A server that refuses because of the condition, or has less than it had, does not say what
    /// changed: it is asked once more, for a byte of whatever is there now.
    async fn explained(&self, cause: Cause) -> Cause {
        let Some(pinned) = self.version.get() else { return cause };
        if !matches!(cause, Cause::Changed(_) | Cause::TooShort(_)) {
            return cause;
        }
        let now = match &cause {
            Cause::TooShort(Some(len)) if *len < pinned.size => {
                return Cause::Changed(format!("it had {} bytes and has {len}", pinned.size));
            }
            _ => self.ask(&(0..1), None).await,
        };
        let what = now.ok().and_then(|(answer, _)| pinned.difference(&answer.version));
        what.map_or(cause, Cause::Changed)
    }
}

/// Bytes on their way.
enum Body {
    Web(reqwest::Response),
    S3(Box<GetResult>),
}

impl Body {
    /// Hands piece after piece to `take`, until it refuses one.
    async fn each(self, take: &mut (dyn FnMut(&[u8]) -> Result<(), Cause> + Send)) -> Result<(), Cause> {
        match self {
            Self::Web(mut response) => {
                while let Some(chunk) = response.chunk().await.map_err(from_reqwest)? {
                    take(&chunk)?;
                }
            }
            Self::S3(got) => {
                let mut chunks = got.into_stream();
                while let Some(chunk) = chunks.next().await {
                    take(&chunk.map_err(|e| cause_of(&e))?)?;
                }
            }
        }
        Ok(())
    }
}

fn connect(location: Location, timeout: Duration) -> Result<Server, Cause> {
    match location {
        Location::Web { url, login } => {
            let transport = Transport::new(url.scheme() == "https", timeout)?;
            Ok(Server::Web { transport, url, login })
        }
        Location::S3 { bucket, key, login } => {
            let builder = credentials::for_s3(AmazonS3Builder::from_env(), login)?;
            let transport = Transport::new(true, timeout).or_else(|cause| {
                if credentials::endpoint_is_plain() { Transport::new(false, timeout) } else { Err(cause) }
            })?;
            // Requests are repeated above: in one place, with one limit.
            let retry = RetryConfig { max_retries: 0, ..RetryConfig::default() };
            let builder = builder.with_bucket_name(bucket).with_retry(retry);
            let store = builder.with_http_connector(transport).build().map_err(|e| cause_of(&e))?;
            Ok(Server::S3 { store: Box::new(store), path: key })
        }
    }
}

/// Before the first repetition; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
