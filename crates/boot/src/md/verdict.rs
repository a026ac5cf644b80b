//! What becomes of arrays while a device is sought: which start now, which are waited for, which are left alone.

use super::{Array, State, Uuid};

/// Which arrays may start.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// These and no others, if the command line limits them.
    pub only: Option<&'a [Uuid]>,
    /// Only arrays within volumes.
    pub inside_only: bool,
    /// Members that are missing were waited for long enough.
    pub is_late: bool,
}

/// What becomes of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It starts; a sentence for what it lacks.
    Starts(Option<String>),
    /// It may start later. This and the others have the end of a sentence about the array.
    Waits(String),
    /// It never starts, as its members are now.
    Never(String),
    /// It is left alone on purpose.
    LeftAlone(&'static str),
}

impl Wanted<'_> {
    /// What becomes of the array now.
    pub fn judge(&self, array: &Array) -> Verdict {
        if self.only.is_some_and(|only| !only.contains(&array.newest.uuid)) {
            return Verdict::LeftAlone(NOT_NAMED);
        }
        if self.inside_only && !array.inside {
            return Verdict::LeftAlone(NOT_INSIDE);
        }
        // What an array within volumes lacks may be within one that is still to be opened.
        let may_lack = self.is_late && (!array.inside || self.inside_only);
        match &array.state {
            State::Ready(lacks) => Verdict::Starts(lacks.clone()),
            State::Degraded(lacks) if may_lack => Verdict::Starts(Some(lacks.clone())),
            State::Degraded(lacks) | State::Lacking(lacks) => {
                let refused = match &array.left_out[..] {
                    [] => String::new(),
                    left_out => format!(" ({})", left_out.join(", ")),
                };
                Verdict::Waits(format!("is not there: {lacks}{refused}"))
            }
            State::Never(why) => Verdict::Never(format!("cannot be assembled: {why}")),
        }
    }

    /// Why the device at `path` will never be there; `None` while that may change, or another array has that name.
    pub fn never(&self, arrays: &[Array], path: &str) -> Option<String> {
        let mut named = arrays.iter().filter(|array| is_named(array, path));
        let (array, None) = (named.next()?, named.next()) else { return None };
        match self.judge(array) {
            Verdict::Never(why) if self.is_late => Some(format!("the array {} {why}", array.shown())),
            _ => None,
        }
    }

    /// Whether an array within volumes may appear still: the one at `path`, or any.
    pub fn awaits_inside(&self, arrays: &[Array], path: Option<&str>) -> bool {
        let is_meant = |array: &&Array| path.is_none_or(|path| is_named(array, path));
        let inside = arrays.iter().filter(|array| array.inside);
        inside.filter(is_meant).any(|array| matches!(self.judge(array), Verdict::Waits(_)))
    }
}

/// Whether `path` means the array.
pub fn is_named(array: &Array, path: &str) -> bool {
    array.paths().iter().any(|own| own == path)
}

const NOT_NAMED: &str = "is not named by any rd.md.uuid=";
const NOT_INSIDE: &str = "is outside the encrypted volumes, and the system starts only from inside them";
