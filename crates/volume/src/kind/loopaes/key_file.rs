//! Key files of loop-AES: a key a line, all of one length.

use super::{KEYS, KEYS_AND_SEED};
use crate::{Error, Refusal, Result};
use keyway_crypto::{Hash, Secret};

/// The lines of a key file.
pub(super) struct Keys<'a>(Vec<&'a [u8]>);

impl<'a> Keys<'a> {
    /// 1, 64 or 65 lines of one length, each ended by CR, LF or zero bytes.
    ///
    /// # Errors
    /// [`Refusal::Unusable`]: it is no such file, or still encrypted by GnuPG.
    pub(super) fn parse(content: &'a Secret) -> Result<Self> {
        if let Some(error) = gpg(content) {
            return Err(error);
        }
        let content = content.expose();
        let starts_empty = content.first().is_none_or(is_end);
        let is_ended = content.last().is_some_and(is_end);
        let lines: Vec<&[u8]> = content.split(is_end).filter(|line| !line.is_empty()).collect();
        let is_even = lines.iter().all(|line| line.len() == lines[0].len());
        match lines.len() {
            1 | KEYS | KEYS_AND_SEED if is_even && is_ended && !starts_empty => Ok(Self(lines)),
            _ => Err(incompatible()),
        }
    }

    /// The volume key: `len` bytes of each line's hash, one after the other.
    ///
    /// # Errors
    /// [`Refusal::Hash`]: there is none of that name, or it is shorter than that.
    pub(super) fn hashed(&self, hash: Option<&str>, len: usize) -> Result<Secret> {
        let name = hash_name(hash, len);
        let hash = name.and_then(Hash::find).filter(|hash| hash.output_len() >= len).ok_or_else(|| {
            let name = name.unwrap_or("[none]");
            Refusal::Hash.because(format!("Key processing error (using hash {name})."))
        })?;
        let mark = match self.0.len() {
            KEYS => 0x55,
            KEYS_AND_SEED => 0xF4,
            _ => 0,
        };
        let mut volume_key = Secret::zeroed(len * self.0.len());
        for (line, key) in self.0.iter().zip(volume_key.expose_mut().chunks_exact_mut(len)) {
            hash.digest_into(&[line], key);
            key[0] ^= mark;
        }
        Ok(volume_key)
    }
}

/// The hash of that name; without one, loop-AES's for keys of `len` bytes.
pub(super) fn hash_name(given: Option<&str>, len: usize) -> Option<&str> {
    given.or(match len {
        16 => Some("sha256"),
        24 => Some("sha384"),
        32 => Some("sha512"),
        _ => None,
    })
}

fn is_end(byte: &u8) -> bool {
    matches!(byte, b'\n' | b'\r' | 0)
}

/// The refusal of a file that is still encrypted.
fn gpg(content: &Secret) -> Option<Error> {
    let content = content.expose();
    let start = &content[..content.len().min(GPG_WITHIN)];
    start.windows(GPG.len()).any(|part| part == GPG).then(|| {
        Refusal::Unusable.because(
            "Detected not yet supported GPG encrypted keyfile: decrypt it, as in gpg --decrypt KEYFILE | keyway open \
             --type loopaes --key-file - DEVICE NAME.",
        )
    })
}

fn incompatible() -> Error {
    Refusal::Unusable.because("Incompatible loop-AES keyfile detected.")
}

/// What an armoured file of GnuPG's starts with, and within how many bytes.
const GPG: &[u8] = b"BEGIN PGP MESSAGE";
const GPG_WITHIN: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    fn hashed(content: &[u8], hash: Option<&str>, len: usize) -> Result<Vec<u8>> {
        let content = Secret::copy_from(content);
        Ok(Keys::parse(&content)?.hashed(hash, len)?.expose().to_vec())
    }

    fn lines(count: usize) -> Vec<u8> {
        (0..count).flat_map(|line| format!("{line:020}\n").into_bytes()).collect()
    }

    #[test]
    fn keys_are_hashed_and_marked_by_their_number() {
        for (count, mark) in [(1, 0), (64, 0x55), (65, 0xF4)] {
            for (len, hash) in [(16, Hash::Sha256), (24, Hash::Sha384), (32, Hash::Sha512)] {
                let keys = hashed(&lines(count), None, len).unwrap();
                assert_eq!(keys.len(), count * len);
                let mut last = hash.digest(&[format!("{:020}", count - 1).as_bytes()])[..len].to_vec();
                last[0] ^= mark;
                assert_eq!(keys[(count - 1) * len..], last, "{count} {len}");
            }
        }
        let named = hashed(&lines(1), Some("whirlpool"), 32).unwrap();
        assert_eq!(named, Hash::Whirlpool.digest(&[&[b'0'; 20]])[..32]);
    }

    #[test]
    fn ends_of_lines_are_all_alike() {
        let one = hashed(b"key\n", None, 16).unwrap();
        for content in [&b"key\r\n"[..], b"key\0", b"key\n\n\r\0"] {
            assert_eq!(hashed(content, None, 16).unwrap(), one, "{content:?}");
        }
    }

    #[test]
    fn what_is_no_key_file_is_refused() {
        let uneven = [&lines(63)[..], b"shorter\n"].concat();
        let (missing, more, open) = (lines(63), lines(66), lines(64)[..64 * 21 - 1].to_vec());
        for content in [&b""[..], b"\n", b"\nkey\n", b"key", &uneven, &missing, &more, &open] {
            let refused = hashed(content, None, 32).unwrap_err().to_string();
            assert_eq!(refused, "Incompatible loop-AES keyfile detected.", "{}", content.len());
        }
        let sealed = hashed(b"-----BEGIN PGP MESSAGE-----\n\nhQEM\n", None, 32).unwrap_err().to_string();
        assert!(sealed.starts_with("Detected not yet supported GPG encrypted keyfile"), "{sealed}");
        for (hash, len, name) in [(None, 8, "[none]"), (Some("sha1"), 32, "sha1"), (Some("sha0"), 16, "sha0")]
        {
            let refused = hashed(&lines(1), hash, len).unwrap_err().to_string();
            assert_eq!(refused, format!("Key processing error (using hash {name})."));
        }
    }
}
