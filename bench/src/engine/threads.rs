//! Two threads beside one, on wall time: what a second core brings
//! when nothing is shared but the key.

use super::sectors::{CIPHERS, Direction, Subject};
use crate::options::Options;
use crate::rounds::{Case, Goal, Unit};
use crate::samples::rate_of_threads;

pub(crate) fn cases(options: &Options) -> Vec<Case> {
    let mut cases = Vec::new();
    for cipher in CIPHERS {
        let title = format!("two threads, {} encrypt 4096", cipher.name);
        if !options.wants(&title) {
            continue;
        }
        let direction = Direction::Encrypt;
        let subject =
            Subject { spec: cipher.spec, key: cipher.key, sector: 4096, direction, run: cipher.run };
        let on =
            |threads| subject.keyway().map(|work| Box::new(rate_of_threads(threads, subject.run, work)) as _);
        let case = Case::new(title, Unit::Megabytes, options.rounds)
            .entering("keyway", on(2))
            .entering("keyway, one thread", on(1))
            .wanting(Goal::RatioAtLeast(1.9));
        cases.push(case);
    }
    cases
}
