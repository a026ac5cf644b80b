//! Two layouts, both json-c's: compact for the disk, pretty for people.
//!
//! json-c escapes `"`, `\`, and the control characters below 0x20 (five of them by letter);
//! everything else, including 0x7f and non-ASCII text, is printed unchanged. Pretty has no space
//! after a colon, and an empty object or array still takes two lines. Unlike json-c's output, text
//! for people contains no character that controls a terminal or is invisible: those are escaped as
//! \u, which is the same JSON.

use super::Value;
use crate::text::is_hidden;
use alloc::string::String;
use core::fmt::Write;

pub(super) fn compact(value: &Value) -> String {
    let mut out = String::new();
    print(value, None, &mut out);
    out
}

pub(super) fn pretty(value: &Value) -> String {
    let mut out = String::new();
    print(value, Some(0), &mut out);
    out
}

/// `level` is the depth for the pretty layout, `None` for the compact one.
fn print(value: &Value, level: Option<usize>, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(text) => out.push_str(text),
        Value::String(text) => quote(text, level.is_some(), out),
        Value::Array(items) => list(['[', ']'], items.iter(), level, out, print),
        Value::Object(object) => list(['{', '}'], object.iter(), level, out, |(name, value), level, out| {
            quote(name, level.is_some(), out);
            out.push(':');
            print(value, level, out);
        }),
    }
}

fn list<T>(
    [open, close]: [char; 2],
    items: impl Iterator<Item = T>,
    level: Option<usize>,
    out: &mut String,
    print_item: impl Fn(T, Option<usize>, &mut String),
) {
    let inner = level.map(|level| level + 1);
    out.push(open);
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(',');
        }
        start_line(inner, out);
        print_item(item, inner, out);
    }
    start_line(level, out);
    out.push(close);
}

fn start_line(level: Option<usize>, out: &mut String) {
    if let Some(level) = level {
        out.push('\n');
        (0..level).for_each(|_| out.push_str("  "));
    }
}

/// With `shown`, prints for people.
fn quote(text: &str, shown: bool, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\u{1f}' => {
                out.push_str("\\u00");
                out.push(if c < '\u{10}' { '0' } else { '1' });
                out.push(char::from_digit(c as u32 & 15, 16).unwrap_or('0'));
            }
            hidden if shown && is_hidden(hidden) => escape(hidden, out),
            other => out.push(other),
        }
    }
    out.push('"');
}

/// A document in the form for people, with its layout unchanged: in JSON without line breaks,
/// hidden characters can occur only in strings.
pub fn shown(compact: &str) -> String {
    let mut out = String::with_capacity(compact.len());
    compact.chars().for_each(|c| if is_hidden(c) { escape(c, &mut out) } else { out.push(c) });
    out
}

/// Escapes as UTF-16, in hexadecimal (RFC 8259, section 7).
fn escape(c: char, out: &mut String) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        let _ = write!(out, "\\u{unit:04x}");
    }
}

#[cfg(test)]
mod tests {
    use crate::json::parse;

    /// The pretty text is what cryptsetup 2.6.1 printed for a token imported with this content.
    #[test]
    fn pretty_is_json_c_s() {
        let text = r#"{"type":"foo","keyslots":["0"],"x":"a/b\"é\u0001\t\\","n":1.50,"nul":null,"b":true,"arr":[],"o":{},"nest":[[1,{"a":2}]]}"#;
        let value = parse(text.as_bytes()).unwrap();
        assert_eq!(value.to_compact(), text);
        let expected = "{\n  \"type\":\"foo\",\n  \"keyslots\":[\n    \"0\"\n  ],\n  \"x\":\"a/b\\\"é\\u0001\\t\\\\\",\n  \"n\":1.50,\n  \"nul\":null,\n  \"b\":true,\n  \"arr\":[\n  ],\n  \"o\":{\n  },\n  \"nest\":[\n    [\n      1,\n      {\n        \"a\":2\n      }\n    ]\n  ]\n}";
        assert_eq!(value.to_pretty(), expected);
    }

    /// The same document, without characters that control a terminal.
    #[test]
    fn what_people_see_is_escaped() {
        let value = parse("\"a\u{7f}\u{9b}\u{202e}\u{feff}\u{e0041}\u{e9}\"".as_bytes()).unwrap();
        assert_eq!(value.to_pretty(), r#""a\u007f\u009b\u202e\ufeff\udb40\udc41é""#);
        assert_eq!(parse(value.to_pretty().as_bytes()).unwrap(), value);
        assert_eq!(parse(value.to_compact().as_bytes()).unwrap(), value);
        assert!(value.to_compact().contains('\u{202e}'), "on disk it stays as it was");
        assert_eq!(super::shown(&value.to_compact()), value.to_pretty());
    }

    #[test]
    fn control_characters_are_escaped_as_json_c_does() {
        let value = parse(br#""\u0000\b\f\n\r\u001F\u007f\/""#).unwrap();
        assert_eq!(value.to_compact(), "\"\\u0000\\b\\f\\n\\r\\u001f\u{7f}/\"");
    }
}
