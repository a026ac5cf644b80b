//! From a URL to an HTTP/1.1 connection: name lookup, TCP, a proxy's tunnel (RFC 9110, 9.3.6), TLS.

use super::proxy::Proxy;
use crate::error::Cause;
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use url::{Host, Position, Url};

/// A connection. The requests made here have no body.
pub(super) type Connection = SendRequest<http_body_util::Empty<Bytes>>;

/// A stream of bytes below HTTP.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Opens a connection to the server of `url`, or to the proxy that forwards plain HTTP to it.
pub(super) async fn open(
    url: &Url,
    proxy: Option<&Proxy>,
    tls: &Arc<ClientConfig>,
    limit: Duration,
) -> Result<Connection, Cause> {
    let mut stream: Box<dyn Stream> = Box::new(tcp(proxy.map_or(url, |proxy| &proxy.url), limit).await?);
    if let Some(proxy) = proxy {
        if proxy.url.scheme() == "https" {
            stream = Box::new(secured(stream, &proxy.url, tls).await?);
        }
        if url.scheme() == "https" {
            tunnel(&mut stream, url, proxy).await?;
        }
    }
    if url.scheme() == "https" {
        stream = Box::new(secured(stream, url, tls).await?);
    }
    let (connection, driver) = http1::handshake(TokioIo::new(stream)).await.map_err(|e| super::broken(&e))?;
    // An error that ends the connection is reported to the request on it.
    tokio::spawn(driver);
    Ok(connection)
}

async fn tcp(url: &Url, limit: Duration) -> Result<TcpStream, Cause> {
    let host = url.host_str().unwrap_or_default().to_owned();
    let port = url.port_or_known_default().unwrap_or(80);
    let found = tokio::task::spawn_blocking(move || keyway_resolve::resolve(&host, port, limit)).await;
    let addresses = found.map_err(io::Error::other).flatten().map_err(|e| unreachable(&e))?;
    let stream = first_of(addresses).await.map_err(|e| unreachable(&e))?;
    let _ = stream.set_nodelay(true);
    Ok(stream)
}

/// Connects to the first address that accepts. Each address has a head start over the next (RFC
/// 8305).
async fn first_of(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut failure = io::Error::new(ErrorKind::NotFound, "its name has no address");
    let mut attempts = JoinSet::new();
    let mut waiting = addresses.into_iter();
    loop {
        if let Some(address) = waiting.next() {
            attempts.spawn(TcpStream::connect(address));
        }
        match tokio::time::timeout(HEAD_START, attempts.join_next()).await {
            Ok(None) => return Err(failure),
            Ok(Some(ended)) => match ended.map_err(io::Error::other).flatten() {
                Ok(stream) => return Ok(stream),
                Err(error) => failure = error,
            },
            Err(_) => {}
        }
    }
}

async fn secured<S: Stream>(
    stream: S,
    url: &Url,
    tls: &Arc<ClientConfig>,
) -> Result<tokio_rustls::client::TlsStream<S>, Cause> {
    let name = match url.host() {
        Some(Host::Ipv4(address)) => ServerName::IpAddress(address.into()),
        Some(Host::Ipv6(address)) => ServerName::IpAddress(address.into()),
        Some(Host::Domain(name)) => ServerName::try_from(name.to_owned())
            .map_err(|_| Cause::Address(format!("{name} is not a host name that can have a certificate")))?,
        None => return Err(Cause::Address("its URL names no host".into())),
    };
    TlsConnector::from(Arc::clone(tls)).connect(name, stream).await.map_err(|e| unreachable(&e))
}

/// Makes `proxy` connect to the server of `url`. The server sends nothing before it receives
/// something, so everything up to the empty line comes from the proxy.
async fn tunnel(stream: &mut impl Stream, url: &Url, proxy: &Proxy) -> Result<(), Cause> {
    let port = url.port_or_known_default().unwrap_or(443);
    let to = format!("{}:{port}", &url[Position::BeforeHost..Position::AfterHost]);
    let login = proxy.login.as_ref().map(|login| format!("Proxy-Authorization: {}\r\n", login.basic()));
    let head = format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n{}\r\n", login.unwrap_or_default());
    stream.write_all(head.as_bytes()).await.map_err(|e| unreachable(&e))?;
    stream.flush().await.map_err(|e| unreachable(&e))?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") && answer.len() < LONGEST_HEAD {
        answer.push(stream.read_u8().await.map_err(|e| unreachable(&e))?);
    }
    let text = String::from_utf8_lossy(&answer);
    let status = text.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5));
    let status = status.filter(|status| status.bytes().all(|c| c.is_ascii_digit()));
    match status {
        Some(status) if status.starts_with('2') => Ok(()),
        Some(status) => Err(Cause::Unreachable(format!("the proxy refuses (status {status})"))),
        None => Err(Cause::Unreachable("the proxy does not speak HTTP".into())),
    }
}

fn unreachable(error: &io::Error) -> Cause {
    if let Some(rustls::Error::InvalidCertificate(why)) = tls_error(error) {
        return Cause::Certificate(why.to_string());
    }
    match error.kind() {
        ErrorKind::TimedOut => super::silent(),
        _ => Cause::Unreachable(super::deepest(error)),
    }
}

/// The TLS error within nested [`io::Error`]s, which do not report it as their source.
fn tls_error<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a rustls::Error> {
    match error.downcast_ref::<io::Error>() {
        Some(outer) => outer.get_ref().and_then(|inner| tls_error(inner)),
        None => error.downcast_ref(),
    }
}

const HEAD_START: Duration = Duration::from_millis(300);

/// The maximum length read of a proxy's response.
const LONGEST_HEAD: usize = 16 << 10;
