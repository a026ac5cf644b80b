//! An object as read-only [`Storage`].

use crate::cache::{Cache, Filling, Run};
use crate::error::{Cause, Error, Result};
use crate::options::Options;
use crate::readahead::ReadAhead;
use crate::source::Source;
use keyway_volume::{Address, Storage};
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::runtime::{Builder, Runtime};

/// An object accessed over HTTP, read by ranges through a cache; its version is the one at the time
/// it was opened.
pub struct Object {
    shared: Arc<Shared>,
    ahead: Mutex<ReadAhead>,
    /// `None` while it is being dropped.
    runtime: Option<Runtime>,
}

struct Shared {
    source: Source,
    cache: Cache,
    block_size: usize,
    len: u64,
    /// Set when the object has changed: from then on all reads fail, even those of cached data.
    lost: OnceLock<Error>,
}

impl Object {
    /// Opens the object at an `http://`, `https://` or `s3://BUCKET/KEY` URL, and reads its first
    /// block. S3's endpoint, region and credentials come from the usual environment
    /// (`AWS_ENDPOINT_URL`, `AWS_REGION`, `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`,
    /// `AWS_SESSION_TOKEN`, …) and the files of Amazon's tools; logins of web servers from the URL
    /// or netrc; certificate authorities from the system or `SSL_CERT_FILE`.
    ///
    /// # Errors
    /// If the URL is invalid, or the server cannot be reached, refuses, or does not serve ranges.
    pub fn open(address: &Address, options: &Options) -> Result<Self> {
        let block_size = options.block_size.max(512);
        let capacity = (options.cache_size / block_size).max(4);
        let source = Source::new(address, options)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("remote")
            .enable_all()
            .build()
            .map_err(|e| Error { place: source.place().to_owned(), cause: Cause::Broken(e.to_string()) })?;
        let mut first = Vec::new();
        runtime.block_on(source.read(0..block_size as u64, &mut |bytes| first.extend_from_slice(bytes)))?;
        let cache = Cache::new(capacity, (REQUEST / block_size).clamp(1, capacity));
        cache.insert(0, first.into());
        let len = source.len();
        let shared = Arc::new(Shared { source, cache, block_size, len, lost: OnceLock::new() });
        let ahead = Mutex::new(ReadAhead::new(capacity as u64 / 2));
        Ok(Self { shared, ahead, runtime: Some(runtime) })
    }

    fn read_blocks(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let blocks = self.shared.blocks_of(offset..offset + buf.len() as u64);
        let claim = self.shared.cache.claim(blocks.clone());
        self.fetch(claim.runs);
        self.read_ahead(&blocks);
        for block in claim.blocks {
            let bytes = block.wait()?;
            let start = block.number * self.shared.block_size as u64;
            let from = start.max(offset);
            let to = (start + bytes.len() as u64).min(offset + buf.len() as u64);
            buf[(from - offset) as usize..(to - offset) as usize]
                .copy_from_slice(&bytes[(from - start) as usize..(to - start) as usize]);
        }
        Ok(())
    }

    fn read_ahead(&self, blocks: &Range<u64>) {
        let more = self.ahead.lock().unwrap_or_else(PoisonError::into_inner).note(blocks);
        let end = self.shared.blocks_of(0..self.shared.len).end;
        let more = more.start.min(end)..more.end.min(end);
        if !more.is_empty() {
            self.fetch(self.shared.cache.prepare(more));
        }
    }

    fn fetch(&self, runs: Vec<Run>) {
        let Some(runtime) = &self.runtime else { return };
        for run in runs {
            let shared = Arc::clone(&self.shared);
            runtime.spawn(async move { shared.fetch(run).await });
        }
    }
}

impl Shared {
    async fn fetch(&self, run: Run) {
        let size = self.block_size as u64;
        let (Some(first), Some(last)) = (run.first(), run.last()) else { return };
        let range = first.number * size..((last.number + 1) * size).min(self.len);
        let mut filling = Filling::new(&self.cache, run, self.block_size, self.len, self.source.place());
        if let Err(error) = self.source.read(range, &mut |bytes| filling.take(bytes)).await {
            if let Cause::Changed(_) = error.cause {
                let _ = self.lost.set(error.clone());
            }
            filling.fail(error);
        }
    }

    fn blocks_of(&self, range: Range<u64>) -> Range<u64> {
        let size = self.block_size as u64;
        range.start / size..range.end.div_ceil(size)
    }
}

impl Storage for Object {
    fn len(&self) -> u64 {
        self.shared.len
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let end = offset.checked_add(buf.len() as u64);
        if end.is_none_or(|end| end > self.shared.len) {
            let what = format!(
                "it ends at byte {}, {} bytes at {offset} were requested",
                self.shared.len,
                buf.len()
            );
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        // Reads longer than the cache are split into parts.
        let part = (self.shared.cache.capacity() / 2 - 1) * self.shared.block_size;
        for (i, part_of_buf) in buf.chunks_mut(part).enumerate() {
            self.read_blocks(part_of_buf, offset + (i * part) as u64)?;
        }
        match self.shared.lost.get() {
            Some(error) => Err(error.clone().into()),
            None => Ok(()),
        }
    }

    fn write_at(&self, _buf: &[u8], _offset: u64) -> io::Result<()> {
        Err(read_only())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn discard(&self, _range: Range<u64>) -> io::Result<()> {
        Err(read_only())
    }

    fn is_distant(&self) -> bool {
        true
    }

    fn is_read_only(&self) -> bool {
        true
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // Without waiting for pending requests or name lookups.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn read_only() -> io::Error {
    io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "HTTP and S3 objects are read-only")
}

/// The number of threads that receive and decrypt; readers wait in their own threads.
const THREADS: usize = 2;

/// The maximum size of a request in bytes. Large requests use the line well, several at once help
/// with distant servers.
const REQUEST: usize = 2 << 20;
