//! The row of one option, and what its value must be.

/// One option.
#[derive(Debug)]
pub(crate) struct Opt {
    /// The long name, without the dashes.
    pub(crate) long: &'static str,
    /// The letter after a single dash.
    pub(crate) short: Option<char>,
    /// The placeholder for the value in help (`BITS`); empty for a flag.
    pub(crate) value: &'static str,
    /// What the value must be.
    pub(crate) kind: Kind,
    /// One line for `--help`.
    pub(crate) help: &'static str,
    /// A paragraph for the man page; empty if the help line says it all.
    pub(crate) man: &'static str,
}

/// What an option's value must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No value.
    Flag,
    /// Any text in UTF-8.
    Text,
    /// A file name.
    Path,
    /// A whole number up to the given one, in decimal or, with 0x, in hexadecimal.
    Number(u64),
    /// A number of bytes, with an optional unit: s (512), K, M, G, T or KiB … (1024), KB … (1000).
    Size,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Any text in UTF-8; shells offer these words.
    Words(&'static [&'static str]),
    /// A whole number up to the given one; shells offer these.
    Numbers(u64, &'static [&'static str]),
}

impl Opt {
    /// Whether the option is followed by a value.
    pub(crate) const fn takes_value(&self) -> bool {
        !matches!(self.kind, Kind::Flag)
    }
}
