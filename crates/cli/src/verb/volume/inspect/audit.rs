//! `inspect --require`: every demand of every policy, and whether it is met.

use crate::say::failure::{Exit, Failure, Result};
use crate::say::output;
use crate::say::paint::{Paint, printable};
use keyway_format::json::{Object, Value};
use keyway_volume::admission::{Required, findings};
use keyway_volume::policy::{Finding, Subject, Verdict};
use keyway_volume::{DataDevice, Luks};
use std::fmt::Write;
use std::path::Path;

/// The results of the policies.
pub(super) struct Audit {
    /// Each finding, with the name of its policy.
    rows: Vec<(String, Finding)>,
}

impl Audit {
    /// `None` if nothing is demanded.
    pub(super) fn of(policies: &[Required], luks: &Luks, data: DataDevice, key: Subject<'_>) -> Option<Self> {
        if policies.is_empty() {
            return None;
        }
        // A volume that needs an exemption by option to be opened fails every policy as well.
        let built_in = findings(luks, Some(data)).into_iter().map(|finding| {
            let found = finding.to_string();
            let wanted = "a volume that needs no exemption".to_owned();
            (
                "keyway".to_owned(),
                Finding { rule: "built-in", line: 0, wanted, found, verdict: Verdict::Violated },
            )
        });
        let mut rows: Vec<_> = built_in.collect();
        for required in policies {
            let found = required.policy.audit(key).into_iter();
            rows.extend(found.map(|finding| (required.name.clone(), finding)));
        }
        Some(Self { rows })
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|(_, finding)| finding.verdict == verdict).count()
    }

    fn met(&self) -> bool {
        self.count(Verdict::Met) == self.rows.len()
    }

    /// One row per demand.
    pub(super) fn text(&self, paint: Paint) -> String {
        let mut text = String::new();
        for (policy, Finding { rule, line, wanted, found, verdict }) in &self.rows {
            let mark = match verdict {
                Verdict::Met => paint.good("ok       "),
                Verdict::Violated => paint.bad("violated "),
                Verdict::NeedsKey => paint.warning("needs key"),
            };
            let (policy, wanted, found) = (printable(policy), printable(wanted), printable(found));
            let place = if *line > 0 { format!("{policy}:{line}") } else { policy };
            let _ = writeln!(text, "{mark}  {place}  {rule} = {wanted}  {found}");
        }
        text
    }

    /// The same as JSON.
    pub(super) fn json(&self) -> Object {
        let rules = self.rows.iter().map(|(policy, finding)| {
            let verdict = match finding.verdict {
                Verdict::Met => "ok",
                Verdict::Violated => "violated",
                Verdict::NeedsKey => "needs-key",
            };
            let line = Value::Number(finding.line.to_string());
            let object = Object::new()
                .with("policy", policy.as_str())
                .with("line", line)
                .with("rule", finding.rule)
                .with("wanted", finding.wanted.as_str())
                .with("found", finding.found.as_str())
                .with("verdict", verdict);
            Value::from(object)
        });
        let rules: Vec<Value> = rules.collect();
        Object::new().with("met", Value::Bool(self.met())).with("rules", rules)
    }

    /// Shows the result, and fails with a code of its own if a demand is not met.
    pub(super) fn conclude(&self, device: &Path) -> Result<()> {
        let device = device.display();
        if self.met() {
            return Ok(());
        }
        let line = match self.count(Verdict::Violated) {
            0 => format!(
                "Device {device}: only its key can tell whether it meets its policy: --verify asks for it."
            ),
            1 => format!("Device {device}: 1 demand not met."),
            violated => format!("Device {device}: {violated} demands not met."),
        };
        Err(Failure::new(Exit::Unmet, line))
    }

    /// Prints the rows.
    pub(super) fn print(&self) -> Result<()> {
        output::print(&self.text(Paint::for_stdout()))
    }
}
