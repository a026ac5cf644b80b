//! A results file that grows a row at a time and is a whole document after each: the new row and
//! the text after the rows are written over the old end in a single write.

use super::{Results, Row};
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

/// A results file that is being written.
#[derive(Debug)]
pub struct Growing {
    file: File,
    /// The offset at which the last row ends.
    end: u64,
    any: bool,
}

impl Growing {
    /// Writes the results so far into an open file, over whatever is in it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn over(file: File, results: &Results) -> io::Result<Self> {
        let mut growing = Self { file, end: 0, any: false };
        growing.rewrite(results)?;
        Ok(growing)
    }

    /// Appends a row; the rest of the document is taken from `results`.
    pub fn append(&mut self, row: &Row, results: &Results) -> io::Result<()> {
        let (_, after) = ends(results);
        let comma = if self.any { "," } else { "" };
        let row = format!("{comma}\n{}", serde_json::to_string(row).unwrap_or_default());
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(format!("{row}{after}").as_bytes())?;
        self.end += row.len() as u64;
        self.any = true;
        self.cut()
    }

    /// Rewrites the whole document: at the end, when warnings and machine facts are complete.
    pub fn rewrite(&mut self, results: &Results) -> io::Result<()> {
        let text = results.to_json();
        let (_, after) = ends(results);
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(text.as_bytes())?;
        self.any = !results.rows.is_empty();
        self.end = (text.len() - after.len()) as u64;
        self.cut()
    }

    /// Cuts off what is left of an earlier, longer end.
    fn cut(&mut self) -> io::Result<()> {
        let here = self.file.stream_position()?;
        self.file.set_len(here)
    }
}

/// The document before and after its rows.
pub(super) fn ends(results: &Results) -> (String, String) {
    let head = Results { rows: Vec::new(), ..results.clone() };
    let head = serde_json::to_string(&head).unwrap_or_default();
    // Members keep the order of the type. Quotes inside strings are escaped, so this text occurs
    // once.
    let (before, after) = head.split_once(EMPTY_ROWS).unwrap_or((&head, ""));
    (format!("{before}\"rows\":["), format!("\n]{after}\n"))
}

/// The placeholder for the rows.
const EMPTY_ROWS: &str = "\"rows\":[]";

#[cfg(test)]
mod tests {
    use super::super::{Outcome, text};
    use super::*;

    #[test]
    fn the_file_is_a_whole_document_after_each_row() {
        let all = text::tests::results();
        let path = std::env::temp_dir().join(format!("keyway-measure-{}", std::process::id()));
        let mut so_far = Results {
            rows: Vec::new(),
            complete: false,
            warnings: vec!["a long warning".into()],
            ..all.clone()
        };
        let create = || File::options().create(true).truncate(false).write(true).open(&path).unwrap();
        let mut file = Growing::over(create(), &so_far).unwrap();
        let read = || Results::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(read(), so_far);
        for row in &all.rows {
            so_far.rows.push(row.clone());
            so_far.warnings.clear();
            file.append(row, &so_far).unwrap();
            assert_eq!(read(), so_far);
        }
        file.rewrite(&all).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), all.to_json());
        let mut again = Growing::over(create(), &so_far).unwrap();
        let mut last = all.rows[0].clone();
        last.outcome = Outcome::impossible("anew");
        so_far.rows = vec![last];
        again.rewrite(&so_far).unwrap();
        assert_eq!(read(), so_far);
        std::fs::remove_file(&path).unwrap();
    }
}
