//! Bars from zero, with whiskers for the 95 % interval of the median, and the figure at the end of
//! each bar.

use super::super::palette::{Ink, SERIES};
use super::super::words;
use super::pen::{self, Pen, Side, fit, width_of};
use super::{Chart, Width, below, legend, place, plausible, ticks};
use crate::results::Unit;
use crate::stats::Summary;

/// Horizontal bars, several per row.
#[derive(Debug, Default)]
pub(in super::super) struct Bars {
    /// The names of the bars in a row; a single series needs no legend.
    pub(in super::super) series: Vec<String>,
    pub(in super::super) rows: Vec<BarRow>,
    /// The value of one unit of the axis.
    pub(in super::super) per: f64,
    pub(in super::super) unit: String,
}

#[derive(Debug, Default)]
pub(in super::super) struct BarRow {
    /// The place in a ranking.
    pub(in super::super) place: Option<usize>,
    pub(in super::super) label: String,
    /// Whether this is the tool's default.
    pub(in super::super) default: bool,
    pub(in super::super) bars: Vec<Bar>,
}

#[derive(Debug)]
pub(in super::super) struct Bar {
    /// The index of the series.
    pub(in super::super) series: usize,
    pub(in super::super) value: f64,
    /// The ends of the whiskers.
    pub(in super::super) interval: Option<(f64, f64)>,
    /// The text at the end of the bar.
    pub(in super::super) text: String,
}

/// The positions of the parts.
struct Layout {
    /// A label's own line above the bars; 0 if it is beside them.
    above: i32,
    /// Where bars begin …
    left: i32,
    /// … and where the longest ends.
    right: i32,
    /// The width of the drawing.
    whole: i32,
    highest: f64,
}

const BAR: i32 = 10;
const PITCH: i32 = 14;
const AXIS: i32 = 34;
const LABELS: i32 = 280;

impl Bars {
    /// Bars of one series, with an axis for the highest of them.
    pub(in super::super) fn of(rows: Vec<BarRow>, unit: Unit) -> Self {
        let mut bars = Self { rows, ..Self::default() };
        (bars.per, bars.unit) = words::axis(bars.highest(), unit);
        bars
    }

    /// Names both series, if any row has bars of both.
    pub(in super::super) fn name_series(&mut self, names: [&str; 2]) {
        if self.rows.iter().any(|row| row.bars.len() > 1) {
            self.series = names.map(str::to_owned).into();
        }
    }

    /// The row with that label, added if missing.
    pub(in super::super) fn labelled(&mut self, label: &str) -> &mut BarRow {
        let known = self.rows.iter().position(|row| row.label == label);
        let at = known.unwrap_or(self.rows.len());
        if known.is_none() {
            self.rows.push(BarRow { label: label.to_owned(), ..BarRow::default() });
        }
        &mut self.rows[at]
    }

    /// Adds a bar to the row with that label, unless there are more series than can be
    /// distinguished.
    pub(in super::super) fn push(&mut self, series: &str, label: &str, bar: impl FnOnce(usize) -> Bar) {
        let known = self.series.iter().position(|known| known == series);
        let number = known.unwrap_or(self.series.len());
        if number == SERIES {
            return;
        }
        if known.is_none() {
            self.series.push(series.to_owned());
        }
        self.labelled(label).bars.push(bar(number));
    }

    /// The longest bar.
    pub(in super::super) fn highest(&self) -> f64 {
        self.rows.iter().map(BarRow::highest).fold(0.0, f64::max)
    }

    fn layout(&self, width: Width) -> Layout {
        let bars = || self.rows.iter().flat_map(|row| &row.bars);
        let highest = bars().map(|bar| bar.interval.map_or(bar.value, |it| it.1.max(bar.value)));
        let highest = plausible(highest.fold(0.0, f64::max));
        let texts = bars().map(|bar| width_of(&bar.text, pen::SMALL)).max().unwrap_or(0);
        let right = width.pixels() - texts - 10;
        let labels = self.rows.iter().map(|row| width_of(&row.label, row.letters())).max().unwrap_or(0);
        // Labels go beside the bars if there is room, otherwise above them.
        let beside = width == Width::Wide && labels <= LABELS;
        let (above, left) = if beside { (0, labels + self.places() + 10) } else { (17, 0) };
        Layout { above, left, right, whole: width.pixels(), highest }
    }

    /// Room for places.
    fn places(&self) -> i32 {
        if self.rows.iter().any(|row| row.place.is_some()) { 26 } else { 0 }
    }

    fn axis(&self, pen: &Pen<'_>, layout: &Layout, top: i32, bottom: i32) {
        let ticks = ticks(layout.highest / self.per).into_iter();
        let marks = ticks.map(|tick| (layout.x(tick * self.per), axis_figure(tick)));
        let marks = marks.inspect(|(x, _)| pen.line((*x, top), (*x, bottom), Ink::GRID, 1));
        below(pen, marks, bottom + 9, 8, layout.whole);
        pen.text((layout.left, bottom + 25), &self.unit, Side::Left, Ink::QUIET, pen::SMALL);
    }

    fn row(&self, pen: &Pen<'_>, layout: &Layout, row: &BarRow, top: i32) {
        let middle = if layout.above > 0 { top + 8 } else { top + row.height() / 2 };
        let room = if layout.above > 0 { layout.whole } else { layout.left - 10 };
        let mut x = 0;
        if let Some(place) = row.place {
            pen.text((18, middle), &place.to_string(), Side::Right, Ink::QUIET, pen::TEXT);
            x = self.places();
        }
        let label = fit(&row.label, room - x, row.letters());
        pen.text((x, middle), &label, Side::Left, Ink::TEXT, row.letters());
        for (number, bar) in row.bars.iter().enumerate() {
            self.bar(pen, layout, bar, top + layout.above + number as i32 * PITCH + 2);
        }
    }

    fn bar(&self, pen: &Pen<'_>, layout: &Layout, bar: &Bar, top: i32) {
        let end = layout.x(bar.value).max(layout.left + 1);
        pen.block((layout.left, top), (end, top + BAR), Ink::series(bar.series));
        let middle = top + BAR / 2;
        let mut free = end;
        if let Some((low, high)) = bar.interval {
            let (low, high) = (layout.x(low), layout.x(high));
            // Whiskers narrower than their own line would only look like the end of the bar.
            if high - low > 1 {
                pen.whiskers((low, middle), (high, middle));
            }
            free = free.max(high);
        }
        pen.text((free + 6, middle), &bar.text, Side::Left, Ink::TEXT, pen::SMALL);
    }
}

impl Bar {
    /// A median with its figure.
    pub(in super::super) fn of(series: usize, summary: &Summary, unit: Unit) -> Self {
        let text = format!("{} {}", words::short(summary.median, unit), words::precision(summary));
        Self { series, value: summary.median, interval: summary.interval, text: text.trim_end().to_owned() }
    }
}

impl BarRow {
    pub(in super::super) fn highest(&self) -> f64 {
        self.bars.iter().map(|bar| bar.value).fold(0.0, f64::max)
    }

    fn letters(&self) -> i32 {
        pen::letters(self.default)
    }

    fn height(&self) -> i32 {
        self.bars.len() as i32 * PITCH
    }
}

impl Layout {
    fn x(&self, value: f64) -> i32 {
        place(plausible(value), (0.0, self.highest), (self.left, self.right))
    }

    fn gap(&self) -> i32 {
        if self.above > 0 { 7 } else { 9 }
    }
}

impl Chart for Bars {
    fn height(&self, width: Width) -> i32 {
        let layout = self.layout(width);
        let rows: i32 = self.rows.iter().map(|row| row.height() + layout.above + layout.gap()).sum();
        legend(None, &self.series, width.pixels()) + rows + AXIS
    }

    fn paint(&self, pen: &Pen<'_>, width: Width) {
        let layout = self.layout(width);
        let mut top = legend(Some(pen), &self.series, width.pixels());
        self.axis(pen, &layout, top, self.height(width) - AXIS);
        for row in &self.rows {
            self.row(pen, &layout, row, top);
            top += row.height() + layout.above + layout.gap();
        }
    }
}

/// A round figure, without trailing zeros.
pub(super) fn axis_figure(tick: f64) -> String {
    if tick >= 1e6 { words::count(tick) } else { words::trimmed(format!("{tick:.6}")) }
}
