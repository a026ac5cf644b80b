//! A run as the page presents it: under a unique name, with its cipher figures sorted by
//! circumstances.

use super::super::ranking::{Entry, Group, groups};
use super::words;
use crate::results::{By, Case, CipherCase, Results};

/// A run.
pub(super) struct Run<'a> {
    pub(super) results: &'a Results,
    /// The machine's name, and a number if several have the same name.
    pub(super) name: String,
    /// Ciphers by circumstances.
    pub(super) groups: Vec<Group<'a>>,
}

/// All runs, under their names.
pub(super) fn runs(results: &[Results]) -> Vec<Run<'_>> {
    let name = |(number, one): (usize, &Results)| {
        let name = match one.machine.name.trim() {
            "" => "unnamed machine".to_owned(),
            name => words::cut(name, LONGEST_NAME),
        };
        let others = results[..number].iter().filter(|other| other.machine.name == one.machine.name).count();
        if others == 0 { name } else { format!("{name} ({})", others + 1) }
    };
    let names = results.iter().enumerate().map(name);
    names.zip(results).map(|(name, results)| Run { results, name, groups: groups(results) }).collect()
}

const LONGEST_NAME: usize = 40;

impl<'a> Run<'a> {
    /// The circumstances shown first on the page: those with most ciphers, then one thread, then
    /// long requests, then short sectors.
    pub(super) fn main_group(&self) -> Option<&Group<'a>> {
        let better = |group: &&Group<'_>| {
            let like = group.like;
            (group.entries.len(), like.threads == 1, like.message, std::cmp::Reverse(like.sector_size))
        };
        self.groups.iter().max_by_key(better)
    }

    /// The same circumstances with another number of threads.
    pub(super) fn group_like(&self, like: &CipherCase, threads: u32) -> Option<&Group<'a>> {
        self.groups.iter().find(|group| {
            (group.like.threads, group.like.sector_size, group.like.message)
                == (threads, like.sector_size, like.message)
        })
    }

    /// As many threads as there are CPUs.
    pub(super) fn all_cores(&self) -> u32 {
        self.results.machine.cpus.max(1)
    }

    /// Whether the run has figures for that kind of case.
    pub(super) fn has(&self, kind: impl Fn(&Case) -> bool) -> bool {
        self.results.rows.iter().any(|row| kind(&row.case) && row.measured().is_some())
    }
}

/// The tool's default in the group.
pub(super) fn default_of<'g, 'a>(group: &'g Group<'a>) -> Option<&'g Entry<'a>> {
    group.entries.iter().find(|entry| entry.case.is_default())
}

/// "aes-xts-plain64, 512-bit key"; plus whose code it is, unless it is Keyway's.
pub(in crate::report) fn full_name(case: &CipherCase) -> String {
    format!("{}, {}-bit key{}", case.spec, case.key_bits, by(case))
}

/// The same for a chart: "aes-xts-plain64 512".
pub(super) fn short_name(case: &CipherCase) -> String {
    format!("{} {}{}", case.spec, case.key_bits, by(case))
}

fn by(case: &CipherCase) -> String {
    if case.by == By::Keyway { String::new() } else { format!(" ({})", case.by) }
}

/// "one sector of 512 bytes a call", "128 sectors of 512 bytes a call".
pub(super) fn requests(case: &CipherCase) -> String {
    let sector = words::bytes(u64::from(case.sector_size));
    match case.message / case.sector_size.max(1) {
        0 | 1 => format!("one sector of {sector} a call"),
        sectors => format!("{sectors} sectors of {sector} a call"),
    }
}

/// "1 thread", "8 threads".
pub(super) fn threads(count: u32) -> String {
    words::plural(count as usize, "thread", "threads")
}
