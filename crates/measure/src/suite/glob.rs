//! Patterns with `*` (any run of characters) and `?` (any one).

/// Whether a text is a pattern at all.
pub(super) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// Whether `pattern` matches all of `text`.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    // Whether the pattern so far matches the first n characters.
    let mut matches = vec![false; text.len() + 1];
    matches[0] = true;
    for wanted in pattern.chars() {
        if wanted == '*' {
            (0..text.len()).for_each(|n| matches[n + 1] |= matches[n]);
        } else {
            let fits = |n: usize| wanted == '?' || wanted == text[n];
            (0..text.len()).rev().for_each(|n| matches[n + 1] = matches[n] && fits(n));
            matches[0] = false;
        }
    }
    matches[text.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks() {
        for (pattern, text) in [
            ("serpent*", "serpent-xts-plain64"),
            ("*-xts-*", "aes-xts-plain"),
            ("a?s", "aes"),
            ("*", ""),
            ("**s", "aes"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("serpent", "serpent-xts"), ("*-xts", "aes-xts-plain"), ("a?s", "as"), ("?", "")]
        {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
        assert!(is_pattern("a*") && !is_pattern("aes-xts-plain64"));
    }
}
