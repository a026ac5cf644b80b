//! Sector ciphers in cache on one thread. Each contestant's output is
//! compared with Keyway's before anybody is timed.

mod table;

use super::floors;
use crate::foreign::{Order, Peer, Work};
use crate::options::Options;
use crate::report::DISAGREES;
use crate::rounds::{Case, Goal, Sample, Unit};
use crate::samples::rate;
use keyway_crypto::{CipherSpec, Cpu, Secret, SectorCipher, SectorSize};
pub(crate) use table::{CIPHERS, Cipher, Wanted};

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Encrypt,
    Decrypt,
}

impl Direction {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Encrypt => "encrypt",
            Self::Decrypt => "decrypt",
        }
    }
}

/// One thing that everybody is asked to do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    /// dm-crypt's specification.
    pub(crate) spec: &'a str,
    /// Bytes of key.
    pub(crate) key: usize,
    /// Bytes a sector.
    pub(crate) sector: usize,
    pub(crate) direction: Direction,
    /// Bytes a call.
    pub(crate) run: usize,
}

impl Subject<'_> {
    /// Keyway's cipher, or why there is none.
    pub(crate) fn keyway(&self) -> Result<impl Fn(&mut [u8]) + Sync + use<>, String> {
        let size = u32::try_from(self.sector).ok().and_then(|bytes| SectorSize::new(bytes).ok());
        let cipher = CipherSpec::parse(self.spec)
            .and_then(|spec| {
                let size = size.expect("a sector size of dm-crypt");
                SectorCipher::new(&spec, &Secret::copy_from(&self.key_bytes()), size, Cpu::detect())
            })
            .map_err(|error| error.to_string())?;
        let encrypts = self.direction == Direction::Encrypt;
        Ok(
            move |data: &mut [u8]| {
                if encrypts { cipher.encrypt(FIRST_IV, data) } else { cipher.decrypt(FIRST_IV, data) }
            },
        )
    }

    /// A peer's cipher, compared with Keyway's, or why there is none.
    pub(crate) fn peer(&self, peer: Peer) -> Result<impl FnMut(&mut [u8]) + use<>, String> {
        peer.presence()?;
        let mut theirs = self.order(peer).ok_or("has no such cipher")?;
        if let Ok(ours) = self.keyway() {
            let mut expected: Vec<u8> = (0..self.run).map(|i| (i * 31 + i / 257) as u8).collect();
            let mut output = expected.clone();
            ours(&mut expected);
            theirs(FIRST_IV, &mut output);
            if output != expected {
                return Err(DISAGREES.into());
            }
        }
        Ok(move |data: &mut [u8]| theirs(FIRST_IV, data))
    }

    fn order(&self, peer: Peer) -> Option<Work> {
        let key = self.key_bytes();
        let mut words = self.spec.split('-');
        let (cipher, mode) = (words.next()?, words.next()?);
        let iv = words.next().unwrap_or("plain64");
        let encrypt = self.direction == Direction::Encrypt;
        peer.cipher(Order { cipher, mode, iv, key: &key, sector: self.sector, encrypt })
    }

    /// No weak key of DES, no two halves alike.
    fn key_bytes(&self) -> Vec<u8> {
        (0..self.key).map(|index| (index * 29 + 1) as u8).collect()
    }
}

pub(crate) fn cases(options: &Options) -> Vec<Case> {
    let mut cases = Vec::new();
    for cipher in CIPHERS {
        for sector in cipher.sectors {
            for direction in [Direction::Encrypt, Direction::Decrypt] {
                let title = format!("{} {} {sector}", cipher.name, direction.name());
                if options.wants(&title) {
                    let run = cipher.run;
                    let subject =
                        Subject { spec: cipher.spec, key: cipher.key, sector: *sector, direction, run };
                    cases.push(case(options, title, cipher, subject));
                }
            }
        }
    }
    cases
}

fn case(options: &Options, title: String, cipher: &Cipher, subject: Subject<'_>) -> Case {
    let mut case = Case::new(title, Unit::Megabytes, options.rounds)
        .entering("keyway", subject.keyway().map(|work| sample(subject.run, work)))
        .over(floors::sectors(cipher, subject.sector));
    let wanted = |wanted: &&Wanted| wanted.applies(&subject);
    for peer in Peer::ALL {
        let goal = cipher.wanted.iter().filter(wanted).find(|wanted| wanted.peer == Some(peer));
        let work = subject.peer(peer);
        // Who has no such cipher is no contestant, unless somebody wants to be compared with it.
        if goal.is_some() || work.as_ref().err().is_none_or(|reason| reason == DISAGREES) {
            case = case
                .entering(peer.name(), work.map(|work| sample(subject.run, work)))
                .wanting(goal.map(|goal| Goal::RatioAtLeast(goal.ratio)));
        }
    }
    if let Some(goal) = cipher.wanted.iter().filter(wanted).find(|wanted| wanted.peer.is_none()) {
        let xts = Subject { spec: "aes-xts-plain64", key: 64, ..subject };
        case = case
            .entering("keyway AES-256-XTS", xts.keyway().map(|work| sample(subject.run, work)))
            .wanting(Goal::RatioAtLeast(goal.ratio));
    }
    case
}

fn sample(run: usize, work: impl FnMut(&mut [u8]) + 'static) -> Sample {
    Box::new(rate(run, work))
}

const FIRST_IV: u64 = 1 << 20;
