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
        match width {
            Width::Wide => widest.min(280),
            Width::Narrow => widest.min(150),
        }
    }

    fn rows_height(&self) -> i32 {
        self.rows.iter().map(|row| CELL + if row.joined { 0 } else { GAP }).sum()
    }

    /// One group of columns with its labels, from `left` to `right`.
    fn group(&self, pen: &Pen<'_>, number: usize, (left, right): (i32, i32), top: i32) {
        let columns = self.columns.len() as i32;
        // Few columns need not fill the page.
        let each = ((right - left) / columns.max(1)).min(90);
        let name = fit(&self.groups[number], right - left, pen::TEXT);
        pen.text((left, top + 8), &name, Side::Left, Ink::Text, pen::TEXT);
        for (column, name) in self.columns.iter().enumerate() {
            let middle = left + column as i32 * each + each / 2;
            pen.text((middle, top + 27), name, Side::Middle, Ink::Quiet, pen::SMALL);
        }
        let mut y = top + HEAD;
        for row in &self.rows {
            y += if row.joined { 0 } else { GAP };
            for column in 0..self.columns.len() {
                let cell = row.cells.get(number * self.columns.len() + column);
                let x = left + column as i32 * each;
                self.cell(pen, cell.copied().unwrap_or(Cell::Empty), (x, y), each);
            }
            y += CELL;
        }
    }

    fn cell(&self, pen: &Pen<'_>, cell: Cell, (x, y): (i32, i32), width: i32) {
        let middle = (x + width / 2, y + CELL / 2);
        let block = |ink| pen.block((x, y), (x + width - 1, y + CELL - 1), ink);
        match cell {
            Cell::Empty => {}
            Cell::Impossible => {
                block(Ink::Nothing);
                pen.text(middle, "×", Side::Middle, Ink::Quiet, pen::SMALL);
            }
            Cell::Figure(figure) => {
                let step = self.step(figure);
                block(Ink::Heat(step));
                let text = if figure < 9.95 { format!("{figure:.1}") } else { format!("{figure:.0}") };
                if width_of(&text, pen::SMALL) <= width + 3 {
                    pen.text(middle, &text, Side::Middle, Ink::OnHeat(step), pen::SMALL);
                }
            }
        }
    }

    fn row_labels(&self, pen: &Pen<'_>, width: Width, top: i32) {
        let mut y = top + HEAD;
        for row in &self.rows {
            y += if row.joined { 0 } else { GAP };
            let label = fit(&row.label, self.labels(width) - 4, row.letters());
            pen.text((0, y + CELL / 2), &label, Side::Left, Ink::Text, row.letters());
            y += CELL;
        }
    }

    /// The legend of the colours.
    fn scale(&self, pen: &Pen<'_>, top: i32) {
        let (low, high) = self.range();
        let each = 26;
        for step in 0..STEPS {
            let x = step as i32 * each;
            pen.block((x, top), (x + each, top + 12), Ink::Heat(step));
        }
        let end = STEPS as i32 * each;
        pen.text((0, top + 23), &words::digits(low), Side::Left, Ink::Quiet, pen::SMALL);
        pen.text((end, top + 23), &words::digits(high), Side::Right, Ink::Quiet, pen::SMALL);
        pen.text((end + 10, top + 6), &self.unit, Side::Left, Ink::Quiet, pen::SMALL);
    }
}

impl HeatRow {
    fn letters(&self) -> i32 {
        if self.default { pen::BOLD } else { pen::TEXT }
    }
}

impl Chart for Heat {
    fn height(&self, width: Width) -> i32 {
        let group = HEAD + self.rows_height() + 14;
        match width {
            Width::Wide => group + SCALE,
            Width::Narrow => group * self.groups.len() as i32 + SCALE,
        }
    }

    fn paint(&self, pen: &Pen<'_>, width: Width) {
        let (labels, right) = (self.labels(width), width.pixels());
        let groups = self.groups.len().max(1) as i32;
        self.row_labels(pen, width, 0);
        for number in 0..self.groups.len() {
            match width {
                Width::Wide => {
                    let each = ((right - labels) / groups).min(90 * self.columns.len() as i32 + 16);
                    let left = labels + number as i32 * each;
                    self.group(pen, number, (left, left + each - 16), 0);
                }
                Width::Narrow => {
                    let top = number as i32 * (HEAD + self.rows_height() + 14);
                    if number > 0 {
                        self.row_labels(pen, width, top);
                    }
                    self.group(pen, number, (labels, right), top);
                }
            }
        }
        self.scale(pen, self.height(width) - SCALE + 14);
    }
}
