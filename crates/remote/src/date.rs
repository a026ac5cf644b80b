//! Dates as servers write them and as signatures require them, in seconds since 1970.
//!
//! RFC 9110, 5.6.7 (HTTP); RFC 3339 (expiry of credentials); ISO 8601's basic format (AWS Signature
//! Version 4). Days are counted as in Howard Hinnant's "chrono-Compatible Low-Level Date
//! Algorithms": in years that begin in March.

/// `Mon, 23 Nov 2026 05:47:13 GMT`. (The two forms that RFC 9110 calls obsolete are not supported.)
pub(crate) fn from_http(text: &str) -> Option<u64> {
    let (_, rest) = text.strip_suffix(" GMT")?.split_once(", ")?;
    let parts: Vec<&str> = rest.split([' ', ':']).collect();
    let [day, month, year, hour, minute, second] = parts[..] else { return None };
    let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
    seconds([digits(year)?, month, digits(day)?], [digits(hour)?, digits(minute)?, digits(second)?])
}

/// `2026-11-23T05:47:13Z`, with or without a fraction of a second.
pub(crate) fn from_rfc3339(text: &str) -> Option<u64> {
    let (day, time) = text.strip_suffix('Z')?.split_once('T')?;
    let time = time.split_once('.').map_or(time, |(whole, _)| whole);
    let three = |text: &str, mark: char| {
        let numbers: Option<Vec<u64>> = text.split(mark).map(digits).collect();
        <[u64; 3]>::try_from(numbers?).ok()
    };
    seconds(three(day, '-')?, three(time, ':')?)
}

/// `20261123T054713Z`.
pub(crate) fn to_basic(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400 + DAYS_TO_1970, seconds % 86_400);
    let (era, day) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = match month {
        0..10 => (400 * era + year, month + 3),
        _ => (400 * era + year + 1, month - 9),
    };
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

fn seconds([year, month, day]: [u64; 3], [hour, minute, second]: [u64; 3]) -> Option<u64> {
    let is_date = (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !is_date || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    Some((days - DAYS_TO_1970) * 86_400 + hour * 3600 + minute * 60 + second)
}

fn digits(text: &str) -> Option<u64> {
    let is_number = (1..=4).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Days from 1 March of year 0 to 1 January 1970.
const DAYS_TO_1970: u64 = 719_468;

const DAYS_OF_400_YEARS: u64 = 146_097;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_http() {
        assert_eq!(from_http("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(from_http("Tue, 29 Feb 2028 23:59:59 GMT"), Some(1_835_481_599));
        assert_eq!(from_http("Wed, 01 Mar 2028 00:00:00 GMT"), Some(1_835_481_600));
        assert_eq!(from_http("Fri, 31 Dec 9999 23:59:59 GMT"), Some(253_402_300_799));
        assert_eq!(from_http("Wed, 31 Dec 1969 23:59:59 GMT"), None);
        assert_eq!(from_http("Sun, 06 Nov 1994 25:00:00 GMT"), None);
    }

    #[test]
    fn dates_of_rfc_3339() {
        assert_eq!(from_rfc3339("2028-02-29T23:59:59Z"), Some(1_835_481_599));
        assert_eq!(from_rfc3339("2028-02-29T23:59:59.999Z"), Some(1_835_481_599));
        for text in ["", "2028-02-29", "2028-02-29T23:59:59", "2028-13-01T00:00:00Z", "2028-02-29T23:59Z"] {
            assert_eq!(from_rfc3339(text), None, "{text}");
        }
    }

    #[test]
    fn dates_of_signatures() {
        assert_eq!(to_basic(0), "19700101T000000Z");
        assert_eq!(to_basic(1_835_481_599), "20280229T235959Z");
        assert_eq!(to_basic(1_835_481_600), "20280301T000000Z");
        assert_eq!(to_basic(253_402_300_799), "99991231T235959Z");
        for day in 0..60_000 {
            let text = to_basic(day * 86_400);
            let rfc = format!("{}-{}-{}T00:00:00Z", &text[..4], &text[4..6], &text[6..8]);
            assert_eq!(from_rfc3339(&rfc), Some(day * 86_400), "{text}");
        }
    }
}
