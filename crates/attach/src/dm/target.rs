//! One target of a table: which of the mapping's sectors it provides, and from what.

use super::{DeviceNumber, crypt};
use crate::{Refusal, Result};
use keyway_crypto::Secret;

/// A line of a table. Its parameters may contain a key.
pub struct Target {
    /// The target's first sector in the mapping, in units of 512 bytes.
    pub start: u64,
    /// The target's length in sectors of 512 bytes.
    pub length: u64,
    /// The target's type: `crypt`, `linear`, `error`.
    pub kind: String,
    /// The target's parameters, as text.
    pub parameters: Secret,
}

impl Target {
    /// dm-crypt: the sectors are decrypted.
    pub fn crypt(start: u64, length: u64, line: &crypt::Line) -> Self {
        Self { start, length, kind: "crypt".into(), parameters: line.format() }
    }

    /// dm-linear: another device's sectors from `offset` on, unchanged.
    pub fn linear(start: u64, length: u64, device: DeviceNumber, offset: u64) -> Self {
        let parameters = Secret::copy_from(format!("{device} {offset}").as_bytes());
        Self { start, length, kind: "linear".into(), parameters }
    }

    /// dm-zero: reads as zeros; what is written is gone.
    pub fn zero(start: u64, length: u64) -> Self {
        Self { start, length, kind: "zero".into(), parameters: Secret::copy_from(b"") }
    }

    /// dm-stripe: `stripe` sectors of each device in turn, from these sectors of theirs on.
    pub fn striped(start: u64, length: u64, stripe: u64, places: &[(DeviceNumber, u64)]) -> Self {
        let places = places.iter().map(|(device, offset)| format!(" {device} {offset}"));
        let text = format!("{} {stripe}{}", places.len(), places.collect::<String>());
        Self { start, length, kind: "striped".into(), parameters: Secret::copy_from(text.as_bytes()) }
    }

    /// dm-error: every request fails.
    pub fn error(start: u64, length: u64) -> Self {
        Self { start, length, kind: "error".into(), parameters: Secret::zeroed(0) }
    }

    /// The parameters as a dm-crypt line.
    ///
    /// # Errors
    /// [`Refusal::OtherTarget`] when the target is of another type, or its parameters are not dm-crypt's.
    pub fn as_crypt(&self) -> Result<crypt::Line> {
        if self.kind != "crypt" {
            return Err(Refusal::OtherTarget.because(format!("the target is {}, not crypt", self.kind)));
        }
        crypt::Line::parse(self.parameters.expose())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_target_reads_as_it_was_written() {
        let device = DeviceNumber { major: 7, minor: 1 };
        let target = Target::linear(0, 8, device, 2048);
        assert_eq!(target.parameters.expose(), b"7:1 2048");
        assert!(target.as_crypt().is_err());
        let other = DeviceNumber { major: 253, minor: 2 };
        let striped = Target::striped(0, 256, 128, &[(device, 2048), (other, 4096)]);
        assert_eq!(striped.parameters.expose(), b"2 128 7:1 2048 253:2 4096");
    }
}
