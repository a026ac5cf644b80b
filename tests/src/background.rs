//! Programs that run while a test does, and end with it.

use crate::run::Run;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

/// Waits, at most half a minute, for what happens in its own time: `what` says so when it does not.
#[track_caller]
pub fn until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}: not after 30 s");
        thread::sleep(Duration::from_millis(10));
    }
}

/// A program in the background.
#[derive(Debug)]
pub struct Background(Child);

impl Background {
    /// Starts it and returns when `is_ready`, within ten seconds.
    #[track_caller]
    pub fn start(run: &Run, is_ready: impl Fn() -> bool) -> Self {
        let child = run.spawn().unwrap_or_else(|e| panic!("{run}: {e}"));
        let mut started = Self(child);
        let deadline = Instant::now() + Duration::from_secs(10);
        while !is_ready() {
            let ended = started.0.try_wait().unwrap_or_else(|e| panic!("{run}: {e}"));
            assert!(ended.is_none(), "{run} ended before it was ready: {ended:?}");
            assert!(Instant::now() < deadline, "{run} is not ready after ten seconds");
            thread::sleep(Duration::from_millis(10));
        }
        started
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Kills it, as nothing that it could prepare for.
    pub fn kill(mut self) {
        self.end();
    }

    /// SIGSTOP: it is there and does not answer from the moment on that this returns.
    pub fn stop(&self) {
        let child = Pid::from_child(&self.0);
        kill_process(child, Signal::STOP).expect("our child");
        // Told when its last thread has stopped.
        waitpid(Some(child), WaitOptions::UNTRACED).expect("our child");
    }

    /// SIGTERM, upon which it ends well, within half a minute.
    #[track_caller]
    pub fn asked_to_end(&mut self) {
        kill_process(Pid::from_child(&self.0), Signal::TERM).expect("our child");
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            match self.0.try_wait().expect("our child") {
                Some(status) => return assert!(status.success(), "{status}"),
                None => assert!(Instant::now() < deadline, "it does not end"),
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Whether it ends by itself within five seconds.
    pub fn ends(&mut self) -> bool {
        self.ends_within(Duration::from_secs(5))
    }

    /// Whether it ends by itself so soon.
    pub fn ends_within(&mut self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
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
