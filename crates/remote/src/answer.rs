//! The meaning of a server's status and header fields: the requested bytes, or a [`Cause`].
//!
//! RFC 9110: range requests (14), status codes (15), `Retry-After` (10.2.3).

use crate::date;
use crate::error::{Cause, Refusal};
use crate::version::Version;
use http::header::{CONTENT_RANGE, RETRY_AFTER};
use http::{HeaderMap, StatusCode};
use std::ops::Range;
use std::time::{Duration, SystemTime};

/// A response with the requested bytes.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// The version of the object.
    pub(crate) version: Version,
    /// The number of bytes that follow.
    pub(crate) len: u64,
}

impl Answer {
    /// Checks a successful response to a request for `asked`, which may extend beyond the object's
    /// end.
    pub(crate) fn judge(status: StatusCode, fields: &HeaderMap, asked: &Range<u64>) -> Result<Self, Cause> {
        match status {
            StatusCode::PARTIAL_CONTENT => {}
            StatusCode::OK => return Err(Cause::NoRanges),
            _ => return Err(refusal(status, fields, None)),
        }
        let field = fields.get(CONTENT_RANGE).ok_or_else(|| wrong("status 206 without Content-Range"))?;
        let (sent, size) = field
            .to_str()
            .ok()
            .and_then(content_range)
            .ok_or_else(|| wrong("status 206 with a Content-Range without bytes or total length"))?;
        let expected = asked.start..asked.end.min(size);
        if sent != expected {
            let (first, last) = (expected.start, expected.end.saturating_sub(1));
            let what = format!("status 206, bytes {}-{} instead of {first}-{last}", sent.start, sent.end - 1);
            return Err(Cause::WrongRange(what));
        }
        Ok(Self { version: Version::of(size, fields), len: sent.end - sent.start })
    }
}

/// The meaning of a status other than success; `code` is the store's own error code.
pub(crate) fn refusal(status: StatusCode, fields: &HeaderMap, code: Option<String>) -> Cause {
    match status {
        StatusCode::NOT_FOUND | StatusCode::GONE => Cause::NotFound(status.as_u16()),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Cause::Denied(status.as_u16(), code),
        StatusCode::PRECONDITION_FAILED => Cause::Changed("the server reports this (status 412)".into()),
        StatusCode::RANGE_NOT_SATISFIABLE => {
            let len = fields.get(CONTENT_RANGE).and_then(|field| field.to_str().ok());
            Cause::TooShort(len.and_then(|field| field.strip_prefix("bytes */")?.trim().parse().ok()))
        }
        _ => {
            let retry_after = fields.get(RETRY_AFTER).and_then(|field| field.to_str().ok());
            let retry_after = retry_after.and_then(|text| pause(text.trim(), SystemTime::now()));
            Cause::Status(Refusal { status: status.as_u16(), code, retry_after })
        }
    }
}

/// Parses `bytes FIRST-LAST/LENGTH` (RFC 9110, 14.4), for objects no longer than a file can be.
fn content_range(text: &str) -> Option<(Range<u64>, u64)> {
    let (range, size) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.trim().split_once('-')?;
    let (first, last, size) = (digits(first)?, digits(last)?, digits(size)?);
    (first <= last && last < size && size <= i64::MAX as u64).then(|| (first..last + 1, size))
}

/// Seconds, or a date; a date in the past is not a pause.
fn pause(text: &str, now: SystemTime) -> Option<Duration> {
    if let Some(seconds) = digits(text) {
        return Some(Duration::from_secs(seconds));
    }
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(date::from_http(text)?);
    Some(then.duration_since(now).unwrap_or_default())
}

fn digits(text: &str) -> Option<u64> {
    let text = text.trim();
    text.bytes().all(|c| c.is_ascii_digit()).then(|| text.parse().ok())?
}

fn wrong(what: &str) -> Cause {
    Cause::WrongRange(what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn fields(range: &str) -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_RANGE, HeaderValue::from_str(range).unwrap())])
    }

    #[test]
    fn only_the_bytes_asked_for_are_taken() {
        let judge = |range: &str| Answer::judge(StatusCode::PARTIAL_CONTENT, &fields(range), &(100..200));
        assert_eq!(judge("bytes 100-199/1000").unwrap().len, 100);
        assert_eq!(judge("bytes 100-149/150").unwrap().len, 50);
        assert_eq!(judge("bytes 100-199/9223372036854775807").unwrap().version.size, i64::MAX as u64);
        for range in [
            "bytes 0-99/1000",
            "bytes 100-198/1000",
            "bytes 100-200/1000",
            "bytes 100-199/150",
            "bytes 100-199/*",
            "bytes */1000",
            "bytes 199-100/1000",
            "bytes 100-199/9223372036854775808",
            "bytes 0-18446744073709551615/18446744073709551615",
            "bytes +100-199/1000",
            "items 100-199/1000",
            "",
        ] {
            assert!(matches!(judge(range), Err(Cause::WrongRange(_))), "{range}");
        }
        let none = Answer::judge(StatusCode::PARTIAL_CONTENT, &HeaderMap::new(), &(0..1)).unwrap_err();
        assert!(none.to_string().ends_with("status 206 without Content-Range"), "{none}");
        let behind = judge("bytes 100-150/150").unwrap_err().to_string();
        assert!(behind.ends_with("without bytes or total length"), "{behind}");
        let other = judge("bytes 0-99/1000").unwrap_err().to_string();
        assert!(other.ends_with("bytes 0-99 instead of 100-199"), "{other}");
    }

    #[test]
    fn statuses_are_told_apart() {
        let of = |status: u16| refusal(StatusCode::from_u16(status).unwrap(), &HeaderMap::new(), None);
        let success = |status: StatusCode| Answer::judge(status, &HeaderMap::new(), &(0..1)).unwrap_err();
        assert!(matches!(success(StatusCode::OK), Cause::NoRanges));
        assert!(success(StatusCode::NO_CONTENT).to_string().contains("without content (status 204"));
        assert!(matches!((of(404), of(410)), (Cause::NotFound(404), Cause::NotFound(410))));
        assert!(matches!((of(401), of(403)), (Cause::Denied(401, None), Cause::Denied(403, None))));
        assert!(matches!(of(412), Cause::Changed(_)));
        let range = StatusCode::RANGE_NOT_SATISFIABLE;
        assert!(matches!(refusal(range, &fields("bytes */77"), None), Cause::TooShort(Some(77))));
        assert!(matches!(refusal(range, &fields("bytes */x"), None), Cause::TooShort(None)));
        for (status, passing) in [
            (400, false),
            (404, false),
            (408, true),
            (412, false),
            (416, false),
            (425, true),
            (429, true),
            (500, true),
            (501, false),
            (502, true),
            (503, true),
            (504, true),
            (505, false),
            (304, false),
        ] {
            assert_eq!(of(status).is_passing(), passing, "{status}");
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let seconds = |text: &str| pause(text, now).map(|pause| pause.as_secs());
        assert_eq!(seconds("7"), Some(7));
        // RFC 9110's own example.
        assert_eq!(seconds("Sun, 06 Nov 1994 08:49:47 GMT"), Some(10));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:49:27 GMT"), Some(0));
        for text in
            ["", "-1", "1.5", "soon", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun, 06 Nov 1994 25:00:00 GMT"]
        {
            assert_eq!(seconds(text), None, "{text}");
        }
        let mut fields = HeaderMap::new();
        fields.insert(RETRY_AFTER, HeaderValue::from_static("3600"));
        let cause = refusal(StatusCode::SERVICE_UNAVAILABLE, &fields, None);
        assert_eq!(cause.retry_after(), Some(Duration::from_secs(3600)));
        assert!(cause.to_string().ends_with("status 503, and asks to retry in 3600 s"), "{cause}");
    }
}
