//! Help and man pages: the examples.

use super::Printed;

/// The examples of a man page.
pub fn man(name: &str, page: &str) -> Vec<Printed> {
    let section = page.split("\n.SH ").find_map(|section| section.strip_prefix("EXAMPLES\n"));
    let lines = section.into_iter().flat_map(str::lines).filter_map(|line| line.strip_prefix(".B "));
    lines.map(|line| one(name, &plain(line))).collect()
}

/// The examples of a help text: in the last section but one, each above what it does.
pub fn help(name: &str, text: &str) -> Vec<Printed> {
    let section = text.split("\nExamples\n").nth(1).and_then(|rest| rest.split("\n\n").next());
    let lines = section.into_iter().flat_map(str::lines).filter(|line| !line.starts_with("   "));
    lines.map(|line| one(name, line.trim())).collect()
}

fn one(place: &str, line: &str) -> Printed {
    Printed { place: place.to_owned(), lines: vec![line.to_owned()] }
}

/// Without roff's escapes.
fn plain(line: &str) -> String {
    line.replace("\\&", "").replace("\\-", "-").replace("\\e", "\\")
}
