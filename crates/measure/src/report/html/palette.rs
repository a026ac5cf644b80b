//! Colours by purpose. Drawings use the light colours; each colour is an attribute in the drawing
//! and has only one purpose there, so the style sheet can replace it in dark mode.
//!
//! The colours of series stay distinguishable under the common kinds of colour blindness (after
//! Okabe and Ito's set, darkened or lightened until text in them is legible), and no chart
//! distinguishes things by colour alone. The heat map uses one hue from pale to saturated.

use plotters::style::RGBColor;
use std::fmt::Write;

/// The purpose of a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    /// Text, and whiskers over bars.
    Text,
    /// Secondary text.
    Quiet,
    /// Grid lines.
    Grid,
    /// A series by its number; there are [`SERIES`].
    Series(usize),
    /// A step of the heat map; there are [`STEPS`].
    Heat(usize),
    /// Text on that step.
    OnHeat(usize),
    /// A cell of the heat map without a figure.
    Nothing,
}

/// The number of series that a chart can distinguish.
pub(super) const SERIES: usize = 6;
/// The number of steps in the heat map.
pub(super) const STEPS: usize = 8;

/// A colour in light and in dark mode.
type Pair = (u32, u32);

const TEXT: Pair = (0x1b_1f24, 0xe9_edf1);
const QUIET: Pair = (0x56_606b, 0xa4_afba);
const GRID: Pair = (0xd9_dee4, 0x37_3f49);
const NOTHING: Pair = (0xf0_f2f4, 0x20_262d);
const OF_SERIES: [Pair; SERIES] = [
    (0x1f_6fb4, 0x6c_b4f0),
    (0xb3_560c, 0xf0_a050),
    (0x00_7d65, 0x45_cba4),
    (0x95_3f8b, 0xdd_95d0),
    (0x7d_6400, 0xdc_c850),
    (0x4a_5765, 0xb0_bcc8),
];
const OF_HEAT: [Pair; STEPS] = [
    (0xe6_f1fa, 0x15_2c40),
    (0xcb_e1f3, 0x18_3a56),
    (0xab_cfea, 0x1b_496e),
    (0x86_b9df, 0x1e_5a88),
    (0x5b_9fd0, 0x6f_b3df),
    (0x29_6ca8, 0x8f_c6ea),
    (0x1c_5690, 0xb0_d9f3),
    (0x0f_3f73, 0xd3_ecfb),
];
const ON_HEAT: [Pair; STEPS] = [
    (0x10_2031, 0xe8_f1f9),
    (0x11_2032, 0xe9_f1f9),
    (0x12_2033, 0xea_f1f9),
    (0x13_2034, 0xeb_f1f9),
    (0x06_1019, 0x05_1018),
    (0xf8_fbfe, 0x06_1018),
    (0xf9_fbfe, 0x07_1018),
    (0xfa_fbfe, 0x08_1018),
];

impl Ink {
    fn pair(self) -> Pair {
        match self {
            Self::Text => TEXT,
            Self::Quiet => QUIET,
            Self::Grid => GRID,
            Self::Nothing => NOTHING,
            Self::Series(number) => OF_SERIES[number % SERIES],
            Self::Heat(step) => OF_HEAT[step.min(STEPS - 1)],
            Self::OnHeat(step) => ON_HEAT[step.min(STEPS - 1)],
        }
    }

    fn all() -> impl Iterator<Item = Self> {
        let heat = (0..STEPS).flat_map(|step| [Self::Heat(step), Self::OnHeat(step)]);
        [Self::Text, Self::Quiet, Self::Grid, Self::Nothing]
            .into_iter()
            .chain((0..SERIES).map(Self::Series))
            .chain(heat)
    }

    /// Its variable in the style sheet.
    fn variable(self) -> String {
        match self {
            Self::Text => "--text".to_owned(),
            Self::Quiet => "--quiet".to_owned(),
            Self::Grid => "--grid".to_owned(),
            Self::Nothing => "--nothing".to_owned(),
            Self::Series(number) => format!("--series-{number}"),
            Self::Heat(step) => format!("--heat-{step}"),
            Self::OnHeat(step) => format!("--on-heat-{step}"),
        }
    }
}

impl From<Ink> for RGBColor {
    fn from(ink: Ink) -> Self {
        let [_, red, green, blue] = ink.pair().0.to_be_bytes();
        Self(red, green, blue)
    }
}

/// Colours of the page itself, in addition to those of the drawings.
const OF_THE_PAGE: [(&str, Pair); 7] = [
    ("--page", (0xff_ffff, 0x12_161b)),
    ("--card", (0xf5_f7f9, 0x1a_2027)),
    ("--link", (0x1a_5fa0, 0x7c_bcf5)),
    ("--warn", (0x6d_4b00, 0xf2_cf73)),
    ("--warn-page", (0xfd_f3d9, 0x2e_2612)),
    ("--bad", (0x9c_1622, 0xff_a3a3)),
    ("--bad-page", (0xfd_e8e8, 0x36_1718)),
];

/// The part of the style sheet that gives every colour its value, by the reader's preference: the
/// system's, unless the page's switch overrides it; in print, always light.
pub(super) fn style_sheet() -> String {
    let values = |dark: bool| {
        let mut text = format!("color-scheme:{};", if dark { "dark" } else { "light" });
        let inks = Ink::all().map(|ink| (ink.variable(), ink.pair()));
        for (name, pair) in OF_THE_PAGE.map(|(name, pair)| (name.to_owned(), pair)).into_iter().chain(inks) {
            let _ = write!(text, "{name}:#{:06x};", if dark { pair.1 } else { pair.0 });
        }
        text
    };
    let (light, dark) = (values(false), values(true));
    let mut text = format!(
        ":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n\
         @media screen{{:root:has(#light:checked){{{light}}}:root:has(#dark:checked){{{dark}}}}}\n"
    );
    for ink in Ink::all() {
        let (light, variable) = (ink.pair().0, ink.variable());
        // In the format of the drawing's attributes.
        let _ = writeln!(
            text,
            "svg [fill=\"#{light:06X}\"]{{fill:var({variable})}}svg [stroke=\"#{light:06X}\"]{{stroke:var({variable})}}"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance (WCAG 2.2).
    fn luminance(colour: u32) -> f64 {
        let [_, red, green, blue] = colour.to_be_bytes();
        let linear = |channel: u8| {
            let part = f64::from(channel) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    }

    fn contrast(a: u32, b: u32) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    fn page(name: &str) -> Pair {
        OF_THE_PAGE.iter().find(|(known, _)| *known == name).unwrap().1
    }

    #[test]
    fn whatever_is_read_can_be_read() {
        let mut pairs = vec![
            ("warn", page("--warn"), page("--warn-page")),
            ("text on warn", TEXT, page("--warn-page")),
            ("bad", page("--bad"), page("--bad-page")),
            ("text on bad", TEXT, page("--bad-page")),
        ];
        for ground in ["--page", "--card"] {
            let texts = [("text", TEXT), ("quiet", QUIET), ("link", page("--link"))];
            pairs.extend(texts.map(|(name, text)| (name, text, page(ground))));
            pairs.extend(OF_SERIES.map(|series| ("series", series, page(ground))));
        }
        pairs.extend((0..STEPS).map(|step| ("heat", ON_HEAT[step], OF_HEAT[step])));
        pairs.push(("nothing", QUIET, NOTHING));
        for (name, text, ground) in pairs {
            for (text, ground) in [(text.0, ground.0), (text.1, ground.1)] {
                let found = contrast(text, ground);
                assert!(found >= 4.5, "{name}: {text:06x} on {ground:06x} has {found:.2}");
            }
        }
    }

    #[test]
    fn every_colour_of_a_drawing_has_one_purpose() {
        let mut seen = std::collections::HashSet::new();
        for ink in Ink::all() {
            assert!(seen.insert(ink.pair().0), "{ink:?} looks like another");
        }
    }

    #[test]
    fn more_is_darker_in_the_light_and_brighter_in_the_dark() {
        for step in OF_HEAT.windows(2) {
            assert!(luminance(step[0].0) > luminance(step[1].0), "{step:x?}");
            assert!(luminance(step[0].1) < luminance(step[1].1), "{step:x?}");
        }
    }
}
