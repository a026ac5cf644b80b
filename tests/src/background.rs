//! Background programs that end with the test.

use crate::run::Run;
use crate::timeouts::{self, EVENT};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

/// Waits for an asynchronous event; `what` names it in the failure message.
#[track_caller]
pub fn until(what: &str, holds: impl Fn() -> bool) {
    let deadline = timeouts::within(EVENT);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}: not after {:?}", timeouts::scaled(EVENT));
        thread::sleep(Duration::from_millis(10));
    }
}

/// Starts the program, and kills it `after` this time from the moment that `is_begun` holds. It may have ended by itself before: whoever needs a hit tries again.
#[track_caller]
pub fn killed(run: &Run, is_begun: impl Fn() -> bool, after: Duration) {
    let mut started = Background(run.spawn().unwrap_or_else(|e| panic!("{run}: {e}")));
    let has_ended = |started: &mut Background| started.0.try_wait().is_ok_and(|status| status.is_some());
    let deadline = timeouts::within(EVENT);
    while !has_ended(&mut started) && !is_begun() {
        assert!(Instant::now() < deadline, "{run} has not begun");
        thread::sleep(Duration::from_millis(1));
    }
    thread::sleep(after);
    started.kill();
}

/// A program in the background.
#[derive(Debug)]
pub struct Background(Child);

impl Background {
    /// Starts the program and returns once `is_ready` is true.
    #[track_caller]
    pub fn start(run: &Run, is_ready: impl Fn() -> bool) -> Self {
        let child = run.spawn().unwrap_or_else(|e| panic!("{run}: {e}"));
        let mut started = Self(child);
        let deadline = timeouts::within(EVENT);
        while !is_ready() {
            let ended = started.0.try_wait().unwrap_or_else(|e| panic!("{run}: {e}"));
            assert!(ended.is_none(), "{run} ended before it was ready: {ended:?}");
            assert!(Instant::now() < deadline, "{run} is not ready");
            thread::sleep(Duration::from_millis(10));
        }
        started
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Kills it with SIGKILL, which it cannot prepare for.
    pub fn kill(mut self) {
        self.end();
    }

    /// Sends SIGSTOP: once this returns, the program exists but does not answer.
    pub fn stop(&self) {
        let child = Pid::from_child(&self.0);
        kill_process(child, Signal::STOP).expect("our child");
        // Reported once its last thread has stopped.
        waitpid(Some(child), WaitOptions::UNTRACED).expect("our child");
    }

    /// Sends SIGTERM; the program must exit successfully.
    #[track_caller]
    pub fn asked_to_end(&mut self) {
        kill_process(Pid::from_child(&self.0), Signal::TERM).expect("our child");
        let deadline = timeouts::within(EVENT);
        loop {
            match self.0.try_wait().expect("our child") {
                Some(status) => return assert!(status.success(), "{status}"),
                None => assert!(Instant::now() < deadline, "it does not end"),
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Whether it ends by itself.
    pub fn ends(&mut self) -> bool {
        self.ends_within(EVENT)
    }

    /// Whether it ends by itself within this time.
    pub fn ends_within(&mut self, time: Duration) -> bool {
        let deadline = timeouts::within(time);
        while Instant::now() < deadline {
            if self.0.try_wait().is_ok_and(|status| status.is_some()) {
                return true;
            }
            thread::sleep(Duration::from_millis(10));
        }
        false
    }

    fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.end();
    }
}
