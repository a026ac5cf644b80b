//! How a mapping's volume is encrypted and where it is: where several ciphers are chained, seen through the mappings
//! below it, in cryptsetup's words.

use super::Mapping;
use keyway_attach::dm::DeviceNumber;
use keyway_attach::dm::chain::Lower;
use keyway_attach::dm::crypt::Line;

/// A volume that is mapped.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Through {
    /// "aes-xts-plain64"; of a chain, "serpent-twofish-aes-xts-plain64".
    pub(crate) cipher: String,
    /// The length of all keys in bytes.
    pub(crate) key_len: usize,
    /// The device that it is on.
    pub(crate) device: DeviceNumber,
    /// Its first sector of 512 bytes there.
    pub(crate) offset: u64,
}

impl Mapping {
    /// What lies below this mapping, whose table line is `line`.
    pub(crate) fn through(&self, line: &Line) -> Through {
        let lower: Vec<Line> = self.lower().into_iter().map(|Lower { line, .. }| line).collect();
        through(line, &lower)
    }
}

fn through(top: &Line, lower: &[Line]) -> Through {
    let name = |line: &Line| line.cipher.split('-').next().unwrap_or_default().to_owned();
    let mode = top.cipher.split_once('-').map_or("", |(_, mode)| mode);
    let lines = || std::iter::once(top).chain(lower);
    let cipher = match lower {
        [] => top.cipher.clone(),
        _ => format!("{}-{mode}", lines().map(name).collect::<Vec<_>>().join("-")),
    };
    let lowest = lower.last().unwrap_or(top);
    Through {
        cipher,
        key_len: lines().map(|line| line.key.len()).sum(),
        device: lowest.device,
        offset: lowest.offset,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_seen_as_one_volume() {
        let line = |text: &str| Line::parse(text.as_bytes()).unwrap();
        let top = line("serpent-xts-plain64 00ff 256 254:1 0");
        let lower = [line("twofish-xts-plain64 00ff 256 254:0 0"), line("aes-xts-plain64 00ff 256 8:1 256")];
        let seen = |cipher: &str, key_len, device, offset| Through {
            cipher: cipher.to_owned(),
            key_len,
            device: DeviceNumber { major: device, minor: 1 },
            offset,
        };
        assert_eq!(through(&top, &lower), seen("serpent-twofish-aes-xts-plain64", 6, 8, 256));
        assert_eq!(through(&top, &[]), seen("serpent-xts-plain64", 2, 254, 0));
        assert_eq!(
            through(&line("capi:xts(aes)-plain64 00ff 0 8:1 9"), &[]),
            seen("capi:xts(aes)-plain64", 2, 8, 9)
        );
    }
}
