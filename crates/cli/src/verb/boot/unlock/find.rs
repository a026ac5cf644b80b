//! Waiting for a device that appears late.

use crate::device::found::{find, refusal};
use keyway_boot::root::WITHOUT_END;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

/// The device that a table or a command line names, waited for until it appears or the time is up.
/// Prints on the console what it waits for.
pub(super) fn wait(spec: &OsStr, limit: Duration) -> Option<PathBuf> {
    let start = Instant::now();
    let mut said = false;
    loop {
        if let Some(found) = find(spec) {
            return Some(found);
        }
        if let Some(why) = refusal(spec) {
            say!("{why}.");
            return None;
        }
        if start.elapsed() >= limit {
            return None;
        }
        if !said && start.elapsed() > PATIENCE {
            let at_most = match limit {
                WITHOUT_END => "without end: rootwait".to_owned(),
                _ => format!("{} s at most", limit.as_secs()),
            };
            say!("Waiting for {} ({at_most}).", spec.to_string_lossy());
            said = true;
        }
        thread::sleep(LOOK_AGAIN);
    }
}

/// As [`wait`], with a sentence for the device that does not come.
pub(super) fn reach(spec: &OsStr, limit: Duration) -> Result<PathBuf, String> {
    let never = || match refusal(spec) {
        // It was said.
        Some(_) => format!("{} cannot be found", spec.to_string_lossy()),
        None => format!("{} did not appear within {} s", spec.to_string_lossy(), limit.as_secs()),
    };
    wait(spec, limit).ok_or_else(never)
}

const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// No message is printed for devices that appear within this time.
const PATIENCE: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_comes_is_not_waited_for_longer_than_said() {
        let start = Instant::now();
        assert_eq!(wait(OsStr::new("/nowhere/at/all"), Duration::from_millis(120)), None);
        assert!(start.elapsed() >= Duration::from_millis(120));
    }
}
