//! `./dev bench storage`: how the image below a volume is best read and written: by threads that
//! each wait for one request (pread(2), pwrite(2)), or by one that keeps many in an io_uring.
//!
//! Keyway's storage is the first of each row. Out of the page cache nothing
//! waits, and what counts is the cost of a request; with O_DIRECT on a disk
//! it is how many requests the disk has at a time.

mod sys;

use crate::options::Options;
use crate::peers::volumes::Place;
use crate::rounds::{Case, Unit};
use rustix::fs::OFlags;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::rc::Rc;
use std::thread;
use std::time::Instant;
use sys::{Buffers, Ring};

/// The one table.
pub(crate) const SECTIONS: [fn(&Options) -> Vec<Case>; 1] = [cases];

fn cases(options: &Options) -> Vec<Case> {
    let (memory, disk) = (Rc::new(Image::in_memory(options)), Rc::new(Image::on_disk(options)));
    ROWS.iter().map(|row| row.case(if row.direct { &disk } else { &memory })).collect()
}

/// Requests of one size at random places.
struct Row {
    title: &'static str,
    size: usize,
    writes: bool,
    /// Past the page cache.
    direct: bool,
    /// How many are under way at a time: threads, or entries of the ring.
    depth: usize,
    requests: usize,
}

const ROWS: [Row; 6] = [
    row("4K random read out of the page cache", 4096, false, false, 40_000),
    row("4K random write into the page cache", 4096, true, false, 40_000),
    row("1M random read out of the page cache", 1 << 20, false, false, 1000),
    row("4K random read of the disk, O_DIRECT", 4096, false, true, 4000),
    row("4K random write to the disk, O_DIRECT", 4096, true, true, 4000),
    row("1M random read of the disk, O_DIRECT", 1 << 20, false, true, 200),
];

const fn row(title: &'static str, size: usize, writes: bool, direct: bool, requests: usize) -> Row {
    Row { title, size, writes, direct, depth: 32, requests }
}

impl Row {
    fn case(&'static self, image: &Rc<Image>) -> Case {
        // What never waits needs no more threads than there are cores.
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let threads = if self.direct { self.depth } else { cores };
        let sample = |run: fn(&Row, &Image, usize), parallel: usize| {
            let image = Rc::clone(image);
            move || {
                let started = Instant::now();
                run(self, &image, parallel);
                self.requests as f64 / 1e3 / started.elapsed().as_secs_f64()
            }
        };
        Case::new(self.title, Unit::KiloIops, 9)
            .with(format!("{threads} threads"), sample(Self::by_threads, threads))
            .with("one thread", sample(Self::by_threads, 1))
            .with(format!("io_uring, {} deep", self.depth), sample(Self::by_ring, self.depth))
    }

    fn by_threads(&self, image: &Image, threads: usize) {
        let each = self.requests / threads;
        thread::scope(|scope| {
            for thread in 0..threads {
                scope.spawn(move || {
                    let mut buffers = Buffers::new(1, self.size);
                    let buffer = buffers.get(0);
                    for offset in image.places(thread as u64, each, self.size) {
                        let done = if self.writes {
                            image.file.write_all_at(buffer, offset)
                        } else {
                            image.file.read_exact_at(buffer, offset)
                        };
                        done.unwrap_or_else(|e| panic!("{}: {e}", image.path.display()));
                    }
                });
            }
        });
    }

    fn by_ring(&self, image: &Image, depth: usize) {
        let mut ring = Ring::new(&image.file, depth, self.size, self.writes);
        ring.run(image.places(0, self.requests, self.size));
    }
}

/// A file full of data, removed on drop.
struct Image {
    file: File,
    path: PathBuf,
    len: u64,
    on_disk: bool,
    _place: Option<Place>,
}

impl Image {
    fn in_memory(options: &Options) -> Self {
        let place = Place::new("storage");
        let path = place.image("image", options.mib);
        Self {
            file: open(&path, OFlags::empty()),
            path,
            len: options.mib << 20,
            on_disk: false,
            _place: Some(place),
        }
    }

    /// Where the build is.
    fn on_disk(options: &Options) -> Self {
        let path = PathBuf::from("target").join(format!("bench-storage-{}", std::process::id()));
        let memory = Place::new("storage-disk");
        let source = memory.image("image", options.mib);
        fs::copy(&source, &path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let file = open(&path, OFlags::DIRECT);
        file.sync_all().unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Self { file, path, len: options.mib << 20, on_disk: true, _place: None }
    }

    /// Places for requests of `size` bytes; another sequence for each `seed`.
    fn places(&self, seed: u64, count: usize, size: usize) -> impl Iterator<Item = u64> + use<> {
        let slots = self.len / size as u64;
        let mut state = 0x9e37_79b9_7f4a_7c15 ^ (seed + 1).wrapping_mul(0xd134_2543_de82_ef95);
        (0..count).map(move |_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % slots * size as u64
        })
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        if self.on_disk {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn open(path: &PathBuf, flags: OFlags) -> File {
    let file = File::options().read(true).write(true).custom_flags(flags.bits() as i32).open(path);
    file.unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}
