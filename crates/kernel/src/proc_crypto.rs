//! /proc/crypto: the algorithms that the kernel currently has (Linux, crypto/proc.c).
//!
//! ```text
//! name         : xts(aes)
//! driver       : xts-aes-aesni
//! module       : aesni_intel
//! priority     : 401
//! refcnt       : 1
//! selftest     : passed
//! internal     : no
//! type         : skcipher
//! async        : yes
//! blocksize    : 16
//! min keysize  : 32
//! max keysize  : 64
//! ivsize       : 16
//! ```
//!
//! An empty line ends a record. The fields depend on the version: missing ones are treated as
//! unknown, and unknown ones are ignored. The text may come from a user's file, so it is not
//! assumed to be well-formed or short.

use crate::Flags;

/// One driver of an algorithm.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Driver {
    /// The algorithm: "xts(aes)".
    pub name: String,
    /// The driver's name: "xts-aes-aesni".
    pub driver: String,
    /// The driver's module; "kernel" if it is built in.
    pub module: String,
    /// The priority; the highest wins.
    pub priority: i64,
    /// "passed", "unknown"; empty if the text does not tell.
    pub selftest: String,
    /// Whether only other drivers may use it.
    pub internal: bool,
    /// The algorithm's type.
    pub kind: Kind,
    /// Whether requests may complete asynchronously, if the text tells (it does for sector
    /// ciphers).
    pub is_async: Option<bool>,
    /// The minimum key size in bytes.
    pub min_key: usize,
    /// The maximum key size in bytes.
    pub max_key: usize,
    /// The IV size in bytes.
    pub iv: usize,
    /// All flags, if the kernel reported them (by netlink).
    pub flags: Option<Flags>,
}

/// The types that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// A cipher in a mode, for encrypting sectors; includes its older and newer names.
    Skcipher,
    /// A single-block cipher.
    Cipher,
    /// A hash.
    Hash,
    /// Anything else.
    #[default]
    Other,
}

/// All records of the text, in order: the kernel lists the most recent first, and of equal
/// priorities uses the first.
pub fn parse(text: &str) -> Vec<Driver> {
    let mut drivers = Vec::new();
    let mut driver = Driver::default();
    for line in text.lines().chain([""]) {
        match line.split_once(':') {
            Some((field, value)) => driver.set(field.trim(), value.trim()),
            None if line.trim().is_empty() => {
                let complete = std::mem::take(&mut driver);
                if !complete.name.is_empty() && !complete.driver.is_empty() {
                    drivers.push(complete);
                }
            }
            None => {}
        }
    }
    drivers
}

impl Driver {
    fn set(&mut self, field: &str, value: &str) {
        match field {
            "name" => self.name = short(value),
            "driver" => self.driver = short(value),
            "module" => self.module = short(value),
            "priority" => self.priority = value.parse().unwrap_or(0),
            "selftest" => self.selftest = short(value),
            "internal" => self.internal = value == "yes",
            "type" => self.kind = Kind::parse(value),
            "async" => self.is_async = Some(value == "yes"),
            "min keysize" => self.min_key = value.parse().unwrap_or(0),
            "max keysize" => self.max_key = value.parse().unwrap_or(0),
            "ivsize" => self.iv = value.parse().unwrap_or(0),
            _ => {}
        }
    }
}

impl Kind {
    fn parse(text: &str) -> Self {
        match text {
            "skcipher" | "lskcipher" | "blkcipher" | "ablkcipher" | "givcipher" => Self::Skcipher,
            "cipher" => Self::Cipher,
            "shash" | "ahash" => Self::Hash,
            _ => Self::Other,
        }
    }
}

/// The kernel's names have at most 127 bytes, and contain no terminal control characters.
fn short(value: &str) -> String {
    value.chars().filter(|c| !c.is_control()).take(127).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From Linux 6.18 (this project's own build machine, November 2026), shortened.
    const LINUX_6_18: &str = include_str!("proc-crypto-6.18.txt");

    #[test]
    fn records_of_a_kernel() {
        let drivers = parse(LINUX_6_18);
        assert_eq!(drivers.len(), 3);
        let cbc = &drivers[0];
        assert_eq!(
            (&cbc.name[..], &cbc.driver[..], cbc.priority),
            ("cbc(aes)", "cbc(ecb(aes-fixed-time))", 101)
        );
        assert_eq!((cbc.kind, cbc.min_key, cbc.max_key, cbc.iv), (Kind::Skcipher, 16, 32, 16));
        assert_eq!((cbc.is_async, &cbc.selftest[..], cbc.internal), (None, "passed", false));
        assert_eq!((drivers[1].kind, drivers[2].is_async), (Kind::Hash, Some(false)));
    }

    #[test]
    fn a_text_that_no_kernel_wrote() {
        assert_eq!(parse(""), []);
        assert_eq!(parse("\n\n:\n : \nname\n"), []);
        assert_eq!(parse("name : a\n\ndriver : b\n"), [], "half a record each");
        let drivers = parse(
            "name : x\u{1b}[2J\ndriver : y\npriority : 99999999999999999999\nmax keysize : -1\ntype : z",
        );
        assert_eq!((drivers.len(), &drivers[0].name[..], drivers[0].priority), (1, "x[2J", 0));
        assert_eq!((drivers[0].max_key, drivers[0].kind), (0, Kind::Other));
        let long = format!("name : {}\ndriver : d\n", "n".repeat(100_000));
        assert_eq!(parse(&long)[0].name.len(), 127);
    }
}
