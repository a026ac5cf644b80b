//! The command lines that Keyway's texts print, extracted from the texts themselves: from blocks and
//! sentences of the documents, from the examples of help and man pages, and from the strings of the
//! sources, which hold every message.

mod documents;
mod pages;
mod sources;

pub use documents::documents;
pub use pages::{help, man};
pub use sources::sources;

/// Lines that stand together, as a reader would type them one after the other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Printed {
    /// Where: a document and its heading, a page, a source file.
    pub place: String,
    /// The lines, without prompts and comments.
    pub lines: Vec<String>,
}

/// What the text between two quotation marks or backticks is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Quoted {
    /// A line with options or operands.
    Line(String),
    /// The name of a command: "keyway build", "keyway boot initramfs".
    Name(String),
}

impl Quoted {
    /// What a text encloses in quotation marks or backticks, wherever the program's name, or the one that it answers to as well, follows one.
    fn all(text: &str) -> impl Iterator<Item = Self> {
        let starts = ["\"", "`"].into_iter().flat_map(move |mark| {
            let after = text.match_indices(mark).map(|(at, mark)| &text[at + mark.len()..]);
            let programs = ["keyway ", "sudo keyway ", "cryptsetup "];
            let after = after.filter(move |after| programs.iter().any(|program| after.starts_with(program)));
            after.filter_map(move |after| after.split(mark).next())
        });
        // What they enclose may go over the end of a line.
        starts.filter_map(|quoted| Self::of(&quoted.replace('\n', " ")))
    }

    /// `None` if it does not begin with the program's name.
    fn of(text: &str) -> Option<Self> {
        let text = text.trim();
        let words: Vec<&str> = text.strip_prefix("sudo ").unwrap_or(text).split_whitespace().collect();
        let ["keyway" | "cryptsetup", words @ ..] = &words[..] else { return None };
        let is_plain = |word: &&str| word.chars().all(|c| c.is_ascii_alphanumeric());
        match words {
            [] => None,
            [verb] if is_plain(verb) => Some(Self::Name(text.to_owned())),
            ["boot" | "bench" | "token", verb] if is_plain(verb) => Some(Self::Name(text.to_owned())),
            _ => Some(Self::Line(text.to_owned())),
        }
    }
}

/// The line without the prompt before it and the comment after it; `None` if nothing is left.
fn command(line: &str) -> Option<String> {
    let line = line.trim().strip_prefix("$ ").unwrap_or(line.trim());
    let mut quote = None;
    let mut end = line.len();
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None, '#') if at == 0 || line[..at].ends_with(' ') => {
                end = at;
                break;
            }
            _ => {}
        }
    }
    let line = line[..end].trim();
    (!line.is_empty()).then(|| line.to_owned())
}
