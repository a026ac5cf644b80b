//! PBKDF2 on one thread's own time, Argon2id on wall time and both cores.

use super::floors::{self, Op};
use crate::foreign::{Peer, Secret, libargon2_id, rustcrypto_argon2id};
use crate::options::Options;
use crate::report::DISAGREES;
use crate::rounds::{Case, Floor, Goal, Sample, Unit};
use crate::samples::{thread_seconds, wall_seconds};
use keyway_crypto::kdf::{Argon2Cost, Argon2Variant, argon2, pbkdf2};
use keyway_crypto::{Hash, Stop};

pub(crate) fn cases(options: &Options) -> Vec<Case> {
    let mut cases = Vec::new();
    for row in PBKDF2 {
        let title = format!("PBKDF2-{}, 64-byte key", row.hash);
        if options.wants(&title) {
            cases.push(pbkdf2_case(options, title, &row));
        }
    }
    for (title, memory_kib, lanes, wanted) in ARGON2 {
        if options.wants(title) {
            cases.push(argon2_case(title, memory_kib, lanes, wanted));
        }
    }
    cases
}

/// A hash of PBKDF2: what is wanted, and the instructions of one iteration of a 64-byte key.
struct Row {
    hash: &'static str,
    /// Than Debian's OpenSSL.
    wanted: f64,
    counts: &'static [(Op, f64)],
    reason: &'static str,
}

const PBKDF2: [Row; 3] = [
    Row {
        hash: "sha512",
        wanted: 1.8,
        counts: &[(Op::Alu, 2.0 * 80.0 * 16.0), (Op::Turn, 2.0 * 80.0 * 6.0)],
        reason: "2 compressions of 80 rounds of 6 rotations and 16 other instructions, the message's schedule beside them on \
                 vectors; kept from it by the chain from one round to the next",
    },
    Row {
        hash: "sha256",
        wanted: 4.0,
        counts: &[(Op::Sha256, 2.0 * 2.0 * 32.0)],
        reason: "2 blocks of 2 compressions of 32 sha256rnds2; kept from it by sha256msg1 and sha256msg2",
    },
    Row {
        hash: "sha1",
        wanted: 6.0,
        counts: &[(Op::Sha1, 4.0 * 2.0 * 20.0)],
        reason: "4 blocks of 2 compressions of 20 sha1rnds4; kept from it by sha1msg1, sha1msg2 and sha1nexte",
    },
];

fn pbkdf2_case(options: &Options, title: String, row: &Row) -> Case {
    let name = row.hash;
    let hash = Hash::parse(name).expect("a known hash");
    let ours = move |iterations: u32, key: &mut [u8]| {
        pbkdf2(hash, PASSWORD, SALT, iterations, key, &Stop::new()).expect("a derivation that nobody stops");
    };
    let mut expected = [0; 64];
    ours(1000, &mut expected);
    let mut case = Case::new(title, Unit::Iterations, options.rounds)
        .entering("keyway", Ok(iterations(ours)))
        .over(floors::floor(row.counts.into(), 1.0, row.reason.into()));
    for peer in
        [Peer::OpenSsl3, Peer::OpenSsl4, Peer::Gcrypt, Peer::Botan, Peer::RustCrypto, Peer::RustCryptoAny]
    {
        let theirs = move |iterations: u32, key: &mut [u8]| {
            peer.pbkdf2(name, SECRET, iterations, key);
        };
        let mut output = [0; 64];
        let sample = match peer.presence() {
            Err(reason) => Err(reason.to_owned()),
            Ok(_) => {
                theirs(1000, &mut output);
                if output == expected { Ok(iterations(theirs)) } else { Err(DISAGREES.to_owned()) }
            }
        };
        let goal = match peer {
            Peer::OpenSsl3 => Some(row.wanted),
            Peer::RustCrypto | Peer::RustCryptoAny => Some(1.15),
            _ => None,
        };
        case = case.entering(peer.name(), sample).wanting(goal.map(Goal::RatioAtLeast));
    }
    case
}

/// 10^6 iterations a second.
fn iterations(derive: impl Fn(u32, &mut [u8]) + 'static) -> Sample {
    Box::new(move || {
        let mut key = [0; 64];
        let seconds = thread_seconds(|| derive(ITERATIONS, &mut key));
        assert_ne!(key, [0; 64]);
        f64::from(ITERATIONS) / seconds / 1e6
    })
}

/// Four passes over so many KiB in so many lanes; the factor to libargon2.
const ARGON2: [(&str, u32, u32, Option<f64>); 3] = [
    ("Argon2id 1 GiB t=4 p=4, two cores", 1 << 20, 4, Some(1.5)),
    ("Argon2id 1 GiB t=4 p=1", 1 << 20, 1, None),
    ("Argon2id 64 MiB t=4 p=4, two cores", 64 << 10, 4, None),
];

/// In bytes of the matrix that are filled in a second: passes × memory over wall time.
fn argon2_case(title: &str, memory_kib: u32, lanes: u32, wanted: Option<f64>) -> Case {
    let (mut expected, mut output) = ([0; 64], [0; 64]);
    keyway_argon2id([4, 4096, lanes], &mut expected);
    let mut case = Case::new(title, Unit::Megabytes, if memory_kib < 1 << 20 { 9 } else { 5 })
        .entering("keyway", Ok(filled([4, memory_kib, lanes], keyway_argon2id)))
        .over(in_cache(lanes));
    let mut enter = |name: &str, derive: fn([u32; 3], &mut [u8]) -> bool, wanted: Option<f64>| {
        let sample = match derive([4, 4096, lanes], &mut output) {
            false => Err("is not there".to_owned()),
            true if output != expected => Err(DISAGREES.to_owned()),
            true => Ok(filled([4, memory_kib, lanes], derive)),
        };
        let case_so_far = std::mem::replace(&mut case, Case::new("", Unit::Megabytes, 0));
        case = case_so_far.entering(name, sample).wanting(wanted.map(Goal::RatioAtLeast));
    };
    enter("libargon2 (Debian)", |cost, out| libargon2_id(cost, SECRET, out), wanted);
    enter("RustCrypto native", |cost, out| rustcrypto_argon2id(cost, SECRET, out), None);
    case
}

fn keyway_argon2id([time, memory_kib, lanes]: [u32; 3], out: &mut [u8]) -> bool {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let cost = Argon2Cost { time, memory_kib, lanes };
    argon2(Argon2Variant::Argon2id, cost, PASSWORD, SALT, out, threads, &Stop::new()).expect("enough memory");
    true
}

fn filled(cost: [u32; 3], derive: impl Fn([u32; 3], &mut [u8]) -> bool + 'static) -> Sample {
    Box::new(move || {
        let mut key = [0; 64];
        let seconds = wall_seconds(|| assert!(derive(cost, &mut key)));
        f64::from(cost[0]) * f64::from(cost[1]) * 1024.0 / seconds / 1e6
    })
}

/// Keyway's own rounds on memory that fits the second-level cache,
/// times the cores that the lanes can use.
fn in_cache(lanes: u32) -> Floor {
    let mut one = filled([400, 256, 1], keyway_argon2id);
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(lanes as usize);
    Floor {
        sample: Box::new(move || one() * cores as f64),
        reason: format!(
            "Keyway's own rounds over 256 KiB in cache, times {cores}; kept from it by memory: 3 KiB move for each block of 1 \
             KiB, one of them from a place that the block before it names"
        ),
    }
}

const SECRET: Secret<'static> = Secret { password: PASSWORD, salt: SALT };
const PASSWORD: &[u8] = b"correct horse battery staple";
const SALT: &[u8] = b"thirty-two bytes of salt, always";
const ITERATIONS: u32 = 20_000;
