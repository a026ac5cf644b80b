//! Work on a session's volume that goes on in the background while it is used: its re-encryption.

use super::error::{Error, Result};
use super::facts::Moved;
use super::suspendable::SuspendableDevice;
use keyway_volume::OsRandom;
use keyway_volume::reencrypt::{Online, Progress, VolumeKeys};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How fast a volume is re-encrypted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Throttle {
    /// The largest zone in bytes; without it, as large as users can wait for.
    pub zone: Option<u64>,
    /// Bytes a second at most.
    pub limit: Option<u64>,
}

/// The re-encryption of a volume behind a [`SuspendableDevice`], in the background.
#[derive(Default)]
pub struct Work {
    state: Arc<(Mutex<State>, Condvar)>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct State {
    volume: Moving,
    stage: Stage,
}

/// The volume, as long as its re-encryption is not complete: until then nobody else may go on with it.
enum Moving {
    Now(Arc<Online>),
    /// As it was in the end.
    Then(Progress),
}

impl Default for Moving {
    fn default() -> Self {
        Self::Then(Progress { done: 0, len: 0 })
    }
}

impl Moving {
    fn progress(&self) -> Progress {
        match self {
            Self::Now(online) => online.progress(),
            Self::Then(progress) => *progress,
        }
    }
}

#[derive(Default, PartialEq, Eq)]
enum Stage {
    #[default]
    None,
    Running,
    Stopping,
    Stopped,
    Failed(String),
    Done,
}

impl Work {
    /// Goes on in the background, throttled; `ended` is told how that ended.
    ///
    /// # Errors
    /// Those of [`SuspendableDevice::reencrypt`]; [`Error::Running`].
    pub fn start(
        &self,
        device: &Arc<SuspendableDevice>,
        keys: VolumeKeys,
        throttle: Throttle,
        ended: impl FnOnce(&Moved) + Send + 'static,
    ) -> Result<()> {
        let mut thread = unpoisoned(&self.thread);
        if matches!(unpoisoned(&self.state.0).stage, Stage::Running | Stage::Stopping) {
            return Err(Error::Running);
        }
        let online = device.reencrypt(keys, throttle.zone)?;
        if let Some(ended) = thread.take() {
            let _ = ended.join();
        }
        *unpoisoned(&self.state.0) =
            State { volume: Moving::Now(Arc::clone(&online)), stage: Stage::Running };
        let (state, device) = (Arc::clone(&self.state), Arc::clone(device));
        *thread = Some(thread::spawn(move || {
            let stage = run(&online, &state, throttle);
            if stage == Stage::Done {
                device.settle();
                unpoisoned(&state.0).volume = Moving::Then(online.progress());
            }
            drop(online);
            unpoisoned(&state.0).stage = stage;
            let moved = unpoisoned(&state.0).moved();
            state.1.notify_all();
            ended(&moved);
        }));
        Ok(())
    }

    /// Stops after the zone that is being written. The volume stays as it is, and in use.
    ///
    /// # Errors
    /// [`Error::NotReencrypting`].
    pub fn stop(&self) -> Result<()> {
        let mut state = unpoisoned(&self.state.0);
        match state.stage {
            Stage::Running | Stage::Stopping => state.stage = Stage::Stopping,
            _ => return Err(Error::NotReencrypting),
        }
        self.state.1.notify_all();
        while state.stage == Stage::Stopping {
            state = self.state.1.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    /// How far it is.
    pub fn moved(&self) -> Moved {
        unpoisoned(&self.state.0).moved()
    }
}

impl State {
    fn moved(&self) -> Moved {
        let stage = match &self.stage {
            Stage::None => String::new(),
            Stage::Running | Stage::Stopping => "running".to_owned(),
            Stage::Stopped => "stopped".to_owned(),
            Stage::Failed(why) => format!("failed: {why}"),
            Stage::Done => "done".to_owned(),
        };
        let Progress { done, len } = self.volume.progress();
        Moved { stage, done, len }
    }
}

/// Runs to the end, or until it is stopped or fails.
fn run(online: &Online, state: &(Mutex<State>, Condvar), throttle: Throttle) -> Stage {
    let (begun, mut moved) = (Instant::now(), 0);
    loop {
        let (started, requests, before) = (Instant::now(), online.requests(), online.progress().done);
        match online.step(&mut OsRandom) {
            Ok(true) => return Stage::Done,
            Ok(false) => {}
            Err(error) => return Stage::Failed(error.to_string().replace('\n', " ")),
        }
        moved += online.progress().done - before;
        // Users come first: while there are requests, they have the device half of the time.
        let is_used = online.requests() > requests;
        let give_way = if is_used { started.elapsed() } else { Duration::ZERO };
        let limit = throttle.limit.map_or(Duration::ZERO, |limit| {
            Duration::from_secs_f64(moved as f64 / limit.max(1) as f64).saturating_sub(begun.elapsed())
        });
        if is_stopped(state, give_way.max(limit)) {
            return Stage::Stopped;
        }
    }
}

/// Waits so long, or until it is to stop.
fn is_stopped((state, changed): &(Mutex<State>, Condvar), wait: Duration) -> bool {
    let running = unpoisoned(state);
    let wait = changed.wait_timeout_while(running, wait, |state| state.stage == Stage::Running);
    wait.unwrap_or_else(PoisonError::into_inner).0.stage != Stage::Running
}

fn unpoisoned<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
