//! The engine for a specification and a key: the one place that knows both the names of modes and
//! IVs and the code that runs them.

use crate::block::aes::Aes;
use crate::block::table::Make;
use crate::block_cipher::{BlockCipher, Make128};
use crate::engine::{Engine, Turns};
use crate::iv::{Elephant, IvGenerator, Lmk, WHITENING, Whitened};
use crate::mode::adiantum::Adiantum;
use crate::mode::by_iv::{self, ByIv};
use crate::mode::hctr2::Hctr2;
use crate::mode::wide::WithIvs;
use crate::mode::{cfb, ecb::Ecb, lrw::Lrw, ofb, pcbc, xts::Xts};
use crate::spec::{Iv, Mode};
use crate::{CipherSpec, Cpu};
use alloc::boxed::Box;
use zeroize::Zeroizing;

/// Expands `key`, whose size the caller has checked.
pub(crate) fn engine(spec: &CipherSpec, key: &[u8], cpu: Cpu) -> Box<dyn Engine> {
    let layout = spec.key_layout(key.len()).expect("a key whose size has been checked");
    let (keys, extra) = key.split_at(layout.keys * layout.each);
    let nth = |index: usize| &keys[index * layout.each..][..layout.each];
    let under = |key| Keyed { spec, key, first_key: nth(0), extra, cpu }.engine();
    let engine = match layout.keys {
        1 => under(keys),
        count => Box::new(Turns((0..count).map(nth).map(under).collect())),
    };
    match spec.iv() {
        Iv::Lmk => Box::new(Lmk::new(engine, spec.block_len(), extra)),
        Iv::Tcw => {
            let whitening = extra.last_chunk::<WHITENING>().expect("whitening behind the IV's seed");
            Box::new(Whitened::new(engine, whitening))
        }
        Iv::Elephant => Box::new(Elephant::new(engine, Box::new(Aes::new(extra, cpu)))),
        _ => engine,
    }
}

/// A specification with one of its keys.
struct Keyed<'a> {
    spec: &'a CipherSpec,
    key: &'a [u8],
    /// The key for IVs that a cipher computes, whichever key encrypts the sector's data.
    first_key: &'a [u8],
    /// The part of the volume key that belongs to the IV.
    extra: &'a [u8],
    cpu: Cpu,
}

impl Keyed<'_> {
    fn engine(&self) -> Box<dyn Engine> {
        let (key, cpu) = (self.key, self.cpu);
        match self.spec.cipher().make {
            Make::Block128(make) => self.of_128_bits(make),
            Make::Block64(make) => any_block(self.spec, make(key, cpu), self.iv(|key| make(key, cpu))),
            Make::EcbOnly(make) => make(key, cpu),
        }
    }

    fn of_128_bits(&self, make: Make128) -> Box<dyn Engine> {
        match self.spec.mode() {
            Mode::Adiantum { rounds } => {
                let adiantum = Adiantum::new(self.key, rounds, make, self.cpu);
                return Box::new(WithIvs { mode: adiantum, iv: self.wide_iv() });
            }
            Mode::Hctr2 => {
                let hctr2 = Hctr2::new(self.key, make, self.cpu);
                return Box::new(WithIvs { mode: hctr2, iv: self.wide_iv() });
            }
            _ => {}
        }
        let mode = |key, iv| mode_of_128_bits(self.spec, key, make, iv, self.cpu);
        let iv = match (self.spec.mode(), self.spec.iv()) {
            (Mode::Xts | Mode::Lrw, Iv::Eboiv | Iv::Elephant) => {
                IvGenerator::ByteOffsetInMode(mode(self.first_key, IvGenerator::Plain64))
            }
            _ => self.iv(|key| make(key, self.cpu) as Box<dyn BlockCipher>),
        };
        mode(self.key, iv)
    }

    /// The generator of the wide modes' IVs, 256 bits computed from a number alone.
    fn wide_iv(&self) -> IvGenerator<32> {
        numbered(self.spec)
    }

    /// The generator of IVs of one block.
    fn iv<const N: usize>(&self, make: impl Fn(&[u8]) -> Box<dyn BlockCipher<N>>) -> IvGenerator<N> {
        match self.spec.iv() {
            Iv::Essiv(essiv) => {
                // The key that goes into the hash is the mode's: for XTS, both halves.
                IvGenerator::Essiv(make(&Zeroizing::new(essiv.hash.digest(&[self.key]))))
            }
            Iv::Eboiv | Iv::Elephant => IvGenerator::ByteOffset(make(self.first_key)),
            Iv::Tcw => IvGenerator::seeded(self.extra.first_chunk().expect("the IV's seed")),
            Iv::Lmk => IvGenerator::Null,
            _ => numbered(self.spec),
        }
    }
}

/// The generator for an IV that depends on the sector's number only.
fn numbered<const N: usize>(spec: &CipherSpec) -> IvGenerator<N> {
    match spec.iv() {
        Iv::Absent | Iv::Null => IvGenerator::Null,
        Iv::Plain => IvGenerator::Plain,
        Iv::Plain64 => IvGenerator::Plain64,
        Iv::Plain64be => IvGenerator::Plain64be,
        // benbi counts the blocks of the mode.
        Iv::Benbi => IvGenerator::Benbi { shift: 9 - spec.mode_block_len().ilog2() },
        other => unreachable!("{other:?} takes more than a number"),
    }
}

/// The modes that only ciphers of 128-bit blocks have; other modes go through [`any_block`].
fn mode_of_128_bits(
    spec: &CipherSpec,
    key: &[u8],
    make: Make128,
    iv: IvGenerator<16>,
    cpu: Cpu,
) -> Box<dyn Engine> {
    match spec.mode() {
        Mode::Xts => {
            let (data, tweak) = key.split_at(key.len() / 2);
            Box::new(Xts { data: make(data, cpu), tweak: make(tweak, cpu), iv })
        }
        Mode::Lrw => {
            let (cipher, tweak) = key.split_last_chunk().expect("a tweak key behind the cipher's");
            Box::new(Lrw::new(make(cipher, cpu), tweak, iv))
        }
        _ => any_block::<16>(spec, make(key, cpu), iv),
    }
}

/// The modes that exist for every size of block.
fn any_block<const N: usize>(
    spec: &CipherSpec,
    cipher: Box<dyn BlockCipher<N>>,
    iv: IvGenerator<N>,
) -> Box<dyn Engine> {
    let body = match spec.mode() {
        Mode::Cbc => by_iv::cbc(),
        Mode::Cfb => cfb::body(),
        Mode::Ctr => by_iv::ctr(),
        Mode::Ecb => return Box::new(Ecb { cipher }),
        Mode::Ofb => ofb::body(),
        Mode::Pcbc => pcbc::body(),
        Mode::Xctr => by_iv::xctr(),
        other => unreachable!("{other:?} is for ciphers of 128-bit blocks"),
    };
    Box::new(ByIv { cipher, iv, body })
}
