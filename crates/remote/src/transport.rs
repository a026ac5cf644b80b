//! How requests travel: reqwest with rustls, ring and the system's certificate
//! authorities; for S3 as object_store's transport.
//!
//! Answers are judged here, where status and headers are at hand: whatever is not the object's
//! bytes becomes a [`Cause`]. Retrying is [`Source`](crate::source::Source)'s.

use crate::answer::{Answer, refusal};
use crate::credentials::Login;
use crate::error::Cause;
use async_trait::async_trait;
use http::header::RANGE;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt, Limited};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::{Attempt, Policy};
use rustls::{ClientConfig, RootCertStore};
use std::error::Error as StdError;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// A client with its connections.
#[derive(Debug, Clone)]
pub(crate) struct Transport {
    client: reqwest::Client,
}

impl Transport {
    /// Without the certificate authorities no certificate is accepted: `secure` says that some are
    /// needed. A server that says nothing for half of `timeout` is asked again.
    pub(crate) fn new(secure: bool, timeout: Duration) -> Result<Self, Cause> {
        let roots = if secure { certificate_authorities()? } else { RootCertStore::empty() };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| Cause::Broken(e.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .user_agent(concat!("keyway/", env!("CARGO_PKG_VERSION")))
            .dns_resolver(Arc::new(Names { limit: timeout / 2 }))
            .redirect(Policy::custom(follow))
            // It would tell the next server the signature in the query.
            .referer(false)
            .connect_timeout(CONNECTS_WITHIN.min(timeout / 2))
            .read_timeout(timeout / 2)
            .build()
            .map_err(|e| Cause::Broken(deepest(&e)))?;
        Ok(Self { client })
    }

    /// Asks a web server for `range`, under the conditions in `fields`.
    pub(crate) async fn get(
        &self,
        url: &Url,
        login: Option<&Login>,
        range: &Range<u64>,
        fields: HeaderMap,
    ) -> Result<(Answer, reqwest::Response), Cause> {
        let mut request = self.client.get(url.clone()).headers(fields);
        if let Some(login) = login {
            let password = String::from_utf8_lossy(login.password.expose());
            request = request.basic_auth(&login.user, Some(password));
        }
        let request = request.header(RANGE, range_field(range)).build().map_err(from_reqwest)?;
        let response = self.execute(request).await?;
        let answer = Answer::judge(response.status(), response.headers(), range)?;
        Ok((answer, response))
    }

    /// For object_store: an answer to a request for a range carries its [`Answer`].
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, Cause> {
        let (parts, body) = request.into_parts();
        let asked = parts.headers.get(RANGE).filter(|_| parts.method == Method::GET).map(asked_range);
        let url =
            parts.uri.to_string().parse().map_err(|_| Cause::Address("its URL makes no sense".into()))?;
        let mut request = reqwest::Request::new(parts.method, url);
        *request.headers_mut() = parts.headers;
        *request.body_mut() = body.as_bytes().map(|bytes| bytes.clone().into());
        let response = self.execute(request).await?;
        let Some(asked) = asked else { return Ok(converted(response, LONGEST_OTHER_ANSWER)) };
        let answer = Answer::judge(response.status(), response.headers(), &asked?)?;
        let mut response = converted(response, answer.len as usize);
        response.extensions_mut().insert(answer);
        Ok(response)
    }

    async fn execute(&self, request: reqwest::Request) -> Result<reqwest::Response, Cause> {
        let response = self.client.execute(request).await.map_err(from_reqwest)?;
        match response.status() {
            status if status.is_success() => Ok(response),
            status => Err(refused(status, response).await),
        }
    }
}

#[async_trait]
impl HttpService for Transport {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        self.send(request).await.map_err(|cause| HttpError::new(HttpErrorKind::Unknown, cause))
    }
}

impl HttpConnector for Transport {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

/// Names are looked up without the C library.
struct Names {
    limit: Duration,
}

impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        let (name, limit) = (name.as_str().to_owned(), self.limit);
        // The port is filled in by who connects.
        let looked_up = tokio::task::spawn_blocking(move || keyway_resolve::resolve(&name, 0, limit));
        Box::pin(async move { Ok(Box::new(looked_up.await??.into_iter()) as Addrs) })
    }
}

/// The cause within what object_store made of it.
pub(crate) fn cause_of(error: &object_store::Error) -> Cause {
    let mut link: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(here) = link {
        if let Some(cause) = here.downcast_ref::<Cause>() {
            return cause.clone();
        }
        link = here.source();
    }
    Cause::Broken(format!("the server's answer is not understood: {}", deepest(error)))
}

/// A server that sends more than `most` bytes is not listened to any longer.
fn converted(response: reqwest::Response, most: usize) -> HttpResponse {
    let response: http::Response<reqwest::Body> = response.into();
    let (parts, body) = response.into_parts();
    let body = Limited::new(body.map_err(from_reqwest), most).map_err(|error| {
        let cause = error.downcast::<Cause>().map_or_else(|_| too_much(), |cause| *cause);
        HttpError::new(HttpErrorKind::Unknown, cause)
    });
    HttpResponse::from_parts(parts, HttpResponseBody::new(body))
}

/// The server's answer does not end where it has to.
pub(crate) fn too_much() -> Cause {
    Cause::WrongRange("more of them than it announced".into())
}

fn range_field(range: &Range<u64>) -> String {
    format!("bytes={}-{}", range.start, range.end.saturating_sub(1))
}

/// What [`range_field`], or object_store, wrote.
fn asked_range(field: &HeaderValue) -> Result<Range<u64>, Cause> {
    let parse = || {
        let (first, last) = field.to_str().ok()?.strip_prefix("bytes=")?.split_once('-')?;
        Some(first.parse().ok()?..last.parse::<u64>().ok()?.checked_add(1)?)
    };
    parse().ok_or_else(|| Cause::Broken("a request for no range".into()))
}

/// What a status other than success means. S3 says more in a `<Code>` element; the rest of its text
/// may quote the request's signature and is not shown.
async fn refused(status: StatusCode, mut response: reqwest::Response) -> Cause {
    let fields = response.headers().clone();
    let mut text = Vec::new();
    while let Ok(Ok(Some(chunk))) = tokio::time::timeout(EXPLAINS_WITHIN, response.chunk()).await
        && text.len() < LONGEST_REFUSAL
    {
        text.extend_from_slice(&chunk[..chunk.len().min(LONGEST_REFUSAL)]);
    }
    refusal(status, &fields, s3_code(&String::from_utf8_lossy(&text)))
}

fn s3_code(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    let plain = code.len() <= 64 && code.chars().all(|c| c.is_ascii_alphanumeric());
    plain.then(|| code.to_owned())
}

/// Without the URL, which may hold a signature.
pub(crate) fn from_reqwest(error: reqwest::Error) -> Cause {
    let error = error.without_url();
    let mut link: Option<&(dyn StdError + 'static)> = Some(&error);
    while let Some(here) = link {
        if let Some(cause) = here.downcast_ref::<Cause>() {
            return cause.clone();
        }
        if let Some(rustls::Error::InvalidCertificate(why)) = tls_error(here) {
            return Cause::Certificate(why.to_string());
        }
        link = here.source();
    }
    match error {
        e if e.is_timeout() => Cause::Broken("the server does not answer".into()),
        e if e.is_connect() => Cause::Unreachable(deepest(&e)),
        e if e.is_redirect() => Cause::Redirected("the server redirects to nowhere".into()),
        e => Cause::Broken(format!("the connection broke: {}", deepest(&e))),
    }
}

/// The TLS error in [`std::io::Error`]s within one another, which name no source.
fn tls_error<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a rustls::Error> {
    match error.downcast_ref::<std::io::Error>() {
        Some(outer) => outer.get_ref().and_then(|inner| tls_error(inner)),
        None => error.downcast_ref(),
    }
}

/// The words of the first cause; those above it repeat it, with URLs.
fn deepest(error: &dyn StdError) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// Follows redirects as browsers do, but never out of TLS, and never twice to the same place.
fn follow(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let came_by_tls = attempt.previous().last().is_some_and(|url| url.scheme() == "https");
    let status = attempt.status().as_u16();
    let why = if came_by_tls && attempt.url().scheme() != "https" {
        format!("the server redirects from https to an unprotected address (status {status})")
    } else if attempt.previous().contains(attempt.url()) || attempt.previous().len() > REDIRECTS {
        format!("the server redirects without end (status {status})")
    } else {
        return attempt.follow();
    };
    attempt.error(Cause::Redirected(why))
}

/// Those of `SSL_CERT_FILE` and `SSL_CERT_DIR`, or the system's.
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

/// A refusal's text, which says more than its status, is waited for no longer.
const EXPLAINS_WITHIN: Duration = Duration::from_secs(2);

const REDIRECTS: usize = 10;

/// Of a refusal's text no more is read.
const LONGEST_REFUSAL: usize = 16 << 10;

/// Answers that are no object: short-lived keys, from services that give them.
const LONGEST_OTHER_ANSWER: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_refusal_only_the_code_is_kept() {
        let text = "<Error><Code>SignatureDoesNotMatch</Code><AWSAccessKeyId>AKIA</AWSAccessKeyId></Error>";
        assert_eq!(s3_code(text).as_deref(), Some("SignatureDoesNotMatch"));
        assert_eq!(s3_code("<Code>\u{1b}[31m</Code>"), None);
        assert_eq!(s3_code("<html>Forbidden</html>"), None);
    }
}
