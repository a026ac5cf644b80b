//! Several ciphers one after another, as TrueCrypt and VeraCrypt chain them. Sectors are always 512
//! bytes.
//!
//! Names list ciphers in the order in which they encrypt: "serpent-twofish-aes" (the programs' own
//! names, "AES-Twofish- Serpent", go in the opposite order). A volume's header holds one area of
//! keys, which [`Cascade::new`] splits:
//!
//! ```text
//! XTS   key of cipher 0 | … | key of cipher n | tweak key of cipher 0 | … | tweak key of cipher n     32 bytes each
//! LRW   tweak key (16), unused (16)           | key of cipher 0 | … | key of cipher n                 32 bytes each
//! CBC   IV seed and whitening (32)            | key of cipher 0 | … | key of cipher n                 the longest of each
//! ```
//!
//! (cryptsetup, lib/tcrypt/tcrypt.c, `tcrypt_cipher` and `TCRYPT_copy_key`; "VeraCrypt User's
//! Guide", Modes of Operation.) In XTS (since TrueCrypt 5.0) and LRW (4.1 to 4.3) every cipher runs
//! in its own instance of the mode. In CBC (before 4.1) ciphers of 128-bit blocks are chained
//! inside one CBC; with a cipher of 64-bit blocks among them, each has its own CBC. Both variants
//! are whitened like dm-crypt's tcw. IVs count 512-byte sectors: in LRW in blocks, starting at 1;
//! otherwise in sectors.

use crate::block::blowfish_le;
use crate::block::table::{Cipher, Make};
use crate::block_cipher::{Block, BlockCipher, Cipher128, Make128};
use crate::engine::{BATCH, Engine, Run};
use crate::iv::{IvGenerator, WHITENING, Whitened};
use crate::mode::{by_iv, by_iv::ByIv, lrw::Lrw, xts::Xts};
use crate::secret::stop_if_wiped;
use crate::{Cpu, Error, Secret, SectorSize};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// A keyed chain of ciphers over sectors of 512 bytes. Can be shared between threads.
pub struct Cascade(Vec<Box<dyn Engine>>);

/// A cipher of a chain as dm-crypt takes it.
pub struct Layer {
    /// Cipher, mode and IV: "serpent-xts-plain64".
    pub spec: String,
    /// Its key and its tweak key.
    pub key: Secret,
}

/// How a chain's ciphers are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CascadeMode {
    /// Every cipher in XTS, IV plain64.
    Xts,
    /// Every cipher in LRW, IV benbi, under one tweak key.
    Lrw,
    /// CBC with secret IVs and whitening, around the chain or around each cipher.
    Cbc,
}

impl fmt::Display for CascadeMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Xts => "xts-plain64",
            Self::Lrw => "lrw-benbi",
            Self::Cbc => "cbc-tcw",
        })
    }
}

impl Cascade {
    /// Expands the key area of a volume's header; bytes beyond [`Cascade::key_len`] are ignored. A
    /// single cipher is a chain too. The error names what is unknown or cannot be chained; an area
    /// that is too short is refused.
    pub fn new(ciphers: &str, mode: CascadeMode, area: &Secret, cpu: Cpu) -> Result<Self, Error> {
        Self::keyed(ciphers, mode, area, cpu, Of::Sectors)
    }

    /// The same chain for the header itself, from the key that a KDF made: its 448 encrypted bytes
    /// are the first of sector 0. In CBC their whitening is bytes 8 to 15 of the area.
    pub fn of_header(ciphers: &str, mode: CascadeMode, area: &Secret, cpu: Cpu) -> Result<Self, Error> {
        Self::keyed(ciphers, mode, area, cpu, Of::Header)
    }

    fn keyed(ciphers: &str, mode: CascadeMode, area: &Secret, cpu: Cpu, of: Of) -> Result<Self, Error> {
        let links = links_of(ciphers, mode, area)?;
        let area = area.expose();
        let layers = match mode {
            CascadeMode::Xts => {
                keyed(&links, mode, area).map(|(link, key, tweak)| link.xts(key, tweak, cpu)).collect()
            }
            CascadeMode::Lrw => {
                let tweak = area.first_chunk().expect("an area of this length");
                keyed(&links, mode, area).map(|(link, key, _)| link.lrw(key, tweak, cpu)).collect()
            }
            CascadeMode::Cbc => cbc(&links, area, cpu, of),
        };
        Ok(Self(layers))
    }

    /// The chain as dm-crypt maps it: a mapping for each cipher, upon each other. The first is the uppermost, which
    /// encrypts first. `None` in CBC: dm-crypt has neither one CBC around several ciphers nor little-endian Blowfish.
    pub fn layers(ciphers: &str, mode: CascadeMode, area: &Secret) -> Result<Option<Vec<Layer>>, Error> {
        let links = links_of(ciphers, mode, area)?;
        if mode == CascadeMode::Cbc {
            return Ok(None);
        }
        let layers =
            keyed(&links, mode, area.expose()).zip(ciphers.split('-')).map(|((_, key, tweak), name)| {
                let mut both = Secret::zeroed(key.len() + tweak.len());
                let (start, end) = both.expose_mut().split_at_mut(key.len());
                start.copy_from_slice(key);
                end.copy_from_slice(tweak);
                Layer { spec: format!("{name}-{mode}"), key: both }
            });
        Ok(Some(layers.collect()))
    }

    /// The length of the key area in bytes.
    pub fn key_len(ciphers: &str, mode: CascadeMode) -> Result<usize, Error> {
        Ok(area_len(&links(ciphers, mode)?, mode))
    }

    /// The code in use on this CPU: "avx2", that of each cipher if they differ:
    /// "avx2, vaes-avx512", and "mixed" within one CBC.
    pub fn code(&self) -> String {
        let codes: Vec<&str> = self.0.iter().map(|layer| layer.code()).collect();
        let is_one = codes.iter().all(|code| *code == codes[0]);
        if is_one { codes[0].into() } else { codes.join(", ") }
    }

    /// Encrypts a run of whole sectors in place; `first` is the first one's number.
    ///
    /// # Panics
    /// If `data` is not a multiple of 512 bytes.
    pub fn encrypt(&self, first: u64, data: &mut [u8]) {
        run(first, data).batches(data, |run, data| self.0.iter().for_each(|layer| layer.encrypt(run, data)));
        stop_if_wiped();
    }

    /// The inverse of [`Cascade::encrypt`].
    ///
    /// # Panics
    /// If `data` is not a multiple of 512 bytes.
    pub fn decrypt(&self, first: u64, data: &mut [u8]) {
        run(first, data)
            .batches(data, |run, data| self.0.iter().rev().for_each(|layer| layer.decrypt(run, data)));
        stop_if_wiped();
    }
}

fn run(first: u64, data: &[u8]) -> Run {
    assert_eq!(data.len() % SECTOR, 0, "a run of whole sectors of {SECTOR} bytes");
    Run { first, sector: SECTOR, large_ivs: false }
}

/// What is encrypted.
#[derive(Clone, Copy)]
enum Of {
    Sectors,
    Header,
}

/// A cipher of a chain.
struct Link {
    key_len: usize,
    make: Make,
}

impl Link {
    fn xts(&self, data: &[u8], tweak: &[u8], cpu: Cpu) -> Box<dyn Engine> {
        let make = self.of_128_bits();
        Box::new(Xts { data: make(data, cpu), tweak: make(tweak, cpu), iv: IvGenerator::Plain64 })
    }

    fn lrw(&self, key: &[u8], tweak: &Block, cpu: Cpu) -> Box<dyn Engine> {
        Box::new(Lrw::new(self.of_128_bits()(key, cpu), tweak, IvGenerator::Benbi { shift: 5 }))
    }

    fn of_128_bits(&self) -> Make128 {
        match self.make {
            Make::Block128(make) => make,
            _ => unreachable!("links() lets XTS and LRW have ciphers of 128-bit blocks alone"),
        }
    }
}

/// Looks up the ciphers of a chain and checks that they can be chained.
fn links(ciphers: &str, mode: CascadeMode) -> Result<Vec<Link>, Error> {
    ciphers.split('-').map(|name| link(ciphers, name, mode)).collect()
}

/// The same with the area checked, which has to hold all their keys.
fn links_of(ciphers: &str, mode: CascadeMode, area: &Secret) -> Result<Vec<Link>, Error> {
    let links = links(ciphers, mode)?;
    let needs = area_len(&links, mode);
    if area.len() < needs {
        return Err(Error::KeySize {
            spec: ciphers.into(),
            got: 8 * area.len(),
            wants: format!("{} bits", 8 * needs),
        });
    }
    Ok(links)
}

fn link(ciphers: &str, name: &str, mode: CascadeMode) -> Result<Link, Error> {
    let link = if name == "blowfish_le" {
        // TrueCrypt's Blowfish, which reads words little endian; the kernel has no such variant.
        Link { key_len: 56, make: Make::Block64(|key, _| blowfish_le(key)) }
    } else {
        let cipher =
            Cipher::find(name).ok_or_else(|| Error::Unknown { what: "cipher", name: name.into() })?;
        Link { key_len: cipher.key_bits().map(|bits| bits / 8).max().unwrap_or(0), make: cipher.make }
    };
    match (mode, link.make) {
        (_, Make::EcbOnly(_)) => Err(Error::Impossible(format!("{ciphers}: {name} cannot be chained"))),
        (CascadeMode::Cbc, _) => Ok(link),
        (_, Make::Block128(_)) if link.key_len == KEY_128 => Ok(link),
        _ => Err(Error::Impossible(format!(
            "{ciphers}: in XTS and LRW only ciphers of 128-bit blocks and 256-bit keys are chained, {name} is not one"
        ))),
    }
}

fn area_len(links: &[Link], mode: CascadeMode) -> usize {
    match mode {
        CascadeMode::Xts => 2 * KEY_128 * links.len(),
        CascadeMode::Lrw | CascadeMode::Cbc => HEAD + links.iter().map(|link| link.key_len).sum::<usize>(),
    }
}

/// The ciphers with their keys and tweak keys; CBC has no tweak keys.
fn keyed<'a>(
    links: &'a [Link],
    mode: CascadeMode,
    area: &'a [u8],
) -> impl Iterator<Item = (&'a Link, &'a [u8], &'a [u8])> {
    let (head, mut rest) = area.split_at(if mode == CascadeMode::Xts { 0 } else { HEAD });
    links.iter().enumerate().map(move |(index, link)| {
        let (key, behind) = rest.split_at(link.key_len);
        rest = behind;
        let tweak = match mode {
            CascadeMode::Xts => &area[KEY_128 * (links.len() + index)..][..KEY_128],
            CascadeMode::Lrw => &head[..LRW_TWEAK],
            CascadeMode::Cbc => &[],
        };
        (link, key, tweak)
    })
}

/// One CBC around the chain, or one around each cipher where block sizes differ.
fn cbc(links: &[Link], area: &[u8], cpu: Cpu, of: Of) -> Vec<Box<dyn Engine>> {
    let chain: Option<Vec<Box<dyn Cipher128>>> = keyed(links, CascadeMode::Cbc, area)
        .map(|(link, key, _)| match link.make {
            Make::Block128(make) => Some(make(key, cpu)),
            _ => None,
        })
        .collect();
    if let Some(chain) = chain {
        return Vec::from([whitened_cbc::<16>(Box::new(Chain(chain)), area, of)]);
    }
    keyed(links, CascadeMode::Cbc, area)
        .map(|(link, key, _)| match link.make {
            Make::Block128(make) => whitened_cbc::<16>(make(key, cpu), area, of),
            Make::Block64(make) => whitened_cbc::<8>(make(key, cpu), area, of),
            _ => unreachable!("links() lets CBC have ciphers of blocks alone"),
        })
        .collect()
}

/// The area begins with the IV's seed, as long as a block, and the whitening.
fn whitened_cbc<const N: usize>(cipher: Box<dyn BlockCipher<N>>, area: &[u8], of: Of) -> Box<dyn Engine> {
    let (seed, rest) = area.split_first_chunk::<N>().expect("an area of this length");
    let iv = IvGenerator::seeded(seed);
    let mode = Box::new(ByIv { cipher, iv, body: by_iv::cbc() });
    Box::new(match of {
        Of::Sectors => Whitened::new(mode, rest.first_chunk::<WHITENING>().expect("an area of this length")),
        Of::Header => Whitened::header(mode, area[8..].first_chunk().expect("an area of this length")),
    })
}

/// Ciphers of 128-bit blocks as one.
struct Chain(Vec<Box<dyn Cipher128>>);

impl BlockCipher for Chain {
    fn encrypt_blocks(&self, blocks: &mut [Block]) {
        self.0.iter().for_each(|cipher| cipher.encrypt_blocks(blocks));
    }

    fn decrypt_blocks(&self, blocks: &mut [Block]) {
        self.0.iter().rev().for_each(|cipher| cipher.decrypt_blocks(blocks));
    }

    fn parallel(&self) -> usize {
        self.0.iter().map(|cipher| cipher.parallel()).max().unwrap_or(1).min(BATCH)
    }

    fn code(&self) -> &'static str {
        let code = self.0[0].code();
        if self.0.iter().all(|cipher| cipher.code() == code) { code } else { "mixed" }
    }
}

/// Bytes per sector.
const SECTOR: usize = SectorSize::S512.bytes();

/// The key of a cipher in XTS and LRW, in bytes.
const KEY_128: usize = 32;

/// The bytes before the ciphers' keys in LRW and CBC.
const HEAD: usize = 32;

/// The tweak key of LRW, in bytes.
const LRW_TWEAK: usize = 16;
