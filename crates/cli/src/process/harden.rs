//! Hardening of the process: before it reads its first secret, it disables core dumps and access by
//! other processes, and arranges for secrets to be wiped when it ends.

use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit};

/// Disables core dumps and debugger access by other processes of the same user, makes a crash wipe
/// all keys, and reduces a panic to one line that shows no data. If this fails, work goes on: a
/// sandbox may forbid the calls.
///
/// Programs that are started from here are not affected: a process becomes dumpable again after
/// execve(2) (prctl(2), PR_SET_DUMPABLE), and limits are left as they were.
pub(crate) fn process() {
    if set_dumpable_behavior(DumpableBehavior::NotDumpable).is_err() {
        // Second best: child programs inherit this limit, but can raise it again.
        let maximum = getrlimit(Resource::Core).maximum;
        let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum });
    }
    crate::process::sys::keep_from_children();
    crate::process::sys::wipe_keys_on_crash();
    std::panic::set_hook(Box::new(|info| {
        // The payload may quote a value, so only the location is printed.
        let place = info.location().map(|l| format!(" at {}:{}", l.file(), l.line())).unwrap_or_default();
        say!("keyway: internal error{place}. Please report this line.");
    }));
}
