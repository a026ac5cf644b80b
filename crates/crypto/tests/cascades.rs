//! TrueCrypt's chains of ciphers against single ciphers, layer over
//! layer, and against CBC written a second time.

use keyway_crypto::{Cascade, CascadeMode, CipherSpec, Cpu, Secret, SectorCipher, SectorSize};

fn area(len: usize) -> Vec<u8> {
    (0..len).map(|index| (index * 37 + index / 7) as u8).collect()
}

fn sectors() -> Vec<u8> {
    (0..512 * 130).map(|index: usize| (index * 11 + index / 300) as u8).collect()
}

fn single(spec: &str, keys: &[&[u8]]) -> SectorCipher {
    let (spec, key) = (CipherSpec::parse(spec).unwrap(), Secret::copy_from(&keys.concat()));
    SectorCipher::new(&spec, &key, SectorSize::S512, Cpu::detect()).unwrap()
}

/// Encrypts through the chain and through the layers, compares, and decrypts again.
fn check(ciphers: &str, mode: CascadeMode, first: u64, layers: &[SectorCipher]) {
    let key = Secret::copy_from(&area(Cascade::key_len(ciphers, mode).unwrap()));
    let cascade = Cascade::new(ciphers, mode, &key, Cpu::detect()).unwrap();
    let (mut data, mut expected) = (sectors(), sectors());
    cascade.encrypt(first, &mut data);
    layers.iter().for_each(|layer| layer.encrypt(first, &mut expected));
    assert!(data == expected, "{ciphers} {mode:?}");
    cascade.decrypt(first, &mut data);
    assert!(data == sectors(), "{ciphers} {mode:?}");
}

/// Data keys in the order of the ciphers, then tweak keys.
#[test]
fn xts_chains_are_layers() {
    let key = area(192);
    let part = |index: usize| &key[32 * index..][..32];
    let xts =
        |cipher: &str, data, tweak| single(&format!("{cipher}-xts-plain64"), &[part(data), part(tweak)]);
    check("aes", CascadeMode::Xts, 256, &[xts("aes", 0, 1)]);
    check("kuznyechik-serpent", CascadeMode::Xts, 256, &[xts("kuznyechik", 0, 2), xts("serpent", 1, 3)]);
    let layers = [xts("serpent", 0, 3), xts("aes", 1, 4), xts("kuznyechik", 2, 5)];
    check("serpent-aes-kuznyechik", CascadeMode::Xts, 256, &layers);
}

/// One tweak key at the front, data keys from byte 32.
#[test]
fn lrw_chains_are_layers_under_one_tweak_key() {
    let key = area(96);
    let layers = [
        single("aes-lrw-benbi", &[&key[32..64], &key[..16]]),
        single("serpent-lrw-benbi", &[&key[64..96], &key[..16]]),
    ];
    check("aes-serpent", CascadeMode::Lrw, 0, &layers);
}

/// As dm-crypt maps them: the first layer is the uppermost.
#[test]
fn layers_of_a_chain_are_the_chain() {
    for (ciphers, mode) in [
        ("serpent-twofish-aes", CascadeMode::Xts),
        ("twofish-aes", CascadeMode::Xts),
        ("aes-serpent", CascadeMode::Lrw),
    ] {
        let key = Secret::copy_from(&area(Cascade::key_len(ciphers, mode).unwrap()));
        let layers = Cascade::layers(ciphers, mode, &key).unwrap().unwrap();
        let names: Vec<&str> = layers.iter().map(|layer| layer.spec.split('-').next().unwrap()).collect();
        assert_eq!(names.join("-"), ciphers);
        let singles = layers.iter().map(|layer| single(&layer.spec, &[layer.key.expose()]));
        check(ciphers, mode, 256, &singles.collect::<Vec<_>>());
        let short = Secret::copy_from(&key.expose()[1..]);
        assert!(Cascade::layers(ciphers, mode, &short).is_err(), "{ciphers} {mode:?}");
    }
    let key = Secret::copy_from(&area(96));
    assert!(Cascade::layers("twofish-aes", CascadeMode::Cbc, &key).unwrap().is_none());
}

/// A single cipher, and ciphers of different blocks: each is
/// dm-crypt's tcw, with the seed as long as its block.
#[test]
fn outer_cbc_chains_are_layers() {
    let key = area(152);
    check("aes", CascadeMode::Cbc, 1, &[single("aes-cbc-tcw", &[&key[32..64], &key[..32]])]);
    check("cast5", CascadeMode::Cbc, 1, &[single("cast5-cbc-tcw", &[&key[32..48], &key[..24]])]);
    let layers = [
        single("serpent-cbc-tcw", &[&key[32..64], &key[..32]]),
        single("des3_ede-cbc-tcw", &[&key[64..88], &key[..24]]),
        single("aes-cbc-tcw", &[&key[88..120], &key[..32]]),
    ];
    check("serpent-des3_ede-aes", CascadeMode::Cbc, 1, &layers);
}

/// Little-endian Blowfish is the big-endian one between swaps of each word's bytes. Whitening and
/// IV of zeros leave plain CBC, of which the first block is the cipher's.
#[test]
fn truecrypts_blowfish_swaps_words() {
    let key = area(88);
    let mut zeroed = vec![0; 32];
    zeroed.extend_from_slice(&key[32..]);
    let cascade =
        Cascade::new("blowfish_le", CascadeMode::Cbc, &Secret::copy_from(&zeroed), Cpu::detect()).unwrap();
    let (mut swapped, mut plain) = (sectors()[..512].to_vec(), sectors()[..512].to_vec());
    let swap = |data: &mut [u8]| data.as_chunks_mut::<4>().0.iter_mut().for_each(|word| word.reverse());
    swap(&mut plain);
    single("blowfish-cbc-null", &[&key[32..]]).encrypt(0, &mut plain);
    swap(&mut plain);
    cascade.encrypt(0, &mut swapped);
    assert_eq!(swapped, plain);
}

/// One CBC around a chain of ciphers of 128-bit blocks, block by block.
#[test]
fn inner_cbc_chains_blocks() {
    let key = area(128);
    let ciphers = [("aes", 32), ("serpent", 64), ("kuznyechik", 96)]
        .map(|(cipher, at)| single(&format!("{cipher}-ecb"), &[&key[at..at + 32]]));
    let number = 5u64;
    let mut chain: Vec<u8> =
        key[..16].iter().zip(number.to_le_bytes().iter().cycle()).map(|(a, b)| a ^ b).collect();
    let whitening: Vec<u8> =
        key[16..32].iter().zip(number.to_le_bytes().iter().cycle()).map(|(a, b)| a ^ b).collect();
    let crc: Vec<u32> = whitening.chunks(4).map(crc32).collect();
    let mask = [crc[0] ^ crc[3], crc[1] ^ crc[2]].map(u32::to_le_bytes).concat();
    let mut expected = sectors()[..512].to_vec();
    for block in expected.chunks_mut(16) {
        let mut sector = vec![0; 512];
        sector[..16].iter_mut().zip(block.iter().zip(&chain)).for_each(|(out, (a, b))| *out = a ^ b);
        ciphers.iter().for_each(|cipher| cipher.encrypt(0, &mut sector));
        chain = sector[..16].to_vec();
        block.iter_mut().zip(chain.iter().zip(mask.iter().cycle())).for_each(|(out, (a, b))| *out = a ^ b);
    }
    let cascade =
        Cascade::new("aes-serpent-kuznyechik", CascadeMode::Cbc, &Secret::copy_from(&key), Cpu::detect());
    let cascade = cascade.unwrap();
    let mut data = sectors()[..512].to_vec();
    cascade.encrypt(number, &mut data);
    assert_eq!(data, expected);
    cascade.decrypt(number, &mut data);
    assert_eq!(data, sectors()[..512]);
}

/// Headers are sector 0, but their whitening in CBC is the second half of the seed as it is.
#[test]
fn headers_are_whitened_without_a_number() {
    let key = area(192);
    let secret = Secret::copy_from(&key);
    let of_header = |ciphers, mode| {
        let mut data = sectors()[..512].to_vec();
        let cascade = Cascade::of_header(ciphers, mode, &secret, Cpu::detect()).unwrap();
        cascade.encrypt(0, &mut data);
        let encrypted = data.clone();
        cascade.decrypt(0, &mut data);
        assert_eq!(data, sectors()[..512]);
        encrypted
    };
    for mode in [CascadeMode::Xts, CascadeMode::Lrw] {
        let mut data = sectors()[..512].to_vec();
        Cascade::new("aes-serpent", mode, &secret, Cpu::detect()).unwrap().encrypt(0, &mut data);
        assert_eq!(of_header("aes-serpent", mode), data);
    }
    let layer = |cipher: &str, range: std::ops::Range<usize>, block: usize, data: &mut [u8]| {
        let cipher = single(&format!("{cipher}-ecb"), &[&key[range]]);
        let mut chain = key[..block].to_vec();
        for part in data.chunks_mut(block) {
            let mut sector = vec![0; 512];
            sector[..block].iter_mut().zip(part.iter().zip(&chain)).for_each(|(out, (a, b))| *out = a ^ b);
            cipher.encrypt(0, &mut sector);
            chain = sector[..block].to_vec();
            part.iter_mut()
                .zip(chain.iter().zip(key[8..16].iter().cycle()))
                .for_each(|(out, (a, b))| *out = a ^ b);
        }
    };
    let mut expected = sectors()[..512].to_vec();
    layer("serpent", 32..64, 16, &mut expected);
    layer("des3_ede", 64..88, 8, &mut expected);
    assert_eq!(of_header("serpent-des3_ede", CascadeMode::Cbc), expected);
}

/// CRC-32 as the kernel's "crc32": no inversion before or after.
fn crc32(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| {
                if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 }
            },
        )
    })
}

#[test]
fn what_cannot_be_chained_is_refused() {
    let refusal = |ciphers: &str, mode| match Cascade::key_len(ciphers, mode) {
        Ok(len) => panic!("{ciphers}: {len}"),
        Err(error) => error.to_string(),
    };
    assert_eq!(refusal("aes-rot13", CascadeMode::Xts), "unknown cipher \"rot13\"");
    assert_eq!(refusal("aes-arc4", CascadeMode::Cbc), "aes-arc4: arc4 cannot be chained");
    let rule = "aes-cast5: in XTS and LRW only ciphers of 128-bit blocks and 256-bit keys are chained, cast5 is not one";
    assert_eq!(refusal("aes-cast5", CascadeMode::Xts), rule);
    assert!(refusal("seed", CascadeMode::Lrw).ends_with("seed is not one"));
    let short = Cascade::new("aes-serpent", CascadeMode::Xts, &Secret::zeroed(127), Cpu::detect());
    assert_eq!(short.err().unwrap().to_string(), "aes-serpent takes a key of 1024 bits, not 1016 bits");
}

/// The code of each cipher is named, once if it is the same for all.
#[test]
fn a_chain_names_its_code() {
    let code = |ciphers: &str, mode, cpu| {
        let key = Secret::copy_from(&area(Cascade::key_len(ciphers, mode).unwrap()));
        Cascade::new(ciphers, mode, &key, cpu).unwrap().code()
    };
    for mode in [CascadeMode::Xts, CascadeMode::Lrw, CascadeMode::Cbc] {
        assert_eq!(code("serpent-aes", mode, Cpu::portable()), "portable", "{mode}");
    }
    let alone = |cipher: &str| code(cipher, CascadeMode::Xts, Cpu::detect());
    let (first, second) = (alone("serpent"), alone("aes"));
    let (each, mixed) = match first == second {
        true => (first.clone(), first),
        false => (format!("{first}, {second}"), "mixed".to_owned()),
    };
    assert_eq!(code("serpent-aes", CascadeMode::Xts, Cpu::detect()), each);
    assert_eq!(code("serpent-aes", CascadeMode::Cbc, Cpu::detect()), mixed);
}
