//! Where a server keeps the volume key while it is idle, and that no trace of it is left once the
//! server has ended or crashed.

use crate::served::{Served, Volume};
use keyway_tests::memory::Memory;
use keyway_tests::nbd::Nbd;
use keyway_tests::{Scratch, need_that};
use nix::sys::ptrace;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

/// The volume key's blocks of 16 bytes. AES-256's first two round keys are
/// the key itself: an expanded key holds them too.
pub(crate) fn round_keys() -> Vec<Vec<u8>> {
    Volume::key().chunks(16).map(<[u8]>::to_vec).collect()
}

/// A server that has worked and is idle.
pub(crate) fn idle(scratch: &Scratch) -> Served {
    let volume = Volume::new(scratch, "disk.luks", 1);
    let socket = scratch.path("nbd.sock");
    let run = keyway_tests::keyway("serve --socket").arg(&socket).arg(volume.path());
    let mut served = Served::start_with(&run, b"secret");
    served.ready();
    let mut client = Nbd::connect(&socket, "").unwrap();
    client.write(100, &[7; 100_000]).unwrap();
    client.flush().unwrap();
    assert_eq!(client.read(100, 100_000).unwrap(), [7; 100_000]);
    served
}

fn may_trace(served: &Served) -> bool {
    Memory::of(served.pid()).is_ok()
}

#[test]
fn an_idle_key_is_locked_in_memory_and_nowhere_else() {
    let scratch = Scratch::new();
    let served = idle(&scratch);
    need_that!(may_trace(&served), "other processes' memory cannot be read here");
    let memory = Memory::of(served.pid()).unwrap();
    for key in round_keys() {
        let places = memory.holding(&key);
        assert!(!places.is_empty(), "the key is nowhere: this test looks wrongly");
        for place in places {
            let (range, name, around) = (&place.range, &place.name, place.around(&key));
            assert!(place.is_protected(), "key bytes in {range:x?} {name} {:?}, {around}", place.flags);
        }
    }
    assert!(
        memory.holding(b"secret\n").is_empty()
            || memory.holding(b"secret\n").iter().all(|r| !r.name.contains("stack"))
    );
}

#[test]
fn nothing_is_left_of_it_at_the_end() {
    for signal in
        [Signal::SIGTERM, Signal::SIGINT, Signal::SIGABRT, Signal::SIGSEGV, Signal::SIGBUS, Signal::SIGILL]
    {
        let scratch = Scratch::new();
        let served = idle(&scratch);
        need_that!(may_trace(&served), "other processes' memory cannot be read here");
        let memory = at_its_end(&served, signal);
        assert!(memory.len() > 100_000, "{signal}: {} bytes of memory are no process", memory.len());
        for key in round_keys() {
            if let Some(place) = memory.holding(&key).first() {
                panic!("{signal}: key bytes in {:x?} {}, {}", place.range, place.name, place.around(&key));
            }
        }
    }
}

/// Sends the signal, and reads the memory at the last possible moment: the process has stopped
/// running and is about to be torn down (ptrace(2), PTRACE_EVENT_EXIT).
fn at_its_end(served: &Served, signal: Signal) -> Memory {
    let pid = Pid::from_raw(served.pid() as i32);
    ptrace::seize(pid, ptrace::Options::PTRACE_O_TRACEEXIT).expect("a process that we may trace");
    kill(pid, signal).expect("our child");
    loop {
        match waitpid(pid, None).expect("our child") {
            WaitStatus::PtraceEvent(_, _, event) if event == ptrace::Event::PTRACE_EVENT_EXIT as i32 => {
                let memory = Memory::of(served.pid()).expect("a process that we may trace");
                ptrace::detach(pid, None).expect("our tracee");
                return memory;
            }
            WaitStatus::Stopped(_, delivered) => ptrace::cont(pid, delivered).expect("our tracee"),
            WaitStatus::PtraceEvent(..) => ptrace::cont(pid, None).expect("our tracee"),
            other => panic!("it ended unseen: {other:?}"),
        }
    }
}

/// No core is written even if the user has enabled core dumps.
#[test]
fn a_crash_writes_no_core() {
    let scratch = Scratch::new();
    let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    need_that!(pattern.trim() == "core", "cores do not go to the working directory here");
    let volume = Volume::new(&scratch, "disk.luks", 1);
    let script = format!(
        "ulimit -c unlimited; '{}' serve --socket '{}' --volume-key-file '{}' '{}' >said & \
         until grep -q nbd-client said; do sleep 0.01; done; kill -ABRT $!; wait $!; echo ended with $?",
        keyway_tests::peers::program().display(),
        scratch.path("nbd.sock").display(),
        volume.key_file().display(),
        volume.path().display()
    );
    let outcome = keyway_tests::peer("sh", "-c").arg(script).directory(scratch.root()).ok();
    assert!(outcome.text().contains("ended with 134"), "{outcome}");
    let files = std::fs::read_dir(scratch.root()).unwrap().flatten().map(|f| f.file_name());
    let cores: Vec<_> = files.filter(|name| name.to_string_lossy().starts_with("core")).collect();
    assert!(cores.is_empty(), "{cores:?}");
}
