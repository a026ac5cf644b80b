//! The properties of a driver that decide who can use it (Linux, include/linux/crypto.h,
//! CRYPTO_ALG_…).

use std::fmt;

/// A set of the CRYPTO_ALG_… flags that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u32);

impl Flags {
    /// The empty set.
    pub const NONE: Self = Self(0);
    /// The driver may complete requests asynchronously: engines, and code that delegates the work
    /// to another thread.
    pub(crate) const ASYNC: Self = Self(0x80);
    /// It requires another driver for what it cannot do itself.
    pub(crate) const NEED_FALLBACK: Self = Self(0x100);
    /// It is an instance of a template: "xts(ecb(aes-generic))".
    pub(crate) const INSTANCE: Self = Self(0x800);
    /// It is not available to programs through CPU instructions: an engine outside the CPU.
    pub(crate) const KERN_DRIVER_ONLY: Self = Self(0x1000);
    /// It is for use by other drivers only.
    pub(crate) const INTERNAL: Self = Self(0x2000);
    /// It may allocate memory for a request, which dm-crypt must not do while memory is being
    /// written out.
    pub const ALLOCATES_MEMORY: Self = Self(0x1_0000);
    /// An entry that is still waiting for its driver.
    pub(crate) const LARVAL: Self = Self(0x10);
    /// A driver that is being removed.
    pub(crate) const GOING: Self = Self(0x20 | 0x40);
    /// The flags that an instance inherits from its parts (CRYPTO_ALG_INHERITED_FLAGS).
    pub(crate) const INHERITED: Self = Self(Self::ASYNC.0 | Self::NEED_FALLBACK.0 | Self::ALLOCATES_MEMORY.0);

    /// The flags from the kernel's value; its low four bits are the type.
    pub(crate) const fn from_bits(bits: u32) -> Self {
        Self(bits & !TYPE_MASK)
    }

    /// The union.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The intersection.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether the sets have a flag in common.
    pub(crate) const fn has_any(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }
}

/// The kernel's names of the flags that it may refuse, separated by commas: "ASYNC,
/// ALLOCATES_MEMORY".
impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = NAMES.iter().filter(|(flag, _)| self.has_any(*flag)).map(|(_, name)| *name);
        f.write_str(&names.collect::<Vec<_>>().join(", "))
    }
}

const NAMES: &[(Flags, &str)] = &[
    (Flags::ALLOCATES_MEMORY, "ALLOCATES_MEMORY"),
    (Flags::KERN_DRIVER_ONLY, "KERN_DRIVER_ONLY"),
    (Flags::ASYNC, "ASYNC"),
    (Flags::NEED_FALLBACK, "NEED_FALLBACK"),
    (Flags::INTERNAL, "INTERNAL"),
    (Flags::INSTANCE, "INSTANCE"),
];
const TYPE_MASK: u32 = 0xf;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_kernel() {
        let caam = Flags::from_bits(0x0001_1585);
        assert_eq!(caam.to_string(), "ALLOCATES_MEMORY, KERN_DRIVER_ONLY, ASYNC, NEED_FALLBACK");
        assert!(!caam.has_any(Flags::INTERNAL.with(Flags::GOING)));
        assert_eq!(caam.and(Flags::INHERITED).to_string(), "ALLOCATES_MEMORY, ASYNC, NEED_FALLBACK");
        assert_eq!(Flags::NONE.to_string(), "");
    }
}
