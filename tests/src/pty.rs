//! A simulated user at a terminal: runs a program on its own pseudoterminal, waits for prompts,
//! types answers.

use crate::run::Run;
use crate::timeouts;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running program and the user's side of its terminal.
pub struct Terminal {
    child: Child,
    person: OwnedFd,
    program: OwnedFd,
    seen: String,
    answered: usize,
    timeout: Duration,
}

/// The result of the program.
pub struct Ending {
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Everything shown on the screen.
    pub screen: String,
}

impl Terminal {
    /// Starts `run` with a pseudoterminal as its controlling terminal and as all three standard
    /// streams. Needs `setsid`.
    pub fn start(run: &Run) -> Self {
        let (person, program) = pair();
        let side = || Stdio::from(program.try_clone().expect("a descriptor"));
        // Tests started in the background may ignore Ctrl-C (SIGINT); programs on a terminal must
        // not.
        let mut command = Command::new("env");
        command.arg("--default-signal=INT,HUP,TERM").arg("setsid");
        // The session leader makes its standard input the controlling terminal; setsid does this,
        // so no unsafe code is needed.
        command.arg("--ctty").arg("--wait").arg(run.program()).args(run.arguments()).env("LC_ALL", "C");
        command.envs(run.environment().iter().map(|(name, value)| (name, value)));
        if let Some(directory) = run.working_directory() {
            command.current_dir(directory);
        }
        let child = command.stdin(side()).stdout(side()).stderr(side()).spawn().expect("setsid starts");
        Self { child, person, program, seen: String::new(), answered: 0, timeout: timeouts::EVENT }
    }

    /// Sets how long to wait from now on. The default is [`timeouts::EVENT`].
    pub fn limit(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Waits until `text` appears after the last answer.
    #[track_caller]
    pub fn expect(mut self, text: &str) -> Self {
        let deadline = timeouts::within(self.timeout);
        loop {
            if let Some(at) = self.seen[self.answered..].find(text) {
                self.answered += at + text.len();
                return self;
            }
            assert!(Instant::now() < deadline, "no {text:?} on the screen:\n{}", self.seen);
            self.read_within(Duration::from_millis(200));
        }
    }

    /// Waits until the program has turned echo off, then types a passphrase and the return key.
    #[track_caller]
    pub fn type_secretly(self, passphrase: &str) -> Self {
        let deadline = timeouts::within(self.timeout);
        while self.echoes() {
            assert!(Instant::now() < deadline, "echo stays on:\n{}", self.seen);
            std::thread::sleep(Duration::from_millis(2));
        }
        self.type_line(passphrase)
    }

    /// Types a line and the return key.
    pub fn type_line(self, line: &str) -> Self {
        rustix::io::write(&self.person, format!("{line}\n").as_bytes()).expect("the terminal takes input");
        self
    }

    /// Types control-C once the program prompts.
    pub fn interrupt(self) -> Self {
        rustix::io::write(&self.person, b"\x03").expect("the terminal takes input");
        self
    }

    /// Whether typed text appears on the screen.
    pub fn echoes(&self) -> bool {
        tcgetattr(&self.program).expect("a terminal").local_modes.contains(LocalModes::ECHO)
    }

    /// Waits for the program to end.
    #[track_caller]
    pub fn finish(mut self) -> Ending {
        let deadline = timeouts::within(self.timeout);
        loop {
            let ended = self.child.try_wait().expect("a child").map(|s| (s.code(), s.signal()));
            while self.read_within(Duration::from_millis(10)) {}
            if let Some((code, signal)) = ended {
                return Ending { code, signal, screen: self.seen.replace("\r\n", "\n") };
            }
            assert!(Instant::now() < deadline, "it does not end:\n{}", self.seen);
        }
    }

    /// Whether any output arrived.
    fn read_within(&mut self, time: Duration) -> bool {
        let limit = Timespec::try_from(time).expect("a short time");
        let ready = poll(&mut [PollFd::new(&self.person, PollFlags::IN)], Some(&limit));
        if !ready.is_ok_and(|n| n > 0) {
            return false;
        }
        let mut buffer = [0; 4096];
        let got = rustix::io::read(&self.person, &mut buffer).unwrap_or(0);
        self.seen.push_str(&String::from_utf8_lossy(&buffer[..got]));
        got > 0
    }
}

fn pair() -> (OwnedFd, OwnedFd) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudoterminal");
    grantpt(&person).expect("a pseudoterminal of ours");
    unlockpt(&person).expect("a pseudoterminal of ours");
    let name = ptsname(&person, Vec::new()).expect("its name");
    let program =
        rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).expect("its other side");
    (person, program)
}
