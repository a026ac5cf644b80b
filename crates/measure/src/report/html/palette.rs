//! Colours by purpose. Drawings use the light colours; each colour is an attribute in the drawing
//! and has only one purpose there, so the style sheet can replace it in dark mode.
//!
//! The colours of series stay distinguishable under the common kinds of colour blindness (after
//! Okabe and Ito's set, darkened or lightened until text in them is legible), and no chart
//! distinguishes things by colour alone. The heat map uses one hue from pale to saturated.

use plotters::style::RGBColor;
use std::fmt::Write;

/// A colour of drawings: its place in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ink(usize);

/// The number of series that a chart can distinguish.
pub(super) const SERIES: usize = 6;
/// The number of steps in the heat map.
pub(super) const STEPS: usize = 8;

impl Ink {
    /// Text, and whiskers over bars.
    pub(super) const TEXT: Self = Self(OF_THE_PAGE);
    /// Secondary text.
    pub(super) const QUIET: Self = Self(OF_THE_PAGE + 1);
    /// Grid lines.
    pub(super) const GRID: Self = Self(OF_THE_PAGE + 2);
    /// A cell of the heat map without a figure.
    pub(super) const NOTHING: Self = Self(OF_THE_PAGE + 3);

    /// A series by its number; there are [`SERIES`].
    pub(super) fn series(number: usize) -> Self {
        Self(OF_THE_PAGE + 4 + number % SERIES)
    }

    /// A step of the heat map; there are [`STEPS`].
    pub(super) fn heat(step: usize) -> Self {
        Self(OF_THE_PAGE + 4 + SERIES + 2 * step.min(STEPS - 1))
    }

    /// Text on that step.
    pub(super) fn on_heat(step: usize) -> Self {
        Self(Self::heat(step).0 + 1)
    }
}

impl From<Ink> for RGBColor {
    fn from(ink: Ink) -> Self {
        let [_, red, green, blue] = COLOURS[ink.0].1.to_be_bytes();
        Self(red, green, blue)
    }
}

/// Each colour's variable in the style sheet, and its value in light and in dark mode.
const COLOURS: [(&str, u32, u32); OF_THE_PAGE + 4 + SERIES + 2 * STEPS] = [
    ("--page", 0xff_ffff, 0x12_161b),
    ("--card", 0xf5_f7f9, 0x1a_2027),
    ("--link", 0x1a_5fa0, 0x7c_bcf5),
    ("--warn", 0x6d_4b00, 0xf2_cf73),
    ("--warn-page", 0xfd_f3d9, 0x2e_2612),
    ("--bad", 0x9c_1622, 0xff_a3a3),
    ("--bad-page", 0xfd_e8e8, 0x36_1718),
    ("--text", 0x1b_1f24, 0xe9_edf1),
    ("--quiet", 0x56_606b, 0xa4_afba),
    ("--grid", 0xd9_dee4, 0x37_3f49),
    ("--nothing", 0xf0_f2f4, 0x20_262d),
    ("--series-0", 0x1f_6fb4, 0x6c_b4f0),
    ("--series-1", 0xb3_560c, 0xf0_a050),
    ("--series-2", 0x00_7d65, 0x45_cba4),
    ("--series-3", 0x95_3f8b, 0xdd_95d0),
    ("--series-4", 0x7d_6400, 0xdc_c850),
    ("--series-5", 0x4a_5765, 0xb0_bcc8),
    ("--heat-0", 0xe6_f1fa, 0x15_2c40),
    ("--on-heat-0", 0x10_2031, 0xe8_f1f9),
    ("--heat-1", 0xcb_e1f3, 0x18_3a56),
    ("--on-heat-1", 0x11_2032, 0xe9_f1f9),
    ("--heat-2", 0xab_cfea, 0x1b_496e),
    ("--on-heat-2", 0x12_2033, 0xea_f1f9),
    ("--heat-3", 0x86_b9df, 0x1e_5a88),
    ("--on-heat-3", 0x13_2034, 0xeb_f1f9),
    ("--heat-4", 0x5b_9fd0, 0x6f_b3df),
    ("--on-heat-4", 0x06_1019, 0x05_1018),
    ("--heat-5", 0x29_6ca8, 0x8f_c6ea),
    ("--on-heat-5", 0xf8_fbfe, 0x06_1018),
    ("--heat-6", 0x1c_5690, 0xb0_d9f3),
    ("--on-heat-6", 0xf9_fbfe, 0x07_1018),
    ("--heat-7", 0x0f_3f73, 0xd3_ecfb),
    ("--on-heat-7", 0xfa_fbfe, 0x08_1018),
];
/// How many of them only the page itself has.
const OF_THE_PAGE: usize = 7;

/// The part of the style sheet that gives every colour its value, by the reader's preference: the
/// system's, unless the page's switch overrides it; in print, always light.
pub(super) fn style_sheet() -> String {
    let values = |scheme: &str, value: fn(&(&str, u32, u32)) -> u32| {
        let all = COLOURS.iter().map(|colour| format!("{}:#{:06x};", colour.0, value(colour)));
        format!("color-scheme:{scheme};{}", all.collect::<String>())
    };
    let (light, dark) = (values("light", |colour| colour.1), values("dark", |colour| colour.2));
    let mut text = format!(
        ":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n\
         @media screen{{:root:has(#light:checked){{{light}}}:root:has(#dark:checked){{{dark}}}}}\n"
    );
    for (name, light, _) in &COLOURS[OF_THE_PAGE..] {
        // In the format of the drawing's attributes.
        let _ = writeln!(
            text,
            "svg [fill=\"#{light:06X}\"]{{fill:var({name})}}svg [stroke=\"#{light:06X}\"]{{stroke:var({name})}}"
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

    fn named(name: &str) -> (u32, u32) {
        let colour = COLOURS.iter().find(|(known, ..)| *known == format!("--{name}")).unwrap();
        (colour.1, colour.2)
    }

    #[test]
    fn whatever_is_read_can_be_read() {
        let mut pairs =
            ["warn", "bad"].map(str::to_owned).map(|name| (name.clone(), name + "-page")).to_vec();
        pairs.extend(["warn-page", "bad-page"].map(|ground| ("text".to_owned(), ground.to_owned())));
        for ground in ["page", "card"] {
            let texts = ["text", "quiet", "link"].map(str::to_owned).into_iter();
            let series = (0..SERIES).map(|number| format!("series-{number}"));
            pairs.extend(texts.chain(series).map(|text| (text, ground.to_owned())));
        }
        pairs.extend((0..STEPS).map(|step| (format!("on-heat-{step}"), format!("heat-{step}"))));
        pairs.push(("quiet".to_owned(), "nothing".to_owned()));
        for (text, ground) in pairs {
            let (read, below) = (named(&text), named(&ground));
            for (read, below) in [(read.0, below.0), (read.1, below.1)] {
                let found = contrast(read, below);
                assert!(found >= 4.5, "{text} {read:06x} on {ground} {below:06x} has {found:.2}");
            }
        }
    }

    #[test]
    fn every_colour_of_a_drawing_has_one_purpose() {
        let mut seen = std::collections::HashSet::new();
        for (name, light, _) in &COLOURS[OF_THE_PAGE..] {
            assert!(seen.insert(light), "{name} looks like another");
        }
    }

    #[test]
    fn more_is_darker_in_the_light_and_brighter_in_the_dark() {
        for step in 1..STEPS {
            let (less, more) = (named(&format!("heat-{}", step - 1)), named(&format!("heat-{step}")));
            assert!(luminance(less.0) > luminance(more.0), "{step}");
            assert!(luminance(less.1) < luminance(more.1), "{step}");
        }
    }

    #[test]
    fn inks_are_what_they_are_called() {
        let name = |ink: Ink| COLOURS[ink.0].0;
        let plain = [Ink::TEXT, Ink::QUIET, Ink::GRID, Ink::NOTHING].map(name);
        assert_eq!(plain, ["--text", "--quiet", "--grid", "--nothing"]);
        let numbered = [Ink::series(7), Ink::heat(3), Ink::on_heat(99)].map(name);
        assert_eq!(numbered, ["--series-1", "--heat-3", "--on-heat-7"]);
    }
}
