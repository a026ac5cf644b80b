//! Checks a driver's output by comparing it with Keyway's on random data.
//!
//! Uses keys of every size that the driver supports, sectors of 512 and 4096 bytes with random
//! numbers, and both directions. Then it tests what the kernel's own self-tests have been seen to
//! miss: results in buffers of odd sizes and at odd addresses, requests sent in odd pieces, and,
//! for chaining modes, a request continued with the IV that the driver left behind.

use crate::Wrong;
use crate::af_alg::{self, Direction};
use crate::random::Random;
use crate::{Algorithm, Missing, reference};
use keyway_crypto::{CipherSpec, SectorCipher, SectorSize};
use std::io::{self, IoSliceMut};

/// The result of checking one driver.
#[derive(Debug, Clone, PartialEq)]
pub enum Checked {
    /// All outputs were right; the number of outputs.
    Right(usize),
    /// The first wrong output.
    Wrong(Box<Wrong>),
    /// The driver could not be accessed, or there is no reference for it.
    NotChecked(Missing),
    /// The driver answered a request with an error.
    Failed(String),
}

/// Checks the driver `name`, which implements `algorithm`.
pub fn check(name: &str, algorithm: &Algorithm, key_bytes: (usize, usize)) -> Checked {
    let not_checked = |why: String| Checked::NotChecked(Missing::new(why));
    let Some(spec) = reference::spec(algorithm) else {
        return not_checked(format!("Keyway has no {algorithm} to compare it with"));
    };
    if spec.cipher_name() == "arc4" {
        // The kernel's arc4 continues where the last request ended, whoever issued it.
        return not_checked("each of its requests depends on the previous ones".to_owned());
    }
    let fits = |bytes: &usize| key_bytes == (0, 0) || (key_bytes.0..=key_bytes.1).contains(bytes);
    let sizes: Vec<usize> = spec.key_bits().into_iter().map(|bits| bits / 8).filter(fits).collect();
    let mut checker = Checker { spec, algorithm, random: Random::new(), checked: 0 };
    if let Err(found) = thinned(&sizes).into_iter().try_for_each(|bytes| checker.key_size(name, bytes)) {
        return found;
    }
    match checker.checked {
        0 => not_checked("it has no key size in common with Keyway".to_owned()),
        checked => Checked::Right(checked),
    }
}

/// The first, the last and some in between: Blowfish has 53 sizes.
fn thinned(sizes: &[usize]) -> Vec<usize> {
    let step = sizes.len().div_ceil(4).max(1);
    let mut thin: Vec<usize> = sizes.iter().copied().step_by(step).collect();
    thin.extend(sizes.last().filter(|last| !thin.contains(last)));
    thin
}

struct Checker<'a> {
    spec: CipherSpec,
    algorithm: &'a Algorithm,
    random: Random,
    checked: usize,
}

/// A test case and its description.
struct Case<'a> {
    kernel: &'a af_alg::Cipher,
    expected: &'a [u8],
    input: &'a [u8],
    direction: Direction,
    iv: Vec<u8>,
    key_bits: usize,
    sector: u64,
}

impl Checker<'_> {
    fn key_size(&mut self, name: &str, bytes: usize) -> Result<(), Checked> {
        let key = self.random.bytes(bytes);
        let kernel = af_alg::Algorithm::find(name).map_err(Checked::NotChecked)?;
        let failed = |why: io::Error, doing: &str| {
            Checked::Failed(format!("{doing} with a key of {} bits: {why}", 8 * bytes))
        };
        let kernel = kernel.key(&key).map_err(|why| failed(why, "setting up"))?;
        for size in [SectorSize::S512, SectorSize::S4096] {
            if self.spec.check_sector_size(size).is_err() {
                continue;
            }
            let ours = reference::cipher(&self.spec, &key, size)
                .map_err(|why| Checked::NotChecked(Missing::new(why.to_string())))?;
            for direction in [Direction::Encrypt, Direction::Decrypt].repeat(SECTORS) {
                let doing = format!("{} {} bytes", direction.doing(), size.bytes());
                let wrong = self.sector(&kernel, &ours, direction, 8 * bytes);
                if let Some(wrong) = wrong.map_err(|why| failed(why, &doing))? {
                    return Err(Checked::Wrong(Box::new(wrong)));
                }
            }
        }
        Ok(())
    }

    /// Tests one random sector in one direction, in all variants.
    fn sector(
        &mut self,
        kernel: &af_alg::Cipher,
        ours: &SectorCipher,
        direction: Direction,
        key_bits: usize,
    ) -> io::Result<Option<Wrong>> {
        let length = ours.sector_size().bytes();
        let sector = self.random.number() >> self.random.up_to(60);
        let input = self.random.bytes(length);
        let mut expected = input.clone();
        match direction {
            Direction::Encrypt => ours.encrypt(sector, &mut expected),
            Direction::Decrypt => ours.decrypt(sector, &mut expected),
        }
        let iv = reference::iv(&self.spec, sector);
        let case = Case { kernel, expected: &expected, input: &input, direction, iv, key_bits, sector };
        let mut ways: Vec<(Vec<usize>, Vec<usize>, bool)> = vec![
            (vec![length], vec![length], false),
            (vec![length], self.pieces(length), false),
            (self.pieces(length), vec![length], false),
        ];
        if self.chains() {
            ways.push((vec![length], self.blocks(length), true));
        }
        for (sent, received, chained) in ways {
            self.checked += 1;
            if let Some(wrong) = case.run(&sent, &received, chained)? {
                return Ok(Some(wrong));
            }
        }
        Ok(None)
    }

    /// Whether a driver leaves the next block's IV behind.
    fn chains(&self) -> bool {
        matches!(&self.algorithm.name[..], "cbc" | "ctr" | "pcbc" | "cfb" | "ofb" | "ecb")
    }

    /// Odd sizes that sum to `length`.
    fn pieces(&mut self, length: usize) -> Vec<usize> {
        self.parts(length, MOST_PIECES, |random| random.up_to(length / 3) | 1)
    }

    /// Multiples of the block size that sum to `length`.
    fn blocks(&mut self, length: usize) -> Vec<usize> {
        self.parts(length, usize::MAX, |random| random.up_to(length / 48) * 16)
    }

    /// At most `most` parts of a size that `size` chooses, then what is left.
    fn parts(&mut self, length: usize, most: usize, size: impl Fn(&mut Random) -> usize) -> Vec<usize> {
        let (mut parts, mut left) = (Vec::new(), length);
        while left > 0 {
            let part = if parts.len() < most { size(&mut self.random).min(left) } else { left };
            parts.push(part);
            left -= part;
        }
        parts
    }
}

impl Case<'_> {
    /// If `chained`, each result is requested separately, so the driver processes one part at a
    /// time.
    fn run(&self, sent: &[usize], received: &[usize], chained: bool) -> io::Result<Option<Wrong>> {
        let mut found = vec![0; self.expected.len() + 1];
        // An odd address.
        let output = &mut found[1..];
        self.kernel.send(self.direction, &self.iv, &cut(self.input, sent))?;
        let mut slices = cut_mut(output, received);
        if chained {
            slices.iter_mut().try_for_each(|slice| self.kernel.receive(&mut [IoSliceMut::new(slice)]))?;
        } else {
            self.kernel.receive(&mut slices)?;
        }
        let (pieces, buffers) = (sent.len(), received.len());
        let how = match (pieces, buffers, chained) {
            (_, _, true) => format!(", continued {} times with the IV left behind", buffers - 1),
            (1, 1, _) => String::new(),
            (1, _, _) => format!(", into {buffers} buffers of odd sizes, the first of {}", received[0]),
            _ => format!(", passed in {pieces} pieces, the first of {}", sent[0]),
        };
        let (doing, sector, length) = (self.direction.doing(), self.sector, self.input.len());
        let key = format!("under a key of {} bits", self.key_bits);
        let during = format!("{doing} sector {sector} of {length} bytes {key}{how}");
        Ok(Wrong::first_difference(self.expected, &found[1..], &during))
    }
}

fn cut<'a>(mut bytes: &'a [u8], sizes: &[usize]) -> Vec<&'a [u8]> {
    sizes.iter().filter_map(|size| bytes.split_off(..*size)).collect()
}

fn cut_mut<'a>(mut bytes: &'a mut [u8], sizes: &[usize]) -> Vec<IoSliceMut<'a>> {
    sizes.iter().filter_map(|size| bytes.split_off_mut(..*size)).map(IoSliceMut::new).collect()
}

/// The number of sectors of each size.
const SECTORS: usize = 4;
/// The kernel accepts at most sixteen result buffers at a time (ALG_MAX_PAGES).
const MOST_PIECES: usize = 7;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_add_up() {
        let algorithm = Algorithm::parse("cbc(aes)");
        let spec = reference::spec(&algorithm).unwrap();
        let mut checker = Checker { spec, algorithm: &algorithm, random: Random::new(), checked: 0 };
        for length in [512, 4096] {
            for _ in 0..100 {
                let (pieces, blocks) = (checker.pieces(length), checker.blocks(length));
                assert_eq!((pieces.iter().sum::<usize>(), blocks.iter().sum::<usize>()), (length, length));
                assert!(pieces.len() <= 8 && pieces.iter().all(|piece| *piece > 0), "{pieces:?}");
                assert!(blocks.iter().all(|block| block % 16 == 0 && *block > 0), "{blocks:?}");
            }
        }
        assert_eq!(cut(b"abcd", &[1, 3]), [&b"a"[..], b"bcd"]);
        assert_eq!(thinned(&[4, 5, 6, 7, 8, 9, 10, 11, 12]), [4, 7, 10, 12]);
        assert_eq!(thinned(&[16]), [16]);
    }

    #[test]
    fn what_nobody_can_compare_is_said() {
        let checked = check("cts-cbc-aes-nosuch", &Algorithm::parse("cts(cbc(aes))"), (16, 32));
        let Checked::NotChecked(missing) = checked else { panic!("{checked:?}") };
        assert_eq!(missing.to_string(), "Keyway has no cts(cbc(aes)) to compare it with");
    }
}
