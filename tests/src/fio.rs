//! fio's own verification of a volume behind a front end: random writes of any length at any offset,
//! with trims and flushes in between; every block contains its position and a CRC32C of its random
//! content. Another fio elsewhere regenerates the same blocks and looks for them.
//!
//! The start of the volume is divided into stripes, each with its own job: all jobs run at once,
//! over NBD each through its own connection. No stripe and no block begins at a sector boundary, so
//! adjacent jobs share sectors.

use crate::peers::{libraries, peer};
use crate::run::Run;
use crate::scratch::Scratch;
use crate::skip;
use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The target fio works on.
#[derive(Debug, Clone, Copy)]
pub enum Target<'a> {
    /// An export, by its URI.
    Nbd(&'a str),
    /// A file, or a block device.
    File(&'a Path),
}

/// The jobs that filled a volume: the information needed to find their blocks again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrontEnd {
    /// Trims are NBD_CMD_TRIM; what was trimmed is undefined until it is written again.
    Nbd,
    /// Trims are fallocate(2)'s FALLOC_FL_PUNCH_HOLE; what was trimmed reads as zeros.
    Fuse,
}

/// The operations on a stripe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Job {
    Write,
    /// Each block is trimmed, then written.
    TrimAndWrite,
    Trim,
}

/// Blocks of an earlier round must not pass for those of the last one: each block states its
/// checksum type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Round {
    /// With xxhash.
    First,
    /// Other blocks, of other lengths, with CRC32C.
    Second,
}

/// Bytes that [`write()`] touches, from the beginning.
pub const LEN: u64 = STRIPES * STRIPE;

/// Writes, trims and flushes; then fio reads back what it wrote.
pub fn write(scratch: &Scratch, target: Target<'_>, round: Round) -> Run {
    let front_end = match target {
        Target::Nbd(_) => FrontEnd::Nbd,
        Target::File(_) => FrontEnd::Fuse,
    };
    run(scratch, "write.fio", jobs(front_end, target, round, false))
}

/// Reads only: every block that [`write()`] of that round wrote through `front_end` must be there.
pub fn verify(scratch: &Scratch, front_end: FrontEnd, target: Target<'_>, round: Round) -> Run {
    run(scratch, "verify.fio", jobs(front_end, target, round, true))
}

/// The jobs of [`verify`], as a file for fio.
pub fn verifying_jobs(front_end: FrontEnd, target: Target<'_>, round: Round) -> String {
    jobs(front_end, target, round, true)
}

/// The stripes that a round trims.
pub fn trimmed(front_end: FrontEnd, round: Round) -> impl Iterator<Item = Range<usize>> {
    let trimmed = (0..STRIPES).filter(move |number| job(front_end, round, *number) == Job::Trim);
    trimmed.map(|number| (number * STRIPE) as usize..((number + 1) * STRIPE) as usize)
}

/// An ext4 with fio and all libraries that it loads, for machines without them:
/// `LD_LIBRARY_PATH=/mnt/lib /mnt/fio`.
#[track_caller]
pub fn disk(scratch: &Scratch) -> PathBuf {
    let program = skip::find("fio").expect("need!(\"fio\") first");
    let files = scratch.path("fio-files");
    fs::create_dir_all(files.join("lib")).expect("a scratch directory can be written");
    let copy = |from: &Path, to: &Path| assert!(fs::copy(from, to).is_ok(), "{} can be read", from.display());
    copy(&program, &files.join("fio"));
    for library in libraries(&program) {
        copy(&library, &files.join("lib").join(library.file_name().unwrap_or_default()));
    }
    let image = scratch.path("fio-disk");
    peer("mke2fs", "-q -t ext4 -d").arg(&files).arg(&image).arg("200M").ok();
    image
}

fn run(scratch: &Scratch, name: &str, jobs: String) -> Run {
    peer("fio", "").arg(scratch.file(name, jobs)).directory(scratch.root())
}

/// Mostly, what one round trims the other writes.
fn job(front_end: FrontEnd, round: Round, stripe: u64) -> Job {
    let trims = match (front_end, round) {
        (FrontEnd::Nbd, Round::First) => stripe % 4 == 3,
        (FrontEnd::Nbd, Round::Second) => stripe % 4 == 1,
        (FrontEnd::Fuse, Round::First) => stripe.is_multiple_of(2),
        (FrontEnd::Fuse, Round::Second) => stripe % 2 == 1,
    };
    match (front_end, stripe) {
        _ if trims => Job::Trim,
        // On a file fio can only trim without writing; with an offset too (3.33).
        (FrontEnd::Nbd, 0) => Job::TrimAndWrite,
        _ => Job::Write,
    }
}

fn jobs(front_end: FrontEnd, target: Target<'_>, round: Round, only_verify: bool) -> String {
    let (checksum, seed) = match round {
        Round::First => ("xxhash", 100),
        Round::Second => ("crc32c", 200),
    };
    let mut text = String::from(ALL);
    for number in 0..STRIPES {
        let job = job(front_end, round, number);
        if job == Job::Trim && only_verify {
            continue;
        }
        write!(text, "\n[stripe-{number}]\n{}", medium(target, job)).expect("writing to a String");
        write!(text, "offset={}\nsize={STRIPE}\nrandseed={}\n", number * STRIPE, seed + number)
            .expect("writing to a String");
        text.push_str(match job {
            Job::Write => WRITE,
            Job::TrimAndWrite => TRIM_AND_WRITE,
            Job::Trim => TRIM,
        });
        if job != Job::Trim {
            writeln!(text, "verify={checksum}").expect("writing to a String");
        }
        // With NBD both are NBD_CMD_FLUSH.
        text.push_str(match (job, target, number % 4) {
            (Job::Trim, ..) => "",
            (_, Target::File(_), 2 | 3) => "fdatasync=16\n",
            _ => "fsync=16\n",
        });
        if only_verify {
            text.push_str("verify_only=1\n");
        }
    }
    text
}

fn medium(target: Target<'_>, job: Job) -> String {
    match (target, job) {
        (Target::Nbd(uri), _) => format!("ioengine=nbd\nuri={uri}\n"),
        (Target::File(path), Job::Trim) => format!("ioengine=falloc\nfilename={}\n", path.display()),
        (Target::File(path), _) => format!("ioengine=psync\nfilename={}\n", path.display()),
    }
}

/// A prime: after offset 0, none of its first 511 multiples is at a sector boundary.
const BLOCK: u64 = 601;
const STRIPE: u64 = 1745 * BLOCK;
const STRIPES: u64 = 16;

const ALL: &str = "\
[global]
thread=1
allow_file_create=0
verify_state_save=0
refill_buffers=1
group_reporting=1
";

const WRITE: &str = "\
rw=randwrite
bsrange=601-60100
blockalign=601
iodepth=8
verify_fatal=1
";

/// One request at a time: fio would otherwise send a write before the preceding trim is answered,
/// which is a bug in fio.
const TRIM_AND_WRITE: &str = "\
rw=randtrimwrite
bsrange=601-60100
blockalign=601
iodepth=1
verify_fatal=1
";

const TRIM: &str = "\
rw=randtrim
bsrange=601-60100
blockalign=601
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stripes_share_sectors_and_only_trims_are_left_out_when_verifying() {
        assert!((1..STRIPES).all(|number| !(number * STRIPE).is_multiple_of(512)));
        let text = verifying_jobs(FrontEnd::Nbd, Target::File(Path::new("/dev/x")), Round::Second);
        assert_eq!(text.matches("[stripe-").count(), 12);
        assert_eq!(text.matches("verify_only=1").count(), 12);
        assert_eq!(trimmed(FrontEnd::Nbd, Round::Second).count(), 4);
        assert_eq!(trimmed(FrontEnd::Fuse, Round::Second).count(), 8);
    }
}
