//! Labels of LUKS2 headers, which have a fixed size there.

use crate::args::{Args, Opt, Release};
use crate::output::failure::{Exit, Failure, Result};
use keyway_format::luks2::BinaryHeader;

/// The label that an option gives. One that is too long is refused, as cryptsetup 2.8.2 and later refuse it; earlier
/// releases cut it silently, and so does Keyway in their place (between characters), but says so.
pub(crate) fn from_args(args: &Args, option: &Opt) -> Result<Option<String>> {
    let Some(text) = args.text(option) else { return Ok(None) };
    let (name, len, most) = (option.long, text.len(), BinaryHeader::MAX_LABEL_LEN);
    if len <= most {
        return Ok(Some(text.to_owned()));
    }
    if !args.is_cryptsetup() || Release::followed() != Release::V2_6 {
        let message = format!("--{name}: {len} bytes, at most {most} fit.");
        return Err(Failure::new(Exit::Parameters, message));
    }
    let cut = (0..=most).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    say!("WARNING: --{name} has {len} bytes: the first {cut} are taken, as many as fit.");
    Ok(Some(text[..cut].to_owned()))
}
