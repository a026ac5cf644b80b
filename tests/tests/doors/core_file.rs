//! A core of the process, written by gdb including everything that core dumps leave out: it
//! contains the volume key while the process serves, and no longer when it ends, however it ends.

use crate::memory::{idle, round_keys};
use crate::served::Volume;
use crate::session::Runtime;
use keyway_tests::memory::{Memory, contains};
use keyway_tests::{Background, Run, Scratch, need, need_that, peer};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[test]
fn while_it_serves_the_key_is_found() {
    need!("gdb");
    let scratch = Scratch::new();
    let served = idle(&scratch);
    need_that!(Memory::of(served.pid()).is_ok(), "other processes' memory cannot be read here");
    let file = scratch.path("core");
    gdb(served.pid()).arg("-ex").arg(format!("generate-core-file {}", file.display())).ok();
    let core = core(&file, &scratch.path("nbd.sock"));
    for key in round_keys() {
        assert!(contains(&core, &key), "the key is not where it is at work: this search proves nothing");
    }
    // The passphrase it was derived from is gone.
    assert!(!contains(&core, b"secret\n"), "the passphrase is still there");
}

#[test]
fn at_the_end_nothing_is_found() {
    need!("gdb");
    for (signal, until) in [
        (Signal::SIGTERM, Until::Exit),
        (Signal::SIGINT, Until::Exit),
        (Signal::SIGSEGV, Until::Again),
        (Signal::SIGABRT, Until::Again),
    ] {
        let scratch = Scratch::new();
        let mut served = idle(&scratch);
        need_that!(Memory::of(served.pid()).is_ok(), "other processes' memory cannot be read here");
        let debugger = Debugger::attach(&scratch, served.pid(), until);
        kill(Pid::from_raw(served.pid() as i32), signal).expect("our child");
        debugger.has_a_core_without_the_key(signal.as_str(), &scratch.path("nbd.sock"));
        let code = matches!(until, Until::Exit).then_some(0);
        assert_eq!(served.wait(), code, "{signal}");
    }
}

#[test]
fn after_close_nothing_is_found() {
    need!("gdb");
    let runtime = Runtime::new();
    let volume = Volume::new(&runtime.0, "disk.luks", 1);
    runtime.open(&volume, "--backend nbd", "home").ok();
    runtime.connect("home").write(777, &[7; 5000]).unwrap();
    let pid = runtime.pid("home");
    let memory = Memory::of(pid);
    need_that!(memory.is_ok(), "other processes' memory cannot be read here");
    let held = memory.is_ok_and(|memory| round_keys().iter().all(|key| !memory.holding(key).is_empty()));
    assert!(held, "the key is not where it is at work");
    let debugger = Debugger::attach(&runtime.0, pid, Until::Exit);
    let mut closing = runtime.keyway("close home").spawn().unwrap();
    debugger.has_a_core_without_the_key("close", &runtime.directory("home"));
    assert!(closing.wait().unwrap().success());
}

/// The last moment at which the process can be inspected.
#[derive(Debug, Clone, Copy)]
enum Until {
    /// The process calls exit_group(2).
    Exit,
    /// The process has handled the signal and sends it to itself again, to end like a process
    /// without a handler.
    Again,
}

/// gdb, which waits for that moment and writes a core.
struct Debugger {
    gdb: Background,
    file: PathBuf,
}

impl Debugger {
    fn attach(scratch: &Scratch, pid: u32, until: Until) -> Self {
        let (armed, file) = (scratch.path("armed"), scratch.path("core"));
        let first = match until {
            Until::Exit => "catch syscall exit_group",
            Until::Again => "continue",
        };
        let commands = [
            "handle SIGTERM SIGINT nostop noprint pass".to_owned(),
            format!("shell touch {}", armed.display()),
            // Continue to the signal: its handler has not run yet.
            first.to_owned(),
            "continue".to_owned(),
            format!("generate-core-file {}", file.display()),
            "detach".to_owned(),
        ];
        let run = commands.iter().fold(gdb(pid), |run, command| run.arg("-ex").arg(command));
        Self { gdb: Background::start(&run, || armed.exists()), file }
    }

    #[track_caller]
    fn has_a_core_without_the_key(mut self, end: &str, place: &Path) {
        assert!(self.gdb.ends_within(LONGEST), "{end}: gdb saw no end");
        let core = core(&self.file, place);
        for key in round_keys() {
            assert!(!contains(&core, &key), "{end}: the key is in the core");
        }
    }
}

/// gdb at a process, about to do more. It also writes what core dumps leave out (core(5),
/// madvise(2): MADV_DONTDUMP).
fn gdb(pid: u32) -> Run {
    let run = peer("gdb", "-nx -batch -iex").arg("set auto-load off").args("-p").arg(pid.to_string());
    let run = run.arg("-ex").arg("set use-coredump-filter off");
    run.arg("-ex").arg("set dump-excluded-mappings on")
}

/// The core, checked to be of the intended process: it contains the address that it serves.
#[track_caller]
fn core(file: &Path, place: &Path) -> Vec<u8> {
    let core = fs::read(file).unwrap_or_else(|e| panic!("gdb wrote no core: {e}"));
    assert!(core.starts_with(b"\x7fELF") && core.len() > 1 << 20, "{} bytes are no core", core.len());
    assert!(contains(&core, place.to_str().expect("ASCII").as_bytes()), "it is another process's");
    core
}

/// For a core of some hundred megabytes, most of which are
/// reservations of the C library's, on a slow disk.
const LONGEST: Duration = Duration::from_secs(100);
