//! A cipher over a buffer of 64 KiB (or one message, when that is longer), message by message, in place, again and again.
//!
//! Around every sample the same data is encrypted once and compared, all of it, with what the portable code made of it. The timed work
//! starts from the same data each time and does the same number of passes, so its result is known too: from the first sample on it
//! must be the same to the last byte, and one of its messages is computed pass by pass with the portable code.

use super::threads::Team;
use super::{not_measured, pattern};
use crate::Clock;
use crate::results::{CipherCase, Direction, Outcome, Settings, Unit, Wrong};
use crate::rounds::{Sample, Subject, passes};
use keyway_crypto::{CipherSpec, Cpu, Secret, SectorCipher, SectorSize};

/// What is worked on at a time: it fits the second-level cache of every CPU that has one.
const BUFFER: usize = 64 << 10;
/// Passes that are timed to choose how many a sample has.
const TRIES: u32 = 3;
/// Number of the first sector: no round one, past 2³², where plain and plain64 part.
const FIRST: u64 = (1 << 32) + 8;

struct Cipher {
    case: CipherCase,
    fast: SectorCipher,
    portable: SectorCipher,
    /// What every sample starts from.
    start: Vec<u8>,
    /// What one pass must make of it.
    once: Vec<u8>,
    /// What all passes of a sample must make of it; known after the first.
    all: Option<Vec<u8>>,
    passes: u32,
    team: Team,
}

pub(super) fn prepare(
    case: &CipherCase,
    settings: &Settings,
    clock: &dyn Clock,
) -> Result<Box<dyn Subject>, Outcome> {
    let mut cipher = Cipher::new(case)?;
    // Once to warm up and to see that it is right at all, then to see how long it takes: the shortest, since an interruption would make
    // every sample of the run too short.
    cipher.check("before the first sample")?;
    let mut data = cipher.start.clone();
    let once = (0..TRIES).map(|_| {
        let before = clock.now();
        cipher.pass(&mut data);
        clock.now().saturating_sub(before)
    });
    cipher.passes = passes(once.min().unwrap_or_default(), settings.sample_seconds);
    Ok(Box::new(cipher))
}

impl Cipher {
    fn new(case: &CipherCase) -> Result<Self, Outcome> {
        let impossible = |error: keyway_crypto::Error| Outcome::Impossible { reason: error.to_string() };
        let spec = CipherSpec::parse(&case.spec).map_err(impossible)?;
        let sector = SectorSize::new(case.sector_size).map_err(impossible)?;
        if case.message == 0 || !case.message.is_multiple_of(case.sector_size) {
            return Err(not_measured("a message is a whole number of sectors"));
        }
        // XTS refuses equal halves in strict implementations: the key is no constant.
        let mut key = Secret::zeroed(case.key_bits as usize / 8);
        pattern(1, key.expose_mut());
        let keyed = |cpu| SectorCipher::new(&spec, &key, sector, cpu).map_err(impossible);
        let (fast, portable) = (keyed(Cpu::detect())?, keyed(Cpu::portable())?);
        let mut start = vec![0; BUFFER.max(case.message as usize)];
        let whole = start.len() - start.len() % case.message as usize;
        start.truncate(whole);
        pattern(2, &mut start);
        let mut once = start.clone();
        work(&portable, case, &mut once, FIRST);
        let team = Team::of(case.threads as usize, start.len());
        Ok(Self { case: case.clone(), fast, portable, start, once, all: None, passes: 1, team })
    }

    fn pass(&self, data: &mut [u8]) {
        work(&self.fast, &self.case, data, FIRST);
    }

    /// One pass over the known data, compared with the portable code's.
    fn check(&self, during: &str) -> Result<(), Outcome> {
        let mut data = self.start.clone();
        self.pass(&mut data);
        right(&self.once, &data, during)
    }

    /// The timed work's result. The first of all is checked in one message, chosen by the number of passes; it then stands for all.
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
            right(&expected, &found[range], "a message of the timed work")?;
            self.all = Some(found.to_vec());
        }
        let all = self.all.as_deref().unwrap_or_default();
        (0..self.team.len()).try_for_each(|member| right(all, self.team.buffer(member), "the timed work"))
    }
}

impl Subject for Cipher {
    fn sample(&mut self, clock: &dyn Clock) -> Result<Sample, Outcome> {
        self.check("before timing")?;
        let (fast, case, passes) = (&self.fast, &self.case, self.passes);
        let took = self.team.time(clock, &self.start, |data| {
            for _ in 0..passes {
                work(fast, case, data, FIRST);
            }
        });
        self.check_timed()?;
        self.check("after timing")?;
        let seconds = took.as_secs_f64().max(1e-9);
        let bytes = self.start.len() as f64 * f64::from(self.passes) * self.team.len() as f64;
        Ok(Sample { value: bytes / seconds, seconds })
    }

    fn unit(&self) -> Unit {
        Unit::BytesPerSecond
    }

    fn checked(&self) -> String {
        let own = if self.fast.code() == self.portable.code() { ", which is the code that ran" } else { "" };
        format!(
            "the portable code{own}: all of a buffer before and after each sample, and the timed work itself"
        )
    }

    fn code(&self) -> Option<String> {
        Some(self.fast.code().to_owned())
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

fn right(expected: &[u8], found: &[u8], during: &str) -> Result<(), Outcome> {
    Wrong::first_difference(expected, found, during).map_or(Ok(()), |wrong| Err(Outcome::Wrong(wrong)))
}
