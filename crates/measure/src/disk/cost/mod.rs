//! What encryption costs: the part of plain storage's speed that is lost behind it.
//!
//! In a round every path takes one sample of the same bytes, one path after the other: whatever
//! slows the storage down in that round slows all of them. So the cost is that of the rounds,
//! 1 − encrypted/plain in each, and its interval is that of their median, by order statistics as
//! everywhere ([`crate::stats`]): of three to five rounds it is wide. The samples of a sustained run are its parts, which no round
//! joins: there the ends of both medians' intervals bound the cost.
//!
//! Everything that is said about a cost is said from its interval, here: a sentence cannot
//! contradict the figures.

use super::model::Model;
use super::path::{SUSTAINED, is_plain_of};
use crate::results::{By, Case, Measured, Row};
use crate::stats::{SMALLEST, Summary, summarise};
use std::fmt;

/// The cost as a part of plain storage's speed: 0.1 is ten percent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cost {
    /// The median of all rounds, and its 95 % interval.
    Known {
        /// The median.
        part: f64,
        /// The lower end of the interval.
        low: f64,
        /// Its upper end.
        high: f64,
    },
    /// Too few rounds for an interval.
    TooFew {
        /// How many there are.
        rounds: usize,
    },
}

impl Cost {
    /// The cost of some rounds.
    pub fn of_rounds(costs: &[f64]) -> Self {
        let summary = summarise(costs);
        let known = summary.and_then(|it| Some((it.median, it.interval?)));
        known.map_or(Self::TooFew { rounds: costs.len() }, |(part, (low, high))| Self::Known {
            part,
            low,
            // Nothing loses more than all.
            high: high.min(1.0),
        })
    }

    /// The cost in two runs whose samples were not taken in turn.
    fn of_runs(plain: &Summary, encrypted: &Summary) -> Self {
        let rounds = plain.count.min(encrypted.count);
        let (Some(a), Some(b)) = (plain.interval, encrypted.interval) else { return Self::TooFew { rounds } };
        let part = 1.0 - encrypted.median / plain.median;
        Self::Known { part, low: 1.0 - b.1 / a.0, high: 1.0 - b.0 / a.1 }
    }

    /// The interval.
    pub fn interval(&self) -> Option<(f64, f64)> {
        match *self {
            Self::Known { low, high, .. } => Some((low, high)),
            Self::TooFew { .. } => None,
        }
    }

    /// Whether noise alone explains it.
    pub fn is_noise(&self) -> bool {
        self.interval().is_some_and(|(low, high)| low <= 0.0 && high >= 0.0)
    }

    /// Whether the two could be the same.
    pub fn agrees(&self, other: &Self) -> bool {
        let pair = self.interval().zip(other.interval());
        pair.is_none_or(|(a, b)| a.0 <= b.1 && b.0 <= a.1)
    }

    /// For a column: "8–17 %", "noise", "3 of 6".
    pub fn cell(&self) -> String {
        match self {
            Self::TooFew { rounds } => format!("{rounds} of {SMALLEST}"),
            Self::Known { .. } if self.is_noise() => "noise".to_owned(),
            Self::Known { part, low, high } => range(*low, *high, digits(*part)),
        }
    }

    /// What it does to `what`: "costs 12 % (8–17 %) of sequential reading".
    pub fn sentence(&self, what: &str) -> String {
        let digits = match self {
            Self::Known { part, .. } => digits(*part),
            Self::TooFew { .. } => 0,
        };
        let percent = |part: f64| format!("{:.digits$} %", 100.0 * part);
        match *self {
            Self::TooFew { rounds } => {
                let of = format!("{rounds} of the {SMALLEST} rounds that an interval needs");
                format!("what encryption costs in {what} is not known: {of}")
            }
            Self::Known { low, high, .. } if self.is_noise() => {
                format!("no difference beyond noise in {what} ({})", range(low, high, digits))
            }
            Self::Known { part, low, high } if part < 0.0 => format!(
                "encryption costs nothing of {what}, which was even {} ({}) faster than plain",
                percent(-part),
                range(-high, -low, digits)
            ),
            Self::Known { part, low, high } => {
                format!("encryption costs {} ({}) of {what}", percent(part), range(low, high, digits))
            }
        }
    }

    /// The same for one who wants no interval: "about 12 % of reading"; nothing if it is not known.
    pub(crate) fn in_brief(&self, what: &str) -> Option<String> {
        match *self {
            Self::TooFew { .. } => None,
            Self::Known { part, .. } if self.is_noise() || part <= 0.0 => {
                Some(format!("nothing measurable of {what}"))
            }
            Self::Known { part, .. } => Some(format!("about {:.*} % of {what}", digits(part), 100.0 * part)),
        }
    }

    /// What the model says of it; nothing if the cost is not known.
    pub(crate) fn beside_model(&self, model: &Model) -> Option<String> {
        let ((low, high), expected) = (self.interval()?, model.cost());
        let (whose, cipher) = (model.whose, model.cipher / f64::from(1 << 20));
        let verdict = if expected < low {
            "something besides the cipher slows it down"
        } else if expected > high {
            "disk and cipher work at the same time, or the cipher uses more cores"
        } else {
            "the cipher alone explains it"
        };
        let expected = 100.0 * expected;
        Some(format!(
            "first the disk, then {whose} at the {cipher:.0} MiB/s that it reached in memory, would cost \
             {expected:.1} %: {verdict}"
        ))
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cell())
    }
}

/// Decimals of a percentage.
fn digits(part: f64) -> usize {
    if part.abs() >= 0.0995 { 0 } else { 1 }
}

/// "8–17 %"; a minus sign would not be told from the dash.
fn range(low: f64, high: f64, digits: usize) -> String {
    let [low, high] = [low, high].map(|part| 100.0 * part);
    let between = if low < 0.0 || high < 0.0 { " to " } else { "–" };
    format!("{low:.digits$}{between}{high:.digits$} %").replace("-0 ", "0 ").replace("-0.0 ", "0.0 ")
}

/// The costs of each round of an encrypted row, beside the plain row of the same run, of the same
/// requests by the same engine.
pub fn rounds(rows: &[Row], row: &Row) -> Option<Vec<f64>> {
    let (plain, encrypted) = pair(rows, row)?;
    let both = plain.samples.iter().zip(&encrypted.samples);
    Some(both.map(|(plain, encrypted)| 1.0 - encrypted / plain).collect())
}

/// The cost of encryption in one encrypted row.
pub fn of_row(rows: &[Row], row: &Row) -> Option<Cost> {
    let (plain, encrypted) = pair(rows, row)?;
    match is_sustained(row) {
        true => Some(Cost::of_runs(&Summary::of(plain)?, &Summary::of(encrypted)?)),
        false => rounds(rows, row).map(|costs| Cost::of_rounds(&costs)),
    }
}

fn is_sustained(row: &Row) -> bool {
    matches!(&row.case, Case::Disk(case) if case.flags.iter().any(|flag| flag == SUSTAINED))
}

fn pair<'a>(rows: &'a [Row], row: &'a Row) -> Option<(&'a Measured, &'a Measured)> {
    let Case::Disk(case) = &row.case else { return None };
    let same = |other: &&Row| matches!(&other.case, Case::Disk(plain) if is_plain_of(plain, case));
    let plain = rows.iter().find(same).filter(|_| case.by != By::Plain)?;
    Some((plain.measured()?, row.measured()?))
}

/// The costs of one path under several amounts of data, and what they say together.
pub(crate) struct BySize(pub Vec<(u64, Vec<f64>)>);

impl BySize {
    /// The cost of all rounds; `None` if it depends on the amount of data: if two of them, or one
    /// and all rounds together, cannot be the same.
    pub(crate) fn cost(&self) -> Option<Cost> {
        let all: Vec<f64> = self.0.iter().flat_map(|(_, costs)| costs).copied().collect();
        let together = Cost::of_rounds(&all);
        let each: Vec<Cost> = self.0.iter().map(|(_, costs)| Cost::of_rounds(costs)).collect();
        let is_lost = |cost: &Cost| cost.interval().is_some() && !cost.is_noise();
        let hides = together.is_noise() && each.iter().any(is_lost);
        let agree = each.iter().all(|one| one.agrees(&together) && each.iter().all(|it| it.agrees(one)));
        (!all.is_empty() && agree && !hides).then_some(together)
    }

    /// Of all rounds, or, if the cost depends on the amount of data, of the smallest and of the
    /// largest amount for which it is known.
    pub(crate) fn sentence(&self, what: &str) -> Option<String> {
        let mib = |bytes: u64| bytes >> 20;
        let (first, last) = (self.0.first()?.0, self.0.last()?.0);
        let Some(cost) = self.cost() else {
            let each = self.0.iter().map(|(bytes, costs)| (*bytes, Cost::of_rounds(costs)));
            let mut known = each.filter(|(_, cost)| cost.interval().is_some());
            let of = |(bytes, cost): (u64, Cost)| cost.sentence(&format!("{what} {} MiB", mib(bytes)));
            let first = known.next().map(of)?;
            return Some(known.next_back().map_or(first.clone(), |last| format!("{first}; {}", of(last))));
        };
        let amounts = match first == last {
            true => format!("{} MiB", mib(last)),
            false => format!("{} to {} MiB", mib(first), mib(last)),
        };
        let rounds: usize = self.0.iter().map(|(_, costs)| costs.len()).sum();
        let rounds = cost.interval().map_or_else(String::new, |_| format!(", {rounds} rounds"));
        Some(cost.sentence(&format!("{what} {amounts}")) + &rounds)
    }
}

#[cfg(test)]
mod tests;
