//! What the process gives up before it reads its first secret: core dumps, and being read by its
//! neighbours. And what happens to secrets when it ends.

use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit};

/// Disables core dumps and debugger access by other processes of the same user, makes a
/// crash wipe all keys, and a panic one line that shows no data. Failure to do so is no
/// reason to refuse work: a sandbox may forbid the calls.
///
/// Nothing of it is left to other programs that are started from here: what cannot be dumped can be
/// again after execve(2) (prctl(2), PR_SET_DUMPABLE), and limits stay as they were.
pub(crate) fn process() {
    if set_dumpable_behavior(DumpableBehavior::NotDumpable).is_err() {
        // The next best, and theirs to lift again.
        let maximum = getrlimit(Resource::Core).maximum;
        let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum });
    }
    crate::process::sys::keep_from_children();
    crate::process::sys::wipe_keys_on_crash();
    std::panic::set_hook(Box::new(|info| {
        // The payload may quote a value: only the place is printed.
        let place = info.location().map(|l| format!(" at {}:{}", l.file(), l.line())).unwrap_or_default();
        say!("keyway: internal error{place}. Please report this line.");
    }));
}
