//! Whether a passphrase can be typed at the prompt of an initramfs: with the map of the keyboard that the image has, else
//! with that of a US keyboard, which every kernel has.

use super::given::Way;
use crate::verb::tools::boot::keymap::of_map;
use keyway_boot::initramfs::{self, layout};
use keyway_boot::keymap::{self, Found, Keymap};
use keyway_boot::loader::grub::typing::Layout;

/// The keyboard of an image.
pub(super) struct Keyboard {
    /// The file in the image that is its map, or names it.
    pub(super) file: Option<String>,
    /// The map; `None` for a US keyboard; or why it is not known.
    map: Result<Option<Keymap>, String>,
}

/// What is wrong with a passphrase at this keyboard.
pub(super) struct Finding {
    pub(super) rule: &'static str,
    pub(super) because: String,
}

impl Keyboard {
    /// That of an image with these programs.
    pub(super) fn of(image: &[u8], programs: &[String]) -> Result<Self, initramfs::Error> {
        // Keyway asks before the image's own scripts load their map.
        let is_loaded = |found: &Found| {
            found.file == layout::KEYMAP || !programs.iter().any(|program| program == layout::PROGRAM)
        };
        let Some(found) = keymap::of_image(image)?.filter(is_loaded) else {
            return Ok(Self { file: None, map: Ok(None) });
        };
        let binary = found.map.map_err(|why| why.to_string()).and_then(of_map);
        let map = binary.and_then(|bytes| Keymap::parse(&bytes).map_err(|why| why.to_string()));
        Ok(Self { file: Some(found.file), map: map.map(Some) })
    }

    /// Why nothing can be said of it.
    pub(super) fn unknown(&self) -> Option<&str> {
        self.map.as_ref().err().map(String::as_str)
    }

    /// What happens to a passphrase. It tells how many of its characters are concerned, and never which.
    pub(super) fn judge(&self, passphrase: &[u8], way: &Way) -> Option<Finding> {
        let Way::Typed { layout } = way else { return None };
        let file = self.file.as_deref().unwrap_or_default();
        let Ok(text) = std::str::from_utf8(passphrase) else {
            let because = "it is not UTF-8 text, which is all that a keyboard types".to_owned();
            return Some(Finding { rule: LETTERS, because });
        };
        let Some(map) = self.map.as_ref().ok()? else {
            return of_us(text, *layout);
        };
        let untyped = map.untyped(passphrase)?;
        let because =
            || format!("the keymap in the image ({file}) has no key for {untyped} of its characters");
        (untyped > 0).then(|| Finding { rule: LETTERS, because: because() })
    }
}

/// At a US keyboard.
fn of_us(text: &str, layout: Option<&Layout>) -> Option<Finding> {
    let untyped = text.chars().filter(|character| !(' '..='~').contains(character)).count();
    if untyped > 0 {
        let because = format!(
            "a US keyboard has no key for {untyped} of its characters, and the image has no other keymap"
        );
        return Some(Finding { rule: LETTERS, because });
    }
    let layout = layout?;
    let moved = layout.moves(text.as_bytes());
    let because = || {
        format!(
            "{moved} of its characters are on other keys of a US keyboard, and the image has no other keymap \
             ({})",
            layout.name
        )
    };
    (moved > 0).then(|| Finding { rule: MOVED, because: because() })
}

const LETTERS: &str = "passphrase-letters";
const MOVED: &str = "keyboard";
/// Where Linux makes characters of keys.
pub(super) const SOURCE: &str = "drivers/tty/vt/keyboard.c: kbd_keycode, k_self, k_unicode";
