//! The geometry of new volumes, and what is refused before anything is written.

use keyway_crypto::Secret;
use keyway_crypto::kdf::Argon2Variant;
use keyway_format::luks2::SegmentKind;
use keyway_volume::change::create::{
    Luks1Params, Luks2Params, create_luks1, create_luks2, plan_luks1, plan_luks2,
};
use keyway_volume::device::probe::probe;
use keyway_volume::device::storage::{Faulty, Memory};
use keyway_volume::{Cost, Header, KdfChoice, OsRandom, SeededRandom, Storage};
use std::sync::Arc;

fn cheap() -> KdfChoice {
    KdfChoice::Pbkdf2 { hash: "sha256".into(), cost: Cost::Forced(1000) }
}

fn luks2() -> Luks2Params {
    Luks2Params { kdf: cheap(), ..Luks2Params::default() }
}

fn luks1() -> Luks1Params {
    Luks1Params { kdf: cheap(), ..Luks1Params::default() }
}

fn key(bits: u32) -> Secret {
    Secret::copy_from(&vec![0x5a; bits as usize / 8])
}

fn passphrase() -> Secret {
    Secret::copy_from(b"passphrase")
}

/// Metadata size, keyslots size, data offset and sector size of a LUKS2 plan.
fn geometry(params: &Luks2Params, len: u64) -> (u64, u64, u64, u32) {
    let plan = plan_luks2(params, Some(len), &key(params.key_bits), &passphrase(), &mut OsRandom).unwrap();
    let Header::Luks2 { binary, metadata } = &plan.header else { panic!("not LUKS2") };
    let SegmentKind::Crypt { sector_size, .. } = metadata.segments[&0].kind else { panic!("not crypt") };
    assert_eq!(metadata.data_offset().0, plan.data_offset);
    (binary.size.bytes().0, metadata.config.keyslots_size.0, plan.data_offset, sector_size)
}

/// RAID's and ZFS's superblocks stand at a device's end, a GPT's copy
/// too: they would go on claiming it.
#[test]
fn a_new_volume_is_nothing_else_any_more() {
    let len = 64 << 20;
    let md = len - 8192;
    let md_superblock = [&b"\xfc\x4e\x2b\xa9\x01"[..], &[0; 139], &(md / 512_u64).to_le_bytes()].concat();
    let uberblock = 0x00ba_b10c_u64.to_le_bytes();
    let old = || {
        let storage = Memory::zeroed(len as usize);
        storage.write_at(&md_superblock, md).unwrap();
        storage.write_at(b"EFI PART", len - 512).unwrap();
        for label in [0, 1, 254, 255] {
            storage.write_at(&uberblock, (label << 18) + (128 << 10)).unwrap();
        }
        storage.write_at(&[0xee], 450).unwrap();
        storage.write_at(&[0x55, 0xaa], 510).unwrap();
        storage.write_at(&[7], len - 20_000).unwrap();
        Arc::new(storage)
    };
    let names = |storage: &Memory| {
        probe(storage).unwrap().iter().map(|found| found.signature.blkid).collect::<Vec<_>>()
    };
    assert_eq!(names(&old()), ["linux_raid_member", "zfs_member", "gpt"]);
    let (one, two) = (old(), old());
    create_luks1(one.clone(), &luks1(), &key(luks1().key_bits), &passphrase(), &mut OsRandom).unwrap();
    create_luks2(two.clone(), &luks2(), &key(luks2().key_bits), &passphrase(), &mut OsRandom).unwrap();
    for storage in [one, two] {
        assert_eq!(names(&storage), ["crypto_LUKS"]);
        let mut byte = [0];
        storage.read_at(&mut byte, len - 20_000).unwrap();
        assert_eq!(byte, [7], "data that is no mark stays");
    }
}

/// As cryptsetup 2.6.1's luksDump shows fresh volumes on a file of 20
/// MiB, and on one of 20000512 bytes.
#[test]
fn luks2_geometry_is_cryptsetup_s() {
    let file = 20 << 20;
    assert_eq!(geometry(&luks2(), file), (16384, 16744448, 16777216, 4096));
    assert_eq!(geometry(&luks2(), 20_000_512), (16384, 16744448, 16777216, 512));
    let metadata = |size| Luks2Params { metadata_size: Some(size), ..luks2() };
    assert_eq!(geometry(&metadata(65536), file), (65536, 16646144, 16777216, 4096));
    let small = Luks2Params { keyslots_size: Some(1 << 20), ..metadata(65536) };
    assert_eq!(geometry(&small, file), (65536, 1048576, 2097152, 4096));
    let large = Luks2Params { keyslots_size: Some(1 << 20), sector_size: Some(512), ..metadata(4 << 20) };
    assert_eq!(geometry(&large, file), (4194304, 1048576, 9437184, 512));
    let offset = |sectors| Luks2Params { data_offset: Some(sectors), ..luks2() };
    // 2.6.1 compares an offset in sectors with bytes, and takes 512
    // here; these are as 2.8.8 shows them.
    assert_eq!(geometry(&offset(2048), file), (16384, 1015808, 1048576, 4096));
    assert_eq!(geometry(&offset(40952), file), (16384, 20934656, 20967424, 4096));
    assert_eq!(geometry(&offset(32768), file), (16384, 16744448, 16777216, 4096));
    let align = |sectors| Luks2Params { align_payload: Some(sectors), ..luks2() };
    assert_eq!(geometry(&align(8), file), (16384, 16744448, 16777216, 4096));
    // The data may start anywhere then, and the largest sector that
    // suits offset and length is taken.
    assert_eq!(geometry(&align(5), file), (16384, 16744448, 16778240, 512));
    assert_eq!(geometry(&align(1 << 16), (40 << 20) + 512), (16384, 16744448, 32 << 20, 512));
    let aligned = Luks2Params { keyslots_size: Some(1 << 20), ..align(8192) };
    assert_eq!(geometry(&aligned, file), (16384, 1048576, 4194304, 4096));
    let detached = Luks2Params { detached: true, data_len: Some(10 << 20), ..luks2() };
    assert_eq!(geometry(&detached, 0), (16384, 16744448, 0, 4096));
    // The keyslots area fits where the header goes, if that has its length (2.8.8).
    assert_eq!(geometry(&detached, 1_052_672), (16384, 1_019_904, 0, 4096));
    assert_eq!(geometry(&detached, (16 << 20) - 1), (16384, 16740352, 0, 4096));
    assert_eq!(geometry(&detached, 16 << 20), (16384, 16744448, 0, 4096));
}

#[test]
fn luks1_geometry_is_cryptsetup_s() {
    let payload = |params: &Luks1Params| {
        let bits = params.key_bits;
        let plan = plan_luks1(params, None, &key(bits), &passphrase(), &mut OsRandom).unwrap();
        (plan.data_offset / 512, plan.header_end)
    };
    assert_eq!(payload(&luks1()), (4096, 4040 * 512));
    assert_eq!(payload(&Luks1Params { key_bits: 256, ..luks1() }), (4096, 2056 * 512));
    assert_eq!(payload(&Luks1Params { align_payload: Some(8), ..luks1() }), (4040, 4040 * 512));
    assert_eq!(payload(&Luks1Params { payload_offset: Some(4040), ..luks1() }), (4040, 4040 * 512));
    assert_eq!(payload(&Luks1Params { detached: true, ..luks1() }), (0, 4040 * 512));
}

/// The same seed and parameters give the same bytes; another seed gives others.
#[test]
fn a_seed_makes_a_plan_reproducible() {
    let plan = |seed: &[u8]| {
        let mut rng = SeededRandom::new(&Secret::copy_from(seed));
        let plan = plan_luks2(&luks2(), None, &key(512), &passphrase(), &mut rng).unwrap();
        let header = Memory::zeroed(plan.header_end as usize);
        plan.write_to_new(&header).unwrap();
        header.to_vec()
    };
    assert!(plan(b"seed") == plan(b"seed"));
    assert!(plan(b"seed") != plan(b"another"));
    assert_eq!(plan(b"seed").len(), 16 << 20);
}

fn refused_luks2(params: &Luks2Params, len: usize, why: &str) {
    let storage = Arc::new(Faulty::new(vec![0xee; len]));
    let made = create_luks2(storage.clone(), params, &key(params.key_bits), &passphrase(), &mut OsRandom);
    assert_eq!(made.err().unwrap().to_string(), why);
    assert!(storage.events().is_empty(), "{why}: but something was written");
}

fn refused_cipher(cipher: &str, key_bits: u32, why: &str) {
    refused_luks2(&Luks2Params { cipher: cipher.into(), key_bits, ..luks2() }, 20 << 20, why);
    let storage = Arc::new(Faulty::new(vec![0xee; 4 << 20]));
    let params = Luks1Params { cipher: cipher.into(), key_bits, ..luks1() };
    let made = create_luks1(storage.clone(), &params, &key(key_bits), &passphrase(), &mut OsRandom);
    assert_eq!(made.err().unwrap().to_string(), why);
    assert!(storage.events().is_empty(), "{why}: but something was written");
}

#[test]
fn impossible_ciphers_are_refused_by_name() {
    for (cipher, bits, named) in [
        ("aes-xts-plain64", 128, "aes-xts-plain64"),
        ("blowfish-xts-plain64", 256, "blowfish"),
        ("arc4-cbc-plain", 128, "arc4"),
        ("aes-xts-nonsense", 512, "nonsense"),
    ] {
        let storage = Arc::new(Faulty::new(vec![0; 20 << 20]));
        let params = Luks2Params { cipher: cipher.into(), key_bits: bits, ..luks2() };
        let made = create_luks2(storage.clone(), &params, &key(bits), &passphrase(), &mut OsRandom);
        let error = made.err().unwrap().to_string();
        assert!(error.contains(named), "{error}");
        refused_cipher(cipher, bits, &error);
    }
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    let with = |change: fn(&mut Luks2Params)| {
        let mut params = luks2();
        change(&mut params);
        params
    };
    refused_luks2(
        &luks2(),
        16 << 20,
        "Device is too small: header and keyslots take 16777216 bytes, it has 16777216, and there must be room \
        for data too.",
    );
    refused_luks2(
        &with(|p| p.metadata_size = Some(20000)),
        20 << 20,
        "Requested LUKS2 metadata size is not one of the nine legal sizes, 16 KiB to 4 MiB.",
    );
    refused_luks2(
        &with(|p| p.keyslots_size = Some((128 << 20) + 4096)),
        20 << 20,
        "Requested LUKS2 keyslots size is not a multiple of 4096 bytes up to 128 MiB.",
    );
    refused_luks2(&with(|p| p.data_offset = Some(16)), 20 << 20, "Requested data offset is too small.");
    refused_luks2(
        &with(|p| p.data_offset = Some(2049)),
        20 << 20,
        "Data offset is not multiple of 4096 bytes.",
    );
    refused_luks2(
        &with(|p| (p.align_payload, p.sector_size) = (Some(5), Some(1024))),
        (16 << 20) + 5 * 512 + 4096,
        "Device size is not aligned to requested sector size: 5632 bytes of data are not a multiple of 1024; \
         5120 are, and \
         --sector-size 512 fits.",
    );
    refused_luks2(&with(|p| p.data_offset = Some(u64::MAX)), 20 << 20, "Requested data offset overflows.");
    refused_luks2(
        &with(|p| p.sector_size = Some(4096)),
        20_000_512,
        "Device size is not aligned to requested sector size: 3223296 bytes of data are not a multiple of \
         4096; 3219456 are.",
    );
    refused_luks2(&with(|p| p.keyslot = Some(32)), 20 << 20, "Keyslot 32 does not exist in LUKS2 (0 to 31).");
}

#[test]
fn luks1_offsets_are_whole_pages() {
    let storage = Arc::new(Faulty::new(vec![0; 4 << 20]));
    let params = Luks1Params { payload_offset: Some(4041), ..luks1() };
    let made = create_luks1(storage.clone(), &params, &key(512), &passphrase(), &mut OsRandom);
    assert_eq!(made.err().unwrap().to_string(), "Data offset is not multiple of 4096 bytes.");
    assert!(storage.events().is_empty());
}

#[test]
fn luks1_takes_pbkdf2_only() {
    let argon2 = KdfChoice::Argon2 {
        variant: Argon2Variant::Argon2id,
        memory_kib: 32,
        lanes: 1,
        cost: Cost::Forced(4),
    };
    let storage = Arc::new(Faulty::new(vec![0; 4 << 20]));
    let params = Luks1Params { kdf: argon2, ..luks1() };
    let made = create_luks1(storage.clone(), &params, &key(512), &passphrase(), &mut OsRandom);
    assert_eq!(made.err().unwrap().to_string(), "Requested PBKDF type is not supported for LUKS1.");
    assert!(storage.events().is_empty());
}

/// What stood on the device before must not be found there again:
/// zeros, then random bytes where keyslots go.
#[test]
fn old_content_is_overwritten_up_to_the_data() {
    let storage = Arc::new(Faulty::new(vec![0xee; 3 << 20]));
    let params = Luks2Params { keyslots_size: Some(1 << 20), ..luks2() };
    create_luks2(storage.clone(), &params, &key(512), &passphrase(), &mut OsRandom).unwrap();
    let mut image = vec![0; 3 << 20];
    storage.read_at(&mut image, 0).unwrap();
    let (header, data) = image.split_at(2 << 20);
    assert!(header.chunks(512).all(|sector| sector != [0xee; 512]));
    assert!(header[(32 << 10)..(32 << 10) + (1 << 20)].chunks(4096).all(|page| page != [0; 4096]));
    assert!(header[(32 << 10) + (1 << 20)..].iter().all(|&byte| byte == 0));
    assert!(data.iter().all(|&byte| byte == 0xee));
}
