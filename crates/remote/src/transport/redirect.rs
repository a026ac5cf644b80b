//! Following redirects: as browsers do, but never from TLS to plain HTTP, and never twice to the
//! same place.
//!
//! RFC 9110, 15.4.

use super::Request;
use crate::error::Cause;
use http::header::{IF_MATCH, IF_UNMODIFIED_SINCE, LOCATION, RANGE};
use http::{HeaderMap, Method, StatusCode};
use url::Url;

/// The target of a redirect in response to `request`, if it is one.
pub(super) fn target(request: &Request, status: StatusCode, fields: &HeaderMap) -> Option<Url> {
    if request.method != Method::GET || !matches!(status.as_u16(), 301..=303 | 307 | 308) {
        return None;
    }
    request.url.join(fields.get(LOCATION)?.to_str().ok()?).ok()
}

/// Checks whether `next` may be followed from the last of the URLs `asked`.
pub(super) fn check(asked: &[Url], next: &Url, status: StatusCode) -> Result<(), Cause> {
    let status = status.as_u16();
    let came_by_tls = asked.last().is_some_and(|url| url.scheme() == "https");
    let why = if came_by_tls && next.scheme() != "https" {
        format!("the server redirects from https to an unprotected address (status {status})")
    } else if asked.contains(next) || asked.len() > REDIRECTS {
        format!("the server redirects endlessly (status {status})")
    } else if !matches!(next.scheme(), "http" | "https") {
        "the server redirects without a target".into()
    } else {
        return Ok(());
    };
    Err(Cause::Redirected(why))
}

/// `request` for `next`. Another server receives only what is necessary: no login, no signature.
pub(super) fn to(mut request: Request, next: Url) -> Request {
    if request.url.origin() != next.origin() {
        let told = request.fields;
        let wanted = [RANGE, IF_MATCH, IF_UNMODIFIED_SINCE].into_iter();
        request.fields = wanted.filter_map(|name| Some((name.clone(), told.get(name)?.clone()))).collect();
    }
    Request { url: next, ..request }
}

const REDIRECTS: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use http::header::AUTHORIZATION;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn a_redirect_names_its_target() {
        let get = Request::new(Method::GET, url("https://h/a/b?c"));
        let to = |request: &Request, status: u16, location: &'static str| {
            let fields = HeaderMap::from_iter([(LOCATION, HeaderValue::from_static(location))]);
            let target = target(request, StatusCode::from_u16(status).unwrap(), &fields);
            target.map_or("none".to_owned(), String::from)
        };
        assert_eq!(to(&get, 302, "d"), "https://h/a/d");
        assert_eq!(to(&get, 308, "//other/d"), "https://other/d");
        assert_eq!(to(&get, 304, "d"), "none");
        assert_eq!(to(&get, 301, "https://["), "none");
        assert_eq!(to(&Request::new(Method::PUT, url("https://h/")), 302, "d"), "none");
        assert!(target(&get, StatusCode::FOUND, &HeaderMap::new()).is_none());
    }

    #[test]
    fn redirects_end_and_stay_in_tls() {
        let why = |asked: &[Url], next: &str| match check(asked, &url(next), StatusCode::FOUND) {
            Ok(()) => "nothing".to_owned(),
            Err(cause) => cause.to_string(),
        };
        assert_eq!(why(&[url("http://h/")], "http://h/2"), "nothing");
        assert_eq!(why(&[url("http://h/")], "https://h/"), "nothing");
        assert!(why(&[url("https://h/")], "http://h/2").contains("unprotected address (status 302)"));
        assert!(why(&[url("http://h/")], "http://h/").contains("endlessly"));
        assert!(why(&[url("http://h/")], "ftp://h/").contains("without a target"));
        let many: Vec<Url> = (0..11).map(|i| url(&format!("http://h/{i}"))).collect();
        assert_eq!(why(&many[..10], "http://h/x"), "nothing");
        assert!(why(&many, "http://h/x").contains("endlessly"));
    }

    #[test]
    fn another_server_gets_no_login() {
        let request = Request::range(url("http://h/"), &(0..1), None).with(AUTHORIZATION, "Basic x");
        let same = to(request.clone(), url("http://h/2"));
        assert!(same.fields.contains_key(AUTHORIZATION) && same.url.path() == "/2");
        for other in ["http://other/", "https://h/", "http://h:81/"] {
            let other = to(request.clone(), url(other));
            assert!(other.fields.contains_key(RANGE) && !other.fields.contains_key(AUTHORIZATION));
        }
    }
}
