//! Every demand of every policy, whether it is met or not: for those who judge a volume without
//! opening it.

use super::{DataDevice, Required, findings};
use crate::Luks;
use crate::trust::policy::{Judgement, Subject, Verdict};

/// The result of each demand on a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audit {
    rows: Vec<(String, Judgement)>,
}

impl Audit {
    /// Judges `subject`, the volume whose header `luks` is, by all policies; `None` if there are
    /// none. A volume that needs an exemption to be opened fails every policy as well: that stands
    /// first, under the name "keyway".
    pub fn of(policies: &[Required], luks: &Luks, data: DataDevice, subject: Subject<'_>) -> Option<Self> {
        if policies.is_empty() {
            return None;
        }
        let built_in = findings(luks, Some(data)).into_iter().map(|finding| {
            let (wanted, found) = ("a volume that needs no exemption".to_owned(), finding.to_string());
            let (rule, verdict) = ("built-in", Verdict::Violated);
            let finding = Judgement { rule, line: 0, wanted, found, verdict, broken: None };
            ("keyway".to_owned(), finding)
        });
        let demanded = policies.iter().flat_map(|required| {
            required.policy.audit(subject).into_iter().map(|finding| (required.name.clone(), finding))
        });
        Some(Self { rows: built_in.chain(demanded).collect() })
    }

    /// Each finding, with the name of its policy.
    pub fn rows(&self) -> &[(String, Judgement)] {
        &self.rows
    }

    /// How many demands have this result.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|(_, finding)| finding.verdict == verdict).count()
    }

    /// Whether every demand is met.
    pub fn is_met(&self) -> bool {
        self.count(Verdict::Met) == self.rows.len()
    }
}
