//! The tables of the terminal for a README or an issue.

use super::ranking::groups;
use super::{circumstances, figure, label, machine_lines, precision, reasons, wrong};
use crate::results::Results;
use crate::stats::Summary;
use std::fmt::Write;

/// GitHub's Markdown.
pub fn markdown(results: &Results) -> String {
    let mut text = String::from("# Disk encryption, measured\n\n");
    for line in machine_lines(results) {
        let _ = writeln!(text, "- {}", cell(&line));
    }
    for warning in &results.warnings {
        let _ = writeln!(text, "\n> **Warning:** {}", cell(warning));
    }
    for group in groups(results) {
        let head = "| | cipher | key | encrypt MiB/s | | decrypt MiB/s | |\n|--:|---|--:|--:|--:|--:|--:|";
        let _ = writeln!(text, "\n## {}\n\n{head}", circumstances(group.like));
        for entry in &group.entries {
            let mark = if entry.case.is_default() { " **(default)**" } else { "" };
            let (place, name, key) = (entry.place, cell(&entry.name()), entry.case.key_bits);
            let (encrypt, decrypt) = (mib(&entry.encrypt), mib(&entry.decrypt));
            let _ = writeln!(text, "| {place} | {name}{mark} | {key} | {encrypt} | {decrypt} |");
        }
    }
    for table in super::disk::tables(results) {
        text += &table.markdown();
    }
    others(&mut text, results);
    for (title, impossible) in [("Cannot exist", true), ("Not measured", false)] {
        let reasons = reasons(results, impossible);
        if !reasons.is_empty() {
            let _ = writeln!(text, "\n## {title}\n\n| | why |\n|---|---|");
        }
        for (reason, names) in reasons {
            let _ = writeln!(text, "| {} | {} |", cell(&names.join(", ")), cell(&reason));
        }
    }
    for line in wrong(results) {
        let _ = writeln!(text, "\n**Wrong output:** {}", cell(&line));
    }
    text
}

fn others(text: &mut String, results: &Results) {
    let rows = super::others(results);
    if !rows.is_empty() {
        text.push_str("\n## Key derivation and the rest\n\n| | median | |\n|---|--:|--:|\n");
    }
    for (case, unit, summary) in rows {
        let figure = figure(summary.median, unit);
        let _ = writeln!(text, "| {} | {figure} | {} |", cell(&label(case)), precision(&summary));
    }
}

fn mib(summary: &Option<Summary>) -> String {
    match summary {
        Some(summary) => format!("{:.1} | {}", summary.median / f64::from(1 << 20), precision(summary)),
        None => "- | ".to_owned(),
    }
}

/// Escapes characters that would end a cell or start other markup in it.
fn cell(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|").replace('*', "\\*").replace('<', "&lt;")
}
