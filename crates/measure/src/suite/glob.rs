//! Patterns with `*` (any run of characters) and `?` (any one).

/// Whether a text is a pattern at all.
pub(super) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// Whether `pattern` matches all of `text`.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // The position of the last star and how much it has matched: the only place to backtrack to.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(&c) if c == '?' || c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((at, taken)) = star else { return false };
                star = Some((at, taken + 1));
                p = at + 1;
                t = taken + 1;
            }
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
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
