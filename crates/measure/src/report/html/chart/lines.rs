//! Lines over an ordered axis: sizes, cores, parts of all requests.

use super::super::palette::{Ink, SERIES};
use super::bars::axis_figure;
use super::pen::{self, Pen, Side, fit, width_of};
use super::{Chart, Width, below, legend, place, plausible, ticks};

/// Several lines, at most [`SERIES`], which is how many can be distinguished.
#[derive(Debug, Default)]
pub(in super::super) struct Lines {
    /// The name of the horizontal axis.
    pub(in super::super) across: String,
    /// Its marks: the position and the label.
    pub(in super::super) marks: Vec<(f64, String)>,
    /// The value of one unit of the vertical axis.
    pub(in super::super) per: f64,
    pub(in super::super) unit: String,
    /// Whether the vertical axis is logarithmic: each step is ten times the previous one.
    pub(in super::super) by_tens: bool,
    pub(in super::super) lines: Vec<Line>,
}

#[derive(Debug)]
pub(in super::super) struct Line {
    pub(in super::super) name: String,
    /// The points from left to right.
    pub(in super::super) points: Vec<Point>,
}

#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Point {
    /// The position on the horizontal axis.
    pub(in super::super) at: f64,
    pub(in super::super) value: f64,
    /// The ends of the whiskers.
    pub(in super::super) interval: Option<(f64, f64)>,
}

/// The highest point of all.
pub(in super::super) fn highest(lines: &[Line]) -> f64 {
    lines.iter().flat_map(|line| &line.points).map(|point| point.value).fold(0.0, f64::max)
}

struct Layout {
    left: i32,
    right: i32,
    top: i32,
    bottom: i32,
    across: (f64, f64),
    up: (f64, f64),
    by_tens: bool,
}

/// Room for the figures of the vertical axis, if they are not wider.
const LEFT: i32 = 52;
const PLOT: i32 = 240;
const BELOW: i32 = 40;
const LETTER: i32 = 15;

/// Adds a point to the line of that name, unless there are more lines than can be distinguished.
pub(in super::super) fn add_point(lines: &mut Vec<Line>, name: &str, point: Point) {
    match lines.iter().position(|line| line.name == name) {
        Some(at) => lines[at].points.push(point),
        None if lines.len() < SERIES => lines.push(Line { name: name.to_owned(), points: vec![point] }),
        None => {}
    }
}

impl Lines {
    fn names(&self) -> Vec<String> {
        self.lines.iter().map(|line| line.name.clone()).collect()
    }

    /// Names are at the ends of the lines if there is room, otherwise above the chart.
    fn legend(&self, pen: Option<&Pen<'_>>, width: Width) -> i32 {
        match width {
            Width::Wide => 0,
            Width::Narrow => legend(pen, &self.names(), width.pixels()),
        }
    }

    fn layout(&self, width: Width) -> Layout {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let high = |point: &Point| point.interval.map_or(point.value, |it| it.1.max(point.value));
        let highest = plausible(points().map(high).fold(0.0, f64::max)) / self.per;
        let lowest = plausible(points().map(|point| point.value).fold(f64::INFINITY, f64::min)) / self.per;
        let up = match self.by_tens {
            true => (lowest.log10().floor(), highest.log10().ceil().max(lowest.log10().floor() + 1.0)),
            false => (0.0, rounded_up(highest)),
        };
        let (first, last) = self
            .marks
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |ends, (at, _)| (ends.0.min(*at), ends.1.max(*at)));
        let names = self.names().iter().map(|name| width_of(name, pen::TEXT) + 24).max().unwrap_or(0);
        let beside = if width == Width::Wide { names.min(270) } else { 14 };
        let (right, top) = (width.pixels() - beside, self.legend(None, width) + 20);
        let across = if first < last { (first, last) } else { (first - 1.0, first + 1.0) };
        let widest =
            levels(up, self.by_tens).into_iter().map(|level| width_of(&axis_figure(level), pen::SMALL));
        let left = (widest.max().unwrap_or(0) + 12).max(LEFT);
        Layout { left, right, top, bottom: top + PLOT, across, up, by_tens: self.by_tens }
    }

    fn axes(&self, pen: &Pen<'_>, layout: &Layout, width: i32) {
        for level in levels(layout.up, self.by_tens) {
            let (y, text) = (layout.y(level), axis_figure(level));
            pen.line((layout.left, y), (layout.right, y), Ink::GRID, 1);
            pen.text((layout.left - 8, y), &text, Side::Right, Ink::QUIET, pen::SMALL);
        }
        pen.text((0, layout.top - 12), &self.unit, Side::Left, Ink::QUIET, pen::SMALL);
        let bottom = layout.bottom;
        let marks = self.marks.iter().map(|(at, text)| (layout.x(*at), text.clone()));
        let marks = marks.inspect(|(x, _)| pen.line((*x, bottom), (*x, bottom + 4), Ink::QUIET, 1));
        below(pen, marks, bottom + 13, 6, width);
        let middle = (layout.left + layout.right) / 2;
        pen.text((middle, bottom + 30), &self.across, Side::Middle, Ink::QUIET, pen::SMALL);
    }

    fn line(&self, pen: &Pen<'_>, layout: &Layout, number: usize, line: &Line) {
        let ink = Ink::series(number);
        let spot = |point: &Point| (layout.x(point.at), layout.y(point.value / self.per));
        if line.points.len() > 1 {
            pen.path(line.points.iter().map(spot).collect(), ink, 2);
        }
        for point in &line.points {
            let (x, y) = spot(point);
            if let Some((low, high)) = point.interval {
                let (low, high) = (layout.y(low / self.per), layout.y(high / self.per));
                // The mark would cover anything shorter.
                if low - high > 10 {
                    pen.whiskers((x, low), (x, high));
                }
            }
            pen.mark((x, y), number, ink);
        }
    }

    /// Names at the ends of the lines, moved apart where they would overlap.
    fn at_the_ends(&self, pen: &Pen<'_>, layout: &Layout) {
        let last = |(number, line): (usize, &Line)| {
            line.points.last().map(|point| (layout.y(point.value / self.per), number))
        };
        let mut ends: Vec<(i32, usize)> = self.lines.iter().enumerate().filter_map(last).collect();
        ends.sort_unstable();
        let mut free = i32::MIN;
        let overfull = ends.len() as i32 * LETTER > layout.bottom - layout.top;
        for (at, (y, number)) in ends.iter().enumerate() {
            let below = (ends.len() - 1 - at) as i32 * LETTER;
            let wanted = if overfull { *y } else { (*y).min(layout.bottom - below) };
            let y = wanted.max(free);
            free = y + LETTER;
            let room = Width::Wide.pixels() - layout.right - 20;
            let name = fit(&self.lines[*number].name, room, pen::TEXT);
            pen.text((layout.right + 14, y), &name, Side::Left, Ink::series(*number), pen::TEXT);
        }
    }
}

/// The marks of the vertical axis.
fn levels(up: (f64, f64), by_tens: bool) -> Vec<f64> {
    match by_tens {
        true => (up.0 as i32..=up.1 as i32).map(|power| 10_f64.powi(power)).collect(),
        false => ticks(up.1),
    }
}

/// Rounds up to the next mark, so the axis ends with one.
fn rounded_up(highest: f64) -> f64 {
    let step = ticks(highest).get(1).copied().unwrap_or(highest);
    (highest / step).ceil() * step
}

impl Layout {
    fn x(&self, at: f64) -> i32 {
        place(at, self.across, (self.left + 8, self.right - 4))
    }

    fn y(&self, value: f64) -> i32 {
        let value = plausible(value);
        place(if self.by_tens { value.log10() } else { value }, self.up, (self.bottom, self.top))
    }
}

impl Chart for Lines {
    fn height(&self, width: Width) -> i32 {
        self.layout(width).bottom + BELOW
    }

    fn paint(&self, pen: &Pen<'_>, width: Width) {
        self.legend(Some(pen), width);
        let layout = self.layout(width);
        self.axes(pen, &layout, width.pixels());
        for (number, line) in self.lines.iter().enumerate() {
            self.line(pen, &layout, number, line);
        }
        if width == Width::Wide {
            self.at_the_ends(pen, &layout);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests of a second, as a busy machine has them: 1.00 million µs.
    #[test]
    fn wide_figures_have_room_beside_the_axis() {
        let point = |value| Point { at: 0.0, value, interval: None };
        let lines = |highest| Lines {
            per: 1.0,
            by_tens: true,
            marks: vec![(0.0, "50 %".into())],
            lines: vec![Line { name: "plain".into(), points: vec![point(80.0), point(highest)] }],
            ..Lines::default()
        };
        assert_eq!(lines(900.0).layout(Width::Wide).left, LEFT);
        let left = lines(900_000.0).layout(Width::Wide).left;
        assert!(left - 8 >= width_of("1.00 million", pen::SMALL), "{left}");
    }
}
