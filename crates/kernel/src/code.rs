//! How a driver of the CPU's computes, which its name tells (Linux, arch/*/crypto, from 4.19 to
//! 6.18): with instructions for the cipher, with vector instructions, or in portable code.

/// How a driver computes, the slowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// C, or assembler without vectors: "aes-generic", "aes-fixed-time", "aes-arm64".
    Portable,
    /// Vector instructions: "xts-aes-neonbs", "xchacha12-neon".
    Vector,
    /// Instructions made for the cipher: "xts-aes-ce", "xts-aes-aesni".
    Instructions,
}

impl Code {
    /// By the driver's name, or by that of one of its parts: "xts(ecb(aes-arm64))" is portable.
    pub fn of(driver: &str) -> Self {
        let has = |marks: &[&str]| marks.iter().any(|mark| driver.contains(mark));
        if has(INSTRUCTIONS) || driver.ends_with("-ce") || has(&["-ce)", "-ce,"]) {
            Self::Instructions
        } else if has(VECTOR) {
            Self::Vector
        } else {
            Self::Portable
        }
    }
}

/// Parts of names: AES-NI and VAES, VIA, POWER8, s390, RISC-V, SPARC.
const INSTRUCTIONS: &[&str] =
    &["aesni", "-vaes", "padlock", "p8_aes", "-s390", "-paes", "paes-", "-zvk", "-sparc64"];
/// "-simd" and "-x86_64" are ChaCha by SSSE3 to AVX-512; "-arm64" is ChaCha by NEON since 6.16, but
/// of AES ("aes-arm64") it is scalar code.
const VECTOR: &[&str] = &[
    "neon",
    "-simd",
    "chacha12-x86_64",
    "chacha20-x86_64",
    "chacha12-arm64",
    "chacha20-arm64",
    "-avx",
    "-sse2",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell() {
        for (code, drivers) in [
            (
                Code::Instructions,
                "xts-aes-ce aes-ce xts-aes-aesni xts-aes-vaes-avx10_512 xts(ecb-aes-ce) p8_aes_xts",
            ),
            (
                Code::Vector,
                "xts-aes-neonbs xts-aes-neon xchacha12-neon xchacha20-simd xchacha12-arm64 serpent-avx2",
            ),
            (
                Code::Portable,
                "aes-arm64 aes-generic aes-fixed-time xts(ecb(aes-arm64)) xchacha12-generic aes-asm",
            ),
        ] {
            assert!(drivers.split(' ').all(|driver| Code::of(driver) == code), "{code:?}");
        }
    }
}
