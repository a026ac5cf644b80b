//! What the process gives up before it reads its first secret: core dumps, and being read by its neighbours. And what
//! happens to secrets when it ends.

use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

/// Disables core dumps and debugger access by other processes of the same user, makes a crash wipe all keys, and a panic
/// one line that shows no data. Failure to do so is no reason to refuse work: a sandbox may forbid the calls.
pub(crate) fn process() {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    let _ = setrlimit(Resource::Core, none);
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    crate::sys::wipe_keys_on_crash();
    std::panic::set_hook(Box::new(|info| {
        // The payload may quote a value: only the place is printed.
        let place = info.location().map(|l| format!(" at {}:{}", l.file(), l.line())).unwrap_or_default();
        say!("keyway: internal error{place}. Please report this line.");
    }));
}
