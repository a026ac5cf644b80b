//! What a new header may say, whatever its format: checked before anything is asked for, measured
//! or written, and once more when it is planned.

use crate::{Random, Refusal, Result};
use keyway_crypto::{CipherSpec, Secret, Weakness};

/// The length of the volume key for `cipher`, in bits: cryptsetup's default, or if the cipher does
/// not accept that, the longest that it does.
pub fn default_key_bits(cipher: &CipherSpec) -> u32 {
    let usual = match cipher.to_string().split('-').nth(1) {
        Some("xts") => 2 * CipherSpec::DEFAULT_CIPHER_KEY_BITS,
        _ => CipherSpec::DEFAULT_CIPHER_KEY_BITS,
    };
    let longest = || cipher.key_bits().last().map_or(usual, |bits| *bits as u32);
    if cipher.check_key_bits(usual as usize).is_ok() { usual } else { longest() }
}

/// Checks that a header of this version can describe a volume under `cipher` with a key of `bits`.
///
/// # Errors
/// [`Refusal::KeyLength`], [`Refusal::NoVolumeKey`], [`Refusal::OnlyLuks2`]; the cipher's.
pub fn check_key_bits(cipher: &CipherSpec, bits: u32, version: u8) -> Result<()> {
    if !bits.is_multiple_of(8) {
        return Err(Refusal::KeyLength.because("Key size must be a multiple of 8 bits."));
    }
    cipher.check_key_bits(bits as usize)?;
    match bits {
        0 => {
            Err(Refusal::NoVolumeKey
                .because(format!("LUKS needs a volume key, and {cipher} would have none")))
        }
        _ if version == 1 && bits > LUKS1_MOST_KEY_BITS => Err(Refusal::OnlyLuks2.because(format!(
            "LUKS1 takes keys of up to {LUKS1_MOST_KEY_BITS} bits, {cipher} needs {bits} bits"
        ))),
        _ => Ok(()),
    }
}

/// Checks the size of encryption sectors.
///
/// # Errors
/// [`Refusal::Geometry`]
pub fn check_sector_size(bytes: u32, version: u8) -> Result<()> {
    let refuse =
        |why: &str| Err(Refusal::Geometry.because(format!("Unsupported encryption sector size: {why}.")));
    match bytes {
        512 => Ok(()),
        1024 | 2048 | 4096 if version == 1 => refuse("LUKS1 supports only 512 bytes"),
        1024 | 2048 | 4096 => Ok(()),
        _ => refuse("512, 1024, 2048 or 4096"),
    }
}

/// Refuses a cipher under which two volumes with the same key reveal information about each other.
///
/// # Errors
/// [`Refusal::SameKeyStream`]
pub fn check_reproducible(cipher: &CipherSpec) -> Result<()> {
    if cipher.weakness() != Some(Weakness::KeyStream) {
        return Ok(());
    }
    Err(Refusal::SameKeyStream.because(format!(
        "the same seed gives the same key, and {cipher} then uses the same key stream: two such volumes reveal where and \
         how their contents differ"
    )))
}

/// A new volume key.
///
/// # Errors
/// Those of `rng`.
pub fn random_volume_key(bits: u32, rng: &mut dyn Random) -> Result<Secret> {
    let mut key = Secret::zeroed(bits as usize / 8);
    rng.fill(key.expose_mut())?;
    Ok(key)
}

/// The longest volume key that a LUKS1 header can declare: 512 bytes.
const LUKS1_MOST_KEY_BITS: u32 = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    fn spec(cipher: &str) -> CipherSpec {
        CipherSpec::parse(cipher).unwrap()
    }

    fn kind(result: Result<()>) -> Option<Refusal> {
        match result {
            Ok(()) => None,
            Err(Error::Refused { kind, .. }) => Some(kind),
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn a_key_suits_its_cipher_and_header() {
        for (cipher, bits) in [
            ("aes-xts-plain64", 512),
            ("aes-cbc-essiv:sha256", 256),
            ("twofish-xts-plain64", 512),
            ("cast5-cbc-plain64", 128),
        ] {
            assert_eq!(default_key_bits(&spec(cipher)), bits, "{cipher}");
            assert_eq!(kind(check_key_bits(&spec(cipher), bits, 1)), None, "{cipher}");
        }
        assert_eq!(kind(check_key_bits(&spec("aes-xts-plain64"), 511, 2)), Some(Refusal::KeyLength));
        assert!(matches!(check_key_bits(&spec("aes-xts-plain64"), 128, 2), Err(Error::Crypto(_))));
        let null = spec("cipher_null-ecb");
        assert_eq!(kind(check_key_bits(&null, default_key_bits(&null), 2)), None, "256 bits, unused");
        assert_eq!(kind(check_key_bits(&null, 0, 2)), Some(Refusal::NoVolumeKey));
        let long = spec("aes:64-cbc-lmk");
        assert_eq!(kind(check_key_bits(&long, 8192, 1)), Some(Refusal::OnlyLuks2));
        assert_eq!(kind(check_key_bits(&long, 8192, 2)), None);
    }

    #[test]
    fn sectors_suit_the_header() {
        assert_eq!([512, 1024, 2048, 4096].map(|size| kind(check_sector_size(size, 2))), [None; 4]);
        assert_eq!(kind(check_sector_size(512, 1)), None);
        for (size, version) in [(4096, 1), (0, 2), (513, 2), (8192, 2)] {
            assert_eq!(kind(check_sector_size(size, version)), Some(Refusal::Geometry), "{size}");
        }
    }

    #[test]
    fn a_key_stream_is_not_reproduced() {
        assert_eq!(kind(check_reproducible(&spec("aes-xts-plain64"))), None);
        assert_eq!(kind(check_reproducible(&spec("aes-ctr-plain64"))), Some(Refusal::SameKeyStream));
    }
}
