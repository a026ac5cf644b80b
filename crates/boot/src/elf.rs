//! The parts of an ELF header (System V ABI, chapters 4 and 5) that tell whether a program runs
//! without any other files.

use std::fmt;

/// A program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Program {
    /// Whether it requires a dynamic loader, and thus libraries.
    pub wants_libraries: bool,
}

/// Not an ELF program, or truncated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotElf;

impl Program {
    /// Parses a file's content.
    pub fn parse(file: &[u8]) -> Result<Self, NotElf> {
        let identity = file.first_chunk::<16>().filter(|it| it.starts_with(b"\x7fELF")).ok_or(NotElf)?;
        let reader = Reader { file, little: identity[5] == 1 };
        let is_wide = identity[4] == 2;
        let [table, size, count] = if is_wide { [32, 54, 56] } else { [28, 42, 44] };
        let table = if is_wide { reader.number(table, 8)? } else { reader.number(table, 4)? };
        let (size, count) = (reader.number(size, 2)?, reader.number(count, 2)?);
        let mut wants_libraries = false;
        for index in 0..count {
            let at = index.checked_mul(size).and_then(|offset| offset.checked_add(table)).ok_or(NotElf)?;
            wants_libraries |= reader.number(usize::try_from(at).map_err(|_| NotElf)?, 4)? == INTERPRETER;
        }
        Ok(Self { wants_libraries })
    }
}

struct Reader<'a> {
    file: &'a [u8],
    little: bool,
}

impl Reader<'_> {
    fn number(&self, at: usize, length: usize) -> Result<u64, NotElf> {
        let bytes = self.file.get(at..).and_then(|rest| rest.get(..length)).ok_or(NotElf)?;
        let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        Ok(match self.little {
            true => bytes.iter().rev().fold(0, add),
            false => bytes.iter().fold(0, add),
        })
    }
}

impl fmt::Display for NotElf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it is not an ELF program, or damaged")
    }
}

impl std::error::Error for NotElf {}

/// PT_INTERP.
const INTERPRETER: u64 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_with_and_without_libraries() {
        let mut file = vec![0; 64 + 56];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (file[32], file[54], file[56]) = (64, 56, 1);
        let program = Program::parse(&file).unwrap();
        assert!(!program.wants_libraries);
        file[64] = 3;
        assert!(Program::parse(&file).unwrap().wants_libraries);
        assert_eq!(Program::parse(&file[..60]), Err(NotElf));
        file[57] = 9;
        assert_eq!(Program::parse(&file), Err(NotElf), "more segments than there are");
        assert_eq!(Program::parse(b"#!/bin/sh"), Err(NotElf));
        // The test itself, however it is linked.
        let own = std::fs::read("/proc/self/exe").unwrap();
        assert!(Program::parse(&own).is_ok());
    }
}
