//! Peers from crates.io, behind a C interface: RustCrypto, the crates for wide modes, aws-lc.
//!
//! They are a shared library of their own because they are compiled differently, and twice: with
//! `-C target-cpu=native`, where the compiler may use all of this CPU, and without, where the
//! crates look for instructions themselves, as Keyway does. The second is sometimes the faster one.

mod kdf;
mod rustcrypto;
mod sys;

/// A keyed cipher that runs whole sectors; the first number is the
/// first sector's IV in 512-byte units.
type Work = Box<dyn FnMut(u64, &mut [u8])>;

/// What to build: the words of a dm-crypt specification, a key, a sector size and a direction.
#[derive(Clone, Copy)]
struct Order<'a> {
    /// "aes", "serpent", "xchacha12,aes".
    cipher: &'a str,
    /// "xts", "cbc", "adiantum", "hctr2".
    mode: &'a str,
    /// "plain64" or "essiv:sha256".
    iv: &'a str,
    key: &'a [u8],
    sector: usize,
    encrypt: bool,
}
