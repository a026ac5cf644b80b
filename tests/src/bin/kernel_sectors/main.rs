//! Runs inside the test machine: how does dm-crypt handle each table line?
//!
//! `kernel-sectors JOBS` reads lines `NUMBER ACTION CIPHER KEY IV_OFFSET [OPTION…]` and answers
//! each with one line on standard output, in any order:
//!
//! ```text
//! NUMBER refused ERRNO REASON          the kernel would not map it; the reason is the kernel's own message
//! NUMBER mapped                        action "map": the table was accepted and dropped again
//! NUMBER made FINGERPRINT FIRST16           action "write": 128 KiB went through the mapping; the backing device holds this
//! NUMBER made FINGERPRINT FIRST16 same      action "both": and reads back through the mapping as it was (or "other")
//! NUMBER failed REASON                 mapped, but writing or reading failed
//! ```
//!
//! One worker per processor, each with its own RAM disk and mapped device, whose table is replaced
//! for each job. Reads and writes bypass the page cache, so that what is hashed is what dm-crypt
//! wrote.

mod sys;

use keyway_tests::kernel::{PLAINTEXT_SEED, SIZE, fingerprint, hex};
use keyway_tests::random;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::Mutex;
use std::thread;
use sys::Mapping;

fn main() -> io::Result<()> {
    let path = std::env::args().nth(1).expect("usage: kernel-sectors JOBS");
    let text = std::fs::read_to_string(path)?;
    let jobs = Mutex::new(text.lines());
    let workers = thread::available_parallelism()?.get();
    thread::scope(|scope| {
        let running: Vec<_> = (0..workers)
            .map(|number| {
                let jobs = &jobs;
                scope.spawn(move || Worker::new(number)?.run(jobs))
            })
            .collect();
        running.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })
}

struct Worker {
    mapping: Mapping,
    backing: File,
    /// `/dev/ramN`, for the table line.
    device: String,
    messages: File,
    plaintext: Aligned,
    read: Aligned,
}

impl Worker {
    fn new(number: usize) -> io::Result<Self> {
        let device = format!("/dev/ram{number}");
        let messages = File::options().read(true).custom_flags(O_NONBLOCK).open("/dev/kmsg")?;
        let (mut plaintext, read) = (Aligned::new(), Aligned::new());
        plaintext.bytes().copy_from_slice(&random(PLAINTEXT_SEED, SIZE));
        let mapping = Mapping::new(&format!("worker-{number}"))?;
        Ok(Self { mapping, backing: direct(&device)?, device, messages, plaintext, read })
    }

    fn run<'a>(mut self, jobs: &Mutex<impl Iterator<Item = &'a str>>) -> io::Result<()> {
        loop {
            let Some(job) = jobs.lock().expect("no worker panics").next() else { return Ok(()) };
            let mut answer = self.answer(job);
            answer.push('\n');
            // One write per line: the workers share standard output.
            io::stdout().write_all(answer.as_bytes())?;
        }
    }

    fn answer(&mut self, job: &str) -> String {
        let mut fields = job.splitn(6, ' ');
        let mut field = || fields.next().unwrap_or_default();
        let (number, action, cipher, key, iv_offset, options) =
            (field(), field(), field(), field(), field(), field());
        let mut parameters = format!("{cipher} {key} {iv_offset} {} 0", self.device);
        if !options.is_empty() {
            parameters += &format!(" {} {options}", options.split(' ').count());
        }
        let _ = self.messages.seek(SeekFrom::End(0));
        if let Err(error) = self.mapping.load(SIZE as u64 / 512, "crypt", &parameters) {
            return format!("{number} refused {} {}", error.raw_os_error(), self.reason());
        }
        if action == "map" {
            let _ = self.mapping.clear();
            return format!("{number} mapped");
        }
        match self.through(action == "both") {
            Ok(made) => format!("{number} made {made}"),
            Err(error) => format!("{number} failed {error} {}", self.reason()),
        }
    }

    /// Writes the plaintext through the mapping; returns the hash and the first bytes of the result
    /// on the backing device.
    fn through(&mut self, read_back: bool) -> io::Result<String> {
        self.mapping.resume()?;
        let mapped = direct(&format!("/dev/dm-{}", self.mapping.minor))?;
        mapped.write_all_at(self.plaintext.bytes(), 0)?;
        self.backing.read_exact_at(self.read.bytes(), 0)?;
        let ciphertext = self.read.bytes();
        let mut made = format!("{} {}", fingerprint(ciphertext), hex(&ciphertext[..16]));
        if read_back {
            mapped.read_exact_at(self.read.bytes(), 0)?;
            made += if self.read.bytes() == self.plaintext.bytes() { " same" } else { " other" };
        }
        Ok(made)
    }

    /// The kernel's message about this worker's device since the job began.
    fn reason(&mut self) -> String {
        let mark = format!(":{}: crypt: ", self.mapping.minor);
        let mut record = [0; 8192];
        let mut reasons = Vec::new();
        while let Ok(length) = self.messages.read(&mut record) {
            let text = String::from_utf8_lossy(&record[..length]);
            let line = text.lines().next().unwrap_or_default();
            if let Some((_, reason)) = line.split_once(&mark) {
                reasons.push(reason.to_owned());
            }
        }
        reasons.join("; ")
    }
}

/// A buffer that direct I/O accepts: it is page-aligned.
struct Aligned {
    bytes: Vec<u8>,
    start: usize,
}

impl Aligned {
    fn new() -> Self {
        let bytes = vec![0; SIZE + PAGE];
        let start = bytes.as_ptr().align_offset(PAGE);
        Self { bytes, start }
    }

    fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + SIZE]
    }
}

fn direct(path: &str) -> io::Result<File> {
    File::options().read(true).write(true).custom_flags(O_DIRECT).open(path)
}

const PAGE: usize = 4096;
const O_NONBLOCK: i32 = 0o4000;
const O_DIRECT: i32 = 0o40000;
