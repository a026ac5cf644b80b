//! When re-encryption is the cure, in words: `inspect` and `passport` say the same.

use crate::output::size::human;
use keyway::facts::Concern;

/// The sentence of a concern that re-encryption cures; `None` for any other.
pub(crate) fn sentence(concern: &Concern) -> Option<String> {
    match concern {
        Concern::LongUnderOneKey { len, is_beyond_all } => {
            let len = human(*len);
            let standard = match is_beyond_all {
                false => "IEEE 1619-2025 advises at most 1 TiB (2^36 blocks), and allows 256 TiB. It is \
                          advice, not an attack",
                true => "IEEE 1619-2025 allows 256 TiB at the very most (2^44 blocks), and advises 1 TiB",
            };
            Some(format!(
                "One XTS key encrypts {len}: {standard}. Smaller volumes meet it, and so does a cipher in \
                 another mode: keyway reencrypt --cipher changes it."
            ))
        }
        Concern::SmallSectors => Some(
            "It is encrypted in sectors of 512 bytes, and the device's have 4096: keyway reencrypt --sector-size 4096 makes \
             it faster, if the file system inside has no smaller ones."
                .to_owned(),
        ),
        _ => None,
    }
}
