//! Storage: encrypted beside plain, by data size, for random requests, latencies of single
//! requests, what limits it, and its processor time.

mod compare;
mod latency;
mod limits;
mod sizes;

pub(super) use compare::{Comparison, Figured, comparisons};

use super::super::distinct;
use super::run::Run;
use super::words;
use crate::disk::path::SUSTAINED;
use crate::results::{By, DiskCase, Pattern, Unit};
use maud::{Markup, html};

/// Everything about storage.
pub(super) fn storage(run: &Run<'_>) -> Markup {
    let all = comparisons(run);
    if all.is_empty() {
        return html! {};
    }
    html! {
        h2 { "Storage, plain and encrypted" }
        p {
            "Plain and encrypted storage in the same run, on the same bytes, in turn. The cost of encryption \
             is the part of plain's speed lost in the same rounds, with its 95 % interval; where both are \
             alike, it is processor time alone. The comparison is between requests of one program to the same storage."
        }
        @for (number, one) in all.iter().enumerate() {
            @let like = |other: &&Comparison<'_>| other.short() == one.short();
            @let before = all[..number].iter().filter(like).count();
            @let of = match (all.len(), before) {
                (1, _) => String::new(),
                (_, 0) => format!(" ({})", one.short()),
                (_, before) => format!(" ({}, {})", one.short(), before + 1),
            };
            (comparison(one, &of))
        }
    }
}

/// `of` distinguishes the titles of its charts from those of other comparisons.
fn comparison(one: &Comparison<'_>, of: &str) -> Markup {
    let (sized, other): (Vec<_>, Vec<_>) = one.items.iter().partition(|it| it.case.total.is_some());
    html! {
        h3 { (one.title()) }
        p { (one.about()) }
        @for pattern in PATTERNS {
            @let over_size: Vec<_> = sized.iter().filter(|it| it.case.pattern == pattern).copied().collect();
            @if !over_size.is_empty() { (sizes::over_sizes(&over_size, pattern, of)) }
        }
        @for unit in [Unit::BytesPerSecond, Unit::RequestsPerSecond] {
            @let of_unit: Vec<_> = other.iter().filter(|it| it.measured.unit == unit).copied().collect();
            @if !of_unit.is_empty() { (sizes::requests(&of_unit, unit, of)) }
        }
        (latency::curves(&one.items, of))
        (limits::limits(&one.items, of))
        (limits::processor(&one.items, of))
    }
}

pub(super) const PATTERNS: [Pattern; 5] = [
    Pattern::SequentialRead,
    Pattern::SequentialWrite,
    Pattern::RandomRead,
    Pattern::RandomWrite,
    Pattern::RandomMixed,
];

impl Comparison<'_> {
    /// "Through Keyway, on a file".
    fn title(&self) -> String {
        let medium = medium(&self.medium);
        match &self.by {
            None => format!("Plain, on {medium}"),
            Some(By::Keyway) => format!("Through Keyway, on {medium}"),
            Some(By::DmCrypt) => format!("Through the kernel's dm-crypt, on {medium}"),
            Some(by) => format!("Through {by}, on {medium}"),
        }
    }

    /// The text that distinguishes its charts from those of other comparisons.
    fn short(&self) -> &'static str {
        match &self.by {
            None => "plain",
            Some(By::Keyway) => "Keyway",
            Some(By::DmCrypt) => "dm-crypt",
            Some(_) => "others",
        }
    }

    /// What holds for the whole comparison.
    fn about(&self) -> String {
        let spec = |it: &Figured<'_>| {
            Some(format!("{} with a {}-bit key", it.case.spec.as_ref()?, it.case.key_bits?))
        };
        let specs = distinct(self.items.iter().filter_map(spec));
        let by = if self.engine == "keyway" { "Keyway's own engine" } else { &self.engine };
        let mut text = format!("Requests by {by}.");
        if !specs.is_empty() {
            text += &format!(" Encrypted with {}.", words::list(&specs));
        }
        let has = |flag: &str| self.items.iter().any(|it| it.case.flags.iter().any(|known| known == flag));
        if has("no_read_workqueue") && has("no_write_workqueue") {
            text += " “No queues” is dm-crypt with no_read_workqueue and no_write_workqueue: the requesting \
                thread encrypts.";
        }
        if has("buffered") {
            text += " Through the page cache, which was dropped before each read.";
        }
        if self.items.iter().any(|it| it.measured.checked.starts_with("nothing")) {
            text += " This device stores no data: written data could not be checked.";
        }
        text
    }
}

/// The common name of a medium.
fn medium(medium: &str) -> &str {
    match medium {
        "file" => "a file",
        "loop" => "a loop device",
        "brd" => "a RAM disk (brd)",
        "block device" => "a block device",
        other => other,
    }
}

pub(super) fn pattern_name(pattern: Pattern) -> String {
    match pattern {
        Pattern::RandomMixed => "random, 70 % reads".to_owned(),
        other => other.to_string().replace('-', " "),
    }
}

/// "4 KiB requests, depth 32"; a long run is marked as such.
pub(super) fn load(case: &DiskCase) -> String {
    let block = words::bytes(u64::from(case.block));
    let sustained = if is_sustained(case) { ", sustained" } else { "" };
    format!("{block} requests, depth {}{sustained}", case.depth)
}

/// "Random read, 4 KiB, depth 32".
fn way(case: &DiskCase) -> String {
    capital(&pattern_name(case.pattern)) + ", " + &load(case).replacen(" requests", "", 1)
}

/// How much was read or written, if that ended the run.
fn amount(case: &DiskCase) -> String {
    case.total.map_or_else(String::new, words::bytes)
}

fn is_sustained(case: &DiskCase) -> bool {
    case.flags.iter().any(|flag| flag == SUSTAINED)
}

/// Of several data sizes the largest for which a path has figures, and everything else.
fn largest<'i, 'a>(items: &'i [Figured<'a>]) -> impl Iterator<Item = &'i Figured<'a>> {
    let but_size = |case: &DiskCase| DiskCase { total: None, ..case.clone() };
    items.iter().filter(move |it| {
        let larger = |other: &&Figured<'_>| other.case.total > it.case.total;
        !items.iter().filter(larger).any(|other| but_size(other.case) == but_size(it.case))
    })
}

/// Capitalises the first letter.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
