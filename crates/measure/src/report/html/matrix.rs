//! The whole matrix of ciphers and modes over key and sector sizes, as a heat map.

use super::super::by_key;
use super::chart::{Cell, Heat, HeatRow};
use super::figure::{Table, figure};
use super::run::{Run, threads};
use super::words;
use crate::results::{By, Case, CipherCase, Direction, Outcome, Results};
use crate::stats::Summary;
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

/// Cases and their cells by specification, key size and sector size.
type Cells<'a> = BTreeMap<(&'a str, u32, u32), (&'a CipherCase, Cell)>;

/// The heat map; or several, one per cipher, if there is too much for one.
pub(super) fn matrix(run: &Run<'_>) -> Markup {
    let Some(main) = run.main_group() else { return html! {} };
    let cells = cells(run.results, main.like.threads);
    let specs = specs(&cells);
    if specs.len() < 2 {
        return html! {};
    }
    let text = format!(
        "MiB/s of encryption, {}, the longest requests measured; columns are keys in bits. Each step of colour is the same ratio. × cannot exist: the \
         reasons are below.",
        threads(main.like.threads)
    );
    let by_cipher = by_key(specs.iter().map(|spec| (cipher_of(spec), *spec)));
    html! {
        h2 { "The whole matrix" }
        @if specs.len() <= MOST_ROWS {
            (heat(&cells, &specs, "Ciphers and modes over key and sector sizes", &text))
        } @else {
            p { (text) }
            @for (cipher, specs) in by_cipher {
                details.more {
                    summary { (cipher) ": " (words::plural(specs.len(), "row", "rows")) }
                    (heat(&cells, &specs, &format!("{cipher} over key and sector sizes"), ""))
                }
            }
        }
    }
}

const MOST_ROWS: usize = 72;
/// Columns of one group; a cipher with dozens of key sizes has all of them in its table.
const MOST_KEYS: usize = 7;
const USUAL_KEYS: [u32; 7] = [64, 128, 192, 256, 320, 384, 512];

/// Keyway's encryption with the given number of threads, with the longest requests available for
/// each cell.
fn cells(results: &Results, threads: u32) -> Cells<'_> {
    let mut cells = Cells::new();
    for row in &results.rows {
        let Case::Cipher(case) = &row.case else { continue };
        let cell = match &row.outcome {
            Outcome::Impossible { .. } => Cell::Impossible,
            Outcome::Measured(measured) => match Summary::of(measured) {
                Some(summary) => Cell::Figure(summary.median / words::MIB),
                None => continue,
            },
            _ => continue,
        };
        let fits = case.by == By::Keyway && case.direction == Direction::Encrypt;
        if !fits || cell != Cell::Impossible && case.threads != threads {
            continue;
        }
        let known = cells.entry((&case.spec, case.key_bits, case.sector_size)).or_insert((case, cell));
        if known.0.message < case.message {
            *known = (case, cell);
        }
    }
    cells
}

/// Specifications with a figure, grouped by cipher.
fn specs<'a>(cells: &Cells<'a>) -> Vec<&'a str> {
    let figures = cells.iter().filter(|(_, (_, cell))| matches!(cell, Cell::Figure(_)));
    let mut specs: Vec<&str> = figures.map(|((spec, ..), _)| *spec).collect();
    specs.sort_by_key(|spec| (cipher_of(spec), *spec));
    specs.dedup();
    specs
}

fn cipher_of(spec: &str) -> &str {
    spec.split('-').next().unwrap_or(spec)
}

fn heat(cells: &Cells<'_>, specs: &[&str], title: &str, text: &str) -> Markup {
    let mut table = Table::new("Cipher|Key|Sector|Encrypt, MiB/s");
    let (mut sectors, mut keys) = (BTreeSet::new(), BTreeSet::new());
    let of_spec = |spec| cells.range((spec, 0, 0)..=(spec, u32::MAX, u32::MAX));
    for spec in specs {
        for ((_, key, sector), (_, cell)) in of_spec(*spec) {
            let mut shown = "cannot exist".to_owned();
            if let Cell::Figure(figure) = cell {
                shown = words::digits(*figure);
                sectors.insert(*sector);
                keys.insert(*key);
            }
            table.rows.push(vec![(*spec).to_owned(), key.to_string(), sector.to_string(), shown]);
        }
    }
    if keys.len() > MOST_KEYS {
        keys.retain(|bits| USUAL_KEYS.contains(bits));
    }
    let columns = || sectors.iter().flat_map(|sector| keys.iter().map(|key| (*key, *sector)));
    let rows = specs.iter().enumerate().map(|(number, spec)| HeatRow {
        label: (*spec).to_owned(),
        default: of_spec(*spec).any(|(_, (case, _))| case.default),
        joined: number > 0 && cipher_of(specs[number - 1]) == cipher_of(spec),
        cells: columns().map(|(key, sector)| cell(cells, spec, key, sector)).collect(),
    });
    let chart = Heat {
        groups: sectors.iter().map(|sector| format!("{sector}-byte sectors")).collect(),
        columns: keys.iter().map(ToString::to_string).collect(),
        rows: rows.collect(),
        unit: "MiB/s".to_owned(),
    };
    figure(title, text, &chart, &table)
}

fn cell(cells: &Cells<'_>, spec: &str, key: u32, sector: u32) -> Cell {
    // Impossible combinations are listed with one sector size only.
    let anywhere = || {
        let mut of_key = cells.range((spec, key, 0)..=(spec, key, u32::MAX));
        of_key.find(|(_, (_, cell))| *cell == Cell::Impossible).map(|(_, it)| it)
    };
    cells.get(&(spec, key, sector)).or_else(anywhere).map_or(Cell::Empty, |(_, cell)| *cell)
}
