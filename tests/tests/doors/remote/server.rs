//! A web server (RFC 9110: ranges, entity tags) that notes what it is asked for and misbehaves as it is told.

use keyway_tests::Scratch;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// How a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// With the range that was asked for.
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
    /// As asked, without anything that tells versions apart.
    NoTag,
}

/// The server, until it is dropped.
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
        let (asked, stopped) = (Mutex::default(), AtomicBool::new(false));
        let shared = Arc::new(Shared { object, manner: Box::new(manner), asked, stopped, tls });
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

    /// The ranges that were asked for so far, in order.
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
        let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
        let _ = match &self.tls {
            Some(tls) => {
                let tls = ServerConnection::new(Arc::clone(tls)).unwrap();
                self.requests(StreamOwned::new(tls, stream))
            }
            None => self.requests(stream),
        };
    }

    /// One after the other, until the client or the manner ends it.
    fn requests(&self, stream: impl Read + Write) -> io::Result<()> {
        let mut stream = BufReader::new(stream);
        while let Some(range) = self.request(&mut stream)? {
            let mut asked = self.asked.lock().unwrap();
            let manner = (self.manner)(asked.len());
            asked.push(range.clone());
            drop(asked);
            if !self.answer(stream.get_mut(), manner, range)? {
                break;
            }
        }
        Ok(())
    }

    /// The range that the next request names; `None` when there is none.
    fn request(&self, stream: &mut impl BufRead) -> io::Result<Option<Range<usize>>> {
        let mut range = None;
        let mut line = String::new();
        while stream.read_line(&mut line)? > 0 {
            if line.trim().is_empty() {
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
        let mut body = self.object[range.clone()].to_vec();
        let ends = format!("Content-Range: bytes {}-{}/{size}\r\n", range.start, range.end.saturating_sub(1));
        let (status, fields) = match manner {
            Manner::HangUp => return Ok(false),
            Manner::Status(status) => (status, String::new()),
            Manner::NoRanges => (200, "ETag: \"one\"\r\n".into()),
            Manner::NoTag => (206, ends),
            Manner::Proper | Manner::Cut => (206, ends + "ETag: \"one\"\r\n"),
            Manner::Changed => (206, ends + "ETag: \"two\"\r\n"),
        };
        match manner {
            Manner::Status(_) => body.clear(),
            Manner::NoRanges => body = self.object.clone(),
            Manner::Changed => body.iter_mut().for_each(|byte| *byte ^= 0xff),
            _ => {}
        }
        write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n{fields}\r\n", body.len())?;
        let sent = if manner == Manner::Cut { body.len() / 2 } else { body.len() };
        stream.write_all(&body[..sent])?;
        stream.flush()?;
        Ok(manner != Manner::Cut)
    }
}
