//! Turns the libraries' errors, which say what failed and where in half a sentence, into whole
//! sentences.

use crate::output::failure::{Exit, Failure};
use std::time::Duration;

/// Why a kernel's files cannot map a volume.
pub(crate) fn cannot_map(missing: &str) -> String {
    format!("It cannot map this volume: {missing} missing.")
}

/// An error of a front end.
pub(crate) fn attaching(error: &keyway_attach::Error) -> Failure {
    use keyway_attach::Error as Attaching;
    let exit = match error {
        Attaching::Permission(_) => Exit::Permission,
        Attaching::Busy(_) => Exit::Busy,
        Attaching::Io { .. } | Attaching::Connect(_) | Attaching::NotFound(_) => Exit::Device,
        _ => Exit::Parameters,
    };
    Failure::new(exit, sentence(&error.to_string()))
}

/// An error of FUSE's front end. Where this user may not mount, or cannot, NBD needs no rights.
pub(crate) fn fuse(error: &keyway_attach::Error) -> Failure {
    use keyway_attach::Error as Attaching;
    let failure = attaching(error);
    match error {
        Attaching::Permission(_) | Attaching::Unavailable(_) => failure.hinting(
            "NBD needs neither FUSE nor root: \"keyway open --backend nbd VOLUME NAME\", or keyway serve.",
        ),
        _ => failure,
    }
}

/// Starts `text` with a capital letter, unless its first word is a name, and ends it with a full
/// stop.
pub(crate) fn sentence(text: &str) -> String {
    let mut text = text.trim_end().to_owned();
    let first_word = text.split(' ').next().unwrap_or_default().trim_end_matches(':');
    let is_name = NAMES.contains(&first_word) || !first_word.chars().all(|c| c.is_ascii_lowercase());
    if !is_name && let Some(first) = text.get(..1) {
        let capital = first.to_ascii_uppercase();
        text.replace_range(..1, &capital);
    }
    if !text.ends_with(['.', '!', '?']) {
        text.push('.');
    }
    text
}

/// Ciphers and modes, which keep dm-crypt's spelling even at the start of a sentence.
const NAMES: &[&str] = &[
    "aes", "serpent", "twofish", "camellia", "adiantum", "xts", "cbc", "ctr", "ecb", "lrw", "pcbc", "cfb",
    "ofb", "xctr", "essiv", "plain", "capi",
];

/// The line for somebody who waits for a server.
pub(crate) fn waiting(place: &str, waited: Duration, limit: Duration) -> String {
    let (waited, limit) = (waited.as_secs(), limit.as_secs());
    format!("Waiting for {place}: no data for {waited} s; giving up after {limit} s (--timeout).")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_errors_become_sentences() {
        assert_eq!(sentence("unknown hash \"x\""), "Unknown hash \"x\".");
        assert_eq!(sentence("aes-xts-plain64 takes 512 bits."), "aes-xts-plain64 takes 512 bits.");
        assert_eq!(sentence("xts needs a cipher"), "xts needs a cipher.");
        assert_eq!(sentence("json: no"), "Json: no.");
        for specification in ["capi:gcm(aes)-random", "khazad:64-cbc-lmk", "capi:"] {
            assert_eq!(sentence(&format!("{specification}: no")), format!("{specification}: no."));
        }
    }
}
