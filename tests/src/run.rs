//! Running a program: standard input given, output captured, a time limit, and assertions that show
//! the complete output.

use crate::timeouts;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A command about to run. Nothing runs before [`Run::ok`], [`Run::fails`] or [`Run::outcome`].
#[derive(Debug)]
#[must_use]
pub struct Run {
    program: PathBuf,
    args: Vec<OsString>,
    envs: Vec<(OsString, OsString)>,
    directory: Option<PathBuf>,
    stdin: Vec<u8>,
    limit: Duration,
}

impl Run {
    /// `program` with the arguments of `line`, split at white space.
    pub fn new(program: impl Into<PathBuf>, line: &str) -> Self {
        Self {
            program: program.into(),
            args: line.split_whitespace().map(OsString::from).collect(),
            envs: Vec::new(),
            directory: None,
            stdin: Vec::new(),
            limit: timeouts::COMMAND,
        }
    }

    /// One more argument, passed unchanged.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// More arguments: a line split at white space.
    pub fn args(mut self, line: &str) -> Self {
        self.args.extend(line.split_whitespace().map(OsString::from));
        self
    }

    /// The program's path.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Its arguments.
    pub fn arguments(&self) -> &[OsString] {
        &self.args
    }

    /// The variables that it gets besides the test's own.
    pub fn environment(&self) -> &[(OsString, OsString)] {
        &self.envs
    }

    /// The directory to run in.
    pub fn working_directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// What the program reads on standard input, followed by end of file.
    pub fn stdin(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.stdin = bytes.as_ref().to_vec();
        self
    }

    /// An environment variable.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.envs.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// The directory it runs in.
    pub fn directory(mut self, path: &Path) -> Self {
        self.directory = Some(path.to_owned());
        self
    }

    /// The time limit after which it is killed and the test fails. The default is [`timeouts::COMMAND`].
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Files can be written up to `len` bytes from their start and no further: this cuts work off at a
    /// byte, however fast the machine is. Keyway ends with an error then, cryptsetup by SIGXFSZ.
    pub fn files_up_to(mut self, len: u64) -> Self {
        let program = std::mem::replace(&mut self.program, "prlimit".into());
        let own = [format!("--fsize={len}").into(), "--core=0".into(), program.into_os_string()];
        self.args.splice(0..0, own);
        self
    }

    /// Runs it; it must exit with 0.
    #[track_caller]
    pub fn ok(self) -> Outcome {
        self.fails(0)
    }

    /// Runs it; it must exit with `code`.
    #[track_caller]
    pub fn fails(self, code: i32) -> Outcome {
        let outcome = self.outcome();
        assert!(outcome.code == Some(code), "expected exit code {code}\n{outcome}");
        outcome
    }

    /// Runs it, whatever the exit code.
    #[track_caller]
    pub fn outcome(self) -> Outcome {
        let limit = timeouts::scaled(self.limit);
        self.outcome_while(|_| true).unwrap_or_else(|outcome| panic!("killed after {limit:?}\n{outcome}"))
    }

    /// Runs it, whatever the exit code, within its limit and while `goes_on` is true for the
    /// elapsed time; otherwise it is killed.
    #[track_caller]
    pub fn outcome_while(&self, goes_on: impl Fn(Duration) -> bool) -> Result<Outcome, Outcome> {
        let line = self.to_string();
        let (started, limit) = (Instant::now(), timeouts::scaled(self.limit));
        let mut child = self.spawn().unwrap_or_else(|e| panic!("{line}: {e}"));
        let stdout = drain(child.stdout.take());
        let stderr = drain(child.stderr.take());
        feed(&mut child, self.stdin.clone());
        let code = wait(&mut child, || started.elapsed() <= limit && goes_on(started.elapsed()));
        let outcome = Outcome {
            line,
            code: code.flatten(),
            stdout: stdout.join().unwrap_or_default(),
            stderr: stderr.join().unwrap_or_default(),
            elapsed: started.elapsed(),
        };
        if code.is_some() { Ok(outcome) } else { Err(outcome) }
    }

    /// Starts it with pipes on all three streams and returns at once: for programs that run while
    /// another one does.
    pub fn spawn(&self) -> std::io::Result<Child> {
        let mut command = Command::new(&self.program);
        command.args(&self.args).envs(self.envs.iter().map(|(k, v)| (k, v)));
        // Messages must not be translated, nor shaped by a pager or the terminal width.
        command.env("LC_ALL", "C").env_remove("LANGUAGE");
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A copy of a program cannot start while a process that another test forked at the same time
        // still has it open for writing.
        let deadline = timeouts::within(timeouts::EVENT);
        loop {
            match command.spawn() {
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy && Instant::now() < deadline => {
                    thread::sleep(Duration::from_millis(10));
                }
                result => return result,
            }
        }
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.program.display())?;
        self.args.iter().try_for_each(|arg| write!(f, " {}", arg.to_string_lossy()))
    }
}

/// The outcome of a program.
#[derive(Debug)]
pub struct Outcome {
    /// The command line.
    pub line: String,
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Everything on standard output.
    pub stdout: Vec<u8>,
    /// Everything on standard error.
    pub stderr: Vec<u8>,
    /// Wall time from start to exit.
    pub elapsed: Duration,
}

impl Outcome {
    /// Standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text.
    pub fn errors(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// Asserts that `text` occurs on standard output or standard error.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.text().contains(text) || self.errors().contains(text), "expected {text:?}\n{self}");
        self
    }

    /// Asserts that `text` does not occur on standard output or standard error.
    #[track_caller]
    pub fn lacks(self, text: &str) -> Self {
        assert!(!self.text().contains(text) && !self.errors().contains(text), "unexpected {text:?}\n{self}");
        self
    }

    /// Asserts that nothing was written to standard error.
    #[track_caller]
    pub fn quiet(self) -> Self {
        assert!(self.stderr.is_empty(), "expected nothing on standard error\n{self}");
        self
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.stdout[..self.stdout.len().min(4096)];
        writeln!(f, "$ {}\nexit {:?} after {:?}", self.line, self.code, self.elapsed)?;
        writeln!(f, "--- stdout ({} bytes)\n{}", self.stdout.len(), String::from_utf8_lossy(shown))?;
        write!(f, "--- stderr\n{}", self.errors())
    }
}

fn drain(stream: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            let _ = stream.read_to_end(&mut bytes);
        }
        bytes
    })
}

/// Feeds from a thread: a program that writes before it has read everything would otherwise block
/// both sides. A program may also exit without reading: a broken pipe is no error.
fn feed(child: &mut Child, bytes: Vec<u8>) {
    if let Some(mut stdin) = child.stdin.take() {
        thread::spawn(move || {
            let _ = stdin.write_all(&bytes);
        });
    }
}

/// `None` if `goes_on` became false and the program was killed.
fn wait(child: &mut Child, goes_on: impl Fn() -> bool) -> Option<Option<i32>> {
    let mut pause = Duration::from_micros(200);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status.code()),
            Ok(None) if !goes_on() => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
            Ok(None) => thread::sleep(pause),
            Err(e) => panic!("waiting for a program: {e}"),
        }
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}
