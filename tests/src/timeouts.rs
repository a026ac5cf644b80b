//! How long tests wait: all in one place, and generous. What hangs is found by its minute, not by its second, and a
//! machine that has other work decides no test. `KEYWAY_TIMEOUT_FACTOR` multiplies all of them, for one that is
//! slower still.
//!
//! An upper bound is asserted only where it is the promise (`--timeout 2`), and then it is [`LATE`]: far from the
//! promise, and nearer than what would happen without it.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// For what happens soon: a server listens, a process ends, a prompt appears, a file is there.
pub const EVENT: Duration = Duration::from_secs(60);
/// For a command from start to end, unless its test says otherwise.
pub const COMMAND: Duration = Duration::from_secs(300);
/// For a command that works as long as it is told to, on a busy machine.
pub const LONG_COMMAND: Duration = Duration::from_secs(600);
/// For what has promised to end within a few seconds.
pub const LATE: Duration = Duration::from_secs(40);
/// For a virtual machine's first line.
pub const BOOT: Duration = Duration::from_secs(300);
/// For what happens on a virtual machine's console.
pub const CONSOLE: Duration = Duration::from_secs(400);
/// For a virtual machine from start to end.
pub const MACHINE: Duration = Duration::from_secs(900);
/// For one that works for minutes even where nothing else runs.
pub const LONG_MACHINE: Duration = Duration::from_secs(1800);

/// The time that this is on this machine.
pub fn scaled(time: Duration) -> Duration {
    time.mul_f64(*FACTOR)
}

/// The moment that is this long from now, on this machine.
pub fn within(time: Duration) -> Instant {
    Instant::now() + scaled(time)
}

/// Whether less than this has passed since then, on this machine.
pub fn is_within(time: Duration, since: Instant) -> bool {
    since.elapsed() < scaled(time)
}

static FACTOR: LazyLock<f64> = LazyLock::new(|| {
    let Some(text) = std::env::var_os("KEYWAY_TIMEOUT_FACTOR") else { return 1.0 };
    let factor =
        text.to_str().and_then(|text| text.parse().ok()).filter(|factor| (1.0..=1000.0).contains(factor));
    factor.unwrap_or_else(|| panic!("KEYWAY_TIMEOUT_FACTOR={}: a number from 1 to 1000", text.display()))
});
