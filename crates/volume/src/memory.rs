//! How much memory this machine has, from `/proc/meminfo`, in KiB.

/// What `/proc/meminfo` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) total_kib: u64,
    pub(crate) available_kib: u64,
    pub(crate) has_swap: bool,
}

impl Memory {
    /// Asks the kernel; `None` where it does not tell.
    pub(crate) fn now() -> Option<Self> {
        Self::parse(&std::fs::read_to_string("/proc/meminfo").ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_ascii_whitespace().next()?.parse::<u64>().ok()
        };
        Some(Self {
            total_kib: field("MemTotal:")?,
            available_kib: field("MemAvailable:")?,
            has_swap: field("SwapTotal:").unwrap_or(0) > 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_is_understood() {
        let text = "MemTotal:       24660548 kB\nMemFree:  1 kB\nMemAvailable:   24000000 kB\nSwapTotal:             0 kB\n";
        let memory = Memory { total_kib: 24_660_548, available_kib: 24_000_000, has_swap: false };
        assert_eq!(Memory::parse(text), Some(memory));
        assert_eq!(Memory::parse("nothing"), None);
    }
}
