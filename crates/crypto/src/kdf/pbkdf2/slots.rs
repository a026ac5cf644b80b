//! Several derivations side by side: the keyslots of a volume, each with its own password, salt and
//! iterations.
//!
//! Every output block of every derivation is a chain. Each worker holds as many chains as run side
//! by side on this CPU, runs them for some iterations, hands in those that are finished or stopped,
//! and takes new ones: lanes never wait for the longest derivation. A worker with more chains than
//! its share returns some for a worker that has none.

use super::super::Stop;
use super::super::hmac::Hmac;
use super::chains::{Chain, Chained, MOST_SIDE_BY_SIDE, Words, start};
use super::{ROUNDS_A_LOOK, with_chained};
use crate::secret::on_clean_stack;
use crate::{Cpu, Error, Hash, Secret};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use zeroize::Zeroizing;

/// A derivation to run side by side with others.
pub struct Derivation<'a> {
    hash: Hash,
    chains: Vec<Parked>,
    rounds: u32,
    len: usize,
    stop: &'a Stop,
}

impl<'a> Derivation<'a> {
    /// Whether PBKDF2 with these costs can run this way: its hash is SHA-1, SHA-2, RIPEMD-160, BLAKE2s-256
    /// or Whirlpool, there are iterations, and the key is at least one byte and at most 2^32 - 1 digests long.
    /// Use [`pbkdf2`](super::pbkdf2) for everything else.
    pub fn fits(hash: Hash, iterations: u32, len: usize) -> bool {
        let chained = hash == Hash::WhirlpoolGcryptBug
            || with_chained!(hash, C => <C as Chained>::DIGEST > 0, else { false });
        chained && iterations > 0 && len > 0 && u32::try_from(len.div_ceil(hash.output_len())).is_ok()
    }

    /// PBKDF2 to a key of `len` bytes, which ends early when `stop` is raised; `None` where
    /// [`Derivation::fits`] is false.
    pub fn new(
        hash: Hash,
        password: &[u8],
        salt: &[u8],
        iterations: u32,
        len: usize,
        stop: &'a Stop,
    ) -> Option<Self> {
        on_clean_stack(|| Self::on(Cpu::detect(), hash, password, salt, iterations, len, stop))
    }

    fn on(
        cpu: Cpu,
        hash: Hash,
        password: &[u8],
        salt: &[u8],
        iterations: u32,
        len: usize,
        stop: &'a Stop,
    ) -> Option<Self> {
        if !Self::fits(hash, iterations, len) {
            return None;
        }
        // libgcrypt's HMAC writes a whole block, then the rest at once: its flaw has no effect.
        let hash = if hash == Hash::WhirlpoolGcryptBug { Hash::Whirlpool } else { hash };
        let digests = len.div_ceil(hash.output_len()) as u32;
        let hmac = Hmac::new(hash, password);
        let chains = with_chained!(hash, C => {
            (1..=digests).map(|index| Parked::of(&start::<C>(cpu, &hmac, salt, index))).collect()
        }, else { return None });
        Some(Self { hash, chains, rounds: iterations - 1, len, stop })
    }
}

/// Runs derivations on up to `threads` threads. Each result is passed to `done` immediately, with
/// the derivation's number, on the thread that computed it; a derivation that `done` returns is run
/// too, under the same number. Returns when none is left.
pub fn pbkdf2_side_by_side<'a>(
    derivations: Vec<Derivation<'a>>,
    threads: usize,
    done: &(dyn Fn(usize, Result<Secret, Error>) -> Option<Derivation<'a>> + Sync),
) {
    on(Cpu::detect(), derivations, threads, done);
}

fn on<'a>(
    cpu: Cpu,
    derivations: Vec<Derivation<'a>>,
    threads: usize,
    done: &(dyn Fn(usize, Result<Secret, Error>) -> Option<Derivation<'a>> + Sync),
) {
    let board = Board {
        places: Mutex::new(Places {
            running: derivations.iter().map(|_| None).collect(),
            waiting: VecDeque::new(),
            alive: 0,
            idle: 0,
            workers: 1,
        }),
        more: Condvar::new(),
        done,
    };
    for (number, derivation) in derivations.into_iter().enumerate() {
        board.enter(number, derivation);
    }
    let threads = threads.min(board.lock().alive).max(1);
    board.lock().workers = threads;
    std::thread::scope(|scope| {
        for _ in 1..threads {
            if std::thread::Builder::new().spawn_scoped(scope, || on_clean_stack(|| board.work(cpu))).is_err()
            {
                // No further thread can be started (RLIMIT_NPROC): the existing threads do all the
                // work.
                board.lock().workers -= 1;
            }
        }
        on_clean_stack(|| board.work(cpu));
    });
}

/// A chain and the derivation and block it belongs to.
struct Place {
    number: usize,
    block: usize,
    hash: Hash,
    rounds: u32,
    chain: Parked,
}

/// A chain of any hash, boxed so that moving it leaves no copies behind.
struct Parked(Box<Zeroizing<[[u64; 8]; 4]>>);

impl Parked {
    fn of<S: Words>(chain: &Chain<S>) -> Self {
        let mut parked = Self(Box::default());
        parked.update(chain);
        parked
    }

    fn update<S: Words>(&mut self, Chain { inner, outer, link, sum }: &Chain<S>) {
        **self.0 = [inner, outer, link, sum].map(S::widen);
    }

    fn chain<S: Words>(&self) -> Chain<S> {
        let [inner, outer, link, sum] = &**self.0;
        let [inner, outer, link, sum] = [inner, outer, link, sum].map(S::narrow);
        Chain { inner, outer, link, sum }
    }
}

/// Runs chains of one hash for some iterations: until the first is finished, or until the others
/// are due for a check.
fn advance<C: Chained>(cpu: Cpu, held: &mut [Place]) {
    let rounds = held.iter().map(|place| place.rounds).min().unwrap_or(0).min(ROUNDS_A_LOOK);
    let mut chains = Zeroizing::new([Chain::<C::State>::BLANK; MOST_SIDE_BY_SIDE]);
    let chains = &mut chains[..held.len()];
    chains.iter_mut().zip(&*held).for_each(|(chain, place)| *chain = place.chain.chain());
    C::iterate(cpu, chains, rounds);
    for (chain, place) in chains.iter().zip(held) {
        place.chain.update(chain);
        place.rounds -= rounds;
    }
}

/// A derivation with chains in progress.
struct Running<'a> {
    /// Whole digests; the first `len` bytes are the key.
    key: Secret,
    len: usize,
    chains: usize,
    stop: &'a Stop,
    stopped: bool,
}

impl Running<'_> {
    fn result(self) -> Result<Secret, Error> {
        if self.stopped { Err(Error::Stopped) } else { Ok(Secret::copy_from(&self.key.expose()[..self.len])) }
    }
}

/// What the workers share.
struct Board<'a, 'd> {
    places: Mutex<Places<'a>>,
    more: Condvar,
    done: &'d (dyn Fn(usize, Result<Secret, Error>) -> Option<Derivation<'a>> + Sync),
}

struct Places<'a> {
    running: Vec<Option<Running<'a>>>,
    waiting: VecDeque<Place>,
    /// Chains that are waiting or held, or that `done` may replace with others.
    alive: usize,
    idle: usize,
    workers: usize,
}

impl<'a> Board<'a, '_> {
    fn lock(&self) -> MutexGuard<'_, Places<'a>> {
        // A panic in `done` leaves nothing half changed: it is called without the lock.
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, number: usize, derivation: Derivation<'a>) {
        let Derivation { hash, chains, rounds, len, stop } = derivation;
        let mut places = self.lock();
        let key = Secret::zeroed(chains.len() * hash.output_len());
        places.alive += chains.len();
        places.running[number] = Some(Running { key, len, chains: chains.len(), stop, stopped: false });
        let entered = chains.into_iter().enumerate();
        places.waiting.extend(entered.map(|(block, chain)| Place { number, block, hash, rounds, chain }));
        drop(places);
        self.more.notify_all();
    }

    fn work(&self, cpu: Cpu) {
        let _leaving = Leaving(self);
        let mut held = Vec::with_capacity(MOST_SIDE_BY_SIDE);
        while self.refill(&mut held) {
            held.sort_by_key(|place| place.hash as u8);
            for group in held.chunk_by_mut(|one, next| one.hash == next.hash) {
                with_chained!(group[0].hash, C => advance::<C>(cpu, group), else { unreachable!("a chained hash") });
            }
            self.hand_in(&mut held);
        }
    }

    /// Takes chains up to this worker's share. Waits while there are none but other workers may
    /// still add some; returns false once there will be no more.
    fn refill(&self, held: &mut Vec<Place>) -> bool {
        let mut places = self.lock();
        loop {
            let share = places.alive.div_ceil(places.workers).min(MOST_SIDE_BY_SIDE);
            if places.idle > 0 && held.len() > share {
                places.waiting.extend(held.drain(share..));
                self.more.notify_all();
            }
            while held.len() < share {
                let Some(next) = places.waiting.pop_front() else { break };
                held.push(next);
            }
            if !held.is_empty() {
                return true;
            }
            if places.alive == 0 {
                return false;
            }
            places.idle += 1;
            places = self.more.wait(places).unwrap_or_else(PoisonError::into_inner);
            places.idle -= 1;
        }
    }

    /// Hands in the chains that are finished or stopped. The last chain of a derivation passes its
    /// key to `done`.
    fn hand_in(&self, held: &mut Vec<Place>) {
        let mut results = Vec::new();
        let before = held.len();
        let mut places = self.lock();
        held.retain(|place| {
            let running = places.running[place.number].as_mut().expect("a chain's derivation is running");
            if place.rounds > 0 && !running.stop.is_stopped() {
                return true;
            }
            running.stopped |= place.rounds > 0;
            let digest = place.hash.output_len();
            let out = &mut running.key.expose_mut()[place.block * digest..][..digest];
            with_chained!(place.hash, C => place.chain.chain::<<C as Chained>::State>().sum.write(out), else {
                unreachable!("a chained hash")
            });
            running.chains -= 1;
            if running.chains == 0 {
                results.push((place.number, places.running[place.number].take()));
            }
            false
        });
        drop(places);
        for (number, running) in results {
            let Some(running) = running else { continue };
            if let Some(next) = (self.done)(number, running.result()) {
                self.enter(number, next);
            }
        }
        let mut places = self.lock();
        places.alive = places.alive.saturating_sub(before - held.len());
        if places.alive == 0 {
            self.more.notify_all();
        }
    }
}

/// Stops the other workers when one panics: the chains it held will never finish.
struct Leaving<'b, 'a, 'd>(&'b Board<'a, 'd>);

impl Drop for Leaving<'_, '_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut places = self.0.lock();
            places.alive = 0;
            places.waiting.clear();
            self.0.more.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pbkdf2_on;
    use super::*;
    use proptest::prelude::*;
    use std::time::{Duration, Instant};

    /// A password, a salt, iterations, and a key's length.
    type Input = (Vec<u8>, Vec<u8>, u32, usize);

    fn inputs() -> impl Strategy<Value = Vec<Input>> {
        let bytes = || prop::collection::vec(any::<u8>(), 0..150);
        prop::collection::vec((bytes(), bytes(), 1u32..1300, 1usize..150), 1..9)
    }

    /// The keys derived from `inputs`, in order; some are derived twice, the second time through
    /// `done`.
    fn derive(cpu: Cpu, hash: Hash, inputs: &[Input], threads: usize) -> Vec<Vec<Vec<u8>>> {
        let stop = Stop::new();
        let derivation = |(password, salt, iterations, len): &Input| {
            Derivation::on(cpu, hash, password, salt, *iterations, *len, &stop).unwrap()
        };
        let keys = Mutex::new(vec![Vec::new(); inputs.len()]);
        on(cpu, inputs.iter().map(derivation).collect(), threads, &|number, key| {
            let mut keys = keys.lock().unwrap();
            keys[number].push(key.unwrap().expose().to_vec());
            (number % 3 == 1 && keys[number].len() == 1).then(|| derivation(&inputs[number]))
        });
        keys.into_inner().unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4))]

        #[test]
        fn side_by_side_as_one_by_one(inputs in inputs(), threads in 1usize..4) {
            for hash in [Hash::Sha1, Hash::Sha224, Hash::Sha256, Hash::Sha384, Hash::Sha512, Hash::Whirlpool] {
                let expected = |(password, salt, iterations, len): &Input| {
                    let (mut key, stop) = (vec![0; *len], Stop::new());
                    pbkdf2_on(Cpu::portable(), hash, password, salt, *iterations, &mut key, &stop).unwrap();
                    key
                };
                let expected: Vec<_> = inputs.iter().map(expected).collect();
                for cpu in Cpu::levels() {
                    let keys = derive(cpu, hash, &inputs, threads);
                    for (number, expected) in expected.iter().enumerate() {
                        prop_assert_eq!(keys[number].len(), if number % 3 == 1 { 2 } else { 1 });
                        prop_assert!(keys[number].iter().all(|key| key == expected), "{} on {cpu}", hash.name());
                    }
                }
            }
        }
    }

    #[test]
    fn the_short_do_not_wait_for_the_long_and_the_stopped_end() {
        let stop = Stop::new();
        let long = |hash| Derivation::new(hash, b"long", b"salt", u32::MAX, 64, &stop).unwrap();
        let short = Derivation::new(Hash::Sha512, b"short", b"salt", 1000, 64, &stop).unwrap();
        let other = Derivation::new(Hash::Sha1, b"other", b"salt", 1000, 64, &stop).unwrap();
        let ends = Mutex::new(Vec::new());
        let started = Instant::now();
        let derivations = vec![long(Hash::Sha512), short, other, long(Hash::Sha512)];
        pbkdf2_side_by_side(derivations, 2, &|number, key| {
            let mut ends = ends.lock().unwrap();
            ends.push((number, key.is_ok()));
            if ends.len() == 2 {
                stop.stop();
            }
            None
        });
        assert!(started.elapsed() < Duration::from_secs(20), "stopped after {:?}", started.elapsed());
        let mut ends = ends.into_inner().unwrap();
        assert!(ends[..2].contains(&(1, true)) && ends[..2].contains(&(2, true)));
        ends.sort_unstable();
        assert_eq!(ends.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 1, 2, 3]);
    }

    #[test]
    fn what_is_not_for_lanes_is_refused() {
        let stop = Stop::new();
        assert!(Derivation::new(Hash::Streebog512, b"", b"", 1, 32, &stop).is_none());
        assert!(Derivation::new(Hash::Sha256, b"", b"", 0, 32, &stop).is_none());
    }
}
