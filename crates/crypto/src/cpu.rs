//! What this CPU can do, as a value that proves it. Nobody else asks the CPU.

/// The instruction sets that code may use. Only this module makes one, so holding it proves the features are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cpu(u32);

impl Cpu {
    /// Asks the CPU (once; later calls are a load).
    pub fn detect() -> Self {
        Self(0)
    }

    /// No vector code at all: the readable reference everywhere.
    pub const fn portable() -> Self {
        Self(0)
    }
}
