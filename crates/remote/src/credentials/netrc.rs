//! `.netrc`: names and passwords for hosts, in the file that curl, wget, git and ftp read.
//!
//! netrc(5) of GNU inetutils and curl's documentation: words `machine HOST`, `default`, `login
//! NAME`, `password WORD`, `account WORD`, and `macdef NAME` followed by lines up to an empty one.
//! A word with blanks is enclosed in double quotes, in which `\` escapes the next letter. `#`
//! starts a comment where a keyword is expected.

use super::Login;
use keyway_crypto::Secret;

/// The login for `host`: the first entry for the host (and for `user`, if given), or the default
/// entry after them.
pub(super) fn find(text: &str, host: &str, user: Option<&str>) -> Option<Login> {
    let mut words = Words { rest: text };
    let mut entry = None;
    let mut fits = false;
    while let Some(word) = words.keyword() {
        match word.as_str() {
            "machine" | "default" => {
                if let Some(login) = complete(entry.take(), fits, user) {
                    return Some(login);
                }
                fits = word == "default" || words.next()?.eq_ignore_ascii_case(host);
                entry = Some((None, None));
            }
            "login" => {
                if let (value, Some((login, _))) = (words.next()?, &mut entry) {
                    *login = Some(value)
                }
            }
            "password" => {
                if let (value, Some((_, password))) = (words.next()?, &mut entry) {
                    *password = Some(value)
                }
            }
            "account" => drop(words.next()?),
            "macdef" => words.skip_macro(),
            _ => {}
        }
    }
    complete(entry, fits, user)
}

type Entry = (Option<String>, Option<String>);

fn complete(entry: Option<Entry>, fits: bool, user: Option<&str>) -> Option<Login> {
    let (login, password) = entry.filter(|_| fits)?;
    let login = login.or_else(|| user.map(str::to_owned)).unwrap_or_default();
    let wanted = user.is_none_or(|user| user == login);
    let password = password.filter(|_| wanted)?;
    Some(Login { user: login, password: Secret::copy_from(password.as_bytes()) })
}

struct Words<'a> {
    rest: &'a str,
}

impl Words<'_> {
    /// The next word that is not part of a comment.
    fn keyword(&mut self) -> Option<String> {
        loop {
            let word = self.next()?;
            if !word.starts_with('#') {
                return Some(word);
            }
            self.skip_to("\n");
        }
    }

    fn next(&mut self) -> Option<String> {
        let text = self.rest.trim_start();
        let mut letters = text.char_indices();
        let is_quoted = text.starts_with('"');
        if is_quoted {
            letters.next();
        }
        let mut word = String::new();
        let mut end = text.len();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' if is_quoted => {
                    end = at + 1;
                    break;
                }
                '\\' if is_quoted => word.extend(letters.next().map(|(_, letter)| letter)),
                letter if letter.is_whitespace() && !is_quoted => {
                    end = at;
                    break;
                }
                letter => word.push(letter),
            }
        }
        self.rest = &text[end..];
        (!text.is_empty()).then_some(word)
    }

    fn skip_macro(&mut self) {
        self.skip_to("\n\n");
    }

    fn skip_to(&mut self, end: &str) {
        self.rest = self.rest.find(end).map_or("", |at| &self.rest[at..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# machine h login a password commented
machine h login one password first
machine h
\tlogin two
\tpassword second # not a comment's end
machine Other.Example login \"my name\" account x password \"pass \\\"word\\\\ \"
macdef init
machine h login from password macro

machine nopassword login x
machine only-password password p
default login anonymous password guest
machine behind login x password y
";

    fn login(host: &str, user: Option<&str>) -> Option<(String, String)> {
        let login = find(FILE, host, user)?;
        Some((login.user, String::from_utf8(login.password.expose().to_vec()).unwrap()))
    }

    #[test]
    fn logins_are_found_by_host_and_user() {
        let pair = |user: &str, password: &str| Some((user.to_owned(), password.to_owned()));
        assert_eq!(login("h", None), pair("one", "first"));
        assert_eq!(login("h", Some("two")), pair("two", "second"));
        assert_eq!(login("other.example", None), pair("my name", "pass \"word\\ "));
        assert_eq!(login("only-password", Some("me")), pair("me", "p"));
        assert_eq!(login("only-password", None), pair("", "p"));
        assert_eq!(login("elsewhere", None), pair("anonymous", "guest"));
        assert_eq!(login("elsewhere", Some("anonymous")), pair("anonymous", "guest"));
        assert_eq!(login("elsewhere", Some("me")), None);
        assert_eq!(login("h", Some("three")), None);
        assert_eq!(login("nopassword", None), pair("anonymous", "guest"));
        // Entries after the default are ignored.
        assert_eq!(login("behind", None), pair("anonymous", "guest"));
    }

    #[test]
    fn quotes_and_backslashes_within_a_word_are_letters() {
        let login = find(r#"machine h login a\b password p"a\"ss q"#, "h", None).unwrap();
        assert_eq!((login.user.as_str(), login.password.expose()), (r"a\b", &br#"p"a\"ss"#[..]));
    }

    #[test]
    fn half_a_file_is_no_login() {
        for text in
            ["", "machine", "machine h login", "machine h password", "login x password y", "machine h \""]
        {
            assert!(find(text, "h", None).is_none(), "{text}");
        }
        assert!(find("machine h login x password \"open", "h", None).is_some());
        for end in 0..FILE.len() {
            let _ = find(&FILE[..end], "behind", None);
        }
    }

    #[test]
    fn accounts_and_macros_are_no_logins() {
        for text in [
            "machine h login me account password password mine",
            "macdef init\nmachine h login you password yours\n\nmachine h login me password mine",
        ] {
            let login = find(text, "h", None).unwrap();
            assert_eq!((login.user.as_str(), login.password.expose()), ("me", &b"mine"[..]), "{text:?}");
        }
    }
}
