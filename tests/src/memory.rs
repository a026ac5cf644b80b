//! All the memory of another process, as a debugger or a core dump
//! would show it (proc(5): maps, smaps, mem).

use memchr::memmem;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// One mapping with its bytes.
pub struct Region {
    /// Its addresses.
    pub range: Range<u64>,
    /// Its name: "\[stack\]", "\[heap\]", a file, or empty.
    pub name: String,
    /// smaps's two-letter flags: "lo" means locked in memory, "dd" left out of core dumps.
    pub flags: Vec<String>,
    /// Locked KiB.
    pub locked: u64,
    bytes: Vec<u8>,
}

impl Region {
    /// The bytes around `needle`, in hexadecimal, for messages.
    pub fn around(&self, needle: &[u8]) -> String {
        let found = memmem::find(&self.bytes, needle).unwrap_or(0);
        let nearby = &self.bytes[found.saturating_sub(64)..self.bytes.len().min(found + 128)];
        let text: String = nearby.chunks(16).map(|line| format!("{line:02x?}\n")).collect();
        format!("{:#x}:\n{text}", self.range.start + found as u64)
    }

    /// Whether all of it is locked in memory and left out of core dumps.
    pub fn is_protected(&self) -> bool {
        let has = |wanted: &str| self.flags.iter().any(|flag| flag == wanted);
        has("lo") && has("dd") && self.locked * 1024 == self.range.end - self.range.start
    }
}

/// The memory of a process.
pub struct Memory(Vec<Region>);

impl Memory {
    /// Reads all readable mappings of a process; needs permission to trace it.
    ///
    /// # Errors
    /// If the process does not exist or may not be traced.
    pub fn of(pid: u32) -> io::Result<Self> {
        let memory = File::open(format!("/proc/{pid}/mem"))?;
        let smaps = fs::read_to_string(format!("/proc/{pid}/smaps"))?;
        let mut regions: Vec<Region> = Vec::new();
        for line in smaps.lines() {
            if let Some((range, name)) = header(line) {
                regions.push(Region { range, name, flags: Vec::new(), locked: 0, bytes: Vec::new() });
            } else if let (Some(region), Some((key, value))) = (regions.last_mut(), line.split_once(':')) {
                match key {
                    "VmFlags" => region.flags = value.split_whitespace().map(str::to_owned).collect(),
                    "Locked" => region.locked = value.trim().trim_end_matches(" kB").parse().unwrap_or(0),
                    _ => {}
                }
            }
        }
        for region in &mut regions {
            let mut bytes = vec![0; (region.range.end - region.range.start).min(MOST) as usize];
            // The kernel's own pages are not readable.
            if memory.read_exact_at(&mut bytes, region.range.start).is_ok() {
                region.bytes = bytes;
            }
        }
        Ok(Self(regions))
    }

    /// The number of bytes read.
    pub fn len(&self) -> usize {
        self.0.iter().map(|region| region.bytes.len()).sum()
    }

    /// Whether nothing was read.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The mappings that hold `needle`.
    pub fn holding(&self, needle: &[u8]) -> Vec<&Region> {
        self.0.iter().filter(|region| contains(&region.bytes, needle)).collect()
    }
}

/// Whether `needle` occurs in `bytes`.
pub fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    !needle.is_empty() && memmem::find(bytes, needle).is_some()
}

/// "7f12-7f34 rw-p 00000000 00:00 0   \[heap\]".
fn header(line: &str) -> Option<(Range<u64>, String)> {
    let mut words = line.split_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let hex = |text| u64::from_str_radix(text, 16).ok();
    Some((hex(start)?..hex(end)?, words.nth(4).unwrap_or_default().to_owned()))
}

/// A mere reservation of address space is not read to its end.
const MOST: u64 = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_needle_is_found_wherever_it_is() {
        let bytes = b"aabaabaac";
        assert!(contains(bytes, b"aabaac") && contains(bytes, b"c") && contains(bytes, bytes));
        assert!(!contains(bytes, b"aad") && !contains(b"a", b"aa") && !contains(b"", b"a"));
        assert!(!contains(bytes, b""));
    }

    #[test]
    fn this_process_remembers_what_it_holds() {
        let mut secret = format!("needle {}", std::process::id()).into_bytes();
        secret.reverse();
        let memory = Memory::of(std::process::id()).unwrap();
        assert!(!memory.holding(&secret).is_empty());
        assert!(memory.holding(&secret).iter().all(|region| !region.is_protected()));
    }
}
