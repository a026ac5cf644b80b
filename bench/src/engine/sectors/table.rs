//! Every sector cipher that is measured: what is wanted of it, and its floor.

use super::{Direction, Subject};
use crate::engine::floors::{Counts, Op, Work};
use crate::foreign::Peer;

/// A row of the table for each sector size and direction.
pub(crate) struct Cipher {
    pub(crate) name: &'static str,
    /// dm-crypt's specification.
    pub(crate) spec: &'static str,
    /// Bytes of key.
    pub(crate) key: usize,
    /// Sector sizes in bytes.
    pub(crate) sectors: &'static [usize],
    /// Bytes a call: they fit the second-level cache.
    pub(crate) run: usize,
    pub(crate) wanted: &'static [Wanted],
    pub(crate) floor: Option<Work>,
}

/// How much faster than somebody Keyway shall be.
pub(crate) struct Wanted {
    /// `None` is Keyway's own AES-256-XTS.
    pub(crate) peer: Option<Peer>,
    pub(crate) sector: usize,
    /// Both when `None`.
    pub(crate) direction: Option<Direction>,
    pub(crate) ratio: f64,
}

impl Wanted {
    pub(super) fn applies(&self, subject: &Subject<'_>) -> bool {
        self.sector == subject.sector && self.direction.is_none_or(|direction| direction == subject.direction)
    }
}

const fn than(peer: Peer, sector: usize, ratio: f64) -> Wanted {
    Wanted { peer: Some(peer), sector, direction: None, ratio }
}

const fn of_xts(sector: usize, ratio: f64) -> Wanted {
    Wanted { peer: None, sector, direction: None, ratio }
}

const fn one_way(peer: Peer, direction: Direction, ratio: f64) -> Wanted {
    Wanted { peer: Some(peer), sector: 4096, direction: Some(direction), ratio }
}

const RUN: usize = 128 << 10;
const BOTH: &[usize] = &[4096, 512];
const PAGE: &[usize] = &[4096];

/// A cipher without a floor and without a wish.
const fn plain(name: &'static str, spec: &'static str, key: usize) -> Cipher {
    Cipher { name, spec, key, sectors: PAGE, run: RUN, wanted: &[], floor: None }
}

const fn over(floor: Work, cipher: Cipher) -> Cipher {
    Cipher { floor: Some(floor), ..cipher }
}

/// Table code: what is counted is a block's look-ups.
const fn tables(bytes: f64, look_ups: Counts, cipher: Cipher) -> Cipher {
    let derivation = "a block's look-ups in tables, as many at once as the CPU loads";
    let gap = "kept from it by each round's wait for the look-ups of the one before; in CBC encryption blocks wait as well";
    over(Work { bytes, counts: look_ups, a_sector: &[], derivation, gap }, cipher)
}

pub(crate) const CIPHERS: &[Cipher] = &[
    Cipher {
        name: "AES-256-XTS",
        spec: "aes-xts-plain64",
        key: 64,
        sectors: BOTH,
        run: RUN,
        wanted: &[than(Peer::AwsLc, 4096, 1.3), than(Peer::AwsLc, 512, 2.4)],
        floor: Some(Work {
            bytes: 64.0,
            counts: &[(Op::Aes, 14.0), (Op::Logic, 3.0), (Op::Shuffle, 2.0), (Op::Carryless, 1.0)],
            a_sector: &[(Op::Aes, 14.0 / 4.0)],
            derivation: "14 AES rounds for 4 blocks, and 14 for the tweaks of 4 sectors",
            gap: "kept from it by loads, stores and the first tweaks of a sector between two runs of rounds",
        }),
    },
    Cipher {
        name: "AES-128-XTS",
        spec: "aes-xts-plain64",
        key: 32,
        sectors: BOTH,
        run: RUN,
        wanted: &[than(Peer::OpenSsl3, 4096, 4.5), than(Peer::OpenSsl4, 4096, 1.5)],
        floor: Some(Work {
            bytes: 64.0,
            counts: &[(Op::Aes, 10.0), (Op::Logic, 3.0), (Op::Shuffle, 2.0), (Op::Carryless, 1.0)],
            a_sector: &[(Op::Aes, 10.0 / 4.0)],
            derivation: "10 AES rounds for 4 blocks, and 10 for the tweaks of 4 sectors",
            gap: "kept from it by loads, stores and the first tweaks of a sector between two runs of rounds",
        }),
    },
    Cipher {
        name: "AES-CBC-ESSIV",
        spec: "aes-cbc-essiv:sha256",
        key: 32,
        sectors: PAGE,
        run: 64 << 10,
        wanted: &[
            one_way(Peer::OpenSsl3, Direction::Encrypt, 12.0),
            one_way(Peer::OpenSsl3, Direction::Decrypt, 3.5),
        ],
        floor: Some(Work {
            bytes: 64.0,
            counts: &[(Op::Aes, 14.0), (Op::Logic, 1.0)],
            a_sector: &[(Op::Aes, 14.0 / 4.0)],
            derivation: "14 AES rounds for 4 blocks, and 14 for the IVs of 4 sectors",
            gap: "encryption waits for the block before it: 16 sectors are 16 chains, and each lane loads and stores its own",
        }),
    },
    Cipher {
        name: "Adiantum XChaCha12",
        spec: "xchacha12,aes-adiantum-plain64",
        key: 32,
        sectors: BOTH,
        run: RUN,
        wanted: &[than(Peer::RustCrypto, 4096, 4.0), than(Peer::RustCryptoAny, 4096, 4.0), of_xts(4096, 0.2)],
        floor: Some(Work {
            bytes: 64.0,
            counts: ADIANTUM12,
            a_sector: &[(Op::Logic, 24.0), (Op::Rotate, 12.0), (Op::Aes, 14.0 / 4.0)],
            derivation: "64 bytes: ChaCha 24 add/xor + 12 rotations, NH twice 4 × (2 additions, a shuffle, a product)",
            gap: "kept from it by Poly1305, the transposition of ChaCha's states and the hash's dependence on all of a sector",
        }),
    },
    Cipher {
        name: "Adiantum XChaCha20",
        spec: "xchacha20,aes-adiantum-plain64",
        key: 32,
        sectors: BOTH,
        run: RUN,
        wanted: &[
            than(Peer::RustCrypto, 4096, 4.0),
            than(Peer::RustCryptoAny, 4096, 4.0),
            of_xts(4096, 0.15),
        ],
        floor: Some(Work {
            bytes: 64.0,
            counts: ADIANTUM20,
            a_sector: &[(Op::Logic, 40.0), (Op::Rotate, 20.0), (Op::Aes, 14.0 / 4.0)],
            derivation: "64 bytes: ChaCha 40 add/xor + 20 rotations, NH twice 4 × (2 additions, a shuffle, a product)",
            gap: "kept from it by Poly1305, the transposition of ChaCha's states and the hash's dependence on all of a sector",
        }),
    },
    Cipher {
        name: "AES-256-HCTR2",
        spec: "aes-hctr2-plain64",
        key: 32,
        sectors: BOTH,
        run: RUN,
        wanted: &[],
        floor: Some(Work {
            bytes: 64.0,
            counts: &[(Op::Aes, 14.0), (Op::Logic, 12.0), (Op::Carryless, 6.0)],
            a_sector: &[(Op::Aes, 14.0 / 4.0)],
            derivation: "14 AES rounds for 4 blocks; POLYVAL twice, 3 products for 4 blocks each",
            gap: "kept from it by two passes of the hash over a sector, each of which must end before the next step begins",
        }),
    },
    Cipher {
        wanted: &[than(Peer::Gcrypt, 4096, 4.0), than(Peer::Botan, 4096, 4.0)],
        ..plain("Serpent-256-XTS", "serpent-xts-plain64", 64)
    },
    Cipher {
        wanted: &[than(Peer::Gcrypt, 4096, 2.0), than(Peer::Botan, 4096, 2.0)],
        ..plain("Twofish-256-XTS", "twofish-xts-plain64", 64)
    },
    Cipher {
        wanted: &[than(Peer::Gcrypt, 4096, 10.0), than(Peer::Botan, 4096, 10.0)],
        ..plain("Camellia-256-XTS", "camellia-xts-plain64", 64)
    },
    over(SERPENT, plain("Serpent-256-CBC", "serpent-cbc-plain64", 32)),
    over(TWOFISH, plain("Twofish-256-CBC", "twofish-cbc-plain64", 32)),
    over(CAMELLIA, plain("Camellia-256-CBC", "camellia-cbc-plain64", 32)),
    over(AES256, plain("AES-256-CTR", "aes-ctr-plain64", 32)),
    over(AES256, plain("AES-256-LRW", "aes-lrw-benbi", 48)),
    over(AES256, plain("AES-256-PCBC", "aes-pcbc-plain64", 32)),
    over(AES256, plain("AES-256-ECB", "aes-ecb", 32)),
    over(AES256, plain("AES-256-elephant", "aes-cbc-elephant", 64)),
    over(SERPENT, plain("Tnepres-256-XTS", "tnepres-xts-plain64", 64)),
    tables(16.0, &[(Op::Load, 48.0 * 4.0)], plain("CAST6-256-XTS", "cast6-xts-plain64", 64)),
    tables(16.0, &[(Op::Load, 16.0 * 16.0)], plain("ARIA-256-XTS", "aria-xts-plain64", 64)),
    tables(16.0, &[(Op::Load, 10.0 * 16.0)], plain("Kuznyechik-XTS", "kuznyechik-xts-plain64", 64)),
    tables(16.0, &[(Op::Load, 32.0 * 4.0)], plain("SM4-XTS", "sm4-xts-plain64", 32)),
    tables(16.0, &[(Op::Load, 16.0 * 12.0)], plain("SEED-CBC", "seed-cbc-plain64", 16)),
    tables(16.0, &[(Op::Load, 16.0 * 16.0)], plain("Anubis-256-CBC", "anubis-cbc-plain64", 32)),
    tables(8.0, &[(Op::Load, 16.0 * 4.0)], plain("CAST5-128-CBC", "cast5-cbc-plain64", 16)),
    tables(8.0, &[(Op::Load, 16.0 * 4.0)], plain("Blowfish-256-CBC", "blowfish-cbc-plain64", 32)),
    tables(8.0, &[(Op::Load, 16.0 * 8.0)], plain("DES-CBC", "des-cbc-plain64", 8)),
    tables(8.0, &[(Op::Load, 48.0 * 8.0)], plain("3DES-CBC", "des3_ede-cbc-plain64", 24)),
    tables(8.0, &[(Op::Load, 8.0 * 8.0)], plain("Khazad-CBC", "khazad-cbc-plain64", 16)),
    over(TEA, plain("TEA-CBC", "tea-cbc-plain64", 16)),
    over(TEA, plain("XTEA-CBC", "xtea-cbc-plain64", 16)),
    over(TEA, plain("XETA-CBC", "xeta-cbc-plain64", 16)),
    tables(8.0, &[(Op::Load, 16.0 * 4.0)], plain("FCrypt-CBC", "fcrypt-cbc-plain64", 8)),
    tables(1.0, &[(Op::Load, 3.0)], plain("ARC4-ECB", "arc4-ecb", 16)),
];

/// Of 64 bytes. A quarter round is 4 additions, 4 exclusive ors and 4
/// rotations on 16 states at once; 4 of them are a round.
const ADIANTUM12: &[(Op, f64)] =
    &[(Op::Logic, 24.0 + 2.0 + 16.0), (Op::Rotate, 12.0), (Op::Shuffle, 4.0 + 8.0), (Op::Multiply, 8.0)];
const ADIANTUM20: &[(Op, f64)] =
    &[(Op::Logic, 40.0 + 2.0 + 16.0), (Op::Rotate, 20.0), (Op::Shuffle, 4.0 + 8.0), (Op::Multiply, 8.0)];

const SERPENT: Work = Work {
    bytes: 256.0,
    counts: &[(Op::Logic, 32.0 * 20.0), (Op::Rotate, 32.0 * 8.0), (Op::Shuffle, 32.0)],
    a_sector: &[],
    derivation: "16 blocks: 32 rounds of 8 rotations and shifts, 4 key additions, 4 for the transformation, S-boxes of 12",
    gap: "kept from it by masks and chains of dependent logic within an S-box",
};
const TWOFISH: Work = Work {
    bytes: 1024.0,
    counts: &[
        (Op::Permute, 16.0 * 32.0),
        (Op::Shuffle, 16.0 * 32.0),
        (Op::Affine, 16.0 * 16.0),
        (Op::Rotate, 16.0 * 24.0),
        (Op::Logic, 16.0 * 80.0),
    ],
    a_sector: &[],
    derivation: "64 blocks: 16 rounds of 32 look-ups of 64 bytes, 32 shuffles between bytes and words, 16 affine maps, 24 \
                         masks and rotations, 80 others",
    gap: "kept from it by masks and by chains from table to table",
};
const CAMELLIA: Work = Work {
    bytes: 1024.0,
    counts: &[(Op::Affine, 24.0 * 16.0), (Op::Logic, 24.0 * 28.0 + 3.0 * 40.0), (Op::Shuffle, 128.0)],
    a_sector: &[],
    derivation: "64 blocks: 24 rounds of 16 affine maps, 8 keys and 20 of the linear layer, 3 layers of FL, two transpositions",
    gap: "kept from it by masks, and by registers: 16 bytes' places and their products do not fit into 32",
};
const AES256: Work = Work {
    bytes: 64.0,
    counts: &[(Op::Aes, 14.0)],
    a_sector: &[],
    derivation: "14 AES rounds for 4 blocks",
    gap: "kept from it by what the mode does beside them: masks, counters, or a block that waits for the one before",
};
const TEA: Work = Work {
    bytes: 128.0,
    counts: &[(Op::Rotate, 64.0 * 2.0), (Op::Logic, 64.0 * 6.0)],
    a_sector: &[],
    derivation: "16 blocks: 64 half rounds of 2 shifts and 6 additions or exclusive ors",
    gap: "kept from it by the chain of half rounds in a block; in CBC encryption blocks wait as well",
};
