//! Finds the volume key from a passphrase: candidate keyslots are derived in parallel, and the
//! first one that opens wins.
//!
//! Keyslots of priority "prefer" come first, then the normal ones; those of priority "ignore" are
//! tried only when named. As many are derived at once as cores and memory allow: PBKDF2 takes one
//! core, Argon2 as many as it has lanes. Neighbours in that order whose PBKDF2 can run in vector
//! lanes are all tried together ([`lanes`]).

use crate::keyslot::area_cipher::Areas;
use crate::keyslot::digest::KeyDigest;
use crate::keyslot::kdf_cost::{is_harmless, online_cpus};
use crate::keyslot::material::Keyslot;
use crate::keyslot::memory::Memory;
use crate::keyslot::unlock_time::UnlockTimes;
use crate::{Error, Header, Luks, Refusal, Result, UnderWay};
pub(crate) use candidates::length_fits as key_has_length;
use candidates::{candidates, length_fits, serves_data};
use keyway_crypto::secret::wipe_stack;
use keyway_crypto::{Secret, Stop};
use keyway_format::luks2::Digest;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

mod candidates;
mod lanes;
mod turn;

pub use turn::Turn;

/// How to unlock.
#[derive(Debug, Clone)]
pub struct UnlockOptions {
    /// Only this keyslot (the only way to one with priority "ignore").
    pub keyslot: Option<u32>,
    /// Only keyslots whose key this digest verifies, whatever it serves.
    pub digest: Option<u32>,
    /// Also keyslots that are bound to no segment (their key is not the volume key).
    pub unbound_too: bool,
    /// Also keyslots whose area uses a weak cipher, if it is the data's own cipher
    /// ([`Terms::weak_ciphers`](crate::Terms)).
    pub weak_ciphers_too: bool,
    /// Memory that all derivations together may use, in KiB. Default: half of the memory that is
    /// available now.
    pub memory_budget_kib: u64,
    /// Threads for all derivations together. Default: one per CPU.
    pub threads: usize,
    /// Keyslots whose derivation would take longer than this on this machine are refused with the
    /// estimate. Default: one hour.
    pub time_limit: Duration,
    /// Stops the derivations from outside ([`keyway_crypto::Error::Stopped`]).
    pub stop: Option<Arc<Stop>>,
}

impl Default for UnlockOptions {
    fn default() -> Self {
        Self {
            keyslot: None,
            digest: None,
            unbound_too: false,
            weak_ciphers_too: false,
            memory_budget_kib: Memory::now().map_or(2 << 20, |memory| memory.available_kib / 2),
            threads: online_cpus(),
            time_limit: Duration::from_secs(3600),
            stop: None,
        }
    }
}

impl UnlockOptions {
    /// Which ciphers keyslots may use in a header whose data is encrypted with `cipher` and a key
    /// of `key_len` bytes.
    fn areas<'a>(&self, cipher: &'a str, key_len: usize) -> Areas<'a> {
        if self.weak_ciphers_too { Areas::StrongOr { cipher, key_len } } else { Areas::Strong }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.is_stopped())
    }
}

/// The result of a passphrase that opened a keyslot.
pub struct Unlocked {
    /// The keyslot it opened.
    pub keyslot: u32,
    /// The digest that verified the key (always 0 for LUKS1).
    pub digest: u32,
    /// The key in the keyslot: the volume key, unless the keyslot is unbound.
    pub volume_key: Secret,
}

/// Finds the keyslot that `passphrase` opens. Every wrong passphrase costs the same amount of work.
pub fn unlock(luks: &Luks, passphrase: &Secret, options: &UnlockOptions) -> Result<Unlocked> {
    luks.check_readable()?;
    let mut trouble = None;
    let mut jobs = Vec::new();
    for candidate in candidates(luks.header(), options)? {
        match candidate.and_then(|job| job.check_cost(options)) {
            Ok(job) => jobs.push(job),
            Err(error) => {
                trouble.get_or_insert(error);
            }
        }
    }
    if jobs.is_empty() {
        return Err(trouble.unwrap_or(Error::NoUsableKeyslot));
    }
    // Any passphrase would open an area that is not encrypted; as with cryptsetup, only the empty one
    // does.
    jobs.retain(|job| passphrase.is_empty() || !job.keyslot.cipher.is_null());
    if jobs.is_empty() {
        return Err(trouble.unwrap_or(Error::WrongPassphrase));
    }
    match derive_side_by_side(luks, &jobs, passphrase, options)? {
        Some(unlocked) => Ok(unlocked),
        None if options.is_stopped() => Err(keyway_crypto::Error::Stopped.into()),
        None => Err(trouble.unwrap_or(Error::WrongPassphrase)),
    }
}

/// Checks `key` against the digest of the data segments
/// (`--volume-key-file`) and returns the digest's number.
pub fn verify_volume_key(luks: &Luks, key: &Secret) -> Result<u32> {
    luks.check_readable()?;
    let under_way = UnderWay::of(luks.header())?;
    let under_way = |id| {
        let both = under_way.as_ref().map(|what| [what.first_digest(), what.second_digest()]);
        both.is_some_and(|both| both.contains(&Some(id)))
    };
    match luks.header() {
        Header::Luks1(header) => {
            let fits = key.len() == header.key_bytes as usize;
            let digest = KeyDigest::of_luks1(header)?;
            if fits && digest.matches(key, &Stop::new())? { Ok(0) } else { Err(Error::WrongVolumeKey) }
        }
        Header::Luks2 { metadata, .. } => {
            let serves =
                |(id, digest): &(&u32, &Digest)| serves_data(metadata, &digest.segments) || under_way(**id);
            for (&id, digest) in metadata.digests.iter().filter(serves) {
                if length_fits(metadata, &digest.keyslots, key)?
                    && KeyDigest::of_luks2(id, digest)?.matches(key, &Stop::new())?
                {
                    return Ok(id);
                }
            }
            Err(Error::WrongVolumeKey)
        }
    }
}

/// A keyslot to try and the digests that can verify its key.
pub(crate) struct Job {
    pub(crate) keyslot: Keyslot,
    pub(crate) digests: Vec<KeyDigest>,
}

impl Job {
    /// Refuses a keyslot that would take all memory or a year, with the figure.
    fn check_cost(self, options: &UnlockOptions) -> Result<Self> {
        let (slot, needs_kib) = (self.keyslot.number, self.keyslot.memory_kib());
        if needs_kib > options.memory_budget_kib {
            return Err(Error::MemoryBudget { slot, needs_kib, budget_kib: options.memory_budget_kib });
        }
        let mut times = UnlockTimes::rough(options.threads);
        let mut seconds = 0.0;
        let digests = self.digests.iter().map(|digest| (digest.kdf(), digest.len()));
        for (kdf, len) in std::iter::once((self.keyslot.kdf.clone(), self.keyslot.derived_len)).chain(digests)
        {
            if !is_harmless(&kdf, options.time_limit) {
                seconds += times.of_kdf(&kdf, len)?.likely;
            }
        }
        let time = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        if time > options.time_limit {
            return Err(Error::TimeLimit {
                slot,
                needs_seconds: time.as_secs(),
                limit_seconds: options.time_limit.as_secs(),
            });
        }
        Ok(self)
    }

    pub(crate) fn broken(&self) -> Error {
        Refusal::Unusable
            .because(format!("keyslot {} cannot be used: its derivation failed", self.keyslot.number))
    }

    fn cores(&self, options: &UnlockOptions) -> usize {
        self.keyslot.lanes().min(options.threads).max(1)
    }

    /// The key, if the passphrase is this keyslot's.
    fn run(&self, luks: &Luks, passphrase: &Secret, threads: usize, stop: &Stop) -> Result<Option<Unlocked>> {
        let derived = self.keyslot.derive(passphrase, threads, stop)?;
        let key = self.open(luks, &derived)?;
        for (at, digest) in self.digests.iter().enumerate() {
            if digest.matches(&key, stop)? {
                return Ok(Some(self.unlocked(at, key)));
            }
        }
        Ok(None)
    }

    /// The key in the keyslot's area, right or wrong.
    pub(crate) fn open(&self, luks: &Luks, derived: &Secret) -> Result<Secret> {
        let _lock = luks.lock_shared()?;
        let key = self.keyslot.open(&**luks.storage(), derived);
        // The thread ends soon, and its stack goes on to the next one.
        wipe_stack();
        key
    }

    /// The key that the digest `at` verified.
    pub(crate) fn unlocked(&self, at: usize, key: Secret) -> Unlocked {
        Unlocked { keyslot: self.keyslot.number, digest: self.digests[at].id, volume_key: key }
    }
}

/// Runs the jobs in order, on the available cores and memory, until one opens.
fn derive_side_by_side(
    luks: &Luks,
    jobs: &[Job],
    passphrase: &Secret,
    options: &UnlockOptions,
) -> Result<Option<Unlocked>> {
    let stops: Vec<Stop> = jobs.iter().map(|_| Stop::new()).collect();
    std::thread::scope(|scope| {
        let (done, results) = channel();
        let started = Instant::now();
        let mut board = Board { running: vec![false; jobs.len()], next: 0, trouble: None };
        loop {
            while board.may_start(jobs, options) {
                let at = board.next;
                let together = jobs[at..].iter().take_while(|job| job.keyslot.goes_in_lanes()).count();
                if together > 1 {
                    let (all, threads) = (at..at + together, board.free_cores(jobs, options));
                    board.running[all.clone()].fill(true);
                    board.next = all.end;
                    let (done, jobs, stops) = (done.clone(), &jobs[all.clone()], &stops[all]);
                    let run = move || {
                        lanes::run(luks, jobs, passphrase, threads, stops, &|number, outcome| {
                            // The receiver is gone only when the outcome no longer matters.
                            let _ = done.send((at + number, outcome));
                        });
                    };
                    if Builder::new().spawn_scoped(scope, run.clone()).is_err() {
                        run();
                    }
                    continue;
                }
                (board.running[at], board.next) = (true, at + 1);
                let (done, stop, threads) = (done.clone(), &stops[at], jobs[at].cores(options));
                let here = done.clone();
                let outcome = move || {
                    let run = AssertUnwindSafe(|| jobs[at].run(luks, passphrase, threads, stop));
                    // The waiting thread must always get an outcome for this keyslot.
                    catch_unwind(run).unwrap_or_else(|_| Err(jobs[at].broken()))
                };
                // The receiver is gone only when the outcome no longer matters.
                let there = Builder::new().spawn_scoped(scope, move || drop(done.send((at, outcome()))));
                if there.is_err() {
                    // No thread is available (RLIMIT_NPROC, a container's pids.max): run it on this
                    // thread instead.
                    let _ = here.send((at, outcome()));
                }
            }
            if !board.running.contains(&true) {
                return board.trouble.map_or(Ok(None), Err);
            }
            let Some((at, outcome)) = next_outcome(&results, &stops, options) else { return Ok(None) };
            board.running[at] = false;
            match outcome {
                Ok(Some(unlocked)) => {
                    return Ok(Some(board.settle(at, unlocked, &stops, &results, started)));
                }
                Ok(None) => {}
                Err(error) => {
                    board.trouble.get_or_insert(error);
                }
            }
        }
    })
}

/// Waits for the next outcome. A stop from outside stops every job, and still waits for them.
fn next_outcome(results: &Receiver<Outcome>, stops: &[Stop], options: &UnlockOptions) -> Option<Outcome> {
    // The caller's frame holds a sender, so the channel is never disconnected here.
    let Some(stop) = &options.stop else { return results.recv().ok() };
    loop {
        if stop.is_stopped() {
            stops.iter().for_each(Stop::stop);
        }
        match results.recv_timeout(POLL) {
            Err(RecvTimeoutError::Timeout) => {}
            outcome => return outcome.ok(),
        }
    }
}

type Outcome = (usize, Result<Option<Unlocked>>);

/// Which jobs are running and which comes next.
struct Board {
    running: Vec<bool>,
    next: usize,
    trouble: Option<Error>,
}

impl Board {
    /// Whether the next job can run beside the running ones. A single job can always run: its cost
    /// was checked before.
    fn may_start(&self, jobs: &[Job], options: &UnlockOptions) -> bool {
        let Some(next) = jobs.get(self.next).filter(|_| !options.is_stopped()) else { return false };
        let running = || jobs.iter().zip(&self.running).filter(|(_, running)| **running).map(|(job, _)| job);
        let cores: usize = running().map(|job| job.cores(options)).sum();
        let memory: u64 = running().map(|job| job.keyslot.memory_kib()).sum();
        cores == 0
            || (cores + next.cores(options) <= options.threads
                && memory + next.keyslot.memory_kib() <= options.memory_budget_kib)
    }

    /// Cores that no running job takes, at least one.
    fn free_cores(&self, jobs: &[Job], options: &UnlockOptions) -> usize {
        let running = jobs.iter().zip(&self.running).filter(|(_, running)| **running);
        options.threads.saturating_sub(running.map(|(job, _)| job.cores(options)).sum()).max(1)
    }

    /// Stops the other jobs. A job that is earlier in the order may finish if it is about to, so
    /// that of two keyslots with the same passphrase and cost the first one wins, as when they run
    /// one at a time.
    fn settle(
        &mut self,
        winner: usize,
        unlocked: Unlocked,
        stops: &[Stop],
        results: &Receiver<Outcome>,
        started: Instant,
    ) -> Unlocked {
        stops[winner + 1..].iter().for_each(Stop::stop);
        let mut best = (winner, unlocked);
        let deadline = Instant::now() + (started.elapsed() / 20).max(GRACE);
        while self.running[..best.0].contains(&true) {
            let timeout = deadline.saturating_duration_since(Instant::now());
            match results.recv_timeout(timeout) {
                Ok((at, outcome)) => {
                    self.running[at] = false;
                    if let (true, Ok(Some(unlocked))) = (at < best.0, outcome) {
                        best = (at, unlocked);
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        stops.iter().for_each(Stop::stop);
        best.1
    }
}

/// The interval of checking for a stop from outside.
const POLL: Duration = Duration::from_millis(20);
/// The minimum time that an earlier keyslot gets to finish.
const GRACE: Duration = Duration::from_millis(50);
