//! Storage: a line per path under the sizes that are commonly measured with `dd`, followed by what
//! encryption costs there and by the figure expected of disk and cipher together; and a line per
//! path with its latencies for random requests.

use super::{by_key, distinct};
use crate::disk::cost::{self, BySize, Cost};
use crate::disk::model::{self, Model};
use crate::results::{By, Case, DiskCase, Pattern, Results, Row};
use crate::stats::Summary;

/// A table, independent of its output format.
pub(super) struct Table {
    pub(super) title: String,
    /// Names of the columns; the first column names the lines.
    pub(super) head: Vec<String>,
    pub(super) lines: Vec<Vec<String>>,
    /// Sentences below it.
    pub(super) below: Vec<String>,
}

/// All tables of a storage run; empty if it has no such rows.
pub(super) fn tables(results: &Results) -> Vec<Table> {
    let rows = results.rows.iter().filter(|row| row.measured().is_some());
    let places = rows.filter_map(|row| match &row.case {
        Case::Disk(case) => Some(((&case.medium, &case.engine), (case, row))),
        _ => None,
    });
    let tables = by_key(places).into_iter().flat_map(|((medium, engine), rows)| {
        let by = format!("{medium}, requests by {engine}");
        let write = sequential(results, &rows, Pattern::SequentialWrite, &by);
        let read = sequential(results, &rows, Pattern::SequentialRead, &by);
        [write, read, random(results, &rows, &by)]
    });
    tables.flatten().collect()
}

/// What encryption costs, in a sentence, of Keyway's path with the largest sectors; `None` if nothing was
/// encrypted.
pub(super) fn answer(results: &Results) -> Option<String> {
    let cases = results.rows.iter().filter_map(|row| match &row.case {
        Case::Disk(case) if case.by == By::Keyway && row.measured().is_some() => Some((case, row)),
        _ => None,
    });
    let all: Vec<Entry<'_>> = cases.collect();
    let (first, _) = all.iter().max_by_key(|(case, _)| case.sector_size)?;
    let of = |pattern, what| {
        let rows =
            all.iter().filter(|(case, _)| case.sector_size == first.sector_size && case.pattern == pattern);
        let sized = rows.filter_map(|(case, row)| Some((case.total?, cost::rounds(&results.rows, row)?)));
        let by_size = BySize(sized.collect());
        let largest =
            || by_size.0.iter().max_by_key(|(bytes, _)| *bytes).map(|(_, costs)| Cost::of_rounds(costs));
        by_size.cost().or_else(largest)?.in_brief(what)
    };
    let costs = [of(Pattern::SequentialRead, "reading"), of(Pattern::SequentialWrite, "writing")];
    let costs: Vec<String> = costs.into_iter().flatten().collect();
    let spec = first.spec.as_deref().unwrap_or_default();
    let sectors = first.sector_size.map_or_else(String::new, |size| format!(", sectors of {size} bytes"));
    let what = format!("({spec} through Keyway{sectors})");
    Some(match costs.is_empty() {
        true => {
            format!("What encryption costs here is not known: too few rounds fitted into the time {what}.")
        }
        false => format!("Encryption costs {} here {what}.", costs.join(" and ")),
    })
}

type Entry<'a> = (&'a DiskCase, &'a Row);

fn sequential(results: &Results, rows: &[Entry<'_>], pattern: Pattern, by: &str) -> Option<Table> {
    let rows: Vec<&Entry<'_>> = rows.iter().filter(|(case, _)| case.pattern == pattern).collect();
    let mut sizes: Vec<Option<u64>> = rows.iter().map(|(case, _)| case.total).collect();
    // The sustained run is longer than any size.
    sizes.sort_by_key(|size| size.unwrap_or(u64::MAX));
    sizes.dedup();
    let mib = |size: &Option<u64>| size.map_or_else(|| "long".to_owned(), |size| (size >> 20).to_string());
    let head = std::iter::once("MiB".to_owned()).chain(sizes.iter().map(mib)).collect();
    let (mut lines, mut below) = (Vec::new(), Vec::new());
    for path in distinct(rows.iter().map(|(case, _)| name(case))) {
        let of_path =
            |size: &Option<u64>| rows.iter().find(|(case, _)| name(case) == path && case.total == *size);
        let mut line = vec![path.clone()];
        line.extend(sizes.iter().map(|size| of_path(size).map_or_else(none, |(_, row)| speed(median(row)))));
        lines.push(line);
        let here: Vec<Option<&Row>> = sizes.iter().map(|size| Some(of_path(size)?.1)).collect();
        let costs: Vec<Option<Cost>> = here.iter().map(|row| cost::of_row(&results.rows, (*row)?)).collect();
        if costs.iter().all(Option::is_none) {
            continue;
        }
        let cells = costs.iter().map(|cost| cost.map_or_else(none, |cost| cost.cell()));
        lines.push(std::iter::once("  costs".to_owned()).chain(cells).collect());
        let models: Vec<Option<Model>> = here.iter().map(|row| expected(results, (*row)?)).collect();
        if models.iter().any(Option::is_some) {
            let cells = models.iter().map(|model| model.map_or_else(none, |model| speed(model.expected())));
            lines.push(std::iter::once("  c·d/(c+d)".to_owned()).chain(cells).collect());
        }
        below.extend(closing(results, &path, pattern, &sizes, &here));
    }
    if !below.is_empty() {
        below.insert(0, HOW_TO_READ.to_owned());
    }
    let title = format!("{by}: {}, MiB/s", pattern.to_string().replace('-', " "));
    (!lines.is_empty()).then_some(Table { title, head, lines, below })
}

/// What encryption costs on a path, from the rounds under all sizes, and what the model says of it.
fn closing(
    results: &Results,
    path: &str,
    pattern: Pattern,
    sizes: &[Option<u64>],
    rows: &[Option<&Row>],
) -> Option<String> {
    let sized = sizes
        .iter()
        .zip(rows)
        .filter_map(|(size, row)| Some(((*size)?, cost::rounds(&results.rows, (*row)?)?)));
    let by_size = BySize(sized.collect());
    let what = if pattern == Pattern::SequentialRead { "reading" } else { "writing" };
    let model = rows.iter().zip(sizes).filter(|(_, size)| size.is_some());
    let model = model.filter_map(|(row, _)| expected(results, (*row)?)).next_back();
    let beside = by_size.cost().zip(model).and_then(|(cost, model)| cost.beside_model(&model));
    let beside = beside.map_or_else(String::new, |words| format!(" ({words})"));
    Some(format!("{path}: {}{beside}", by_size.sentence(what)?))
}

/// The legend of the lines below a path's.
const HOW_TO_READ: &str = "costs: what of plain's speed is lost in the same rounds, 95 % interval. c·d/(c+d): plain's speed d, \
                           then the cipher's in memory, c, one after the other.";

fn random(results: &Results, rows: &[Entry<'_>], by: &str) -> Option<Table> {
    let ways =
        [(Pattern::RandomRead, "read"), (Pattern::RandomWrite, "write"), (Pattern::RandomMixed, "mixed")];
    let mut lines = Vec::new();
    for (depth, (pattern, way)) in [1, 32].into_iter().flat_map(|depth| ways.map(|way| (depth, way))) {
        let like = rows.iter().filter(|(case, _)| (case.depth, case.pattern) == (depth, pattern));
        lines.extend(
            like.map(|(case, row)| random_line(results, format!("{way} ×{depth} {}", name(case)), row)),
        );
    }
    let head =
        ["", "requests/s", "costs", "c·d/(c+d)", "p50 µs", "p99", "p99.9", "CPU s/GB"].map(str::to_owned);
    let title = format!("{by}: 4 KiB at random");
    (!lines.is_empty()).then_some(Table { title, head: head.into(), lines, below: Vec::new() })
}

fn random_line(results: &Results, name: String, row: &Row) -> Vec<String> {
    let measured = row.measured();
    let latency = |percent| {
        let point = measured.and_then(|measured| measured.latency_at(percent));
        point.map_or_else(none, |microseconds| format!("{microseconds:.0}"))
    };
    let model = expected(results, row).map_or_else(none, |model| format!("{:.0}", model.expected() / 4096.0));
    let cpu = measured.and_then(|measured| measured.cpu_seconds_per_gb);
    let cpu = cpu.map_or_else(none, |cpu| format!("{cpu:.2}"));
    let costs = cost::of_row(&results.rows, row).map_or_else(none, |cost| cost.cell());
    vec![name, format!("{:.0}", median(row)), costs, model, latency(50.0), latency(99.0), latency(99.9), cpu]
}

fn expected(results: &Results, row: &Row) -> Option<Model> {
    model::beside(&results.rows, results.machine.cpus, row)
}

/// "plain", "keyway 512", "dm-crypt 4096 nq": without queues.
fn name(case: &DiskCase) -> String {
    let sector = case.sector_size.map_or_else(String::new, |size| format!(" {size}"));
    let queues = if case.flags.iter().any(|flag| flag == "no_read_workqueue") { " nq" } else { "" };
    format!("{}{sector}{queues}", case.by)
}

/// The name shown beside a reason: of an unavailable path, or of a size that did not fit.
pub(super) fn without_figures(case: &DiskCase) -> String {
    let size = case.total.filter(|_| case.by != By::DmCrypt);
    let size = size.map_or_else(String::new, |total| format!(", {} MiB", total >> 20));
    format!("{} on {}{size}", case.by, case.medium)
}

fn median(row: &Row) -> f64 {
    row.measured().and_then(Summary::of).map_or(0.0, |summary| summary.median)
}

/// MiB/s in at most six columns.
fn speed(bytes_per_second: f64) -> String {
    let mib = bytes_per_second / f64::from(1 << 20);
    if mib < 99.95 { format!("{mib:.1}") } else { format!("{mib:.0}") }
}

fn none() -> String {
    "-".to_owned()
}

impl Table {
    /// As text with aligned columns.
    pub(super) fn terminal(&self) -> String {
        let all = || std::iter::once(&self.head).chain(&self.lines);
        let width = |column: usize| {
            all().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let mut text = format!("\n{}\n", self.title);
        for line in all() {
            let cells = line.iter().zip(&widths).enumerate().map(|(i, (cell, width))| match i {
                0 => format!("{cell:width$}"),
                _ => format!("  {cell:>width$}"),
            });
            text += &(cells.collect::<String>().trim_end().to_owned() + "\n");
        }
        for sentence in &self.below {
            text += &format!("{sentence}\n");
        }
        text
    }

    /// As Markdown.
    pub(super) fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let mut text = format!("\n## {}\n\n", self.title);
        text += &line(&self.head);
        text += &format!("|---|{}\n", "---:|".repeat(self.head.len() - 1));
        text += &self.lines.iter().map(|cells| line(cells)).collect::<String>();
        text += "\n";
        text += &self.below.iter().map(|sentence| format!("- {sentence}\n")).collect::<String>();
        text
    }
}
