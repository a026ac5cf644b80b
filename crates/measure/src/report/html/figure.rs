//! A chart with a description, and the same figures as a table.

use super::chart::{Chart, drawings};
use maud::{Markup, html};

/// A chart and its table.
pub(super) struct Figure<C> {
    title: String,
    /// How to read it.
    text: String,
    chart: C,
    table: Table,
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
        let numeric: Vec<bool> = (0..self.head.len()).map(|column| self.is_numeric(column)).collect();
        html! {
            div.scroll tabindex="0" role="region" aria-label=(title) {
                table {
                    thead { tr {
                        @for (column, name) in self.head.iter().enumerate() {
                            th scope="col" class=[numeric[column].then_some("n")] { (name) }
                        }
                    } }
                    tbody {
                        @for row in &self.rows {
                            tr { @for (column, text) in row.iter().enumerate() {
                                @if column == self.label { th scope="row" { (text) } }
                                @else { td class=[numeric.get(column).is_some_and(|it| *it).then_some("n")] { (text) } }
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

impl<C: Chart> Figure<C> {
    pub(super) fn new(title: impl Into<String>, text: impl Into<String>, chart: C, table: Table) -> Self {
        Self { title: title.into(), text: text.into(), chart, table }
    }

    pub(super) fn markup(&self) -> Markup {
        html! {
            figure {
                figcaption { strong { (self.title) } @if !self.text.is_empty() { " " (self.text) } }
                (drawings(&self.chart, &self.title, &self.text))
                details {
                    summary { "Table: " (self.title) }
                    (self.table.markup(&self.title))
                }
            }
        }
    }
}
