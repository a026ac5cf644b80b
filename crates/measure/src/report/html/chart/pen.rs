//! Drawing primitives for charts: positions in pixels, and colours by purpose.

use super::super::palette::Ink;
use plotters::coord::Shift;
use plotters::prelude::{
    Circle, DrawingArea, IntoDrawingArea, PathElement, Polygon, Rectangle, SVGBackend, Text,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontStyle, IntoFont, RGBColor, ShapeStyle, TextStyle};

/// A drawing in progress. Drawing to text cannot fail; the crate's results for drawings that can
/// fail are ignored.
pub(in super::super) struct Pen<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
}

/// A position in pixels, from the left and from the top.
pub(super) type Spot = (i32, i32);

/// Which side of a text is at its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Middle,
    Right,
}

/// Sizes of letters in pixels.
pub(super) const TEXT: i32 = 12;
pub(super) const SMALL: i32 = 11;
/// Bold letters, for emphasis.
pub(super) const BOLD: i32 = -12;

/// The letters of a row's label: bold for the tool's default.
pub(super) fn letters(default: bool) -> i32 {
    if default { BOLD } else { TEXT }
}

impl<'a> Pen<'a> {
    /// A pen for a drawing of that size; the markup goes to `svg`.
    pub(super) fn new(svg: &'a mut String, (across, down): Spot) -> Self {
        let size = (across.max(1) as u32, down.max(1) as u32);
        Self { area: SVGBackend::with_string(svg, size).into_drawing_area() }
    }

    /// Completes the drawing.
    pub(super) fn finish(self) {
        let _ = self.area.present();
    }

    pub(super) fn line(&self, from: Spot, to: Spot, ink: Ink, width: u32) {
        self.path(vec![from, to], ink, width);
    }

    pub(super) fn path(&self, spots: Vec<Spot>, ink: Ink, width: u32) {
        let style = RGBColor::from(ink).stroke_width(width);
        let _ = self.area.draw(&PathElement::new(spots, style));
    }

    /// A filled rectangle from the upper left corner to the lower right.
    pub(super) fn block(&self, from: Spot, to: Spot, ink: Ink) {
        let _ = self.area.draw(&Rectangle::new([from, to], filled(ink)));
    }

    /// The number of a series as a shape, which repeats what the colour says.
    pub(super) fn mark(&self, (x, y): Spot, number: usize, ink: Ink) {
        let polygon = |spots: Vec<Spot>| drop(self.area.draw(&Polygon::new(spots, filled(ink))));
        match number % 6 {
            0 => drop(self.area.draw(&Circle::new((x, y), 5, filled(ink)))),
            1 => self.block((x - 4, y - 4), (x + 5, y + 5), ink),
            2 => polygon(vec![(x - 5, y + 4), (x + 5, y + 4), (x, y - 5)]),
            3 => polygon(vec![(x, y - 6), (x + 6, y), (x, y + 6), (x - 6, y)]),
            4 => polygon(vec![(x - 5, y - 4), (x + 5, y - 4), (x, y + 5)]),
            _ => drop(self.area.draw(&Circle::new((x, y), 4, RGBColor::from(ink).stroke_width(2)))),
        }
    }

    /// Writes text, vertically centred.
    pub(super) fn text(&self, spot: Spot, text: &str, side: Side, ink: Ink, size: i32) {
        let across = match side {
            Side::Left => HPos::Left,
            Side::Middle => HPos::Center,
            Side::Right => HPos::Right,
        };
        let letters = if size < 0 { FontStyle::Bold } else { FontStyle::Normal };
        // The crate reduces the font size by this factor when it writes SVG.
        let font = ("sans-serif", f64::from(size.abs()) * 1.24, letters).into_font();
        let colour = RGBColor::from(ink);
        let style = TextStyle::from(font).color(&colour).pos(Pos::new(across, VPos::Center));
        let _ = self.area.draw(&Text::new(text.to_owned(), spot, style));
    }

    /// A thin line with ends, over a bar (`across`) or a point.
    pub(super) fn whiskers(&self, from: Spot, to: Spot) {
        self.line(from, to, Ink::TEXT, 1);
        for (x, y) in [from, to] {
            let (dx, dy) = if from.1 == to.1 { (0, 3) } else { (3, 0) };
            self.line((x - dx, y - dy), (x + dx, y + dy), Ink::TEXT, 1);
        }
    }
}

fn filled(ink: Ink) -> ShapeStyle {
    RGBColor::from(ink).filled()
}

/// The approximate width of a text: the reader's font is unknown, so a high estimate.
pub(super) fn width_of(text: &str, size: i32) -> i32 {
    (text.chars().count() as f64 * per_letter(size)).ceil() as i32
}

/// As much of a text as fits.
pub(super) fn fit(text: &str, room: i32, size: i32) -> String {
    super::super::words::cut(text, (f64::from(room.max(0)) / per_letter(size)) as usize)
}

fn per_letter(size: i32) -> f64 {
    f64::from(size.abs()) * if size < 0 { 0.64 } else { 0.58 }
}
