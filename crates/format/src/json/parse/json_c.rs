//! What json-c's tokener (0.16, without its strict flag) takes besides JSON, found by trying it: of
//! members of one name the last counts, at the place of the first; a comma before a closing bracket;
//! comments; strings in single quotes, and control characters in strings; words in any case; numbers
//! with leading zeros and with nothing after their point or exponent; any text behind the value.
//!
//! What is read is JSON as everybody writes it. What JSON cannot say is refused: NaN, Infinity, strings
//! that are not UTF-8.

use super::super::Value;
use super::{Cause, Parser, SyntaxError};
use alloc::string::String;

impl Parser<'_> {
    /// Passes over a comment; false if there is none.
    pub(super) fn comment(&mut self) -> Result<bool, SyntaxError> {
        let rest = &self.text[self.at..];
        let len = match rest {
            [b'/', b'/', ..] => rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len()),
            [b'/', b'*', ..] => {
                let end = rest.windows(2).skip(2).position(|two| two == b"*/");
                end.map(|end| end + 4).ok_or_else(|| self.error(Cause::UnexpectedEnd))?
            }
            _ => return Ok(false),
        };
        self.at += len;
        Ok(true)
    }

    /// A number as JSON writes it.
    pub(super) fn loose_number(&mut self) -> Result<String, SyntaxError> {
        let mut text = String::new();
        if self.eat(b'-') {
            text.push('-');
        }
        match self.run_of_digits() {
            "" => return Err(self.unexpected()),
            digits => text.push_str(match digits.trim_start_matches('0') {
                "" => "0",
                significant => significant,
            }),
        }
        if self.eat(b'.') {
            let digits = self.run_of_digits();
            if !digits.is_empty() {
                text.push('.');
                text.push_str(digits);
            }
        }
        // As it was typed: json-c keeps the text of such numbers.
        if let Some(letter @ (b'e' | b'E')) = self.peek() {
            self.at += 1;
            let sign = ["-", "+"].into_iter().find(|sign| self.eat(sign.as_bytes()[0])).unwrap_or("");
            let digits = self.run_of_digits();
            if !digits.is_empty() {
                text.push(letter.into());
                text.push_str(sign);
                text.push_str(digits);
            }
        }
        Ok(text)
    }

    fn run_of_digits(&mut self) -> &str {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        core::str::from_utf8(&self.text[start..self.at]).unwrap_or_default()
    }
}

/// Gives the member of this name another value.
pub(super) fn replace(members: &mut [(String, Value)], name: &str, value: Value) {
    if let Some((_, known)) = members.iter_mut().find(|(known, _)| *known == name) {
        *known = value;
    }
}

/// As `word` is written, in whatever case.
pub(super) fn is_word(text: &[u8], word: &str) -> bool {
    text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use crate::json::{parse, parse_as_json_c};
    use alloc::format;
    use alloc::string::ToString;

    fn read(text: &[u8]) -> alloc::string::String {
        match parse_as_json_c(text) {
            Ok(value) => value.to_compact(),
            Err(error) => format!("refused: {error}"),
        }
    }

    #[test]
    fn what_json_c_takes_becomes_json() {
        let cases: &[(&[u8], &str)] = &[
            (br#"{"a":1,"b":2,"a":3}"#, r#"{"a":3,"b":2}"#),
            (br#"{"a":[1,],}"#, r#"{"a":[1]}"#),
            (br#"{"a":1} text"#, r#"{"a":1}"#),
            (br#"{"a":1}{"b":2}"#, r#"{"a":1}"#),
            (br#"{"a":1} /* open"#, r#"{"a":1}"#),
            (b"/* c */{\"a\"/**/:1,// x\n\"b\":[1 //\n]}", r#"{"a":1,"b":[1]}"#),
            (br#"{'a':'b"c'}"#, r#"{"a":"b\"c"}"#),
            (br#"[TRUE,Null,fALSE]"#, "[true,null,false]"),
            (br#"[007,-007.50,00,1.,1.e5,1e,1e+,1E-07,0.10]"#, "[7,-7.50,0,1,1e5,1,1,1E-07,0.10]"),
            (b"[\"a\tb\nc\"]", r#"["a\tb\nc"]"#),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text), *expected, "{}", alloc::string::String::from_utf8_lossy(text));
            assert_eq!(parse(expected.as_bytes()).unwrap().to_compact(), *expected);
        }
    }

    #[test]
    fn what_json_c_refuses_and_json_cannot_say_is_refused() {
        for text in [
            "",
            "{",
            "[,]",
            "{,}",
            "[1,,2]",
            "{a:1}",
            "[+1]",
            "[.5]",
            "[-]",
            "[1-2]",
            "[1 2]",
            "[0x10]",
            "#\n{}",
            "[\"\\q\"]",
            "[NaN]",
            "[Infinity]",
            "[-Infinity]",
            "{\"a\":1 /* open",
            "\u{feff}{}",
            "['a\"]",
        ] {
            assert!(parse_as_json_c(text.as_bytes()).is_err(), "{text}");
        }
        assert!(parse_as_json_c(b"[\"\xff\"]").unwrap_err().to_string().starts_with("a string is not UTF-8"));
    }
}
