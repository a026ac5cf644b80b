//! A machine of any architecture, booted interactively: QEMU, with reads from and input to its
//! serial console.
//!
//! The machine's writes to its disks are discarded when it ends, so machines may share a volume, but for
//! those to a [`Board::kept_disk`].

use crate::peers::peer;
use crate::run::Run;
use crate::scratch::Scratch;
use crate::timeouts;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A PC's EFI firmware: Debian's package ovmf. Ask `need_that!` for it first.
pub const FIRMWARE: &str = "/usr/share/OVMF/OVMF_CODE.fd";

/// A machine that is not running yet.
#[derive(Debug)]
#[must_use]
pub struct Board {
    qemu: Run,
    disks: usize,
}

impl Board {
    /// A machine with QEMU's program for the architecture, and its arguments. Call `need!` for the
    /// program first.
    pub fn new(program: &str, arguments: &str) -> Self {
        let qemu = peer(program, arguments).args("-display none -no-reboot -serial stdio");
        Self { qemu, disks: 0 }
    }

    /// A PC suited to Debian's kernel: one processor, half a gigabyte of memory, all emulated.
    pub fn pc() -> Self {
        Self::new("qemu-system-x86_64", "-accel tcg,thread=multi -cpu max,-erms -m 512 -nic none -vga none")
    }

    /// EFI firmware, which starts EFI/BOOT/BOOTX64.EFI of this folder.
    pub fn firmware(self, scratch: &Scratch, partition: &Path) -> Self {
        let variables = scratch.copy(Path::new("/usr/share/OVMF/OVMF_VARS.fd"), "variables");
        self.args("-m 1024 -drive")
            .arg(&format!("if=pflash,format=raw,readonly=on,file={FIRMWARE}"))
            .arg("-drive")
            .arg(&format!("if=pflash,format=raw,file={}", variables.display()))
            .arg("-drive")
            .arg(&format!("format=raw,file=fat:rw:{}", partition.display()))
    }

    /// Starts this kernel without a boot loader; with `initrd` and `append`.
    pub fn kernel(mut self, kernel: &Path) -> Self {
        self.qemu = self.qemu.arg("-kernel").arg(kernel);
        self
    }

    /// The kernel's initramfs.
    pub fn initrd(mut self, image: &Path) -> Self {
        self.qemu = self.qemu.arg("-initrd").arg(image);
        self
    }

    /// The kernel's command line.
    pub fn append(mut self, line: &str) -> Self {
        self.qemu = self.qemu.arg("-append").arg(line);
        self
    }

    /// A raw image as the next virtio disk: /dev/vda, /dev/vdb, ….
    pub fn disk(mut self, image: &Path) -> Self {
        let drive = format!("if=none,id=disk{},format=raw,snapshot=on,file={}", self.disks, image.display());
        self.qemu = self.qemu.arg("-drive").arg(drive);
        self.qemu = self.qemu.arg("-device").arg(format!("virtio-blk,drive=disk{}", self.disks));
        self.disks += 1;
        self
    }

    /// A raw image as the next virtio disk, which keeps the machine's writes; of at most so many bytes a
    /// second.
    pub fn kept_disk(mut self, image: &Path, rate: Option<u64>) -> Self {
        let rate = rate.map(|rate| format!(",throttling.bps-total={rate}")).unwrap_or_default();
        let drive = format!("if=none,id=disk{},format=raw,file={}{rate}", self.disks, image.display());
        self.qemu = self.qemu.arg("-drive").arg(drive);
        self.qemu = self.qemu.arg("-device").arg(format!("virtio-blk,drive=disk{}", self.disks));
        self.disks += 1;
        self
    }

    /// Further QEMU arguments: a line split at white space.
    pub fn args(mut self, line: &str) -> Self {
        self.qemu = self.qemu.args(line);
        self
    }

    /// One further QEMU argument, passed unchanged.
    pub fn arg(mut self, argument: &str) -> Self {
        self.qemu = self.qemu.arg(argument);
        self
    }

    /// Starts the machine.
    #[track_caller]
    pub fn start(self) -> Console {
        let scratch = Scratch::new();
        let monitor = scratch.path("monitor");
        let qemu = self.qemu.arg("-monitor").arg(format!("unix:{},server=on,wait=off", monitor.display()));
        let mut child = qemu.spawn().unwrap_or_else(|e| panic!("{qemu}: {e}"));
        let seen = Arc::new(Seen::default());
        listen(child.stdout.take(), &seen, true);
        listen(child.stderr.take(), &seen, false);
        Console {
            child,
            seen,
            answered: 0,
            timeout: timeouts::CONSOLE,
            line: qemu.to_string(),
            monitor,
            scratch,
        }
    }
}

/// The console of a running machine. The machine is stopped on drop.
#[derive(Debug)]
pub struct Console {
    child: Child,
    seen: Arc<Seen>,
    answered: usize,
    timeout: Duration,
    line: String,
    monitor: PathBuf,
    scratch: Scratch,
}

impl Console {
    /// Sets how long to wait for a text from now on.
    pub fn limit(&mut self, timeout: Duration) -> &mut Self {
        self.timeout = timeout;
        self
    }

    /// Waits until the text appears after the last text waited for.
    #[track_caller]
    pub fn expect(&mut self, text: &str) -> &mut Self {
        self.expect_one(&[text]);
        self
    }

    /// Waits until one of the texts appears after the last text waited for; returns which one.
    #[track_caller]
    pub fn expect_one(&mut self, texts: &[&str]) -> usize {
        let deadline = timeouts::within(self.timeout);
        let seen = Arc::clone(&self.seen);
        let mut transcript = seen.lock();
        loop {
            let behind = &transcript.text[self.answered..];
            let places = texts.iter().map(|text| behind.find(text)).enumerate();
            let first = places.filter_map(|(which, at)| Some((at?, which))).min();
            if let Some((at, which)) = first {
                self.answered += at + texts[which].len();
                return which;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let why = if transcript.ended { "the machine is off" } else { "the time is up" };
            assert!(
                !transcript.ended && !left.is_zero(),
                "nothing of {texts:?} on the console: {why}\n$ {}\n{}",
                self.line,
                transcript.text
            );
            let waited = seen.changed.wait_timeout(transcript, left);
            transcript = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until what appeared after the last text waited for fulfils this.
    #[track_caller]
    pub fn expect_that(&mut self, what: &str, is_there: impl Fn(&str) -> bool) -> &mut Self {
        let deadline = timeouts::within(self.timeout);
        let seen = Arc::clone(&self.seen);
        let mut transcript = seen.lock();
        while !is_there(&transcript.text[self.answered..]) {
            let left = deadline.saturating_duration_since(Instant::now());
            let why = if transcript.ended { "the machine is off" } else { "the time is up" };
            assert!(
                !transcript.ended && !left.is_zero(),
                "never {what} on the console: {why}\n$ {}\n{}",
                self.line,
                transcript.text
            );
            let waited = seen.changed.wait_timeout(transcript, left);
            transcript = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(transcript);
        self
    }

    /// Types this text unchanged: the return key is "\n".
    #[track_caller]
    pub fn types(&mut self, text: &str) -> &mut Self {
        let keyboard = self.child.stdin.as_mut().expect("a pipe");
        let typed = keyboard.write_all(text.as_bytes()).and_then(|()| keyboard.flush());
        typed.unwrap_or_else(|e| panic!("the console takes no {text:?}: {e}\n{}", self.transcript()));
        self
    }

    /// Sends a command to QEMU's monitor ("device_add …").
    #[track_caller]
    pub fn monitor(&mut self, command: &str) -> &mut Self {
        let answer =
            self.ask_monitor(command).unwrap_or_else(|e| panic!("{command}: {e}\n{}", self.transcript()));
        let refused = ["Error", "unknown", "invalid"].iter().any(|word| answer.contains(word));
        assert!(!refused, "{command}: {answer}");
        self
    }

    /// Presses keys of a US keyboard, by QEMU's names ("shift-3"), and releases each.
    #[track_caller]
    pub fn presses(&mut self, keys: &str) -> &mut Self {
        for key in keys.split_whitespace() {
            self.monitor(&format!("sendkey {key}"));
            // The keyboard holds few keys, and each is held down for a tenth of a second.
            thread::sleep(Duration::from_millis(150));
        }
        self
    }

    /// Waits until the text is so many times on the machine's own screen: a PC's, in text mode (`-vga std`).
    #[track_caller]
    pub fn expect_on_screen(&mut self, text: &str, times: usize) -> &mut Self {
        let deadline = timeouts::within(self.timeout);
        while !self.monitor.exists() || self.screen().matches(text).count() < times {
            assert!(
                Instant::now() < deadline,
                "{text:?} is not {times} times on the screen\n{}",
                self.screen()
            );
            thread::sleep(Duration::from_millis(200));
        }
        self
    }

    /// What the memory of the screen holds: a character and its colours each, lines of 80, older ones too.
    #[track_caller]
    pub fn screen(&mut self) -> String {
        let file = self.scratch.path("screen");
        self.monitor(&format!("pmemsave 0xb8000 0x8000 \"{}\"", file.display()));
        let bytes = std::fs::read(file).unwrap_or_default();
        let lines = bytes.chunks(160).map(|line| {
            let letters = line.iter().step_by(2).map(|letter| char::from(*letter));
            letters.collect::<String>().trim_end_matches([' ', '\0']).to_owned()
        });
        lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// All console output so far.
    pub fn transcript(&self) -> String {
        self.seen.lock().text.clone()
    }

    /// Waits until the machine powers off; returns all console output.
    #[track_caller]
    pub fn ends(mut self) -> String {
        // All that it does may be between its start and its end.
        let deadline = timeouts::within(self.timeout.max(timeouts::MACHINE));
        let status = self.status_before(deadline);
        let transcript = self.transcript();
        let Some(status) = status else {
            panic!("the machine stays on\n$ {}\n{transcript}", self.line);
        };
        assert!(status.success(), "QEMU ended with {status}\n$ {}\n{transcript}", self.line);
        transcript
    }

    fn status_before(&mut self, deadline: Instant) -> Option<ExitStatus> {
        let seen = Arc::clone(&self.seen);
        let mut transcript = seen.lock();
        while !transcript.ended {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let waited = seen.changed.wait_timeout(transcript, left);
            transcript = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(transcript);
        self.child.wait().ok()
    }

    fn ask_monitor(&self, command: &str) -> std::io::Result<String> {
        let mut monitor = UnixStream::connect(&self.monitor)?;
        monitor.set_read_timeout(Some(timeouts::scaled(timeouts::CONSOLE)))?;
        until_prompt(&mut monitor)?;
        writeln!(monitor, "{command}")?;
        until_prompt(&mut monitor)
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The output received, and whether more can follow.
#[derive(Debug, Default)]
struct Transcript {
    text: String,
    ended: bool,
}

#[derive(Debug, Default)]
struct Seen {
    transcript: Mutex<Transcript>,
    changed: Condvar,
}

impl Seen {
    fn lock(&self) -> MutexGuard<'_, Transcript> {
        self.transcript.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serial consoles end their lines with "\r\n".
fn listen(stream: Option<impl Read + Send + 'static>, seen: &Arc<Seen>, is_console: bool) {
    let (Some(mut stream), seen) = (stream, Arc::clone(seen)) else { return };
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        loop {
            let got = stream.read(&mut buffer).unwrap_or(0);
            let mut transcript = seen.lock();
            let bytes: Vec<u8> = buffer[..got].iter().copied().filter(|byte| *byte != b'\r').collect();
            transcript.text.push_str(&String::from_utf8_lossy(&bytes));
            transcript.ended |= got == 0 && is_console;
            seen.changed.notify_all();
            if got == 0 {
                return;
            }
        }
    });
}

fn until_prompt(monitor: &mut UnixStream) -> std::io::Result<String> {
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(MONITOR.as_bytes()) && monitor.read(&mut byte)? > 0 {
        answer.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

const MONITOR: &str = "(qemu) ";
