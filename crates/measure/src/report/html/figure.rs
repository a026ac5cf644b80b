//! A chart with a description, and the same figures as a table.

use super::chart::{Chart, drawings};
use maud::{Markup, html};

/// A chart, how to read it, and its table.
pub(super) fn figure(title: &str, text: &str, chart: &dyn Chart, table: &Table) -> Markup {
    html! {
        figure {
            figcaption { strong { (title) } @if !text.is_empty() { " " (text) } }
            (drawings(chart, title, text))
            details { summary { "Table: " (title) } (table.markup(title)) }
        }
    }
}

/// A table.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) head: Vec<String>,
    /// The column that names the row.
    pub(super) label: usize,
    pub(super) rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table; `head` is the column names, separated by bars.
    pub(super) fn new(head: &str) -> Self {
        Self { head: head.split('|').map(str::to_owned).collect(), ..Self::default() }
    }

    /// Scrollable if it is too wide for the page, also by keyboard.
    pub(super) fn markup(&self, title: &str) -> Markup {
        let class = |column| self.is_numeric(column).then_some("n");
        let classes: Vec<Option<&str>> = (0..self.head.len()).map(class).collect();
        html! {
            div.scroll tabindex="0" role="region" aria-label=(title) {
                table {
                    thead { tr {
                        @for (name, class) in self.head.iter().zip(&classes) { th scope="col" class=[class] { (name) } }
                    } }
                    tbody {
                        @for row in &self.rows {
                            tr { @for (column, text) in row.iter().enumerate() {
                                @if column == self.label { th scope="row" { (text) } }
                                @else { td class=[classes.get(column).copied().flatten()] { (text) } }
                            } }
                        }
                    }
                }
            }
        }
    }

    fn is_numeric(&self, column: usize) -> bool {
        let cells = || self.rows.iter().filter_map(|row| row.get(column)).filter(|text| !text.is_empty());
        column != self.label
            && cells().next().is_some()
            && cells().all(|text| text.starts_with(|c: char| c.is_ascii_digit() || "±×–+-".contains(c)))
    }
}
