//! Ciphertexts of Linux 6.1's dm-crypt (Debian 12, x86_64), one for each mode, IV, way with keys
//! and cipher that is not in everyday use. Each was made by mapping a device with the key and
//! writing 1 MiB to it; what is kept is a fingerprint.
//!
//! arc4 is missing: that kernel's stream ran on from sector to sector.

use keyway_crypto::{CipherSpec, Cpu, Secret, SectorCipher, SectorSize};

/// Specification, key bits, number of the first sector in 512-byte units, sector size, whether IVs
/// count sectors; fingerprint and first block of the ciphertext.
type Row = (&'static str, usize, u64, u32, bool, &'static str, &'static str);

#[rustfmt::skip]
const ROWS: [Row; 28] = [
    ("aes:64-cbc-lmk", 8192, 70000, 512, false, "547ba8660485766f78bbd5589664e9357961cba82b3c56b062a330e5c5090580", "4030548bcb650433e5e60534748d6a56"),
    ("aes:64-cbc-lmk", 16640, 70000, 512, false, "3aa4c6d89d7d6a2dac4fcdf02136007eed866cbb8d83166f6081ec40b137c8af", "956590399bc66d20b08a925a3a437a4b"),
    ("blowfish:64-cbc-lmk", 8320, 70000, 512, false, "02f48712874cb52884815ae5e0a5114d0e92d86a542befae2ea72a7ceaa0e6a6", "6a0cafc08ade5ac349d49387b2119685"),
    ("aes-cbc-tcw", 512, 4294967200, 512, false, "940190f2b23d3e4eb62bfe11d697d3a3d2374d330a5b3d32df33213eef5d98f6", "a809c8e73f8e8130edfb8df827648148"),
    ("des3_ede-cbc-tcw", 384, 4294967200, 512, false, "03eb038f350b821680713a079139382ea78bebb5f180ad9bdff8292470971a12", "4537191dad868844b15471aa5c7de873"),
    ("aes-xts-tcw", 768, 4294967200, 512, false, "b20e721ef91f5990bb4cda7c891b5549709f625f858e6cf416380f18e8f1a339", "9bfeb5a231d18b340e6a8b2c91199e06"),
    ("serpent-ctr-tcw", 512, 4294967200, 512, false, "523e86c0ea80dd116c234dfa457e782338281965cf9981288d061c750cceda11", "d51ad9d747e449ce3614e54cd05615ef"),
    ("aes-cbc-eboiv", 256, 4096, 4096, true, "9147f53362c0c8991c0b2e622e20a1d2f2736ba5defd38867b6b5ba57be4ab31", "d091b659f73abb9de57faaad3c686dc6"),
    ("aes-cbc-eboiv", 256, 4096, 4096, false, "2c08000646ad02988dfb68acf2f944880f0450ae15f81a6be9950d60deb45ab2", "64be9d70365b3c125e1275b58c1b7052"),
    ("aes-xts-eboiv", 512, 4096, 512, false, "7dbdda3a0e9deabcda0ae4dc4bffb1d805bc775c2f24926efda2a4afc4f43bbf", "2732f01f5c9b5cbfa27c83001112e41c"),
    ("cast6-lrw-eboiv", 384, 4096, 512, false, "418023bf8bbf5dcd064e43a3749c541d800db3703c24e62593afdcd75b5dce6e", "1ba79b6e3d269e63259d7001cb8d4024"),
    ("khazad-pcbc-eboiv", 128, 4096, 512, false, "65e0f66f26f1a9a1c165f5e8385da9d5cf5906bc7d600ae49faf818f508c3fca", "4ca0b386f451b1ceef9d1577b3275f43"),
    ("aes-cbc-elephant", 256, 4096, 512, false, "89975e4d4f02bdcf9a1b85aa74b7b764487399d6be0caff1c4518426962d44ce", "59c2d239aefcb2438217698053491201"),
    ("aes-cbc-elephant", 512, 4096, 4096, true, "04f506ecc0d17f9bf8e12dfb9815318533b345f85a8f01d87458a9603a0b68ec", "bc213be8e2a5b111b01a56399c658516"),
    ("aes-xts-elephant", 512, 4096, 512, false, "4e97b2ecd514ea53c9a0763d9cd920f9a5b7917b8c57444fb407ee2cacf8560c", "d3255b1cff771c31cfc9b34b5def5045"),
    ("aes:2-cbc-eboiv", 512, 4096, 512, false, "183a3a1a7bfc8bb5e81e1d793dce64de5cd672d5dfb281f1cfc1b47515ee2567", "d091b659f73abb9de57faaad3c686dc6"),
    ("aes:4-cbc-essiv:sha256", 1024, 4294967200, 2048, false, "113e8ffb17757af00f0243ededafd490f343abdf167c6c23b851c1351d1e69c4", "b064596ab320ba9ae24841ef5700546a"),
    ("xeta:2-pcbc-benbi", 256, 4294967200, 512, false, "96bf8f078ce4fbda560388776cf6ac1009d5cdeba4c059ef3723e6f43229756c", "a5374093342aa3156a30677acf71e761"),
    ("aes-lrw-benbi", 384, 4294967200, 512, false, "77f6e634b4ea6cb3e9581bbc934f92060018d54bc8ab0b6b55ce8e4888e80165", "be06b55296a3713d6adc741389f3afd7"),
    ("anubis-lrw-plain64be", 448, 4294967200, 1024, false, "7b14e04f4950d1bce6b9cc9778ec23669b7030ef8af5561c1c722d8d56540979", "853a3e8d5ac7aa093675a598f9360409"),
    ("aes-ctr-benbi", 256, 4294967200, 512, false, "1cde8162603b422a3fb4aa041fb748664d2b6dc765b32cea0c9b369d5dffe112", "cc1fdaebfcb0101bb02244b2c83cd165"),
    ("fcrypt-ctr-plain64be", 64, 18446744073709551000, 512, false, "8005055c558e91a2bd4647675806b4a99fbbe7f3894db03710c9974d28c2b857", "6d57c55d9bc22ad66acf950eb226895e"),
    ("aria-cfb-plain", 256, 4294967200, 512, false, "b4efa6934e46a6cacb47368fec8d2eb67f4cb10d5fd0d6e7705b8d68ae2dd59a", "1eac80bf962b00d1547e850880e8808a"),
    ("sm4-ofb-plain64", 128, 4294967200, 512, false, "219c9cf4981b66d48770d3a807a1426882ebf2b850f951d85e4779e93944c9cb", "fcb0ed9048e10d85a7fa606f25b68fe9"),
    ("aes-xctr-essiv:sha256", 256, 4294967200, 512, false, "69442e5093bbc99646b255acbafad452cb3fb0903c6d9522806be5dde909d7c6", "fbb350d112258c1b04b230bf2a163bc9"),
    ("seed-pcbc-plain64", 128, 4294967200, 512, false, "df82d35bf6cea8a6380611d39ac81e3897bd6a1c7f5e3bf62979fffd25d40379", "1fd36e1855f8293d289010e73272fed7"),
    ("tea-cbc-plain", 128, 4294967200, 512, false, "13d3fc30ed6abe064187439147cea1d5b09e9e736463e8aa13e4d8b4892c22a8", "b6323455c25e113f8f7cb323f73d2cd4"),
    ("xtea-cbc-null", 128, 0, 512, false, "5bba85edd282aaf4765089afd25d0ec518abab9f170dfce92ac0224f4edbec1d", "a50f7ec54a9358071a3780e43d9e3ea6"),
];

#[test]
fn the_kernel_made_the_same() {
    let plaintext = random(1 << 20, 1 << 20);
    for (text, bits, first, sector_size, large_ivs, expected, block) in ROWS {
        let key = Secret::copy_from(&random(7, bits / 8));
        let size = SectorSize::new(sector_size).unwrap();
        let spec = CipherSpec::parse(text).unwrap();
        let levels = Cpu::levels();
        for cpu in [levels[0], levels[levels.len() - 1]] {
            let mut cipher = SectorCipher::new(&spec, &key, size, cpu).unwrap();
            if large_ivs {
                cipher = cipher.with_large_iv_sectors();
            }
            let mut data = plaintext.clone();
            cipher.encrypt(first, &mut data);
            assert_eq!(hex(&data[..16]), block, "{text}, {sector_size} bytes, {cpu}: the first block");
            assert_eq!(fingerprint(&data), expected, "{text}, {sector_size} bytes, {cpu}");
            cipher.decrypt(first, &mut data);
            assert!(data == plaintext, "{text}, {sector_size} bytes, {cpu}: back");
        }
    }
}

/// Bytes that depend on `seed`: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn random(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(GOLDEN);
    let words = core::iter::repeat_with(|| {
        state = state.wrapping_add(GOLDEN);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)).to_le_bytes()
    });
    words.flatten().take(len).collect()
}

/// 256 bits that any change of a word changes.
fn fingerprint(bytes: &[u8]) -> String {
    let mut lanes: [u64; 4] = [1, 2, 3, 4];
    for words in bytes.as_chunks::<32>().0 {
        for (lane, word) in lanes.iter_mut().zip(words.as_chunks::<8>().0) {
            *lane = (*lane ^ u64::from_le_bytes(*word)).wrapping_mul(GOLDEN).rotate_left(29);
        }
    }
    lanes.map(|lane| format!("{lane:016x}")).concat()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// 2^64 divided by the golden ratio, made odd.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
