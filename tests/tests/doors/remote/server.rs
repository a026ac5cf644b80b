//! A web server (RFC 9110: ranges, entity tags) that records its requests and misbehaves as
//! instructed.

use keyway_tests::Scratch;
use keyway_tests::timeouts;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// How a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// With the requested range.
    Proper,
    /// With the whole object.
    NoRanges,
    /// With another object of the same length, and its tag.
    Changed,
    /// With the first half of the range; then the connection closes.
    Cut,
    /// Not at all: the connection closes.
    HangUp,
    /// With this status and no object.
    Status(u16),
    /// As requested, without anything that identifies the version.
    NoTag,
    /// As requested, with this date as the version and no tag.
    Dated(&'static str),
    /// As requested, after this many milliseconds.
    After(u64),
    /// With the fields of a proper answer, then a byte now and then.
    Trickle,
    /// Not at all: the connection stays open.
    Silent,
    /// With this status, and this value in the field `Retry-After`.
    Later(u16, &'static str),
    /// With a redirect to the same URL.
    Loop,
    /// With a redirect to this URL.
    Elsewhere(&'static str),
    /// With status 206 and this `Content-Range`, or none.
    Ranged(Option<&'static str>),
    /// With more bytes than requested, without end.
    Endless,
    /// With status 401, unless the request contains this field.
    Login(&'static str),
}

/// The server, stopped on drop.
pub(super) struct Server {
    address: SocketAddr,
    scheme: &'static str,
    shared: Arc<Shared>,
}

struct Shared {
    object: Vec<u8>,
    /// The manner of a request by its number.
    manner: Box<dyn Fn(usize) -> Manner + Send + Sync>,
    asked: Mutex<Vec<Range<usize>>>,
    heads: Mutex<Vec<String>>,
    under_way: AtomicUsize,
    most_under_way: AtomicUsize,
    stopped: AtomicBool,
    tls: Option<Arc<ServerConfig>>,
}

impl Server {
    pub(super) fn start(object: Vec<u8>, manner: impl Fn(usize) -> Manner + Send + Sync + 'static) -> Self {
        Self::start_with(object, manner, None)
    }

    /// A server with `certificate.pem` and `key.pem` of `scratch`.
    pub(super) fn start_tls(object: Vec<u8>, scratch: &Scratch) -> Self {
        let certificate = CertificateDer::from_pem_file(scratch.path("certificate.pem")).unwrap();
        let key = PrivateKeyDer::from_pem_file(scratch.path("key.pem")).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.unwrap().with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
        Self::start_with(object, |_| Manner::Proper, Some(Arc::new(config)))
    }

    fn start_with(
        object: Vec<u8>,
        manner: impl Fn(usize) -> Manner + Send + Sync + 'static,
        tls: Option<Arc<ServerConfig>>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let shared = Arc::new(Shared {
            object,
            manner: Box::new(manner),
            asked: Mutex::default(),
            heads: Mutex::default(),
            under_way: AtomicUsize::new(0),
            most_under_way: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
            tls,
        });
        let server = Arc::clone(&shared);
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                if server.stopped.load(Ordering::SeqCst) {
                    break;
                }
                let server = Arc::clone(&server);
                thread::spawn(move || server.connection(connection));
            }
        });
        Self { address, scheme, shared }
    }

    pub(super) fn url(&self) -> String {
        format!("{}://{}/disks/volume.img", self.scheme, self.address)
    }

    /// Host and port.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The requests so far, as received: request lines and fields.
    pub(super) fn heads(&self) -> Vec<String> {
        self.shared.heads.lock().unwrap().clone()
    }

    /// The largest number of requests in flight at once.
    pub(super) fn most_under_way(&self) -> usize {
        self.shared.most_under_way.load(Ordering::SeqCst)
    }

    /// The ranges requested so far, in order.
    pub(super) fn asked(&self) -> Vec<Range<usize>> {
        self.shared.asked.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn connection(&self, stream: TcpStream) {
        let _ = stream.set_read_timeout(Some(timeouts::scaled(timeouts::EVENT)));
        let _ = match &self.tls {
            Some(tls) => {
                let tls = ServerConnection::new(Arc::clone(tls)).unwrap();
                self.requests(StreamOwned::new(tls, stream))
            }
            None => self.requests(stream),
        };
    }

    /// Handles one request after another, until the client or the manner ends the connection.
    fn requests(&self, stream: impl Read + Write) -> io::Result<()> {
        let mut stream = BufReader::new(stream);
        while let Some(range) = self.request(&mut stream)? {
            let mut asked = self.asked.lock().unwrap();
            let manner = (self.manner)(asked.len());
            asked.push(range.clone());
            drop(asked);
            let under_way = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
            self.most_under_way.fetch_max(under_way, Ordering::SeqCst);
            let goes_on = self.answer(stream.get_mut(), manner, range);
            self.under_way.fetch_sub(1, Ordering::SeqCst);
            if !goes_on? {
                break;
            }
        }
        Ok(())
    }

    /// The range that the next request names; `None` if there is none.
    fn request(&self, stream: &mut impl BufRead) -> io::Result<Option<Range<usize>>> {
        let mut range = None;
        let mut line = String::new();
        let mut head = String::new();
        while stream.read_line(&mut line)? > 0 {
            head.push_str(&line);
            if line.trim().is_empty() {
                self.heads.lock().unwrap().push(head);
                return Ok(Some(range.unwrap_or(0..self.object.len())));
            }
            if let Some(bytes) = line.trim().to_ascii_lowercase().strip_prefix("range: bytes=") {
                let (first, last) = bytes.split_once('-').unwrap();
                let last: usize = last.parse().unwrap();
                range = Some(first.parse().unwrap()..(last + 1).min(self.object.len()));
            }
            line.clear();
        }
        Ok(None)
    }

    /// Whether the connection stays open.
    fn answer(&self, stream: &mut impl Write, manner: Manner, range: Range<usize>) -> io::Result<bool> {
        let size = self.object.len();
        let mut body = self.object.get(range.clone()).unwrap_or_default().to_vec();
        let ends = format!("Content-Range: bytes {}-{}/{size}\r\n", range.start, range.end.saturating_sub(1));
        let tagged = format!("{ends}ETag: \"one\"\r\n");
        let (status, fields) = match manner {
            Manner::HangUp => return Ok(false),
            Manner::Silent => return self.rest(),
            Manner::Status(status) => (status, String::new()),
            Manner::Later(status, when) => (status, format!("Retry-After: {when}\r\n")),
            Manner::Loop => (302, "Location: /disks/volume.img?secret=token\r\n".into()),
            Manner::Elsewhere(url) => (302, format!("Location: {url}\r\n")),
            Manner::Login(field) if !self.last_head().contains(field) => (401, String::new()),
            Manner::NoRanges => (200, "ETag: \"one\"\r\n".into()),
            Manner::NoTag => (206, ends),
            Manner::Dated(date) => (206, format!("{ends}Last-Modified: {date}\r\n")),
            Manner::Ranged(None) => (206, "ETag: \"one\"\r\n".into()),
            Manner::Ranged(Some(field)) => (206, format!("Content-Range: {field}\r\nETag: \"one\"\r\n")),
            Manner::Changed => (206, format!("{ends}ETag: \"two\"\r\n")),
            _ => (206, tagged),
        };
        match manner {
            Manner::NoRanges => body = self.object.clone(),
            Manner::Changed => body.iter_mut().for_each(|byte| *byte ^= 0xff),
            Manner::After(pause) => thread::sleep(Duration::from_millis(pause)),
            _ if status >= 300 => body.clear(),
            Manner::Status(_) => body.clear(),
            _ => {}
        }
        let len = if manner == Manner::Endless { u64::MAX >> 1 } else { body.len() as u64 };
        write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: {len}\r\n{fields}\r\n")?;
        match manner {
            Manner::Trickle => return self.trickle(stream, &body),
            Manner::Endless => return self.repeat(stream, &body),
            _ => {}
        }
        let sent = if manner == Manner::Cut { body.len() / 2 } else { body.len() };
        stream.write_all(&body[..sent])?;
        stream.flush()?;
        Ok(manner != Manner::Cut)
    }

    fn last_head(&self) -> String {
        self.heads.lock().unwrap().last().cloned().unwrap_or_default()
    }

    fn trickle(&self, stream: &mut impl Write, body: &[u8]) -> io::Result<bool> {
        for byte in body {
            stream.write_all(&[*byte])?;
            stream.flush()?;
            thread::sleep(Duration::from_millis(100));
            if self.stopped.load(Ordering::SeqCst) {
                break;
            }
        }
        Ok(false)
    }

    fn repeat(&self, stream: &mut impl Write, body: &[u8]) -> io::Result<bool> {
        while !self.stopped.load(Ordering::SeqCst) {
            stream.write_all(body)?;
        }
        Ok(false)
    }

    fn rest(&self) -> io::Result<bool> {
        while !self.stopped.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(20));
        }
        Ok(false)
    }
}
