//! Waiting for a device that appears late.

use crate::device::found::{find, refusal};
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
        if !said && start.elapsed() > TIMEOUT {
            say!("Waiting for {} ({}).", spec.to_string_lossy(), in_words(limit));
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

/// A limit for the user.
pub(super) fn in_words(limit: Duration) -> String {
    match limit.as_secs() {
        u64::MAX => "without end".to_owned(),
        seconds => format!("{seconds} s at most"),
    }
}

pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// No message is printed for devices that appear within this time.
pub(super) const TIMEOUT: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;
    use keyway_boot::root::WITHOUT_END;

    #[test]
    fn no_limit_is_said_as_none() {
        for (limit, words) in [
            (WITHOUT_END, "without end"),
            (Duration::from_secs(u64::MAX), "without end"),
            (Duration::from_secs(90), "90 s at most"),
            (Duration::ZERO, "0 s at most"),
        ] {
            assert_eq!(in_words(limit), words);
        }
    }

    #[test]
    fn what_never_comes_is_not_waited_for_longer_than_said() {
        let start = Instant::now();
        assert_eq!(wait(OsStr::new("/nowhere/at/all"), Duration::from_millis(120)), None);
        assert!(start.elapsed() >= Duration::from_millis(120));
    }
}
