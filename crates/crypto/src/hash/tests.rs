//! The published digest of "abc" for every hash, the flawed Whirlpool of libgcrypt, and names.

use super::*;
use crate::Cpu;
use alloc::string::String;
use proptest::prelude::*;

/// The digest of "abc". SHA-1, SHA-2: FIPS 180-4 examples (NIST); SHA-3: FIPS 202 examples (NIST);
/// MD4, MD5: RFC 1320 and 1321, A.5; RIPEMD: its authors' page (Bosselaers, KU Leuven); Tiger: its
/// authors' testresults; Whirlpool: ISO test vectors, cut for wp256 and wp384; BLAKE2: RFC 7693,
/// appendices A and B, other lengths by the authors' reference code in Python's hashlib; SM3: GM/T
/// 0004-2012, A.1. Streebog: RFC 6986, 10.1, of its message M1.
const VECTORS: [(&str, &str); 32] = [
    ("sha1", "a9993e364706816aba3e25717850c26c9cd0d89d"),
    ("sha224", "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
    ("sha256", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
        "sha384",
        "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7",
    ),
    (
        "sha512",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
         2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
    ),
    ("sha512-224", "4634270f707b6a54daae7530460842e20e37ed265ceee9a43e8924aa"),
    ("sha512-256", "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"),
    ("sha3-224", "e642824c3f8cf24ad09234ee7d3c766fc9a3a5168d0c94ad73b46fdf"),
    ("sha3-256", "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"),
    (
        "sha3-384",
        "ec01498288516fc926459f58e2c6ad8df9b473cb0fc08c2596da7cf0e49be4b298d88cea927ac7f539f1edf228376d25",
    ),
    (
        "sha3-512",
        "b751850b1a57168a5693cd924b6b096e08f621827444f70d884f5d0240d2712e\
         10e116e9192af3c91a7ec57647e3934057340b4cf408d5a56592f8274eec53f0",
    ),
    ("md4", "a448017aaf21d8525fc10ae87aa6729d"),
    ("md5", "900150983cd24fb0d6963f7d28e17f72"),
    ("rmd128", "c14a12199c66e4ba84636b0f69144c77"),
    ("ripemd160", "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc"),
    ("rmd256", "afbd6e228b9d8cbbcef5ca2d03e6dba10ac0bc7dcbe4680e1e42d2e975459b65"),
    ("rmd320", "de4c01b3054f8930a79d09ae738e92301e5a17085beffdc1b8d116713e74f82fa942d64cdbc4682d"),
    ("tgr192", "f258c1e88414ab2a527ab541ffc5b8bf935f7b951c132951"),
    (
        "whirlpool",
        "4e2448a4c6f486bb16b6562c73b4020bf3043e3a731bce721ae1b303d97e6d4c\
         7181eebdb6c57e277d0e34957114cbd6c797fc9d95d8b582d225292076d4eef5",
    ),
    ("wp256", "4e2448a4c6f486bb16b6562c73b4020bf3043e3a731bce721ae1b303d97e6d4c"),
    (
        "wp384",
        "4e2448a4c6f486bb16b6562c73b4020bf3043e3a731bce721ae1b303d97e6d4c7181eebdb6c57e277d0e34957114cbd6",
    ),
    ("blake2b-160", "384264f676f39536840523f284921cdc68b6846b"),
    ("blake2b-256", "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319"),
    (
        "blake2b-384",
        "6f56a82c8e7ef526dfe182eb5212f7db9df1317e57815dbda46083fc30f54ee6c66ba83be64b302d7cba6ce15bb556f4",
    ),
    (
        "blake2b-512",
        "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1\
         7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923",
    ),
    ("blake2s-128", "aa4938119b1dc7b87cbad0ffd200d0ae"),
    ("blake2s-160", "5ae3b99be29b01834c3b508521ede60438f8de17"),
    ("blake2s-224", "0b033fc226df7abde29f67a05d3dc62cf271ef3dfea4d387407fbd55"),
    ("blake2s-256", "508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982"),
    ("stribog256", "9d151eefd8590b89daa6ba6cb74af9275dd051026bb149a452fd84e5e57b5500"),
    (
        "stribog512",
        "1b54d01a4af5b9d5cc3d86d68d285462b19abc2475222f35c085122be4ba1ffa\
         00ad30f8767b3a82384c6574f024c311e2a481332b08ef7f41797891c1646f48",
    ),
    ("sm3", "66c7f0f462eeedd9d1f2d46bdc10e4e24167c4875cf2f7a2297da02b8f4ba8e0"),
];

/// Message M1 of RFC 6986.
const M1: &[u8] = b"012345678901234567890123456789012345678901234567890123456789012";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn published_digests() {
    for (name, expected) in VECTORS {
        let message = if name.starts_with("stribog") { M1 } else { b"abc" };
        let hash = Hash::parse(name).unwrap();
        assert_eq!(hash.name(), name);
        let digest = hash.digest(&[&message[..1], b"", &message[1..]]);
        assert_eq!(digest.len(), hash.output_len());
        assert_eq!(hex(&digest), expected, "{name}");
        let mut cut = [0xee; 70];
        hash.digest_into(&[message], &mut cut[..7]);
        assert_eq!((&cut[..7], cut[7]), (&digest[..7], 0xee));
        hash.digest_into(&[message], &mut cut);
        assert_eq!((&cut[..digest.len()], cut[69]), (&digest[..], 0xee));
    }
    assert_eq!(Hash::ALL.len(), VECTORS.len() + 1, "all but the flawed one");
}

/// Bytes 0, 1, 2, … in writes of these lengths, hashed by libgcrypt 1.10.1 with
/// `GCRY_MD_FLAG_BUGEMU1`; the second and third are the AF splitter's writes for the last 60 and
/// for all 64 bytes of a stripe.
#[test]
fn libgcrypts_flawed_whirlpool() {
    let vectors: [(&[usize], &str); 6] = [
        (
            &[4, 32],
            "5f7a6f75421337c95f8c59057f6b06dc80732d065770f21843ef51006209b0d2\
             e2a5efa7b92caf1f46633358ffabdbdd18276345f813fb756d89362168d9c173",
        ),
        (
            &[4, 60],
            "4df5ae12e6634b63a0836a4b8f9d8b37965f2b28f5912aac690af0759c0baceb\
             966875d15328019fc738c9ebc0846cb36f77abd0e6cfab01a6deb07976d38abd",
        ),
        (
            &[4, 64],
            "b3571e8c1cbc0c58e23094b39352d554b43f9e7dd0ff981c12a01e0d8bbff06a\
             39875d90beda7f345550e6f67935a49e0183456b9967bb319d74aad87cca3695",
        ),
        (
            &[1, 1, 1],
            "ba10015d9ae49c39497fcc5799d950d1a08a48422b2ceed0cce697d3870b2ab9\
             b37e477e43a7342966b75aeae681940aa2b18c669f13434fb52d0e08109cb09f",
        ),
        (
            &[64, 20, 30, 14],
            "64afcddf27a27560983f99085ba8245e5f0bdf3f91df53836c0c058661eac51d\
             96bdb3a2d9947c8894734b3b1a4b9c7b477bd35b6cd411a331244506c5b44f49",
        ),
        (
            &[4, 59, 70, 1],
            "492abce6e2cb5dba7feb460356a4fffa2ed639edc66a8cf2474576774bc3d608\
             7d51dc94e8ff229d369fa718c133d24e40208b422b1a1d8536d5882409cd1b4b",
        ),
    ];
    let message: [u8; 256] = core::array::from_fn(|at| at as u8);
    for (lengths, expected) in vectors {
        let mut rest = &message[..];
        let mut parts = Vec::new();
        for len in lengths {
            let (part, after) = rest.split_at(*len);
            parts.push(part);
            rest = after;
        }
        assert_eq!(hex(&Hash::WhirlpoolGcryptBug.digest(&parts)), expected, "{lengths:?}");
    }
    // Writes of 60 bytes or less of a stripe trigger the flaw; 64 bytes do not.
    let (number, stripe) = message.split_at(4);
    let [right, flawed] = [Hash::Whirlpool, Hash::WhirlpoolGcryptBug];
    assert_eq!(flawed.digest(&[number, &stripe[..64]]), right.digest(&[number, &stripe[..64]]));
    assert_ne!(flawed.digest(&[number, &stripe[..60]]), right.digest(&[number, &stripe[..60]]));
}

proptest! {
    #[test]
    fn whirlpool_equals_a_second_implementation(
        message in prop::collection::vec(any::<u8>(), 0..300),
        cut in 0.0..1.0,
    ) {
        let cut = (message.len() as f64 * cut) as usize;
        use ::sha2::digest::Digest;
        let expected = ::whirlpool::Whirlpool::digest(&message);
        prop_assert_eq!(&Hash::Whirlpool.digest(&[&message[..cut], &message[cut..]])[..], &expected[..]);
        prop_assert_eq!(&Hash::WhirlpoolGcryptBug.digest(&[&message])[..], &expected[..]);
    }

    #[test]
    fn sha256_equals_a_second_implementation_at_every_level(
        message in prop::collection::vec(any::<u8>(), 0..300),
        cuts in prop::array::uniform2(0.0..=1.0),
    ) {
        let mut cuts = cuts.map(|cut| (message.len() as f64 * cut) as usize);
        cuts.sort_unstable();
        use ::sha2::digest::Digest;
        let expected = ::sha2::Sha256::digest(&message);
        for cpu in Cpu::levels() {
            let mut context = sha2::Sha256::on(cpu);
            for part in [&message[..cuts[0]], &message[cuts[0]..cuts[1]], &message[cuts[1]..]] {
                context.update(part);
            }
            let mut digest = [0; 32];
            context.finish(&mut digest);
            prop_assert_eq!(&digest[..], &expected[..], "{:?}", cpu);
        }
    }
}

#[test]
fn names() {
    assert_eq!(Hash::parse("SHA256"), Ok(Hash::Sha256));
    assert_eq!(Hash::parse("RMD160"), Ok(Hash::Ripemd160));
    assert_eq!(Hash::parse("streebog512"), Ok(Hash::Streebog512));
    assert_eq!(Hash::parse("blake2b512"), Ok(Hash::Blake2b512));
    assert_eq!(Hash::parse("sha257"), Err(Error::Unknown { what: "hash", name: "sha257".into() }));
    for (at, hash) in Hash::ALL.into_iter().enumerate() {
        assert_eq!(hash as usize, at, "the table is in the order of the enum");
        assert_eq!(hash.digest(&[]).len(), hash.output_len());
        for name in hash.row().aliases.iter().copied().chain([hash.name()]) {
            assert_eq!(Hash::find(name), Some(hash));
        }
    }
}
