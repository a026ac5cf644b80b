//! What may be compared: one way to encrypt and the plain storage below it, measured by the same
//! program.

use super::super::run::Run;
use super::{PATTERNS, is_sustained};
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
    let all = figured(run);
    let is_plain = |it: &Figured<'_>| it.case.by == By::Plain;
    let mut comparisons: Vec<Comparison<'a>> = Vec::new();
    let encrypted = || all.iter().filter(|it| !is_plain(it));
    let mut compared = vec![false; all.len()];
    for it in encrypted() {
        let of = |one: &Comparison<'_>| {
            (one.by.as_ref(), &one.medium, &one.engine)
                == (Some(&it.case.by), &it.case.medium, &it.case.engine)
        };
        if comparisons.iter().any(of) {
            continue;
        }
        let like = |other: &Figured<'_>, engine: bool| {
            other.case.medium == it.case.medium && (!engine || other.case.engine == it.case.engine)
        };
        let by_the_same = all.iter().any(|other| is_plain(other) && like(other, true));
        let mut items = Vec::new();
        for (number, other) in all.iter().enumerate() {
            if is_plain(other) && like(other, by_the_same) {
                compared[number] = true;
                items.push(other.clone());
            }
        }
        items.extend(encrypted().filter(|other| other.case.by == it.case.by && like(other, true)).cloned());
        comparisons.push(Comparison {
            by: Some(it.case.by.clone()),
            medium: it.case.medium.clone(),
            engine: it.case.engine.clone(),
            items,
        });
    }
    let alone = all.iter().zip(compared).filter(|(it, compared)| is_plain(it) && !compared);
    for (it, _) in alone {
        let (medium, engine) = (&it.case.medium, &it.case.engine);
        let of =
            |one: &&mut Comparison<'_>| one.by.is_none() && (&one.medium, &one.engine) == (medium, engine);
        match comparisons.iter_mut().find(of) {
            Some(one) => one.items.push(it.clone()),
            None => {
                let (medium, engine) = (medium.clone(), engine.clone());
                comparisons.push(Comparison { by: None, medium, engine, items: vec![it.clone()] });
            }
        }
    }
    for one in &mut comparisons {
        one.items.sort_by_key(|it| PATTERNS.iter().position(|pattern| *pattern == it.case.pattern));
        one.name();
    }
    comparisons
}

fn figured<'a>(run: &Run<'a>) -> Vec<Figured<'a>> {
    let results = run.results;
    let of_row = |row: &'a crate::Row| match (&row.case, row.measured()) {
        (Case::Disk(case), Some(measured)) => Some(Figured {
            case,
            measured,
            summary: Summary::of(measured)?,
            path: String::new(),
            model: model::beside(&results.rows, results.machine.cpus, row),
        }),
        _ => None,
    };
    results.rows.iter().filter_map(of_row).collect()
}

impl Comparison<'_> {
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
        let everywhere: Vec<String> = match self.items.first() {
            Some(first) => {
                let all = |flag: &&String| self.items.iter().all(|it| it.case.flags.contains(*flag));
                first.case.flags.iter().filter(all).cloned().collect()
            }
            None => Vec::new(),
        };
        for it in &mut self.items {
            let case = it.case;
            let mut path = match &case.by {
                By::Plain => "plain".to_owned(),
                by => by.to_string(),
            };
            if let (true, Some(spec)) = (ciphers, &case.spec) {
                path += &format!(" {spec}");
                path += &case.key_bits.map_or_else(String::new, |bits| format!(" {bits}"));
            }
            if let (true, Some(size)) = (sectors, case.sector_size) {
                path += &format!(", {size} B sectors");
            }
            for flag in flags(case).iter().filter(|flag| !everywhere.contains(flag)) {
                path += &format!(", {flag}");
            }
            if engines {
                path += &format!(", by {}", case.engine);
            }
            it.path = path;
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
