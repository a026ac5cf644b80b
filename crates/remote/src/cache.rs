//! The blocks of an object that are in memory or being fetched.
//!
//! A block is fetched only once, however many readers wait for it. The capacity limits the blocks
//! in memory and being fetched; the least recently used block is evicted first.

use crate::error::{Cause, Error};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

/// A block: its bytes, once they have arrived.
#[derive(Debug)]
pub(crate) struct Block {
    /// The block's index in the object.
    pub(crate) number: u64,
    bytes: OnceLock<Result<Box<[u8]>, Error>>,
}

impl Block {
    /// Waits for the bytes.
    pub(crate) fn wait(&self) -> Result<&[u8], Error> {
        self.bytes.wait().as_deref().map_err(Clone::clone)
    }
}

/// Adjacent blocks that are fetched with one request.
pub(crate) type Run = Vec<Arc<Block>>;

/// What a reader gets for a range of blocks.
#[derive(Debug, Default)]
pub(crate) struct Claim {
    /// The blocks, in order, in memory or being fetched.
    pub(crate) blocks: Vec<Arc<Block>>,
    /// The blocks among them that the reader has to fetch.
    pub(crate) runs: Vec<Run>,
}

/// All blocks.
#[derive(Debug)]
pub(crate) struct Cache {
    blocks: Mutex<Blocks>,
    settled: Condvar,
    /// In blocks.
    capacity: usize,
    /// The longest run, in blocks.
    longest: usize,
}

#[derive(Debug, Default)]
struct Blocks {
    held: HashMap<u64, Held>,
    /// The number of blocks being fetched.
    fetching: usize,
    clock: u64,
}

#[derive(Debug)]
struct Held {
    block: Arc<Block>,
    used: u64,
}

impl Cache {
    pub(crate) fn new(capacity: usize, longest: usize) -> Self {
        Self { blocks: Mutex::default(), settled: Condvar::new(), capacity, longest }
    }

    /// Claims the blocks of `range`, which must not exceed the capacity. Waits while too many are
    /// being fetched.
    pub(crate) fn claim(&self, range: Range<u64>) -> Claim {
        let mut blocks = self.blocks();
        while blocks.fetching + blocks.missing(&range) > self.capacity {
            blocks = self.settled.wait(blocks).unwrap_or_else(PoisonError::into_inner);
        }
        blocks.claim(range, self.capacity, self.longest)
    }

    /// The runs to fetch in order to have `range` in memory; none when there is no room for all of
    /// it at once.
    pub(crate) fn prepare(&self, range: Range<u64>) -> Vec<Run> {
        let mut blocks = self.blocks();
        if blocks.fetching + blocks.missing(&range) > self.capacity {
            return Vec::new();
        }
        blocks.claim(range, self.capacity, self.longest).runs
    }

    /// The maximum number of blocks in memory or being fetched.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Inserts a block that arrived without being claimed.
    pub(crate) fn insert(&self, number: u64, bytes: Box<[u8]>) {
        for block in self.claim(number..number + 1).runs.concat() {
            self.settle(&block, Ok(bytes.clone()));
        }
    }

    /// Ends the wait for a block. A block that failed is dropped, so that the next reader fetches
    /// it again.
    fn settle(&self, block: &Arc<Block>, bytes: Result<Box<[u8]>, Error>) {
        let mut blocks = self.blocks();
        blocks.fetching -= 1;
        if bytes.is_err() {
            blocks.held.remove(&block.number);
        }
        drop(blocks);
        let _ = block.bytes.set(bytes);
        self.settled.notify_all();
    }

    fn blocks(&self) -> MutexGuard<'_, Blocks> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Blocks {
    fn missing(&self, range: &Range<u64>) -> usize {
        range.clone().filter(|number| !self.held.contains_key(number)).count()
    }

    fn claim(&mut self, range: Range<u64>, capacity: usize, longest: usize) -> Claim {
        self.clock += 1;
        let mut claim = Claim::default();
        let mut last_missing = None;
        for number in range {
            if let Some(held) = self.held.get_mut(&number) {
                held.used = self.clock;
                claim.blocks.push(Arc::clone(&held.block));
                continue;
            }
            let block = self.begin(number, capacity);
            match claim.runs.last_mut() {
                Some(run) if last_missing == number.checked_sub(1) && run.len() < longest => {
                    run.push(Arc::clone(&block));
                }
                _ => claim.runs.push(vec![Arc::clone(&block)]),
            }
            last_missing = Some(number);
            claim.blocks.push(block);
        }
        claim
    }

    /// Makes room for a block, and adds it. Blocks of the current claim were just used and are
    /// evicted last.
    fn begin(&mut self, number: u64, capacity: usize) -> Arc<Block> {
        if self.held.len() >= capacity {
            let here = self.held.iter().filter(|(_, held)| held.block.bytes.get().is_some());
            let oldest = here.min_by_key(|(_, held)| held.used).map(|(number, _)| *number);
            oldest.and_then(|number| self.held.remove(&number));
        }
        let block = Arc::new(Block { number, bytes: OnceLock::new() });
        self.held.insert(number, Held { block: Arc::clone(&block), used: self.clock });
        self.fetching += 1;
        block
    }
}

/// A run that is being filled. Blocks that are not filled when it is dropped have failed.
pub(crate) struct Filling<'a> {
    cache: &'a Cache,
    waiting: VecDeque<Arc<Block>>,
    block_size: usize,
    /// The object's length.
    len: u64,
    bytes: Vec<u8>,
    failure: Error,
}

impl<'a> Filling<'a> {
    /// `place` is the object's name, for the error if nothing arrives at all.
    pub(crate) fn new(cache: &'a Cache, run: Run, block_size: usize, len: u64, place: &str) -> Self {
        let failure = Error { place: place.to_owned(), cause: Cause::Broken("reading was cancelled".into()) };
        Self { cache, waiting: run.into(), block_size, len, bytes: Vec::new(), failure }
    }

    /// Adds the next bytes of the run. Memory is allocated for data that has arrived, not for what
    /// a server has announced.
    pub(crate) fn take(&mut self, mut bytes: &[u8]) {
        while let (false, Some(block)) = (bytes.is_empty(), self.waiting.front()) {
            let size = self.size_of(block.number);
            let (now, rest) = bytes.split_at(bytes.len().min(size - self.bytes.len()));
            self.bytes.extend_from_slice(now);
            bytes = rest;
            if self.bytes.len() == size {
                let full = std::mem::take(&mut self.bytes).into_boxed_slice();
                self.cache.settle(block, Ok(full));
                self.waiting.pop_front();
            }
        }
    }

    /// Sets the error that readers of unfilled blocks get.
    pub(crate) fn fail(&mut self, failure: Error) {
        self.failure = failure;
    }

    /// The size of a block; the object's last one may be shorter.
    fn size_of(&self, number: u64) -> usize {
        let start = number * self.block_size as u64;
        (self.len - start).min(self.block_size as u64) as usize
    }
}

impl Drop for Filling<'_> {
    fn drop(&mut self) {
        for block in &self.waiting {
            self.cache.settle(block, Err(self.failure.clone()));
        }
    }
}
