//! The kernel's answers beside Keyway's.

use super::cases::{Case, Expected};
use keyway_crypto::{CipherSpec, Cpu, Secret, SectorCipher, SectorSize};
use keyway_tests::kernel::{Answer, Answers, PLAINTEXT_SEED, Question, SIZE, fingerprint};
use keyway_tests::random;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;

/// The verdict on a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The same ciphertext.
    Same,
    /// Both take the key.
    BothTake,
    /// Both refuse.
    BothRefuse,
    /// This kernel has no such cipher or hash: the name of the missing algorithm.
    Missing(String),
    /// They differ, for a known reason.
    Explained(&'static str),
    /// They differ.
    Differ(String),
}

/// One verdict for each case.
pub(super) fn judge(cases: &[Case], answers: &Answers) -> Vec<Verdict> {
    let levels = Cpu::levels();
    let plaintext = random(PLAINTEXT_SEED, SIZE);
    let proved = Mutex::new(BTreeSet::new());
    let next = AtomicUsize::new(0);
    let verdicts: Vec<OnceLock<Verdict>> = cases.iter().map(|_| OnceLock::new()).collect();
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let number = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(case) = cases.get(number)
                {
                    // One case of each cipher, mode and sector size runs on all code levels of this
                    // CPU.
                    let first = proved.lock().unwrap().insert((&case.row, &case.question.options));
                    let levels = if first { &levels[..] } else { &levels[..1] };
                    let verdict =
                        verdict(case, &answers.each[number], &answers.algorithms, &plaintext, levels);
                    verdicts[number].set(verdict).expect("each case is taken once");
                }
            });
        }
    });
    verdicts.into_iter().map(|verdict| verdict.into_inner().expect("all were judged")).collect()
}

fn verdict(
    case: &Case,
    answer: &Answer,
    algorithms: &BTreeSet<String>,
    plaintext: &[u8],
    levels: &[Cpu],
) -> Verdict {
    let cipher = &case.question.cipher;
    match (&case.expected, answer) {
        (_, Answer::Failed(why)) => Verdict::Differ(format!("{cipher}: mapped, but {why}")),
        (
            Expected::Ciphertext { spec, sector_size, large_ivs },
            Answer::Made { fingerprint: theirs, reads_back, .. },
        ) => {
            if *reads_back == Some(false) || cipher == "arc4-ecb" {
                return Verdict::Explained(NOT_READ_BACK);
            }
            match ciphertexts(&case.question, spec, *sector_size, *large_ivs, plaintext, levels) {
                Err(why) => Verdict::Differ(format!("{cipher}: the kernel encrypts, Keyway: {why}")),
                Ok(ours) if ours.iter().all(|ours| ours == theirs) => Verdict::Same,
                Ok(_) => Verdict::Differ(format!("{}: not the kernel's bytes", case.question)),
            }
        }
        (Expected::Taken, Answer::Mapped) => Verdict::BothTake,
        (Expected::Refused(_), Answer::Refused { .. }) => Verdict::BothRefuse,
        (Expected::Refused(_), Answer::Made { reads_back: Some(false), .. }) => {
            Verdict::Explained(NOT_READ_BACK)
        }
        (Expected::Refused(why), _) => {
            let bits = 8 * case.question.key.len();
            Verdict::Differ(format!("{cipher}: the kernel maps it with a {bits}-bit key, Keyway says: {why}"))
        }
        (_, Answer::Refused { errno, reason }) => match missing(cipher, algorithms) {
            Some(name) => Verdict::Missing(name),
            None => {
                let bits = 8 * case.question.key.len();
                Verdict::Differ(format!(
                    "{cipher}: Keyway has it with a {bits}-bit key, the kernel refuses it: {reason} (errno {errno})"
                ))
            }
        },
        (_, answer) => Verdict::Differ(format!("{cipher}: {answer:?} was not asked for")),
    }
}

/// The hash of the ciphertext by the code of each CPU level.
fn ciphertexts(
    question: &Question,
    spec: &CipherSpec,
    sector_size: SectorSize,
    large_ivs: bool,
    plaintext: &[u8],
    levels: &[Cpu],
) -> Result<Vec<String>, keyway_crypto::Error> {
    levels
        .iter()
        .map(|cpu| {
            let mut cipher = SectorCipher::new(spec, &Secret::copy_from(&question.key), sector_size, *cpu)?;
            if large_ivs {
                cipher = cipher.with_large_iv_sectors();
            }
            let mut data = plaintext.to_vec();
            cipher.encrypt(question.iv_offset, &mut data);
            let ours = fingerprint(&data);
            cipher.decrypt(question.iv_offset, &mut data);
            assert!(data == plaintext, "{question} does not decrypt what it encrypted");
            Ok(ours)
        })
        .collect()
}

/// The cipher or hash of a specification that the kernel lacks altogether.
fn missing(text: &str, algorithms: &BTreeSet<String>) -> Option<String> {
    let cipher = text.split(['-', ':']).next().unwrap_or_default();
    let cipher = cipher.rsplit(',').next().unwrap_or_default();
    let hash = text.split_once("essiv:").map(|(_, hash)| hash);
    // HCTR2 is a template; the hash within it is a separate module.
    let part = if text.contains("-hctr2") { Some("polyval") } else { None };
    let known = |name: &str| algorithms.contains(name) || algorithms.contains(&format!("ecb({name})"));
    [Some(cipher), hash, part].into_iter().flatten().find(|name| !known(name)).map(String::from)
}

const NOT_READ_BACK: &str = "the kernel maps it, but does not read back what it wrote";
