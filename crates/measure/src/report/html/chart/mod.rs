//! Charts as SVG. Each is drawn twice, for a wide page and for a phone, since text that shrinks
//! with the page becomes illegible.

mod bars;
mod heat;
mod lines;
mod pen;

pub(super) use bars::{Bar, BarRow, Bars};
pub(super) use heat::{Cell, Heat, HeatRow};
pub(super) use lines::{Line, Lines, Point, add_point, highest};
pub(super) use pen::Pen;

use super::palette::Ink;
use maud::{Markup, PreEscaped, html};
use plotters::coord::ranged1d::{BoldPoints, Ranged};
use plotters::coord::types::RangedCoordf64;

/// A chart, as high as it needs to be at that width.
pub(super) trait Chart {
    /// Its height at that width.
    fn height(&self, width: Width) -> i32;
    /// Draws it.
    fn paint(&self, pen: &Pen<'_>, width: Width);
}

/// How wide a chart is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    /// A desktop, or paper.
    Wide,
    /// A phone.
    Narrow,
}

impl Width {
    /// The width in the drawing's units, which are pixels on a page that is wide enough.
    pub(super) fn pixels(self) -> i32 {
        match self {
            Self::Wide => 800,
            Self::Narrow => 340,
        }
    }

    fn class(self) -> &'static str {
        match self {
            Self::Wide => "wide",
            Self::Narrow => "narrow",
        }
    }
}

/// Both drawings; the page shows one. `title` and `text` describe the chart for readers who cannot
/// see it.
pub(super) fn drawings(chart: &dyn Chart, title: &str, text: &str) -> Markup {
    html! { @for width in [Width::Wide, Width::Narrow] { (drawing(chart, width, title, text)) } }
}

fn drawing(chart: &dyn Chart, width: Width, title: &str, text: &str) -> Markup {
    let (across, down) = (width.pixels(), chart.height(width));
    let mut svg = String::new();
    let pen = Pen::new(&mut svg, (across, down));
    chart.paint(&pen, width);
    pen.finish();
    html! {
        svg class=(width.class()) viewBox=(format!("0 0 {across} {down}")) role="img" {
            title { (title) }
            desc { (text) }
            (PreEscaped(content(&svg)))
        }
    }
}

/// The markup between the crate's `<svg …>` and `</svg>`, without attributes that only state
/// defaults. Text contains no bare quotes: the crate escapes them.
fn content(svg: &str) -> String {
    const IDLE: [&str; 4] =
        [" opacity=\"1\"", " stroke=\"none\"", " font-family=\"sans-serif\"", " text-anchor=\"start\""];
    let inside = svg.split_once('\n').map_or("", |(_, rest)| rest).trim_end().trim_end_matches("</svg>");
    IDLE.iter().fold(inside.to_owned(), |inside, idle| inside.replace(idle, ""))
}

/// The marks of an axis: round figures from zero to the highest.
pub(super) fn ticks(highest: f64) -> Vec<f64> {
    RangedCoordf64::from(0.0..plausible(highest)).key_points(BoldPoints(TICKS))
}

/// The position of a figure between two pixels.
pub(super) fn place(value: f64, range: (f64, f64), pixels: (i32, i32)) -> i32 {
    RangedCoordf64::from(range.0..range.1).map(&value.clamp(range.0, range.1), pixels)
}

/// Texts below an axis, in the middle of their places; one that would touch the text before it is
/// left out.
fn below(pen: &Pen<'_>, marks: impl Iterator<Item = (i32, String)>, y: i32, gap: i32, width: i32) {
    let mut free = i32::MIN;
    for (x, text) in marks {
        let half = pen::width_of(&text, pen::SMALL) / 2;
        if x - half > free {
            let inside = x.max(half).min(width - half);
            pen.text((inside, y), &text, pen::Side::Middle, Ink::QUIET, pen::SMALL);
            free = x + half + gap;
        }
    }
}

/// A results file may hold any figure; a drawing is finite.
pub(super) fn plausible(value: f64) -> f64 {
    if value.is_finite() { value.clamp(1e-9, 1e21) } else { 1e21 }
}

/// The approximate number of marks on an axis.
const TICKS: usize = 6;

/// Marks and names of series, from left to right on as many lines as needed; returns the height.
pub(super) fn legend(pen: Option<&Pen<'_>>, names: &[String], width: i32) -> i32 {
    if names.len() < 2 {
        return 0;
    }
    let (mut x, mut y) = (0, 0);
    for (number, name) in names.iter().enumerate() {
        let shown = pen::fit(name, width - 24, pen::TEXT);
        let wanted = 18 + pen::width_of(&shown, pen::TEXT) + 16;
        if x > 0 && x + wanted > width {
            (x, y) = (0, y + LEGEND_LINE);
        }
        if let Some(pen) = pen {
            pen.mark((x + 6, y + 8), number, Ink::series(number));
            pen.text((x + 18, y + 8), &shown, pen::Side::Left, Ink::TEXT, pen::TEXT);
        }
        x += wanted;
    }
    y + LEGEND_LINE + 6
}

const LEGEND_LINE: i32 = 18;
