//! Derives keys by all KDFs side by side, the likely ones first, until one of them opens a header.
//!
//! Each takes one core, and as many as its key has digests where these do not run in vector lanes. All
//! ciphers are tried with the key that it derives.

use super::Encrypted;
use super::candidates::Candidates;
use super::derive::{check_cost, derive};
use crate::kind::cost::Limits;
use crate::{Error, Result, UnlockOptions};
use keyway_crypto::kdf::Derivation;
use keyway_crypto::secret::wipe_stack;
use keyway_crypto::{Cascade, Cpu, Secret, Stop};
use keyway_format::tcrypt::{Cipher, DERIVED_LEN, Header, Kdf, Position, SALT_LEN, SECTOR, Stretch};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

/// A header that opened, and what opened it.
pub(super) struct Match {
    pub(super) position: Position,
    pub(super) kdf: &'static Kdf,
    pub(super) cipher: &'static Cipher,
    pub(super) header: Header,
}

/// Tries all of them. Every password that opens nothing costs the same.
///
/// # Errors
/// Nothing opened: [`Error::WrongPassphrase`], or why some were not tried.
pub(super) fn find(
    headers: &[Encrypted],
    candidates: &Candidates,
    password: &Secret,
    options: &UnlockOptions,
) -> Result<Match> {
    let (mut jobs, mut trouble, mut limits) = (Vec::new(), None, Limits::new(options));
    for header in headers {
        for (kdf, stretch) in candidates.kdfs(header.position, password.len()) {
            let job = Job::new(header, kdf, stretch);
            match check_cost(job.kdf, job.stretch, &mut limits) {
                Ok(()) => jobs.push(job),
                Err(error) => {
                    trouble.get_or_insert(error);
                }
            }
        }
    }
    let parts = |(at, job): (usize, &Job<'_>)| (0..job.parts()).map(move |part| (at, part));
    let parts = jobs.iter().enumerate().flat_map(parts).collect();
    let search = Search { jobs, parts, candidates, password, next: AtomicUsize::new(0), stop: Stop::new() };
    match search.run(options) {
        Ok(Some(found)) => return Ok(found),
        Ok(None) => {}
        Err(error) => trouble = Some(error),
    }
    Err(trouble.unwrap_or(Error::WrongPassphrase))
}

/// A header, and a KDF that may have made its key.
struct Job<'a> {
    header: &'a Encrypted,
    kdf: &'static Kdf,
    stretch: Stretch,
    key: Mutex<Partial>,
}

/// A key in the making.
struct Partial {
    derived: Secret,
    parts: usize,
}

impl<'a> Job<'a> {
    fn new(header: &'a Encrypted, kdf: &'static Kdf, stretch: Stretch) -> Self {
        Self { header, kdf, stretch, key: Mutex::new(Partial { derived: Secret::zeroed(0), parts: 0 }) }
    }

    /// How many threads can share it.
    fn parts(&self) -> usize {
        parts(self.stretch)
    }

    /// The bytes of each part.
    fn part_len(&self) -> usize {
        part_len(self.stretch)
    }

    fn derive(&self, part: usize, password: &Secret, stop: &Stop) -> Result<Secret> {
        let len = self.part_len();
        let mut derived = Secret::zeroed(len.min(DERIVED_LEN - part * len));
        let salt = &self.header.bytes[..SALT_LEN];
        derive(self.stretch, part as u32, password, salt, derived.expose_mut(), stop)?;
        Ok(derived)
    }

    /// Puts a part into its place; the whole key, if that was the last.
    fn join(&self, part: usize, derived: Secret) -> Option<Secret> {
        if derived.len() == DERIVED_LEN {
            return Some(derived);
        }
        let mut key = self.key.lock().unwrap_or_else(PoisonError::into_inner);
        if key.parts == 0 {
            key.derived = Secret::zeroed(DERIVED_LEN);
        }
        let start = part * self.part_len();
        key.derived.expose_mut()[start..start + derived.len()].copy_from_slice(derived.expose());
        key.parts += 1;
        (key.parts == self.parts()).then(|| std::mem::replace(&mut key.derived, Secret::zeroed(0)))
    }

    /// Decrypts the header by every cipher.
    fn open(&self, derived: &Secret, candidates: &Candidates) -> Result<Option<Match>> {
        let (cpu, program) = (Cpu::detect(), self.kdf.program);
        let mut trouble = None;
        for cipher in candidates.ciphers(program) {
            let mut decrypted = Secret::zeroed(SECTOR as usize);
            let encrypted = &self.header.bytes[SALT_LEN..];
            decrypted.expose_mut()[..encrypted.len()].copy_from_slice(encrypted);
            Cascade::of_header(cipher.chain, cipher.mode, derived, cpu)?.decrypt(0, decrypted.expose_mut());
            match Header::parse(decrypted.expose(), program) {
                Ok(Some(header)) => {
                    let (position, kdf) = (self.header.position, self.kdf);
                    return Ok(Some(Match { position, kdf, cipher, header }));
                }
                Ok(None) => {}
                Err(error) => trouble = Some(error.into()),
            }
        }
        trouble.map_or(Ok(None), Err)
    }
}

/// How many threads can share a derivation.
pub(super) fn parts(stretch: Stretch) -> usize {
    DERIVED_LEN.div_ceil(part_len(stretch))
}

fn part_len(stretch: Stretch) -> usize {
    match stretch {
        Stretch::Pbkdf2 { hash, iterations } if !Derivation::fits(hash, iterations, DERIVED_LEN) => {
            hash.output_len()
        }
        _ => DERIVED_LEN,
    }
}

/// Jobs, whose parts threads take in order.
struct Search<'a> {
    jobs: Vec<Job<'a>>,
    parts: Vec<(usize, usize)>,
    candidates: &'a Candidates,
    password: &'a Secret,
    next: AtomicUsize,
    stop: Stop,
}

type Outcome = Result<Option<Match>>;

impl Search<'_> {
    fn run(&self, options: &UnlockOptions) -> Outcome {
        std::thread::scope(|scope| {
            let (done, outcomes) = channel();
            for _ in 0..options.threads.clamp(1, self.parts.len().max(1)) {
                let done = done.clone();
                let work = move || self.work(&mut |outcome| drop(done.send(outcome)));
                if Builder::new().spawn_scoped(scope, work.clone()).is_err() {
                    // No thread is available (RLIMIT_NPROC, a container's pids.max): this one does it.
                    work();
                }
            }
            drop(done);
            self.wait(&outcomes, options)
        })
    }

    /// Takes part after part.
    fn work(&self, report: &mut dyn FnMut(Outcome)) {
        while let Some((at, part)) = self.parts.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            if self.stop.is_stopped() {
                break;
            }
            report(self.take(&self.jobs[*at], *part));
            // The thread ends soon, and its stack goes on to the next one.
            wipe_stack();
        }
    }

    fn take(&self, job: &Job<'_>, part: usize) -> Outcome {
        let derived = job.derive(part, self.password, &self.stop)?;
        job.join(part, derived).map_or(Ok(None), |key| job.open(&key, self.candidates))
    }

    /// The first header that opens; it stops the others, and so does a stop from outside.
    fn wait(&self, outcomes: &Receiver<Outcome>, options: &UnlockOptions) -> Outcome {
        let (mut found, mut trouble) = (None, None);
        loop {
            if options.is_stopped() {
                self.stop.stop();
                trouble.get_or_insert(keyway_crypto::Error::Stopped.into());
            }
            match outcomes.recv_timeout(POLL) {
                Ok(Ok(Some(opened))) => {
                    found.get_or_insert(opened);
                    self.stop.stop();
                }
                Ok(Ok(None)) => {}
                Ok(Err(error)) => {
                    trouble.get_or_insert(error);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        match (found, trouble) {
            (None, Some(error)) => Err(error),
            (found, _) => Ok(found),
        }
    }
}

/// The interval of checking for a stop from outside.
const POLL: Duration = Duration::from_millis(20);
