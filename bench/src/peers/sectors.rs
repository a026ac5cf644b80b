//! AES on sectors in cache, one thread: keyway-crypto beside aws-lc's
//! EVP. Every sector has its own IV.

use crate::engine::sectors::{Direction, Subject};
use crate::foreign::Peer;
use crate::options::Options;
use crate::rounds::{Case, Goal, Unit};
use crate::samples::rate;

pub(crate) fn cases(options: &Options) -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, spec, key) in [("AES-256-XTS", "aes-xts-plain64", 64), ("AES-256-CBC", "aes-cbc-plain64", 32)]
    {
        for sector in [4096, 512] {
            for direction in [Direction::Encrypt, Direction::Decrypt] {
                let title = format!("{name} {}, sectors of {sector}", direction.name());
                if options.wants(&title) {
                    let wanted = (key == 64).then_some(if sector == 4096 { 1.25 } else { 2.2 });
                    cases.push(case(title, Subject { spec, key, sector, direction, run: RUN }, wanted));
                }
            }
        }
    }
    cases
}

fn case(title: String, subject: Subject<'_>, wanted: Option<f64>) -> Case {
    // The same cipher without IVs or chaining: as fast as the AES units go.
    let limit = Subject { spec: "aes-ecb", key: 32, ..subject };
    let sample = |subject: &Subject<'_>| subject.keyway().map(|work| Box::new(rate(RUN, work)) as _);
    Case::new(title, Unit::Megabytes, ROUNDS)
        .entering("keyway", sample(&subject))
        .entering("aws-lc EVP", subject.peer(Peer::AwsLc).map(|work| Box::new(rate(RUN, work)) as _))
        .wanting(wanted.map(Goal::RatioAtLeast))
        .entering("keyway aes-ecb (limit)", sample(&limit))
}

/// Fits the second-level cache, and is as long as a run of the streaming pipeline may be.
const RUN: usize = 128 << 10;
const ROUNDS: usize = 21;
