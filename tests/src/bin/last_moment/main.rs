//! Runs inside the test machine: what secrets a program that opens a volume still has in memory
//! when it exits or executes another program.
//!
//! ```text
//! last-moment INPUT VOLUME-KEY FILE… -- PROGRAM ARGUMENT…
//! ```
//! The program reads the file INPUT. It is stopped (ptrace(2)) when it adds the volume key to the
//! kernel's keyring (add_key(2)), and again when it exits (exit_group(2)) or executes another
//! program (execve(2)); then all its memory is searched for sixteen-byte pieces of each file. The
//! output is the pieces found of each file, the program's peak size (VmHWM), and its exit code:
//!
//! ```text
//! AT_WORK=4 1   AT_END=0 0   MOMENT=exit_group   READ=1234567   PEAK_KIB=9120   CODE=0
//! ```

use keyway_tests::memory::Memory;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use std::fs;
use std::io::Write;
use std::process::{Child, Command, Stdio};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let split = args.iter().position(|arg| arg == "--").expect("-- before the program");
    let (files, program) = (&args[..split], &args[split + 1..]);
    let [input, files @ ..] = files else { panic!("a file to read from") };
    let pieces: Vec<Vec<Vec<u8>>> = files.iter().map(|file| pieces(file)).collect();
    watch(start(program, &fs::read(input).expect("its input")), &pieces);
}

fn pieces(file: &str) -> Vec<Vec<u8>> {
    let bytes = fs::read(file).expect("a file with a secret");
    let pieces = bytes.chunks(16).filter(|piece| piece.len() >= SHORTEST);
    pieces.map(<[u8]>::to_vec).collect()
}

/// Starts the program stopped before its first instruction: a shell that is already traced executes
/// it after reading a line.
fn start(program: &[String], input: &[u8]) -> Child {
    let mut shell = Command::new("sh");
    shell.args(["-c", "read -r go; exec \"$@\"", "sh"]).args(program);
    let mut child = shell.stdin(Stdio::piped()).spawn().expect("a shell");
    let pid = Pid::from_raw(child.id() as i32);
    ptrace::seize(pid, Options::PTRACE_O_TRACESYSGOOD).expect("our child");
    ptrace::interrupt(pid).expect("our tracee");
    waitpid(pid, None).expect("our tracee");
    ptrace::syscall(pid, None).expect("our tracee");
    let mut pipe = child.stdin.take().expect("a pipe");
    pipe.write_all(b"go\n").and_then(|()| pipe.write_all(input)).expect("short enough for the pipe");
    child
}

fn watch(child: Child, pieces: &[Vec<Vec<u8>>]) {
    let pid = Pid::from_raw(child.id() as i32);
    let (mut entering, mut worked) = (false, false);
    loop {
        let mut signal = None;
        match waitpid(pid, None).expect("our tracee") {
            WaitStatus::PtraceSyscall(_) => {
                entering = !entering;
                let call = ptrace::getregs(pid).expect("stopped").orig_rax;
                if entering && call == ADD_KEY && !worked {
                    worked = true;
                    println!("AT_WORK={}", found(child.id(), pieces).0);
                } else if entering && worked && (call == EXIT_GROUP || call == EXECVE) {
                    let (counts, read) = found(child.id(), pieces);
                    println!("AT_END={counts}\nREAD={read}\nPEAK_KIB={}", peak(child.id()));
                    println!("MOMENT={}", if call == EXECVE { "execve" } else { "exit_group" });
                    ptrace::detach(pid, None).expect("our tracee");
                    break;
                }
            }
            WaitStatus::Stopped(_, delivered) if delivered != Signal::SIGTRAP => signal = Some(delivered),
            WaitStatus::Exited(_, code) => return println!("CODE={code}"),
            WaitStatus::Signaled(_, signal, _) => return println!("CODE={signal}"),
            _ => {}
        }
        ptrace::syscall(pid, signal).expect("our tracee");
    }
    match waitpid(pid, None) {
        Ok(WaitStatus::Exited(_, code)) => println!("CODE={code}"),
        other => println!("CODE={other:?}"),
    }
}

/// The number of pieces of each file in the process's memory, and the size of that memory in bytes.
fn found(pid: u32, pieces: &[Vec<Vec<u8>>]) -> (String, usize) {
    let memory = Memory::of(pid).expect("our tracee's memory");
    let count =
        |pieces: &Vec<Vec<u8>>| pieces.iter().filter(|piece| !memory.holding(piece).is_empty()).count();
    let counts: Vec<String> = pieces.iter().map(|pieces| count(pieces).to_string()).collect();
    (counts.join(" "), memory.len())
}

/// proc(5), status: the peak memory use.
fn peak(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("our tracee");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("VmHWM");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// A shorter piece might match by chance.
const SHORTEST: usize = 8;
/// System calls of x86-64.
const ADD_KEY: u64 = 248;
const EXECVE: u64 = 59;
const EXIT_GROUP: u64 = 231;
