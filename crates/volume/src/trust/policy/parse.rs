//! Parses a policy file: TOML (1.1) with the demands as keys, no tables. Unknown keys are refused
//! with their line, so that a misspelt demand is not silently ignored.

use super::Placed;
use super::demand::{DEMANDS, Demand};
use keyway_format::luks2::PERSISTENT_FLAGS;
use std::fmt::{self, Display};
use toml::de::{DeTable, DeValue};

/// Longest policy, in bytes.
pub const MAX_LEN: usize = 64 << 10;

/// Why a text is not a valid policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub why: String,
}

impl Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.why)
    }
}

pub(super) fn policy(text: &[u8]) -> Result<Vec<Placed>, Unreadable> {
    let at_start = |why: &str| Unreadable { line: 1, why: why.into() };
    if text.len() > MAX_LEN {
        return Err(at_start("longer than 64 KiB"));
    }
    let text = str::from_utf8(text).map_err(|e| Unreadable {
        line: text[..e.valid_up_to()].split(|&byte| byte == b'\n').count(),
        why: "not UTF-8".into(),
    })?;
    let line_of = |offset: usize| text.bytes().take(offset).filter(|&byte| byte == b'\n').count() + 1;
    let table = DeTable::parse(text).map_err(|e| Unreadable {
        line: line_of(e.span().map_or(0, |span| span.start)),
        why: e.message().replace('\n', ", "),
    })?;
    let mut demands = Vec::new();
    for (key, value) in table.into_inner() {
        let (line, name) = (line_of(key.span().start), key.into_inner());
        match demand(&name, value.get_ref()) {
            Ok(demand) => demands.push(Placed { line, demand }),
            Err(why) => return Err(Unreadable { line, why: format!("{name}: {why}") }),
        }
    }
    if demands.is_empty() {
        return Err(at_start("it demands nothing"));
    }
    demands.sort_by_key(|placed| placed.line);
    Ok(demands)
}

fn demand(name: &str, value: &DeValue<'_>) -> Result<Demand, String> {
    Ok(match name {
        "formats" => Demand::Formats(words(value, &["luks1", "luks2"])?),
        "ciphers" => Demand::Ciphers(not_empty(texts(value)?)?),
        "modes" => Demand::Modes(not_empty(texts(value)?)?),
        "min-key-bits" => Demand::MinKeyBits(number(value)?),
        "sector-sizes" => Demand::SectorSizes(not_empty(numbers(value)?)?),
        "linear-segments" => only(value, false).map(|()| Demand::NoLinearSegments)?,
        "allowed-flags" => Demand::AllowedFlags(match texts(value)? {
            list if list.is_empty() => list,
            _ => words(value, &PERSISTENT_FLAGS)?,
        }),
        "allowed-tokens" => Demand::AllowedTokens(texts(value)?),
        "uuid" => Demand::Uuid(text(value)?),
        "label" => Demand::Label(text(value)?),
        "subsystem" => Demand::Subsystem(text(value)?),
        "size" => Demand::Size(size(value)?),
        "min-size" => Demand::MinSize(size(value)?),
        "max-size" => Demand::MaxSize(size(value)?),
        "max-keyslots" => Demand::MaxKeyslots(number(value)?),
        "kdfs" => Demand::Kdfs(words(value, &["argon2id", "argon2i", "pbkdf2"])?),
        "min-pbkdf2-iterations" => Demand::MinPbkdf2Iterations(number(value)?),
        "min-argon2-memory" => Demand::MinArgon2Memory(size(value)?),
        "min-argon2-passes" => Demand::MinArgon2Passes(number(value)?),
        "sealed" => only(value, true).map(|()| Demand::Sealed)?,
        "seal-context" => Demand::SealContext(text(value)?),
        _ => return Err(unknown()),
    })
}

fn unknown() -> String {
    let names: Vec<&str> = DEMANDS.iter().map(|(name, _)| *name).collect();
    format!("no such demand; known are {}", names.join(", "))
}

/// Accepts only one value: the other one would demand nothing, but could be read as a demand.
fn only(value: &DeValue<'_>, wanted: bool) -> Result<(), String> {
    match value.as_bool() {
        Some(is) if is == wanted => Ok(()),
        Some(_) => Err(format!("only {wanted} is allowed; omit it otherwise")),
        None => Err(format!("{wanted} is needed")),
    }
}

fn text(value: &DeValue<'_>) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| "a string in quotes is needed".into())
}

fn number(value: &DeValue<'_>) -> Result<u64, String> {
    let number = value.as_integer().and_then(|n| u64::from_str_radix(n.as_str(), n.radix()).ok());
    number.ok_or_else(|| "a whole number is needed".into())
}

fn size(value: &DeValue<'_>) -> Result<u64, String> {
    let needed = || "a number of bytes is needed, or a string such as \"64MiB\"".to_owned();
    let Some(text) = value.as_str() else { return number(value).map_err(|_| needed()) };
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit: u64 = match &text[digits..] {
        "" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        _ => return Err(needed()),
    };
    text[..digits].parse::<u64>().ok().and_then(|n| n.checked_mul(unit)).ok_or_else(needed)
}

fn texts(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    list(value, text, "a list of strings is needed, such as [\"aes\"]")
}

fn numbers(value: &DeValue<'_>) -> Result<Vec<u64>, String> {
    list(value, number, "a list of numbers is needed, such as [512, 4096]")
}

fn list<T>(
    value: &DeValue<'_>,
    item: impl Fn(&DeValue<'_>) -> Result<T, String>,
    needed: &str,
) -> Result<Vec<T>, String> {
    let items = value.as_array().ok_or(needed)?;
    items.iter().map(|value| item(value.get_ref()).map_err(|_| needed.to_owned())).collect()
}

fn not_empty<T>(list: Vec<T>) -> Result<Vec<T>, String> {
    if list.is_empty() { Err("no volume can meet an empty list".into()) } else { Ok(list) }
}

/// A list of some of `known`.
fn words(value: &DeValue<'_>, known: &[&str]) -> Result<Vec<String>, String> {
    let words = not_empty(texts(value)?)?;
    match words.iter().find(|word| !known.contains(&word.as_str())) {
        Some(unknown) => Err(format!("\"{unknown}\" is none of {}", known.join(", "))),
        None => Ok(words),
    }
}
