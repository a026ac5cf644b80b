//! What may be compared: one way to encrypt and the plain storage below it, measured by the same
//! program.

use super::super::super::by_key;
use super::super::run::Run;
use super::{PATTERNS, is_sustained};
use crate::disk::cost::{self, Cost};
use crate::disk::model::{self, Model};
use crate::results::{By, Case, DiskCase, Measured};
use crate::stats::Summary;

/// A figure of storage.
#[derive(Clone)]
pub(in super::super) struct Figured<'a> {
    pub(in super::super) case: &'a DiskCase,
    pub(in super::super) measured: &'a Measured,
    pub(in super::super) summary: Summary,
    /// The path, in words that distinguish it from the others in the comparison.
    pub(in super::super) path: String,
    /// The figure expected of disk and cipher together.
    pub(in super::super) model: Option<Model>,
    /// What encryption costs here, beside plain storage in the same rounds.
    pub(in super::super) cost: Option<Cost>,
}

/// Plain and encrypted storage that may be compared.
pub(in super::super) struct Comparison<'a> {
    /// Who encrypts; `None` if there is plain storage only.
    pub(in super::super) by: Option<By>,
    pub(in super::super) medium: String,
    /// Who makes the requests.
    pub(in super::super) engine: String,
    /// Plain first.
    pub(in super::super) items: Vec<Figured<'a>>,
}

/// All figures of storage, each way to encrypt with the plain storage below it.
pub(in super::super) fn comparisons<'a>(run: &Run<'a>) -> Vec<Comparison<'a>> {
    let keyed = |it: Figured<'a>| ((&it.case.by, &it.case.medium, &it.case.engine), it);
    let (plain, encrypted): (Vec<_>, Vec<_>) =
        figured(run).into_iter().partition(|it| it.case.by == By::Plain);
    let mut alone = plain.clone();
    let mut comparisons: Vec<Comparison<'a>> = Vec::new();
    for ((by, medium, engine), encrypted) in by_key(encrypted.into_iter().map(keyed)) {
        let is_there = |it: &&Figured<'_>| it.case.medium == *medium;
        let by_the_same = plain.iter().filter(is_there).any(|it| it.case.engine == *engine);
        let below = |it: &&Figured<'_>| is_there(it) && (!by_the_same || it.case.engine == *engine);
        alone.retain(|it| !below(&it));
        let items = plain.iter().filter(below).cloned().chain(encrypted).collect();
        comparisons.push(Comparison::new(Some(by.clone()), medium, engine, items));
    }
    for ((_, medium, engine), items) in by_key(alone.into_iter().map(keyed)) {
        comparisons.push(Comparison::new(None, medium, engine, items));
    }
    comparisons
}

fn figured<'a>(run: &Run<'a>) -> Vec<Figured<'a>> {
    let results = run.results;
    let of_row = |row: &'a crate::Row| {
        let (Case::Disk(case), Some(measured)) = (&row.case, row.measured()) else { return None };
        let (summary, path) = (Summary::of(measured)?, String::new());
        let model = model::beside(&results.rows, results.machine.cpus, row);
        let cost = cost::of_row(&results.rows, row);
        Some(Figured { case, measured, summary, path, model, cost })
    };
    results.rows.iter().filter_map(of_row).collect()
}

impl<'a> Comparison<'a> {
    fn new(by: Option<By>, medium: &str, engine: &str, mut items: Vec<Figured<'a>>) -> Self {
        items.sort_by_key(|it| PATTERNS.iter().position(|pattern| *pattern == it.case.pattern));
        let mut comparison = Self { by, medium: medium.to_owned(), engine: engine.to_owned(), items };
        comparison.name();
        comparison
    }
    /// Names its paths as briefly as possible while keeping them distinct.
    fn name(&mut self) {
        let differ = |of: fn(&DiskCase) -> String| {
            let mut seen = self.items.iter().filter(|it| it.case.by != By::Plain).map(|it| of(it.case));
            let first = seen.next();
            seen.any(|other| Some(other) != first)
        };
        let ciphers = differ(|case| format!("{:?} {:?}", case.spec, case.key_bits));
        let sectors = differ(|case| format!("{:?}", case.sector_size));
        let engines = self.items.iter().any(|it| it.case.engine != self.engine);
        let all = |flag: &&String| self.items.iter().all(|it| it.case.flags.contains(*flag));
        let first = self.items.first().into_iter().flat_map(|first| &first.case.flags);
        let everywhere: Vec<String> = first.filter(all).cloned().collect();
        for it in &mut self.items {
            let case = it.case;
            it.path = case.by.to_string();
            if let (true, Some(spec)) = (ciphers, &case.spec) {
                it.path += &format!(" {spec}");
                it.path += &case.key_bits.map_or_else(String::new, |bits| format!(" {bits}"));
            }
            if let (true, Some(size)) = (sectors, case.sector_size) {
                it.path += &format!(", {size} B sectors");
            }
            for flag in flags(case).iter().filter(|flag| !everywhere.contains(flag)) {
                it.path += &format!(", {flag}");
            }
            if engines {
                it.path += &format!(", by {}", case.engine);
            }
        }
    }
}

/// The flags that distinguish a path; both dm-crypt queue flags become one word. The length of the
/// run is not part of the path.
fn flags(case: &DiskCase) -> Vec<String> {
    const QUEUES: [&str; 2] = ["no_read_workqueue", "no_write_workqueue"];
    let none = QUEUES.iter().all(|queue| case.flags.iter().any(|flag| flag == queue));
    let own = |flag: &&String| !(none && QUEUES.contains(&flag.as_str()));
    let not_time = |flag: &&String| !(is_sustained(case) && *flag == crate::disk::path::SUSTAINED);
    let rest = case.flags.iter().filter(own).filter(not_time).cloned();
    none.then(|| "no queues".to_owned()).into_iter().chain(rest).collect()
}
