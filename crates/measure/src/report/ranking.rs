//! Ciphers under the same circumstances, fastest first. Ciphers whose order could be due to noise
//! share a place.

use crate::results::{By, Case, CipherCase, Direction, Results};
use crate::stats::{Change, Summary, compare};
use std::collections::HashMap;

/// Ciphers that may be compared: the same number of threads, message size and sector size.
pub(crate) struct Group<'a> {
    /// One of the cases, for its circumstances.
    pub(crate) like: &'a CipherCase,
    /// The entries, fastest first.
    pub(crate) entries: Vec<Entry<'a>>,
}

/// One cipher, in both directions.
pub(crate) struct Entry<'a> {
    /// Its case.
    pub(crate) case: &'a CipherCase,
    /// From 1; shared if noise could explain the order.
    pub(crate) place: usize,
    /// Encryption, if it was measured.
    pub(crate) encrypt: Option<Summary>,
    /// Decryption, if it was measured.
    pub(crate) decrypt: Option<Summary>,
}

impl Entry<'_> {
    /// The figure that the ranking uses: encryption, or decryption if only that was measured.
    pub(crate) fn figure(&self) -> Option<&Summary> {
        self.encrypt.as_ref().or(self.decrypt.as_ref())
    }

    /// "aes-xts-plain64", plus whose code it is, unless it is Keyway's.
    pub(crate) fn name(&self) -> String {
        match &self.case.by {
            By::Keyway => self.case.spec.clone(),
            by => format!("{} ({by})", self.case.spec),
        }
    }
}

/// All groups, in the order of their first appearance in the results.
pub(crate) fn groups(results: &Results) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    // The index of each group, and of each entry in it: a suite of everything has tens of thousands
    // of rows.
    let (mut places, mut entries) = (HashMap::new(), HashMap::new());
    for (case, _, summary) in super::figures(results) {
        let Case::Cipher(case) = case else { continue };
        let place = *places.entry((case.threads, case.sector_size, case.message)).or_insert_with(|| {
            groups.push(Group { like: case, entries: Vec::new() });
            groups.len() - 1
        });
        let group = &mut groups[place].entries;
        let at = *entries.entry((place, &case.by, &case.spec, case.key_bits)).or_insert_with(|| {
            group.push(Entry { case, place: 0, encrypt: None, decrypt: None });
            group.len() - 1
        });
        match case.direction {
            Direction::Encrypt => group[at].encrypt = Some(summary),
            Direction::Decrypt => group[at].decrypt = Some(summary),
        }
    }
    groups.iter_mut().for_each(Group::rank);
    groups
}

impl Group<'_> {
    fn rank(&mut self) {
        let median = |entry: &Entry<'_>| entry.figure().map_or(0.0, |summary| summary.median);
        self.entries.sort_by(|a, b| median(b).total_cmp(&median(a)));
        let mut first_of_its_place = 0;
        for at in 0..self.entries.len() {
            let own = self.entries[at].figure();
            let pair = self.entries[first_of_its_place].figure().zip(own);
            if pair.is_none_or(|(leader, own)| matches!(compare(leader, own, 0.0), Change::By(_))) {
                first_of_its_place = at;
            }
            self.entries[at].place = first_of_its_place + 1;
        }
    }

    /// The highest median: the value of a full bar.
    pub(crate) fn highest(&self) -> f64 {
        let medians = self.entries.iter().flat_map(|entry| [&entry.encrypt, &entry.decrypt]).flatten();
        medians.map(|summary| summary.median).fold(0.0, f64::max)
    }
}
