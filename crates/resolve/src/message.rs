//! DNS messages: the query, and the addresses in an answer to it.
//!
//! RFC 1035, 4.1 (format; numbers are big-endian) and 4.1.4 (compression), RFC 3596 (AAAA). Answers
//! are untrusted: every length is checked, pointers must lead backwards, and no more is kept than
//! an answer can need.
//!
//! ```text
//! id 2 | flags 2 | questions 2 | answers 2 | authorities 2 | additional 2
//! question: name, type 2, class 2        record: name, type 2, class 2, ttl 4, length 2, data
//! ```

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The type of record to query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// IPv4.
    A = 1,
    /// IPv6.
    Aaaa = 28,
}

/// The result of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The name's addresses; empty if the name does not exist or has no address of this type.
    Addresses(Vec<IpAddr>),
    /// The answer was truncated, and must be requested over TCP.
    Truncated,
    /// The server failed; its code (RFC 1035, 4.1.1, RCODE).
    Failed(u8),
}

/// Whether the text is a lower-case name that can be queried (RFC 1035, 2.3.4; underscores are in
/// use).
pub fn is_name(text: &str) -> bool {
    let is_label = |label: &str| {
        let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-' || c == b'_';
        (1..=63).contains(&label.len()) && label.bytes().all(plain)
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

/// The query for `name`, which must satisfy [`is_name`].
pub fn question(id: u16, name: &str, kind: Kind) -> Vec<u8> {
    let mut message = Vec::with_capacity(HEADER + name.len() + 6);
    message.extend_from_slice(&id.to_be_bytes());
    // Recursion desired; one question.
    message.extend_from_slice(&[1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    for label in name.split('.') {
        message.push(label.len() as u8);
        message.extend_from_slice(label.as_bytes());
    }
    message.push(0);
    message.extend_from_slice(&[0, kind as u8, 0, INTERNET]);
    message
}

/// The answer to `question` in `message`; `None` if it does not answer the question, or is
/// malformed.
pub fn answer(question: &[u8], message: &[u8]) -> Option<Answer> {
    let (header, body) = message.split_at_checked(HEADER)?;
    let asked = question.get(HEADER..)?;
    let same_question = body.get(..asked.len())?.eq_ignore_ascii_case(asked);
    let is_answer = header[..2] == question[..2] && header[2] & 0xf8 == 0x80 && header[4..6] == [0, 1];
    if !is_answer || !same_question {
        return None;
    }
    if header[2] & 2 != 0 {
        return Some(Answer::Truncated);
    }
    match header[3] & 15 {
        0 => {}
        // The name does not exist.
        3 => return Some(Answer::Addresses(Vec::new())),
        code => return Some(Answer::Failed(code)),
    }
    let kind = question[question.len() - 3];
    let count = u16::from_be_bytes([header[6], header[7]]);
    let records = records(message, HEADER + asked.len(), count)?;
    let (first, _) = name(message, HEADER)?;
    Some(Answer::Addresses(addresses(&records, first, kind)))
}

/// A relevant record of an answer.
enum Record {
    Address(Vec<u8>, IpAddr, u8),
    /// An alias: the second name is another name for the first.
    Alias(Vec<u8>, Vec<u8>),
}

fn records(message: &[u8], mut at: usize, count: u16) -> Option<Vec<Record>> {
    let mut records = Vec::new();
    for _ in 0..count.min(RECORDS) {
        let (owner, end) = name(message, at)?;
        let fields = message.get(end..)?.first_chunk::<10>()?;
        let len = u16::from_be_bytes([fields[8], fields[9]]) as usize;
        let start = end + fields.len();
        let data = message.get(start..start + len)?;
        match (fields[..4] == [0, fields[1], 0, INTERNET], fields[1], data.len()) {
            (true, 1, 4) => {
                let address = Ipv4Addr::from(*data.first_chunk::<4>()?);
                records.push(Record::Address(owner, address.into(), 1));
            }
            (true, 28, 16) => {
                let address = Ipv6Addr::from(*data.first_chunk::<16>()?);
                records.push(Record::Address(owner, address.into(), 28));
            }
            (true, 5, _) => records.push(Record::Alias(owner, name(message, start)?.0)),
            _ => {}
        }
        at = start + len;
    }
    Some(records)
}

/// Follows aliases from the queried name: addresses of any other name are not an answer.
fn addresses(records: &[Record], mut wanted: Vec<u8>, kind: u8) -> Vec<IpAddr> {
    for _ in 0..ALIASES {
        let found: Vec<IpAddr> = records
            .iter()
            .filter_map(|record| match record {
                Record::Address(owner, address, of) if *owner == wanted && *of == kind => Some(*address),
                _ => None,
            })
            .collect();
        if !found.is_empty() {
            return found;
        }
        let alias = records.iter().find_map(|record| match record {
            Record::Alias(owner, target) if *owner == wanted => Some(target.clone()),
            _ => None,
        });
        let Some(target) = alias else { break };
        wanted = target;
    }
    Vec::new()
}

/// The name at `at`, in lower case with its label lengths; and the offset after it.
fn name(message: &[u8], at: usize) -> Option<(Vec<u8>, usize)> {
    let mut labels = Vec::new();
    let (mut here, mut end) = (at, None);
    loop {
        let length = usize::from(*message.get(here)?);
        match length & 0xc0 {
            0 if length == 0 => return Some((labels, end.unwrap_or(here + 1))),
            0 => {
                let label = message.get(here..here + 1 + length)?;
                labels.extend(label.iter().map(u8::to_ascii_lowercase));
                here += 1 + length;
            }
            0xc0 => {
                let target = (length & 0x3f) << 8 | usize::from(*message.get(here + 1)?);
                end.get_or_insert(here + 2);
                // Backwards only, which guarantees termination.
                if target >= here {
                    return None;
                }
                here = target;
            }
            _ => return None,
        }
        if labels.len() > LONGEST_NAME {
            return None;
        }
    }
}

const HEADER: usize = 12;
const INTERNET: u8 = 1;
const LONGEST_NAME: usize = 255;

/// The maximum number of records, and of consecutive aliases, in a legitimate answer.
const RECORDS: u16 = 64;
const ALIASES: usize = 16;
