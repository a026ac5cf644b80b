//! Sending requests: HTTP/1.1 by hyper, over connections secured by rustls with ring and the
//! system's certificate authorities, through the environment's proxies.
//!
//! Responses are evaluated here, where status and headers are available: anything but the object's
//! bytes becomes a [`Cause`]. Repeating requests is up to [`Source`](crate::source::Source).

mod body;
mod connect;
mod pool;
mod proxy;
mod redirect;

use crate::answer::{Answer, refusal};
use crate::error::Cause;
pub(crate) use body::Body;
use connect::Connection;
use http::header::{ACCEPT, CONTENT_LENGTH, HOST, HeaderName, PROXY_AUTHORIZATION, RANGE, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Uri};
use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use pool::Pool;
use proxy::{Proxies, Proxy};
use rustls::{ClientConfig, RootCertStore};
use std::error::Error as StdError;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use url::{Position, Url};

/// A request to a server. The requests made here have no body.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) fields: HeaderMap,
}

impl Request {
    pub(crate) fn new(method: Method, url: Url) -> Self {
        Self { method, url, fields: HeaderMap::new() }
    }

    /// A request for some bytes of the object at `url`, with an optional condition.
    pub(crate) fn range(url: Url, range: &Range<u64>, condition: Option<(HeaderName, HeaderValue)>) -> Self {
        let fields = HeaderMap::from_iter(condition);
        let bytes = format!("bytes={}-{}", range.start, range.end.saturating_sub(1));
        Self { method: Method::GET, url, fields }.with(RANGE, &bytes)
    }

    /// Adds a header field. A value that is not valid in a field is left out.
    pub(crate) fn with(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.fields.insert(name, value);
        }
        self
    }
}

/// An HTTP client with its connections.
pub(crate) struct Transport {
    tls: Arc<ClientConfig>,
    proxies: Proxies,
    pool: Pool,
    /// If a server sends nothing for this long, the request is repeated.
    limit: Duration,
}

impl Transport {
    /// Without certificate authorities no certificate is accepted; `secure` says that some are
    /// needed. If a server sends nothing for half of `timeout`, the request is repeated.
    pub(crate) fn new(secure: bool, timeout: Duration) -> Result<Self, Cause> {
        let roots = if secure { certificate_authorities()? } else { RootCertStore::empty() };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| Cause::Broken(e.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let (tls, pool, proxies) = (Arc::new(tls), Pool::default(), Proxies::from_env());
        Ok(Self { tls, proxies, pool, limit: timeout / 2 })
    }

    /// The bytes that `request` asks for.
    pub(crate) async fn read(&self, request: Request, range: &Range<u64>) -> Result<(Answer, Body), Cause> {
        let (status, fields, body) = self.execute(request).await?;
        Ok((Answer::judge(status, &fields, range)?, body))
    }

    /// A response that is not an object but a text: temporary keys, from services that issue them.
    pub(crate) async fn text(&self, request: Request) -> Result<String, Cause> {
        let (_, _, mut body) = self.execute(request).await?;
        let mut text = Vec::new();
        while let Some(chunk) = body.chunk().await? {
            text.extend_from_slice(&chunk);
            if text.len() > LONGEST_TEXT {
                return Err(too_much());
            }
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// The final, successful response after following redirects.
    async fn execute(&self, mut request: Request) -> Result<(StatusCode, HeaderMap, Body), Cause> {
        let mut asked = Vec::new();
        loop {
            let (parts, body) = self.exchange(&request).await?.into_parts();
            if parts.status.is_success() {
                return Ok((parts.status, parts.headers, body));
            }
            let Some(next) = redirect::target(&request, parts.status, &parts.headers) else {
                return Err(refused(parts.status, &parts.headers, body).await);
            };
            asked.push(request.url.clone());
            redirect::check(&asked, &next, parts.status)?;
            request = redirect::to(request, next);
        }
    }

    /// Sends one request and receives the head of its response.
    async fn exchange(&self, request: &Request) -> Result<Response<Body>, Cause> {
        let proxy = self.proxies.of(&request.url)?;
        let server = request.url[..Position::BeforePath].to_owned();
        loop {
            let kept = self.pool.take(&server).await;
            let is_kept = kept.is_some();
            let mut connection = match kept {
                Some(connection) => connection,
                None => self.connect(&request.url, proxy.as_ref()).await?,
            };
            let message = message(request, proxy.as_ref())?;
            match timeout(self.limit, connection.try_send_request(message)).await {
                Ok(Ok(answer)) => return Ok(self.received(answer, server, connection)),
                Ok(Err(mut failed)) => {
                    // The server closed the kept connection in the meantime, and has not seen the
                    // request.
                    let unseen = is_kept && failed.take_message().is_some();
                    if !unseen {
                        return Err(broken(failed.error()));
                    }
                }
                Err(_) => return Err(silent()),
            }
        }
    }

    async fn connect(&self, url: &Url, proxy: Option<&Proxy>) -> Result<Connection, Cause> {
        let limit = CONNECTS_WITHIN.min(self.limit);
        timeout(limit, connect::open(url, proxy, &self.tls, limit)).await.unwrap_or_else(|_| Err(silent()))
    }

    fn received(&self, answer: Response<Incoming>, server: String, connection: Connection) -> Response<Body> {
        let pool = self.pool.clone();
        answer.map(|bytes| Body::new(bytes, self.limit, move || pool.put(server, connection)))
    }
}

/// The request as it is sent: with a path, or with an absolute URL for a proxy (RFC 9112, 3.2).
fn message(request: &Request, proxy: Option<&Proxy>) -> Result<http::Request<Empty<Bytes>>, Cause> {
    let wrong = || Cause::Address("its URL is not valid".into());
    let url = &request.url;
    let asks_for_us = proxy.filter(|_| url.scheme() == "http");
    let from = if asks_for_us.is_some() { Position::BeforeScheme } else { Position::BeforePath };
    let uri: Uri = url[from..Position::AfterQuery].parse().map_err(|_| wrong())?;
    let mut message = http::Request::new(Empty::new());
    *message.method_mut() = request.method.clone();
    *message.uri_mut() = uri;
    let fields = message.headers_mut();
    let host = HeaderValue::from_str(&url[Position::BeforeHost..Position::AfterPort]);
    fields.insert(HOST, host.map_err(|_| wrong())?);
    fields.insert(USER_AGENT, HeaderValue::from_static(concat!("keyway/", env!("CARGO_PKG_VERSION"))));
    fields.insert(ACCEPT, HeaderValue::from_static("*/*"));
    if request.method != Method::GET {
        fields.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    fields.extend(request.fields.clone());
    if let Some(login) = asks_for_us.and_then(|proxy| proxy.login.as_ref()) {
        fields.insert(PROXY_AUTHORIZATION, HeaderValue::from_str(&login.basic()).map_err(|_| wrong())?);
    }
    Ok(message)
}

/// The server's response is longer than it should be.
pub(crate) fn too_much() -> Cause {
    Cause::WrongRange("more of them than it announced".into())
}

/// The meaning of a status other than success. S3 gives details in a `<Code>` element; the rest of
/// its text may quote the request's signature and is not shown.
async fn refused(status: StatusCode, fields: &HeaderMap, mut body: Body) -> Cause {
    let mut text = Vec::new();
    while let Ok(Ok(Some(chunk))) = timeout(EXPLAINS_WITHIN, body.chunk()).await
        && text.len() < LONGEST_REFUSAL
    {
        text.extend_from_slice(&chunk[..chunk.len().min(LONGEST_REFUSAL)]);
    }
    refusal(status, fields, s3_code(&String::from_utf8_lossy(&text)))
}

fn s3_code(text: &str) -> Option<String> {
    let code = element(text, "Code")?;
    let plain = code.len() <= 64 && code.chars().all(|c| c.is_ascii_alphanumeric());
    plain.then(|| code.to_owned())
}

/// The content of the first element `<NAME>`, in responses whose elements hold plain text.
pub(crate) fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    Some(rest.split_once(&format!("</{name}>"))?.0)
}

fn silent() -> Cause {
    Cause::Broken("the server does not answer".into())
}

fn broken(error: &hyper::Error) -> Cause {
    Cause::Broken(format!("the connection failed: {}", deepest(error)))
}

/// The message of the innermost cause; the errors around it repeat it.
fn deepest(error: &dyn StdError) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// The certificate authorities from `SSL_CERT_FILE` and `SSL_CERT_DIR`, or the system's.
fn certificate_authorities() -> Result<RootCertStore, Cause> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        return Err(Cause::Certificate("no certificate authorities are installed here".into()));
    }
    Ok(roots)
}

const CONNECTS_WITHIN: Duration = Duration::from_secs(10);

/// How long to wait for the body of an error response, which may give details.
const EXPLAINS_WITHIN: Duration = Duration::from_secs(2);

/// The maximum length read of the body of an error response.
const LONGEST_REFUSAL: usize = 16 << 10;

const LONGEST_TEXT: usize = 1 << 20;

#[cfg(test)]
mod tests;
