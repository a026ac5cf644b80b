//! What a page says and shows, in lines that can be read: headings, sentences, tables by their columns, rows by their
//! heads and the first of them whole, drawings by their size, shapes and labels. The last line is the SHA-256 of the
//! page, so that nothing changes unseen.

use keyway_crypto::Hash;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::mem::take;

/// Elements whose text is a line of its own.
const BLOCKS: [&str; 13] =
    ["h1", "h2", "h3", "h4", "p", "li", "figcaption", "summary", "legend", "label", "dt", "dd", "footer"];

/// The lines of a page.
pub(crate) fn outline(page: &str) -> String {
    let mut outline = Outline::default();
    let body = page.split_once("<body>").expect("a body").1;
    for part in body.split('<').skip(1) {
        let (tag, text) = part.split_once('>').expect("a tag's end");
        outline.tag(tag);
        outline.text(text);
    }
    let digest = Hash::Sha256.digest(&[page.as_bytes()]);
    let hexadecimal: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    outline.lines + &format!("{} bytes, SHA-256 {hexadecimal}\n", page.len())
}

#[derive(Default)]
struct Outline {
    lines: String,
    /// The block that the text since the last one belongs to.
    block: String,
    text: String,
    drawing: Option<Drawing>,
    table: Option<Table>,
}

#[derive(Default)]
struct Drawing {
    size: String,
    shapes: BTreeMap<String, u32>,
    labels: Vec<String>,
}

#[derive(Default)]
struct Table {
    columns: Vec<String>,
    heads: Vec<String>,
    first: Vec<String>,
    cells: usize,
    rows: usize,
}

impl Outline {
    fn tag(&mut self, tag: &str) {
        let name = tag.split([' ', '\n']).next().unwrap_or_default();
        match (name, &mut self.drawing, &mut self.table) {
            ("svg", ..) => {
                self.end_of_block();
                self.drawing =
                    Some(Drawing { size: between(tag, "viewBox=\"0 0 ", "\""), ..Drawing::default() });
            }
            ("/svg", ..) => self.end_of_drawing(),
            ("/text", Some(drawing), _) => drawing.labels.push(take(&mut self.text).trim().to_owned()),
            ("/title" | "/desc", Some(_), _) => self.text.clear(),
            (name, Some(drawing), _) if !name.starts_with('/') => {
                *drawing.shapes.entry(name.to_owned()).or_default() += 1;
            }
            ("table", ..) => {
                self.end_of_block();
                self.table = Some(Table::default());
            }
            ("/table", ..) => self.end_of_table(),
            ("/th" | "/td", _, Some(table)) => table.cell(take(&mut self.text).trim()),
            ("/tr", _, Some(table)) => table.end_of_row(),
            (name, None, None) if BLOCKS.contains(&name.trim_start_matches('/')) => {
                self.end_of_block();
                self.block = name.trim_start_matches('/').to_owned();
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn line(&mut self, what: &str, text: &str) {
        writeln!(self.lines, "{}", format!("{what:11}{text}").trim_end()).expect("a string takes all");
    }

    fn end_of_block(&mut self) {
        let text = take(&mut self.text);
        let block = take(&mut self.block);
        if !text.trim().is_empty() {
            self.line(&block, text.trim());
        }
    }

    fn end_of_drawing(&mut self) {
        let Some(Drawing { size, mut shapes, labels }) = self.drawing.take() else { return };
        shapes.retain(|name, _| !["title", "desc", "text"].contains(&name.as_str()));
        let shapes: Vec<String> = shapes.iter().map(|(name, count)| format!("{count} {name}")).collect();
        self.line("drawing", &format!("{size}: {}: {}", shapes.join(", "), labels.join(" / ")));
    }

    fn end_of_table(&mut self) {
        let Some(Table { columns, heads, first, rows, .. }) = self.table.take() else { return };
        self.line("table", &columns.join(" / "));
        self.line("rows", &format!("{rows}: {}", heads.join(" / ")));
        self.line("first row", &first.join(" / "));
    }
}

impl Table {
    fn cell(&mut self, text: &str) {
        match self.rows {
            0 => self.columns.push(text.to_owned()),
            1 => self.first.push(text.to_owned()),
            _ => {}
        }
        if self.rows > 0 && self.cells == 0 && !self.heads.iter().any(|it| it == text) {
            self.heads.push(text.to_owned());
        }
        self.cells += 1;
    }

    fn end_of_row(&mut self) {
        self.cells = 0;
        self.rows += 1;
    }
}

fn between(text: &str, start: &str, end: &str) -> String {
    let inner = text.split_once(start).map_or("", |(_, rest)| rest);
    inner.split_once(end).map_or(inner, |(inner, _)| inner).to_owned()
}
