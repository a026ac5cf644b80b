//! A man page as plain text, for a reader without man(1): the few requests that [`super`] writes.

use std::fmt::Write;

/// The text of a page, in lines of at most `width` columns, with backspaces for no terminal.
pub(crate) fn text(page: &str, width: usize) -> String {
    let mut text = String::new();
    // Whether the next line is an item's name, and how far lines are indented.
    let (mut is_name, mut indent) = (false, PARAGRAPH);
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        let (request, rest) = match line.strip_prefix('.') {
            Some(request) => request.split_once(' ').unwrap_or((request, "")),
            None => ("", line),
        };
        let words = unescaped(rest);
        match request {
            "TH" => {
                let _ = writeln!(text, "{}", words.split('"').nth(1).unwrap_or_default());
            }
            "SH" => {
                let _ = writeln!(text, "\n{}", words.trim_matches('"'));
                indent = PARAGRAPH;
            }
            "PP" => {
                if !text.ends_with("\n\n") && !ends_in_a_heading(&text) {
                    text.push('\n');
                }
                indent = PARAGRAPH;
            }
            "TP" => {
                is_name = true;
                continue;
            }
            _ => {
                let words = if request == "BR" { words.replace(" (", "(") } else { words };
                if is_name {
                    let _ = writeln!(text, "{:PARAGRAPH$}{words}", "");
                    indent = ITEM;
                } else {
                    // The lines of a paragraph are one text, as in roff; a request begins another.
                    let mut paragraph = words;
                    while request.is_empty() && lines.peek().is_some_and(|next| !next.starts_with('.')) {
                        paragraph = format!("{paragraph} {}", unescaped(lines.next().unwrap_or_default()));
                    }
                    fill(&mut text, &paragraph, indent, width);
                }
            }
        }
        is_name = false;
    }
    text
}

/// Whether the last line is a heading: it has no indentation.
fn ends_in_a_heading(text: &str) -> bool {
    text.lines().next_back().is_some_and(|line| !line.starts_with(' '))
}

/// Breaks a paragraph at spaces.
fn fill(text: &mut String, paragraph: &str, indent: usize, width: usize) {
    let mut used = 0;
    for word in paragraph.split_whitespace() {
        let len = word.chars().count();
        if used > 0 && used + 1 + len > width {
            text.push('\n');
            used = 0;
        }
        if used == 0 {
            let _ = write!(text, "{:indent$}{word}", "");
            used = indent + len;
        } else {
            let _ = write!(text, " {word}");
            used += 1 + len;
        }
    }
    text.push('\n');
}

/// Without roff's escapes and changes of font.
fn unescaped(line: &str) -> String {
    let mut text = line.to_owned();
    for (escape, meant) in
        [("\\fI", ""), ("\\fB", ""), ("\\fR", ""), ("\\&", ""), ("\\-", "-"), ("\\e", "\\")]
    {
        text = text.replace(escape, meant);
    }
    text
}

/// The indentation of paragraphs and of the names of items.
const PARAGRAPH: usize = 7;
/// Of what is said about an item.
const ITEM: usize = 14;

#[cfg(test)]
mod tests {
    use super::super::pages;
    use super::*;
    use crate::verb::COMMANDS;

    #[test]
    fn a_page_is_laid_out_as_man_does() {
        let page = ".TH \"KEYWAY\\-X\" 8 \"\" \"keyway 1\"\n.SH NAME\nkeyway\\-x \\- do\n.SH OPTIONS\n.TP\n.B \\-\\-one \
                    N\nsays so, at length, on two lines\n.PP\nEnd \\&.of\nit.\n.SH \"SEE ALSO\"\n.BR keyway (8)\n";
        let expected = "KEYWAY-X\n\nNAME\n       keyway-x - do\n\nOPTIONS\n       --one N\n              says so, at length, on\n\
                        \x20             two lines\n\n       End .of it.\n\nSEE ALSO\n       keyway(8)\n";
        assert_eq!(text(page, 36), expected);
    }

    #[test]
    fn no_page_keeps_a_request() {
        for (name, page) in pages(&COMMANDS) {
            let text = text(&page, 80);
            assert!(text.lines().all(|line| !line.starts_with('.')), "{name}: {text}");
            assert!(!text.contains("\\-") && !text.contains("\\f"), "{name}: {text}");
            assert!(text.contains("\nEXIT STATUS\n       0\n              success"), "{name}: {text}");
        }
    }
}
