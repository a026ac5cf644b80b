//! Secrets that are set, not only used: what nobody means to set is refused or said. An empty key file
//! or an unset variable would make a volume that Enter opens; a newline that an editor or echo put at
//! a file's end is part of the key, and nobody types it.

use crate::args::{Args, shared};
use crate::output::failure::{Exit, Failure, Result};
use crate::process::encoding::encoded;
use keyway_crypto::Secret;
use std::path::Path;

/// What is said of a new passphrase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Manners {
    /// An empty one is refused, and a newline is said.
    #[default]
    Keyways,
    /// An empty one is permitted.
    EmptyIsFine,
    /// As called by cryptsetup's name: everything is taken, and an empty one said.
    Cryptsetups,
}

encoded!(Manners: Keyways, EmptyIsFine, Cryptsetups);

impl Manners {
    pub(super) fn from_args(args: &Args) -> Self {
        match (args.is_cryptsetup(), args.given(&shared::ALLOW_EMPTY_PASSPHRASE)) {
            (true, _) => Self::Cryptsetups,
            (false, true) => Self::EmptyIsFine,
            (false, false) => Self::Keyways,
        }
    }

    /// Refuses an empty secret, or warns of it; a note says that a newline is part of the key in
    /// `file`, unless the command is to be `quiet`.
    pub(super) fn check(self, secret: &Secret, file: Option<&Path>, quiet: bool) -> Result<()> {
        match self {
            Self::Keyways if secret.is_empty() => {
                let message = "The new passphrase is empty: anyone who has the volume could open it by \
                               pressing Enter.";
                let option = shared::ALLOW_EMPTY_PASSPHRASE.long;
                return Err(Failure::new(Exit::Parameters, message).hinting(format!("--{option} allows it.")));
            }
            Self::Cryptsetups if secret.is_empty() => {
                say!(
                    "WARNING: The new passphrase is empty: anyone who has the volume can open it by pressing \
                      Enter."
                );
            }
            Self::Keyways | Self::EmptyIsFine if !quiet => {
                if let Some(file) = file.filter(|_| ends_in_typed_newline(secret.expose())) {
                    let name =
                        if file == Path::new("-") { "Standard input".into() } else { file.to_string_lossy() };
                    say!(
                        "{name} ends in a newline, which is part of the key: it cannot be typed at a prompt."
                    );
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Whether it looks like a line that was typed: short, printable, and its newline at the end the only
/// one.
fn ends_in_typed_newline(secret: &[u8]) -> bool {
    let Some(line) = secret.strip_suffix(b"\n").filter(|line| (1..=LONGEST_TYPED).contains(&line.len()))
    else {
        return false;
    };
    std::str::from_utf8(line).is_ok_and(|text| !text.chars().any(char::is_control))
}

/// cryptsetup's limit for a typed passphrase.
const LONGEST_TYPED: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newline_is_told_from_a_key() {
        for typed in
            [&b"secret\n"[..], b"x\n", "gr\u{fc}n und blau\n".as_bytes(), &[&[b'a'; 512][..], b"\n"].concat()]
        {
            assert!(ends_in_typed_newline(typed));
        }
        let long = [&[b'a'; 513][..], b"\n"].concat();
        for other in
            [&b"secret"[..], b"\n", b"", b"two\nlines\n", b"x\r\n", b"\x00\x01\n", b"\xff\xfe\n", &long]
        {
            assert!(!ends_in_typed_newline(other));
        }
    }

    #[test]
    fn an_empty_passphrase_is_refused_unless_it_is_meant() {
        let check = |manners: Manners, secret: &[u8]| manners.check(&Secret::copy_from(secret), None, true);
        let refused = check(Manners::Keyways, b"").unwrap_err();
        assert_eq!(refused.exit(), Exit::Parameters);
        for (manners, secret) in
            [(Manners::Keyways, &b"x"[..]), (Manners::EmptyIsFine, b""), (Manners::Cryptsetups, b"")]
        {
            assert!(check(manners, secret).is_ok());
        }
    }
}
