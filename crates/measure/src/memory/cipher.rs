//! A cipher over a buffer of 64 KiB (or one message, when that is longer),
//! message by message, in place, again and again.
//!
//! Before and after every sample the same data is encrypted once and all of it is compared with the
//! output of the portable code. The timed work starts from the same data each time and does the
//! same number of passes, so its result is known too: it must be identical in every sample, and one
//! of its messages is computed pass by pass with the portable code.

use super::pattern;
use super::threads::Team;
use crate::Clock;
use crate::results::{CipherCase, Direction, Outcome, Settings, Unit, Wrong, right};
use crate::rounds::{Sample, Subject, passes};
use keyway_crypto::{CipherSpec, Cpu, Secret, SectorCipher, SectorSize};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The bytes processed at a time: they fit into the second-level cache of every CPU that has one.
const BUFFER: usize = 64 << 10;
/// Passes that are timed to choose the number of passes per sample.
const TRIES: u32 = 3;
/// Number of the first sector: not a round number, and above 2³², where plain and plain64 differ.
const FIRST: u64 = (1 << 32) + 8;

/// The implementation that works on the buffers.
pub(super) struct Worker {
    /// One thread's pass over its data, message by message, in place.
    pub(super) pass: Box<Pass>,
    /// The name of the code that runs.
    pub(super) code: String,
    /// What verifies the output, if it is not simply the portable code.
    pub(super) checked_by: &'static str,
    /// How to keep this code from being used if its output is wrong.
    pub(super) remedy: Option<String>,
    /// What a reader must know.
    pub(super) notes: Vec<String>,
}

type Pass = dyn Fn(usize, &mut [u8]) -> Result<(), Outcome> + Sync;

/// A worker with its buffers and all expected outputs.
pub(super) struct Cipher {
    worker: Worker,
    case: CipherCase,
    portable: SectorCipher,
    /// The data that every sample starts from.
    start: Vec<u8>,
    /// The expected result of one pass.
    once: Vec<u8>,
    /// The expected result of all passes of a sample; known after the first sample.
    all: Option<Vec<u8>>,
    passes: u32,
    team: Team,
}

pub(super) fn prepare(case: &CipherCase, settings: &Settings, clock: &dyn Clock) -> Result<Subject, Outcome> {
    let spec = CipherSpec::parse(&case.spec).map_err(Outcome::impossible)?;
    let (fast, portable) = (keyed(&spec, case, Cpu::detect())?, keyed(&spec, case, Cpu::portable())?);
    let checked_by = match fast.code() == portable.code() {
        true => "the portable code, which is the code that ran",
        false => "the portable code",
    };
    let (code, own) = (fast.code().to_owned(), case.clone());
    let pass = Box::new(move |_, data: &mut [u8]| {
        work(&fast, &own, data, FIRST);
        Ok(())
    });
    let worker = Worker { pass, code, checked_by, remedy: None, notes: Vec::new() };
    Cipher::ready(case, worker, portable, settings, clock)
}

/// The key of a case. Strict XTS implementations refuse equal halves, so it is not constant.
pub(super) fn key(case: &CipherCase) -> Secret {
    let mut key = Secret::zeroed(case.key_bits as usize / 8);
    pattern(1, key.expose_mut());
    key
}

/// Keyway's code for the case's key and sectors.
pub(super) fn keyed(spec: &CipherSpec, case: &CipherCase, cpu: Cpu) -> Result<SectorCipher, Outcome> {
    let sector = SectorSize::new(case.sector_size).map_err(Outcome::impossible)?;
    SectorCipher::new(spec, &key(case), sector, cpu).map_err(Outcome::impossible)
}

/// The sectors of all messages of a buffer, by their numbers.
pub(super) fn sectors(case: &CipherCase) -> impl Iterator<Item = u64> {
    let step = u64::from(case.sector_size / 512);
    (0..(length(case) / case.sector_size.max(1) as usize) as u64).map(move |number| FIRST + number * step)
}

/// Bytes that a thread works on: whole messages.
fn length(case: &CipherCase) -> usize {
    let (message, buffer) = (case.message.max(1) as usize, BUFFER.max(case.message as usize));
    buffer - buffer % message
}

impl Cipher {
    /// Prepares a worker whose output has been verified and whose duration is known.
    pub(super) fn ready(
        case: &CipherCase,
        worker: Worker,
        portable: SectorCipher,
        settings: &Settings,
        clock: &dyn Clock,
    ) -> Result<Subject, Outcome> {
        if case.message == 0 || !case.message.is_multiple_of(case.sector_size) {
            return Err(Outcome::not_measured("a message is a whole number of sectors"));
        }
        let mut start = vec![0; length(case)];
        pattern(2, &mut start);
        let mut once = start.clone();
        work(&portable, case, &mut once, FIRST);
        let team = Team::of(case.threads as usize, start.len());
        let by = worker.checked_by;
        let checked =
            format!("{by}: all of a buffer before and after each sample, and the timed work itself");
        let (code, notes) = (Some(worker.code.clone()), worker.notes.clone());
        let mut cipher =
            Self { worker, case: case.clone(), portable, start, once, all: None, passes: 1, team };
        // Once to warm up and to check the output, then several times to measure the duration: the
        // shortest counts, since an interruption would make every sample of the run too short.
        cipher.check("before the first sample")?;
        let (mut data, mut once) = (cipher.start.clone(), Duration::MAX);
        for _ in 0..TRIES {
            let before = clock.now();
            (cipher.worker.pass)(0, &mut data)?;
            once = once.min(clock.now().saturating_sub(before));
        }
        cipher.passes = passes(once, settings.sample_seconds);
        let sample = Box::new(move |clock: &dyn Clock| cipher.sample(clock));
        let unit = Unit::BytesPerSecond;
        Ok(Subject { sample, unit, checked, code, least_samples: None, notes })
    }

    /// One pass over the known data, compared with the portable code's output.
    fn check(&self, during: &str) -> Result<(), Outcome> {
        let mut data = self.start.clone();
        (self.worker.pass)(0, &mut data)?;
        self.right(&self.once, &data, during)
    }

    /// Checks the result of the timed work. The first result is checked in one message, chosen by
    /// the number of passes; all later results must equal the first.
    fn check_timed(&mut self) -> Result<(), Outcome> {
        if self.all.is_none() {
            let found = self.team.buffer(0);
            let message = self.case.message as usize;
            let chosen = self.passes as usize % (found.len() / message);
            let range = chosen * message..(chosen + 1) * message;
            let mut expected = self.start[range.clone()].to_vec();
            let first = FIRST + (chosen * message / 512) as u64;
            for _ in 0..self.passes {
                work(&self.portable, &self.case, &mut expected, first);
            }
            self.right(&expected, &found[range], "a message of the timed work")?;
            self.all = Some(found.to_vec());
        }
        let all = self.all.as_deref().unwrap_or_default();
        (0..self.team.len())
            .try_for_each(|member| self.right(all, self.team.buffer(member), "the timed work"))
    }

    fn right(&self, expected: &[u8], found: &[u8], during: &str) -> Result<(), Outcome> {
        right(expected, found, during).map_err(|outcome| match outcome {
            Outcome::Wrong(wrong) => Outcome::Wrong(Wrong { remedy: self.worker.remedy.clone(), ..wrong }),
            other => other,
        })
    }

    fn sample(&mut self, clock: &dyn Clock) -> Result<Sample, Outcome> {
        self.check("before timing")?;
        let (pass, passes, failed) = (&self.worker.pass, self.passes, Mutex::new(None));
        let took = self.team.time(clock, &self.start, |member, data| {
            let mut all = (0..passes).map(|_| pass(member, data));
            if let Some(outcome) = all.find_map(Result::err) {
                failed.lock().unwrap_or_else(PoisonError::into_inner).replace(outcome);
            }
        });
        if let Some(outcome) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(outcome);
        }
        self.check_timed()?;
        self.check("after timing")?;
        let seconds = took.as_secs_f64().max(1e-9);
        let bytes = self.start.len() as f64 * f64::from(self.passes) * self.team.len() as f64;
        Ok(Sample { value: bytes / seconds, seconds })
    }
}

fn work(cipher: &SectorCipher, case: &CipherCase, data: &mut [u8], first: u64) {
    let step = u64::from(case.message / 512);
    let messages = data.chunks_exact_mut(case.message as usize).zip(0..);
    match case.direction {
        Direction::Encrypt => messages.for_each(|(message, i)| cipher.encrypt(first + i * step, message)),
        Direction::Decrypt => messages.for_each(|(message, i)| cipher.decrypt(first + i * step, message)),
    }
}
