//! An object on its server: ranged reads, repeated after temporary failures, all of the same
//! version of the object.

use crate::answer::Answer;
use crate::credentials::Login;
use crate::error::{Cause, Error};
use crate::location::Location;
use crate::options::{Notice, Options};
use crate::s3::Store;
use crate::timeouts::{Progress, Timeouts};
use crate::transport::{Body, Request, Transport, too_much};
use crate::version::Version;
use http::header::AUTHORIZATION;
use keyway_volume::Address;
use std::ops::Range;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::sync::Semaphore;
use url::Url;

/// An object that is read by ranges.
pub(crate) struct Source {
    transport: Transport,
    server: Server,
    place: String,
    /// The version being read: that of the first response.
    version: OnceLock<Version>,
    requests: Semaphore,
    timeouts: Timeouts,
    options: Options,
}

enum Server {
    Web { url: Url, login: Option<Login> },
    S3(Box<Store>),
}

impl Source {
    /// Does not contact the server yet.
    pub(crate) fn new(address: &Address, options: &Options) -> Result<Self, Error> {
        let place = address.to_string();
        let server = Location::parse(address).and_then(|location| connect(location, options.timeout));
        let (transport, server) = server.map_err(|cause| Error { place: place.clone(), cause })?;
        Ok(Self {
            transport,
            server,
            place,
            version: OnceLock::new(),
            requests: Semaphore::new(options.requests.max(1)),
            timeouts: Timeouts::new(options.timeout),
            options: options.clone(),
        })
    }

    /// The object's URL, without credentials and query.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// The object's length in bytes, known after the first response.
    pub(crate) fn len(&self) -> u64 {
        self.version.get().map_or(0, |version| version.size)
    }

    /// Reads `range`, which may extend beyond the object's end, and passes it to `take` in order,
    /// piece by piece.
    pub(crate) async fn read(
        &self,
        range: Range<u64>,
        take: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<(), Error> {
        let _turn = self.requests.acquire().await;
        let progress = self.timeouts.begin();
        let work = self.attempts(range, take, &progress);
        let tell = |waited| (self.options.tell)(&self.place, &Notice::Waiting(waited));
        let done = self.timeouts.watch(work, &progress, tell).await;
        let done = done.unwrap_or_else(|| Err(Cause::TimedOut(self.timeouts.limit())));
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
            // If a server was never reached, its name is more likely misspelt than the server
            // restarting.
            let hopeless = self.version.get().is_none() && matches!(cause, Cause::Unreachable(_));
            let pause = cause.retry_after().unwrap_or_default();
            let pause = pause.max(FIRST_PAUSE * 2u32.saturating_pow(failures));
            // Does not wait if the time limit would be exceeded.
            let too_late = pause >= progress.left();
            if hopeless || too_late || !cause.is_passing() || failures == self.options.retries {
                return Err(self.explained(cause).await);
            }
            tokio::time::sleep(pause).await;
            failures += 1;
        }
    }

    async fn attempt(&self, range: Range<u64>, take: &mut (dyn FnMut(&[u8]) + Send)) -> Result<(), Cause> {
        let (answer, mut body) = self.ask(&range, self.version.get()).await?;
        self.check(&answer.version)?;
        let mut left = answer.len;
        let mut take = |bytes: &[u8]| {
            left = left.checked_sub(bytes.len() as u64).ok_or_else(too_much)?;
            take(bytes);
            Ok::<_, Cause>(())
        };
        while let Some(chunk) = body.chunk().await? {
            take(&chunk)?;
        }
        match left {
            0 => Ok(()),
            _ => Err(Cause::Broken(format!("the server's answer ends {left} bytes early"))),
        }
    }

    /// Requests `range` of the version `pinned`, or of any version.
    async fn ask(&self, range: &Range<u64>, pinned: Option<&Version>) -> Result<(Answer, Body), Cause> {
        let condition = pinned.and_then(Version::condition);
        let request = match &self.server {
            Server::Web { url, login } => {
                let request = Request::range(url.clone(), range, condition);
                login.iter().fold(request, |request, login| request.with(AUTHORIZATION, &login.basic()))
            }
            Server::S3(store) => store.request(&self.transport, range, condition).await?,
        };
        self.transport.read(request, range).await
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

    /// A server that refuses because of the condition, or has less data than before, does not say
    /// what changed, so it is asked once more, for one byte of whatever version it has now.
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

fn connect(location: Location, timeout: Duration) -> Result<(Transport, Server), Cause> {
    match location {
        Location::Web { url, login } => {
            let transport = Transport::new(url.scheme() == "https", timeout)?;
            Ok((transport, Server::Web { url, login }))
        }
        Location::S3 { bucket, key, login } => {
            let store = Store::new(&bucket, &key, login)?;
            // Services that issue keys may require TLS even if the store does not.
            let transport = Transport::new(true, timeout).or_else(|cause| {
                if store.is_plain() { Transport::new(false, timeout) } else { Err(cause) }
            })?;
            Ok((transport, Server::S3(Box::new(store))))
        }
    }
}

/// The pause before the first repetition; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
