//! Waiting for a device that appears late, or that is an array still to be assembled or a logical volume still to be activated.

use super::lvm::{Lvm, Sought};
use super::md::{self, Md};
use crate::device::found::{self, find, refusal};
use keyway::devices;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

/// What is brought up for a device that is sought.
#[derive(Clone, Copy)]
pub(super) struct Below<'a> {
    pub(super) lvm: Lvm,
    /// `None` if no array is assembled.
    pub(super) md: Option<&'a Md>,
    /// Arrays may start without all of their members.
    pub(super) may_lack: bool,
    /// It has to be within an encrypted volume if it is an array or a logical volume.
    pub(super) inside_only: bool,
}

impl<'a> Below<'a> {
    fn arrays(self, limit: Duration) -> md::Search<'a> {
        md::Search::new(self.md, self.inside_only, self.may_lack.then_some(limit))
    }

    /// For what the system comes from, root= and resume=, in a boot that opens volumes or none.
    pub(super) fn of_system(self, opens: bool) -> Self {
        let inside_only = opens && (self.lvm != Lvm::Off || self.md.is_some());
        Self { lvm: self.lvm.of_system(opens), inside_only, ..self }
    }
}

/// The device that a table or a command line names, waited for until it appears or the time is up; a sentence for the one that
/// does not come. Prints on the console what it waits for.
pub(super) fn reach(spec: &OsStr, limit: Duration, below: Below<'_>) -> Result<PathBuf, String> {
    let shown = spec.to_string_lossy();
    let start = Instant::now();
    let (mut said, mut arrays, mut logical) = (None, below.arrays(limit), below.lvm.search());
    loop {
        let plain = match first(spec, below.inside_only) {
            Some(There::Meant(node)) => return Ok(node),
            Some(There::Plain(node)) => Some(node),
            None => None,
        };
        if arrays.assemble(start.elapsed()) {
            continue;
        }
        let lacks = match (logical.activate(spec), plain) {
            // As it was written, where there is a link now.
            (Sought::Here(node), None) => return Ok(find(spec).unwrap_or(node)),
            (Sought::Here(node), Some(_)) => return Ok(node),
            // An array within volumes goes before it, as soon as it has its members.
            (_, Some(_)) if start.elapsed() < limit && arrays.awaits_inside(spec, start.elapsed()) => {
                arrays.why(spec)
            }
            (_, Some(plain)) => {
                say!("WARNING: {shown} is {}, which is not within an encrypted volume.", plain.display());
                return Ok(plain);
            }
            (Sought::Never(why), None) => return Err(format!("{shown} cannot be found: {why}")),
            (Sought::Yet(why), None) => why.or_else(|| arrays.why(spec)),
        };
        if let Some(why) = arrays.never(spec) {
            return Err(format!("{shown} cannot be found: {why}"));
        }
        if let Some(why) = refusal(spec) {
            say!("{why}.");
            return Err(format!("{shown} cannot be found"));
        }
        let because = lacks.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        if start.elapsed() >= limit {
            return Err(format!("{shown} did not appear within {} s{because}", limit.as_secs()));
        }
        if start.elapsed() > TIMEOUT && said.as_ref() != Some(&lacks) {
            say!("Waiting for {shown} ({}){because}.", in_words(limit));
            said = Some(lacks);
        }
        thread::sleep(LOOK_AGAIN);
    }
}

/// A device that is there.
enum There {
    /// It is taken.
    Meant(PathBuf),
    /// It is taken if no logical volume is meant: it is not within an encrypted volume, and the system is to be.
    Plain(PathBuf),
}

fn first(spec: &OsStr, inside_only: bool) -> Option<There> {
    if !inside_only {
        return find(spec).map(There::Meant);
    }
    let all = found::all(spec);
    let within = all.iter().find(|node| devices::is_encrypted(node)).cloned();
    within.map(There::Meant).or_else(|| find(spec).map(There::Plain))
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
        let below = Below { lvm: Lvm::Off, md: None, may_lack: false, inside_only: false };
        let found = reach(OsStr::new("/nowhere/at/all"), Duration::from_millis(120), below);
        assert_eq!(found, Err("/nowhere/at/all did not appear within 0 s".to_owned()));
        assert!(start.elapsed() >= Duration::from_millis(120));
    }
}
