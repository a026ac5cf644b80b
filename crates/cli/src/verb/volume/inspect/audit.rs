//! `inspect --require`: every demand of every policy and whether it is met, as text and as JSON.

use crate::output::failure::{Exit, Failure, Result};
use crate::output::paint::{Paint, printable};
use crate::output::stdio;
use keyway::trust::{Audit, Judgement, Verdict};
use keyway_format::json::{Object, Value};
use std::fmt::Write;
use std::path::Path;

/// One row per demand.
fn text(audit: &Audit, paint: Paint) -> String {
    let mut text = String::new();
    for (policy, Judgement { rule, line, wanted, found, verdict, .. }) in audit.rows() {
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
pub(super) fn json(audit: &Audit) -> Object {
    let rules = audit.rows().iter().map(|(policy, finding)| {
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
    Object::new().with("met", Value::Bool(audit.is_met())).with("rules", rules)
}

/// Shows the result, and fails with a code of its own if a demand is not met.
pub(super) fn conclude(audit: &Audit, device: &Path) -> Result<()> {
    let device = device.display();
    if audit.is_met() {
        return Ok(());
    }
    let line = match audit.count(Verdict::Violated) {
        0 => format!(
            "Device {device}: only its key can tell whether it meets its policy: --verify asks for it."
        ),
        1 => format!("Device {device}: 1 demand not met."),
        violated => format!("Device {device}: {violated} demands not met."),
    };
    Err(Failure::new(Exit::Unmet, line))
}

/// Prints the rows.
pub(super) fn print(audit: &Audit) -> Result<()> {
    stdio::print(&text(audit, Paint::for_stdout()))
}
