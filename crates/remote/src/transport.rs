//! How requests travel: reqwest with rustls, ring and the system's certificate authorities, as object_store's transport.
//!
//! Answers are judged here, where status and headers are at hand: whatever is not the object's bytes becomes a [`Cause`].
//! Retrying is [`Source`](crate::source::Source)'s.

use crate::error::Cause;
use async_trait::async_trait;
use http::header::RANGE;
use http::{Method, StatusCode};
use http_body_util::BodyExt;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use reqwest::redirect::{Attempt, Policy};
use rustls::{ClientConfig, RootCertStore};
use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

/// A client with its connections.
#[derive(Debug, Clone)]
pub(crate) struct Transport {
    client: reqwest::Client,
}

impl Transport {
    /// Without the certificate authorities no certificate is accepted: `secure` says that some are needed.
    pub(crate) fn new(secure: bool) -> Result<Self, Cause> {
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
            .redirect(Policy::custom(follow))
            .connect_timeout(CONNECTS_WITHIN)
            .read_timeout(SAYS_SOMETHING_WITHIN)
            .build()
            .map_err(|e| Cause::Broken(deepest(&e)))?;
        Ok(Self { client })
    }

    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, Cause> {
        let (parts, body) = request.into_parts();
        let ranged = parts.method == Method::GET && parts.headers.contains_key(RANGE);
        let url = parts.uri.to_string().parse().map_err(|e| Cause::Address(format!("{e}")))?;
        let mut request = reqwest::Request::new(parts.method, url);
        *request.headers_mut() = parts.headers;
        *request.body_mut() = body.as_bytes().map(|bytes| bytes.clone().into());
        let response = self.client.execute(request).await.map_err(|e| from_reqwest(&e))?;
        match response.status() {
            StatusCode::OK if ranged => Err(Cause::NoRanges),
            status if status.is_success() => Ok(converted(response)),
            status => Err(refusal(status, response).await),
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

fn converted(response: reqwest::Response) -> HttpResponse {
    let response: http::Response<reqwest::Body> = response.into();
    let (parts, body) = response.into_parts();
    let body = body.map_err(|e| HttpError::new(HttpErrorKind::Unknown, from_reqwest(&e)));
    HttpResponse::from_parts(parts, HttpResponseBody::new(body))
}

/// What a status other than success means. S3 says more in a `<Code>` element; the rest of its text may quote the
/// request's signature and is not shown.
async fn refusal(status: StatusCode, mut response: reqwest::Response) -> Cause {
    let mut text = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await
        && text.len() < LONGEST_REFUSAL
    {
        text.extend_from_slice(&chunk);
    }
    let code = s3_code(&String::from_utf8_lossy(&text));
    match status {
        StatusCode::NOT_FOUND | StatusCode::GONE => Cause::NotFound,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Cause::Denied(code),
        StatusCode::PRECONDITION_FAILED => Cause::Changed,
        _ => Cause::Status(status.as_u16(), code),
    }
}

fn s3_code(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    let plain = code.len() <= 64 && code.chars().all(|c| c.is_ascii_alphanumeric());
    plain.then(|| code.to_owned())
}

fn from_reqwest(error: &reqwest::Error) -> Cause {
    let mut link: Option<&(dyn StdError + 'static)> = Some(error);
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
        e if e.is_connect() => Cause::Unreachable(deepest(e)),
        e if e.is_redirect() => Cause::Broken("the server redirects without end".into()),
        e => Cause::Broken(format!("the connection broke: {}", deepest(e))),
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

/// Follows redirects as browsers do, but never out of TLS.
fn follow(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let came_by_tls = attempt.previous().last().is_some_and(|url| url.scheme() == "https");
    if came_by_tls && attempt.url().scheme() != "https" {
        return attempt
            .error(Cause::Broken("the server redirects from https to an unprotected address".into()));
    }
    Policy::limited(REDIRECTS).redirect(attempt)
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

/// A response that stalls for so long is given up.
const SAYS_SOMETHING_WITHIN: Duration = Duration::from_secs(30);

const REDIRECTS: usize = 10;

/// Of a refusal's text no more is read.
const LONGEST_REFUSAL: usize = 16 << 10;

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
