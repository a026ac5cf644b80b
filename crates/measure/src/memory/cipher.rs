//! A cipher, or a chain of ciphers, over a buffer of 64 KiB (or one message, when that is longer),
//! message by message, in place, again and again.
//!
//! Before and after every sample the same data is encrypted once and all of it is compared with the
//! output of the portable code. The timed work starts from the same data each time and does the
//! same number of passes, so its result is known too: it must be identical in every sample, and one
//! of its messages is computed pass by pass with the portable code.

use super::keyed::Keyed;
use super::threads::Team;
use super::{pattern, shortest};
use crate::Clock;
use crate::results::{CipherCase, Outcome, Settings, Unit, Wrong, right};
use crate::rounds::{Sample, Subject, fewest_passes, passes};
use crate::spec::Spec;
use crate::stats::SMALLEST;
use keyway_crypto::Cpu;
use std::sync::{Mutex, PoisonError};

/// The bytes processed at a time: they fit into the second-level cache of every CPU that has one.
const BUFFER: usize = 64 << 10;
/// Number of the first sector: not a round number, and above 2³², where plain and plain64 differ.
pub(super) const FIRST: u64 = (1 << 32) + 8;

/// The implementation that works on the buffers.
pub(super) struct Worker {
    /// One thread's pass over its data, message by message, in place.
    pub(super) pass: Box<Pass>,
    /// The name of the code that runs.
    pub(super) code: String,
    /// What verifies the output, if it is not simply the portable code.
    pub(super) checked_by: String,
    /// How to keep this code from being used if its output is wrong.
    pub(super) remedy: Option<String>,
    /// What a reader must know.
    pub(super) notes: Vec<String>,
}

type Pass = dyn Fn(usize, &mut [u8]) -> Result<(), Outcome> + Sync;

/// A worker with its buffers and all expected outputs.
struct Cipher {
    worker: Worker,
    /// The case, and the portable code for it, if that can do all passes of a sample too.
    portable: Option<(CipherCase, Keyed)>,
    /// The data that every sample starts from.
    start: Vec<u8>,
    /// The expected result of one pass, or how it begins.
    once: Vec<u8>,
    /// The expected result of all passes of a sample; known after the first sample.
    all: Option<Vec<u8>>,
    passes: u32,
    team: Team,
}

pub(crate) fn prepare(case: &CipherCase, settings: &Settings, clock: &dyn Clock) -> Result<Subject, Outcome> {
    let spec = Spec::parse(&case.spec).map_err(Outcome::impossible)?;
    let (fast, portable) =
        (Keyed::new(&spec, case, Cpu::detect())?, Keyed::new(&spec, case, Cpu::portable())?);
    let checked_by = match fast.code() == portable.code() {
        true => "the portable code, which is the code that ran".to_owned(),
        false => "the portable code".to_owned(),
    };
    let (code, own) = (fast.code(), case.clone());
    let pass = Box::new(move |_, data: &mut [u8]| {
        work(&fast, &own, data, FIRST);
        Ok(())
    });
    let worker = Worker { pass, code, checked_by, remedy: None, notes: Vec::new() };
    over_messages(case, worker, portable, settings, clock)
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

/// A worker over the messages of a case, whose output is that of the portable code.
pub(super) fn over_messages(
    case: &CipherCase,
    worker: Worker,
    portable: Keyed,
    settings: &Settings,
    clock: &dyn Clock,
) -> Result<Subject, Outcome> {
    if case.message == 0 || !case.message.is_multiple_of(case.sector_size) {
        return Err(Outcome::not_measured("a message is a whole number of sectors"));
    }
    let start = data(length(case));
    let mut once = start.clone();
    work(&portable, case, &mut once, FIRST);
    let team = Team::of(case.threads as usize, start.len());
    let by = &worker.checked_by;
    let checked = format!("{by}: all of a buffer before and after each sample, and the timed work itself");
    let portable = Some((case.clone(), portable));
    Cipher { worker, portable, start, once, all: None, passes: 1, team }.ready(checked, settings, clock)
}

/// A worker on one thread over one request, of whose result the beginning is known.
pub(super) fn over_request(
    worker: Worker,
    start: Vec<u8>,
    begins: Vec<u8>,
    settings: &Settings,
    clock: &dyn Clock,
) -> Result<Subject, Outcome> {
    let team = Team::of(1, start.len());
    let (by, bytes) = (&worker.checked_by, begins.len());
    let checked = format!("{by} before the first sample, {bytes} bytes before and after each");
    Cipher { worker, portable: None, start, once: begins, all: None, passes: 1, team }
        .ready(checked, settings, clock)
}

/// The bytes that samples start from.
pub(super) fn data(length: usize) -> Vec<u8> {
    let mut data = vec![0; length];
    pattern(2, &mut data);
    data
}

impl Cipher {
    /// Verifies the output, which also warms up, and finds out how long a pass takes.
    fn ready(mut self, checked: String, settings: &Settings, clock: &dyn Clock) -> Result<Subject, Outcome> {
        self.check("before the first sample")?;
        let mut data = self.start.clone();
        let once = shortest(clock, || (self.worker.pass)(0, &mut data))?;
        self.passes = passes(once, settings.sample_seconds);
        let again = self.check_seconds(clock);
        if settings.time_seconds.is_some() && again > 0.0 {
            // The portable code may be a hundred times as slow.
            let most = settings.sample_seconds * f64::from(settings.least_samples) / 2.0;
            self.passes = self.passes.min((most / again) as u32).max(fewest_passes(once));
        }
        // Two checks around the timed work, which only the first sample's is computed again.
        let usual = once.as_secs_f64() * f64::from(self.passes + 2);
        let sample_seconds = Some(usual + again * f64::from(self.passes) / SMALLEST as f64);
        let (code, notes) = (Some(self.worker.code.clone()), self.worker.notes.clone());
        let sample = Box::new(move |clock: &dyn Clock| self.sample(clock));
        let unit = Unit::BytesPerSecond;
        let (least_samples, least_seconds) = (None, Some(once.as_secs_f64()));
        Ok(Subject { sample, unit, checked, code, least_samples, sample_seconds, least_seconds, notes })
    }

    /// How long the portable code takes for one pass over the message that it computes again.
    fn check_seconds(&self, clock: &dyn Clock) -> f64 {
        let Some((case, portable)) = &self.portable else { return 0.0 };
        let mut message = self.start[..case.message as usize].to_vec();
        let before = clock.now();
        work(portable, case, &mut message, FIRST);
        clock.now().saturating_sub(before).as_secs_f64()
    }

    /// One pass over the known data, compared with the expected output.
    fn check(&self, during: &str) -> Result<(), Outcome> {
        let mut data = self.start.clone();
        (self.worker.pass)(0, &mut data)?;
        self.right(&self.once, &data[..self.once.len()], during)
    }

    /// Checks the result of the timed work. The first result is checked in one message, chosen by
    /// the number of passes; all later results must equal the first.
    fn check_timed(&mut self) -> Result<(), Outcome> {
        let found = self.team.buffer(0);
        if let (Some((case, portable)), None) = (&self.portable, &self.all) {
            let message = case.message as usize;
            let chosen = self.passes as usize % (found.len() / message);
            let range = chosen * message..(chosen + 1) * message;
            let mut expected = self.start[range.clone()].to_vec();
            let first = FIRST + (chosen * message / 512) as u64;
            (0..self.passes).for_each(|_| work(portable, case, &mut expected, first));
            self.right(&expected, &found[range], "a message of the timed work")?;
        }
        let all = self.all.take().unwrap_or_else(|| found.to_vec());
        (0..self.team.len())
            .try_for_each(|member| self.right(&all, self.team.buffer(member), "the timed work"))?;
        self.all = Some(all);
        Ok(())
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

fn work(cipher: &Keyed, case: &CipherCase, data: &mut [u8], first: u64) {
    let step = u64::from(case.message / 512);
    let messages = data.chunks_exact_mut(case.message as usize).zip(0..);
    messages.for_each(|(message, i)| cipher.run(case.direction, first + i * step, message));
}
