//! How a driver of the CPU's computes, which its name tells (Linux, arch/*/crypto, from 4.19 to
//! 7.3): with instructions for the cipher, with vector instructions, in portable code, or as the
//! kernel's library chooses when it starts.

/// How a driver computes, the slowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// C, or assembler without vectors: "aes-generic", "aes-fixed-time", "aes-arm64".
    Portable,
    /// The kernel's library (lib/crypto), which takes what the CPU has where the architecture's code
    /// was moved into it: "xchacha12-lib" (from 6.16 on), "aes-lib" (7.0), "xts-aes-lib" (7.3).
    Library,
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
        } else if is_library(driver) {
            Self::Library
        } else {
            Self::Portable
        }
    }
}

/// Whether the cipher's own code is the library's; hashes beside it ("essiv(…,sha256-lib)") do not
/// count.
fn is_library(driver: &str) -> bool {
    let mut parts = driver.split(['(', ')', ',']);
    parts.any(|part| part.ends_with("-lib") && !part.starts_with("sha") && !part.starts_with("md5"))
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
                "aes-arm64 aes-generic aes-fixed-time xts(ecb(aes-arm64)) xchacha12-generic aes-asm \
                 essiv(cbc(ecb(aes-generic)),sha256-lib)",
            ),
            (
                Code::Library,
                "aes-lib xts-aes-lib xts(ecb(aes-lib)) xchacha12-lib essiv(cbc-aes-lib,sha256-lib)",
            ),
            (Code::Instructions, "essiv(cbc-aes-aesni,sha256-lib) essiv(cbc-aes-ce,sha256-lib)"),
        ] {
            assert!(drivers.split(' ').all(|driver| Code::of(driver) == code), "{code:?}");
        }
    }
}
