//! Colours, if they are wanted, and text that is safe to show.

use keyway_format::text::{Shown, is_hidden};
use std::env;
use std::io::{IsTerminal, stdout};

/// Whether to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Paint(pub(crate) bool);

impl Paint {
    /// Yes on a terminal with colours, unless NO_COLOR says otherwise.
    pub(crate) fn for_stdout() -> Self {
        let refused = env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        let dumb = env::var_os("TERM").is_none_or(|t| t == "dumb");
        Self(stdout().is_terminal() && !refused && !dumb)
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub(crate) fn strong(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(crate) fn faint(self, text: &str) -> String {
        self.with("2", text)
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.with("32", text)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.with("31", text)
    }

    pub(crate) fn warning(self, text: &str) -> String {
        self.with("33", text)
    }
}

/// Text from an untrusted source, escaped so that the terminal does not interpret any of it.
pub(crate) fn printable(text: &str) -> String {
    Shown(text).to_string()
}

/// The same for text of several lines; line breaks are kept.
pub(crate) fn printable_lines(text: &str) -> String {
    match text.contains(is_hidden) {
        true => text.split('\n').map(printable).collect::<Vec<_>>().join("\n"),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_can_be_left_out() {
        assert_eq!(Paint(true).bad("x"), "\x1b[31mx\x1b[0m");
        assert_eq!(Paint(false).bad("x"), "x");
        assert_eq!(printable("a\x1b[2Jb\n"), "a\\u{1b}[2Jb\\n");
        assert_eq!(printable_lines("a\x1b[2J\nb"), "a\\u{1b}[2J\nb");
    }
}
