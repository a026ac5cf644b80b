//! The keyboard at which the passphrase is typed: its map, which the image's maker put into `/keyway/keymap`.

use keyway_attach::initramfs::{Initramfs, Keyboard};
use keyway_boot::keymap::Keymap;
use std::fs;

/// Loads the map. An error is printed but not fatal: the passphrase may come from elsewhere.
pub(super) fn prepare(image: &Initramfs) -> Option<Keyboard> {
    let keyboard = Keyboard::of_console(image)?;
    if let Ok(bytes) = fs::read(KEYMAP) {
        let keymap = Keymap::parse(&bytes).map_err(|why| why.to_string());
        let loaded = keymap.and_then(|map| keyboard.load(map.values()).map_err(|why| why.to_string()));
        if let Err(why) = loaded {
            say!("WARNING: {KEYMAP}: {why}; keys type what those of a US keyboard type.");
        }
    }
    Some(keyboard)
}

/// Whether the image has a map.
pub(super) fn has_map() -> bool {
    fs::symlink_metadata(KEYMAP).is_ok()
}

pub(super) const KEYMAP: &str = "/keyway/keymap";
