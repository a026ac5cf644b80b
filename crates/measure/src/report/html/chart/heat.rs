//! A matrix of figures, each on a colour that shows its magnitude. Steps are equal ratios: a cipher
//! twice as fast is always the same number of steps away.

use super::super::palette::{Ink, STEPS};
use super::super::words;
use super::pen::{self, Pen, Side, fit, width_of};
use super::{Chart, Width};

/// Rows of cells, under columns in groups.
#[derive(Debug, Default)]
pub(in super::super) struct Heat {
    /// Names of groups of columns; on a phone they are stacked.
    pub(in super::super) groups: Vec<String>,
    /// Names of the columns, the same in each group.
    pub(in super::super) columns: Vec<String>,
    pub(in super::super) rows: Vec<HeatRow>,
    pub(in super::super) unit: String,
}

#[derive(Debug)]
pub(in super::super) struct HeatRow {
    pub(in super::super) label: String,
    /// Whether this is the tool's default.
    pub(in super::super) default: bool,
    /// Whether this row belongs to the row above.
    pub(in super::super) joined: bool,
    /// The cells, group by group.
    pub(in super::super) cells: Vec<Cell>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) enum Cell {
    Empty,
    /// The combination cannot exist.
    Impossible,
    Figure(f64),
}

const CELL: i32 = 20;
const HEAD: i32 = 40;
const GAP: i32 = 6;
const SCALE: i32 = 46;

impl Heat {
    fn range(&self) -> (f64, f64) {
        let figures = self.rows.iter().flat_map(|row| &row.cells).filter_map(|cell| match cell {
            Cell::Figure(figure) => Some(*figure),
            _ => None,
        });
        figures.fold((f64::INFINITY, 0.0), |(low, high), figure| (low.min(figure), high.max(figure)))
    }

    fn step(&self, figure: f64) -> usize {
        let (low, high) = self.range();
        let part = (figure / low).ln() / (high / low).ln();
        if part.is_finite() { ((part * STEPS as f64) as usize).min(STEPS - 1) } else { STEPS - 1 }
    }

    fn labels(&self, width: Width) -> i32 {
        let widest = self.rows.iter().map(|row| width_of(&row.label, row.letters())).max().unwrap_or(0) + 10;
        widest.min(if width == Width::Wide { 280 } else { 150 })
    }

    /// The rows of a group that begins at `top`, each with its upper edge.
    fn tops(&self, top: i32) -> impl Iterator<Item = (i32, &HeatRow)> {
        let mut y = top + HEAD - CELL;
        self.rows.iter().map(move |row| {
            y += CELL + if row.joined { 0 } else { GAP };
            (y, row)
        })
    }

    fn group_height(&self) -> i32 {
        self.tops(0).last().map_or(HEAD, |(y, _)| y + CELL) + 14
    }

    /// One group of columns with its labels, from `left` to `right`.
    fn group(&self, pen: &Pen<'_>, number: usize, (left, right): (i32, i32), top: i32) {
        let columns = self.columns.len();
        // Few columns need not fill the page.
        let each = ((right - left) / columns.max(1) as i32).min(90);
        let name = fit(&self.groups[number], right - left, pen::TEXT);
        pen.text((left, top + 8), &name, Side::Left, Ink::TEXT, pen::TEXT);
        for (column, name) in self.columns.iter().enumerate() {
            let x = left + column as i32 * each;
            pen.text((x + each / 2, top + 27), name, Side::Middle, Ink::QUIET, pen::SMALL);
        }
        for (y, row) in self.tops(top) {
            let cells = row.cells.iter().skip(number * columns).take(columns);
            for (column, cell) in cells.enumerate() {
                self.cell(pen, *cell, (left + column as i32 * each, y), each);
            }
        }
    }

    fn cell(&self, pen: &Pen<'_>, cell: Cell, (x, y): (i32, i32), width: i32) {
        let middle = (x + width / 2, y + CELL / 2);
        let block = |ink| pen.block((x, y), (x + width - 1, y + CELL - 1), ink);
        match cell {
            Cell::Empty => {}
            Cell::Impossible => {
                block(Ink::NOTHING);
                pen.text(middle, "×", Side::Middle, Ink::QUIET, pen::SMALL);
            }
            Cell::Figure(figure) => {
                let step = self.step(figure);
                block(Ink::heat(step));
                let text = if figure < 9.95 { format!("{figure:.1}") } else { format!("{figure:.0}") };
                if width_of(&text, pen::SMALL) <= width + 3 {
                    pen.text(middle, &text, Side::Middle, Ink::on_heat(step), pen::SMALL);
                }
            }
        }
    }

    fn row_labels(&self, pen: &Pen<'_>, width: Width, top: i32) {
        for (y, row) in self.tops(top) {
            let label = fit(&row.label, self.labels(width) - 4, row.letters());
            pen.text((0, y + CELL / 2), &label, Side::Left, Ink::TEXT, row.letters());
        }
    }

    /// The legend of the colours.
    fn scale(&self, pen: &Pen<'_>, top: i32) {
        let (low, high) = self.range();
        let each = 26;
        for step in 0..STEPS {
            let x = step as i32 * each;
            pen.block((x, top), (x + each, top + 12), Ink::heat(step));
        }
        let end = STEPS as i32 * each;
        pen.text((0, top + 23), &words::digits(low), Side::Left, Ink::QUIET, pen::SMALL);
        pen.text((end, top + 23), &words::digits(high), Side::Right, Ink::QUIET, pen::SMALL);
        pen.text((end + 10, top + 6), &self.unit, Side::Left, Ink::QUIET, pen::SMALL);
    }
}

impl HeatRow {
    fn letters(&self) -> i32 {
        pen::letters(self.default)
    }
}

impl Chart for Heat {
    fn height(&self, width: Width) -> i32 {
        let groups = if width == Width::Wide { 1 } else { self.groups.len() as i32 };
        self.group_height() * groups + SCALE
    }

    fn paint(&self, pen: &Pen<'_>, width: Width) {
        let (labels, right) = (self.labels(width), width.pixels());
        let widest = 90 * self.columns.len() as i32 + 16;
        let each = ((right - labels) / self.groups.len().max(1) as i32).min(widest);
        for number in 0..self.groups.len() {
            let left = labels + number as i32 * each;
            let (ends, top) = match width {
                Width::Wide => ((left, left + each - 16), 0),
                Width::Narrow => ((labels, right), number as i32 * self.group_height()),
            };
            if number == 0 || top > 0 {
                self.row_labels(pen, width, top);
            }
            self.group(pen, number, ends, top);
        }
        self.scale(pen, self.height(width) - SCALE + 14);
    }
}
