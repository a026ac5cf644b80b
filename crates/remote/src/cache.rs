//! The blocks of an object that are held in memory or on their way.
//!
//! A block is fetched once however many readers wait for it. No more than the capacity is held or
//! on its way; what was not used for the longest time goes first.

use crate::error::{Cause, Error};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

/// A block: its bytes, when they have come.
#[derive(Debug)]
pub(crate) struct Block {
    /// Its place in the object, in blocks.
    pub(crate) number: u64,
    bytes: OnceLock<Result<Box<[u8]>, Error>>,
}

impl Block {
    /// Its bytes, waited for.
    pub(crate) fn wait(&self) -> Result<&[u8], Error> {
        self.bytes.wait().as_deref().map_err(Clone::clone)
    }
}

/// Adjacent blocks that one request fetches.
pub(crate) type Run = Vec<Arc<Block>>;

/// What a reader gets for a range of blocks.
#[derive(Debug, Default)]
pub(crate) struct Claim {
    /// The blocks, in order, here or on their way.
    pub(crate) blocks: Vec<Arc<Block>>,
    /// Those of them that the reader has to have fetched.
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
    /// How many of them are on their way.
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

    /// The blocks of `range`, which is not longer than the capacity.
    /// Waits while too much is on its way.
    pub(crate) fn claim(&self, range: Range<u64>) -> Claim {
        let mut blocks = self.blocks();
        while blocks.fetching + blocks.missing(&range) > self.capacity {
            blocks = self.settled.wait(blocks).unwrap_or_else(PoisonError::into_inner);
        }
        blocks.claim(range, self.capacity, self.longest)
    }

    /// The runs to fetch so that `range` will be here; none when
    /// there is no room for all of it at once.
    pub(crate) fn prepare(&self, range: Range<u64>) -> Vec<Run> {
        let mut blocks = self.blocks();
        if blocks.fetching + blocks.missing(&range) > self.capacity {
            return Vec::new();
        }
        blocks.claim(range, self.capacity, self.longest).runs
    }

    /// How many blocks are held or on their way at most.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Puts a block in that came on its own.
    pub(crate) fn insert(&self, number: u64, bytes: Box<[u8]>) {
        for block in self.claim(number..number + 1).runs.concat() {
            self.settle(&block, Ok(bytes.clone()));
        }
    }

    /// Ends the wait for a block. One that failed is forgotten, so
    /// that the next reader has it fetched again.
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

    /// Room for a block, and the block. Those in the present claim were used just now and go last.
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

/// A run that is being filled. What it has not filled when it is dropped has failed.
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
    /// `place` is how the object is called, should nothing come at all.
    pub(crate) fn new(cache: &'a Cache, run: Run, block_size: usize, len: u64, place: &str) -> Self {
        let failure = Error { place: place.to_owned(), cause: Cause::Broken("reading was given up".into()) };
        Self { cache, waiting: run.into(), block_size, len, bytes: Vec::new(), failure }
    }

    /// The next bytes of the run. Memory is taken for what has come,
    /// not for what a server has announced.
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

    /// What the readers of the blocks that are not filled are told.
    pub(crate) fn fail(&mut self, failure: Error) {
        self.failure = failure;
    }

    /// The object's last block may be short.
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
