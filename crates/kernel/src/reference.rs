//! Keyway's own code for an algorithm of the kernel, as a reference for the kernel's drivers.

use crate::Algorithm;
use keyway_crypto::{CipherSpec, Cpu, Error, Secret, SectorCipher, SectorSize};

/// The specification for which encrypting sector `n` equals the algorithm with the IV `n` (64 bits,
/// little-endian, then zeros).
pub fn spec(algorithm: &Algorithm) -> Option<CipherSpec> {
    let text = match (&algorithm.name[..], &algorithm.of[..]) {
        ("ecb", [cipher]) => format!("{cipher}-ecb"),
        ("adiantum", [stream, cipher]) => format!("{stream},{cipher}-adiantum-plain64"),
        // The kernel's essiv receives the plain IV and encrypts it.
        ("essiv", [inner, hash]) => {
            let inner = spec(inner)?.to_string();
            format!("{}-essiv:{hash}", inner.strip_suffix("-plain64")?)
        }
        (mode, [cipher]) => format!("{cipher}-{mode}-plain64"),
        (driver, []) => format!("capi:{driver}-plain64"),
        _ => return None,
    };
    CipherSpec::parse(&text).ok()
}

/// The IV of a sector, as in dm-crypt's plain64.
pub fn iv(spec: &CipherSpec, sector: u64) -> Vec<u8> {
    let mut iv = Vec::from(sector.to_le_bytes());
    iv.resize(spec.iv_len(), 0);
    iv
}

/// Keyway's cipher.
pub fn cipher(spec: &CipherSpec, key: &[u8], sector: SectorSize) -> Result<SectorCipher, Error> {
    let mut secret = Secret::zeroed(key.len());
    secret.expose_mut().copy_from_slice(key);
    SectorCipher::new(spec, &secret, sector, Cpu::detect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn algorithms_of_the_kernel_by_our_names() {
        for (algorithm, expected) in [
            ("xts(aes)", "aes-xts-plain64"),
            ("ecb(serpent)", "serpent-ecb"),
            ("essiv(cbc(aes),sha256)", "aes-cbc-essiv:sha256"),
            ("adiantum(xchacha12,aes)", "xchacha12,aes-adiantum-plain64"),
            ("hctr2(aes)", "aes-hctr2-plain64"),
            ("cbc(des3_ede)", "des3_ede-cbc-plain64"),
        ] {
            let found = spec(&Algorithm::parse(algorithm)).map(|spec| spec.to_string());
            assert_eq!(found.as_deref(), Some(expected), "{algorithm}");
        }
        for none in ["xts(nosuch)", "rfc3686(ctr(aes))", "cts(cbc(aes))", "aes", "chacha20"] {
            assert_eq!(spec(&Algorithm::parse(none)), None, "{none}");
        }
    }

    #[test]
    fn ivs_are_plain64() {
        let spec = CipherSpec::parse("aes-xts-plain64").unwrap();
        assert_eq!(iv(&spec, 0x0102), [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert!(iv(&CipherSpec::parse("aes-ecb").unwrap(), 7).is_empty());
    }
}
