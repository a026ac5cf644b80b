//! Questions to the kernel's dm-crypt: one table line each, submitted by `kernel-sectors` inside
//! the test machine.
//!
//! The program's command line, lines and answers are described at its `main.rs`.

use crate::vm::Machine;
use std::collections::BTreeSet;
use std::fmt;

/// The number of bytes that each mapping encrypts.
pub const SIZE: usize = 1 << 17;
/// The plaintext is [`random`](crate::random) of this seed.
pub const PLAINTEXT_SEED: u64 = 1_048_576;

/// A dm-crypt table line without its device, and the action to take with it.
#[derive(Debug, Clone)]
pub struct Question {
    /// "aes-xts-plain64", "capi:xts(aes)-plain64".
    pub cipher: String,
    /// The volume key.
    pub key: Vec<u8>,
    /// The IV number of the first sector, in 512-byte units (in sectors with `iv_large_sectors`).
    pub iv_offset: u64,
    /// "sector_size:4096", "iv_large_sectors".
    pub options: Vec<String>,
    /// How far the question goes.
    pub action: Action,
}

/// How far a question goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Is the table accepted?
    Map,
    /// And what ciphertext does it produce?
    Write,
    /// And does the ciphertext read back correctly through the mapping?
    Both,
}

/// The kernel's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The table was not accepted, with the kernel's message.
    Refused {
        /// The error number, as in errno.h.
        errno: i32,
        /// The message from the kernel's log; empty if there was none.
        reason: String,
    },
    /// The answer to [`Action::Map`].
    Mapped,
    /// The answer to [`Action::Write`] and [`Action::Both`].
    Made {
        /// [`fingerprint`] of the ciphertext.
        fingerprint: String,
        /// Its first sixteen bytes in hexadecimal.
        first: String,
        /// Whether it reads back as the plaintext, if the question asked for that.
        reads_back: Option<bool>,
    },
    /// The table was accepted, but reading or writing failed.
    Failed(String),
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let action = match self.action {
            Action::Map => "map",
            Action::Write => "write",
            Action::Both => "both",
        };
        write!(f, "{action} {} {} {}", self.cipher, hex(&self.key), self.iv_offset)?;
        self.options.iter().try_for_each(|option| write!(f, " {option}"))
    }
}

impl Answer {
    fn parse(text: &str) -> Self {
        let mut fields = text.splitn(4, ' ');
        let mut field = || fields.next().unwrap_or_default();
        match field() {
            "refused" => {
                let errno = field().parse().unwrap_or_default();
                Self::Refused { errno, reason: [field(), field()].join(" ").trim().into() }
            }
            "mapped" => Self::Mapped,
            "made" => Self::Made {
                fingerprint: field().into(),
                first: field().into(),
                reads_back: match field() {
                    "" => None,
                    word => Some(word == "same"),
                },
            },
            _ => Self::Failed(text.into()),
        }
    }
}

/// All answers.
#[derive(Debug)]
pub struct Answers {
    /// In the order of the questions.
    pub each: Vec<Answer>,
    /// The names of the ciphers, hashes and instantiated modes that
    /// the kernel has ("aes", "sha256", "xts(aes)").
    pub algorithms: BTreeSet<String>,
}

/// Boots `machine` and submits all questions. `program` is the path of `kernel-sectors`.
#[track_caller]
pub fn ask(machine: Machine, program: &str, questions: &[Question]) -> Answers {
    let jobs: Vec<String> =
        questions.iter().enumerate().map(|(number, question)| format!("{number} {question}\n")).collect();
    let program = std::fs::read(program).expect("kernel-sectors can be read");
    let report = machine.file("bin/kernel-sectors", program).file("jobs", jobs.concat()).run(
        // Modules that are not loaded yet are unavailable: no helper process may load them.
        "echo >/proc/sys/kernel/modprobe
         dmesg -n 1
         kernel-sectors /jobs
         sed -n 's/^name *: /algorithm /p' /proc/crypto",
    );
    let mut answers: Vec<Option<Answer>> = vec![None; questions.len()];
    let mut algorithms = BTreeSet::new();
    for (first, rest) in report.lines().filter_map(|line| line.split_once(' ')) {
        match first.parse::<usize>() {
            Ok(number) => answers[number] = Some(Answer::parse(rest)),
            Err(_) => drop(algorithms.insert(rest.to_string())),
        }
    }
    let missing = answers.iter().filter(|answer| answer.is_none()).count();
    assert!(missing == 0, "{missing} questions were not answered");
    Answers { each: answers.into_iter().flatten().collect(), algorithms }
}

/// 256 bits that change with any change of a word. Not meant against attackers: nobody forges
/// ciphertexts here, and under emulation a cryptographic hash would cost more than the cipher.
pub fn fingerprint(bytes: &[u8]) -> String {
    let mut lanes: [u64; 4] = [1, 2, 3, 4];
    for words in bytes.as_chunks::<32>().0 {
        for (lane, word) in lanes.iter_mut().zip(words.as_chunks::<8>().0) {
            *lane = (*lane ^ u64::from_le_bytes(*word)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
    }
    lanes.map(|lane| format!("{lane:016x}")).concat()
}

/// Lower-case hexadecimal; "-" if empty, as in table lines.
pub fn hex(bytes: &[u8]) -> String {
    match bytes {
        [] => "-".into(),
        _ => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}
