//! Maps as texts of loadkeys (keymaps(5)), and the other texts that they include.
//!
//! ```text
//! include "qwertz-layout"     in this line's place the whole text of that name
//! ```

use super::Lacking;

/// Gives the text of a name.
pub(super) type Find<'a> = dyn Fn(&str) -> Result<String, Lacking> + 'a;

/// The text with all that it includes in place: whatever translates it opens no other file then.
pub(super) fn whole(text: &str, find: &Find<'_>) -> Result<String, Lacking> {
    let mut whole = Whole { text: String::new(), included: 0, find };
    whole.append(text, 0)?;
    Ok(whole.text)
}

struct Whole<'a> {
    text: String,
    /// How often a text was included so far.
    included: u32,
    find: &'a Find<'a>,
}

impl Whole<'_> {
    fn append(&mut self, text: &str, depth: u32) -> Result<(), Lacking> {
        for line in text.lines() {
            match name(line) {
                None => {
                    self.text.push_str(line);
                    self.text.push('\n');
                }
                Some(name) => {
                    self.included += 1;
                    if depth == DEEPEST || self.included > MOST_INCLUDED {
                        return Err(Lacking::End);
                    }
                    self.append(&(self.find)(name)?, depth + 1)?;
                }
            }
            if self.text.len() > MOST {
                return Err(Lacking::End);
            }
        }
        Ok(())
    }
}

/// The name in a line that includes a text.
fn name(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("include")?;
    rest.trim_start().strip_prefix('"')?.split('"').next()
}

/// kbd's own maps include four at most, two deep.
const DEEPEST: u32 = 8;
const MOST_INCLUDED: u32 = 64;
/// The longest map of kbd has 0.1 MiB.
const MOST: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str) -> Result<String, Lacking> {
        Ok(match name {
            "twice" => "include \"b\"\n  include \"b\"".to_owned(),
            "b" => "keycode 2 = b".to_owned(),
            "itself" => "x\ninclude \"itself\"".to_owned(),
            "wide" => "include \"empty\"\n".repeat(1000),
            "empty" => String::new(),
            "long" => "0123456789\n".repeat(1 << 17),
            _ => return Err(Lacking::Included(name.to_owned())),
        })
    }

    #[test]
    fn what_is_included_stands_in_its_place() {
        let text = "# include \"x\"\nkeymaps 0-2\ninclude \"twice\" # y\nincluded = 1\nkeycode 3 = c";
        let expected =
            "# include \"x\"\nkeymaps 0-2\nkeycode 2 = b\nkeycode 2 = b\nincluded = 1\nkeycode 3 = c\n";
        assert_eq!(whole(text, &found).as_deref(), Ok(expected));
    }

    #[test]
    fn what_has_no_end_is_refused() {
        for name in ["itself", "wide", "long\"\ninclude \"long\"\ninclude \"long\"\ninclude \"long"] {
            assert_eq!(whole(&format!("include \"{name}\""), &found), Err(Lacking::End), "{name}");
        }
        assert_eq!(whole("include \"gone\"", &found), Err(Lacking::Included("gone".to_owned())));
    }
}
