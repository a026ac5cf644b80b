//! Headers read and written, every rule of their geometry, and the tables.

use super::*;
use crate::Bytes;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use keyway_crypto::CascadeMode::{Cbc, Lrw, Xts};
use keyway_crypto::{Cascade, Secret};

fn fields() -> Fields {
    Fields {
        program: Program::VeraCrypt,
        version: 5,
        required: 0x010b,
        created: [0; 2],
        hidden_size: Bytes(0),
        volume_size: Bytes(1 << 20),
        area_offset: Bytes(131_072),
        area_size: Bytes(1 << 20),
        flags: 0,
        sector_size: 512,
        reserved: [0; 124],
    }
}

fn keys() -> Secret {
    Secret::copy_from(&core::array::from_fn::<u8, KEYS_LEN, _>(|index| index as u8))
}

fn bytes(fields: Fields) -> Vec<u8> {
    Header::new(fields, keys()).unwrap().to_bytes().expose().to_vec()
}

fn parsed(bytes: &[u8]) -> Header {
    Header::parse(bytes, Program::VeraCrypt).unwrap().unwrap()
}

fn refusal(bytes: &[u8]) -> String {
    Header::parse(bytes, Program::VeraCrypt).unwrap_err().to_string()
}

/// The checksums were computed with zlib's crc32.
#[test]
fn a_header_is_written_as_it_is_read() {
    let written = bytes(fields());
    assert_eq!(written[..12], *b"VERA\x00\x05\x01\x0b\x29\x05\x8c\x73");
    let sizes = [0, 1_u64 << 20, 131_072, 1 << 20].map(u64::to_be_bytes).concat();
    assert_eq!(written[28..60], sizes);
    assert_eq!(written[60..68], [0, 0, 0, 0, 0, 0, 2, 0]);
    assert_eq!(written[188..192], *b"\xdd\x14\x1d\xd0");
    let header = parsed(&written);
    assert_eq!((&*header, header.keys().expose()), (&fields(), keys().expose()));
    assert_eq!(header.to_bytes().expose(), written);
}

/// TrueCrypt 5 has no checksum of the header, and earlier headers have no sizes: what is in their
/// place stays.
#[test]
fn what_a_version_does_not_have_is_kept() {
    let old = Fields { version: 2, sector_size: 7, flags: 9, reserved: [3; 124], ..fields() };
    let written = bytes(old.clone());
    assert_eq!(written[64..192], [&[0, 0, 0, 7][..], &[3; 124]].concat());
    assert_eq!(*parsed(&written), old);
    assert_eq!(parsed(&written).to_bytes().expose(), written);
}

#[test]
fn another_magic_is_another_key() {
    assert!(Header::parse(&bytes(fields()), Program::TrueCrypt).unwrap().is_none());
    assert!(Header::parse(&[7; 448], Program::VeraCrypt).unwrap().is_none());
    let short = Header::parse(&bytes(fields())[..447], Program::VeraCrypt).unwrap_err();
    assert_eq!(short.to_string(), "truncated: needs 448 bytes, has 447");
}

#[test]
fn a_damaged_header_is_named() {
    let damaged = |at: usize| {
        let mut bytes = bytes(fields());
        bytes[at] ^= 1;
        refusal(&bytes)
    };
    let keys = "checksum of the keys: it does not match: the header is damaged";
    let header = "checksum of the header: it does not match: the header is damaged";
    assert_eq!([damaged(8), damaged(192), damaged(447)], [keys; 3]);
    assert_eq!([damaged(7), damaged(40), damaged(130), damaged(191)], [header; 4]);
}

/// Written with checksums that fit: whoever knows the passphrase can do so.
#[test]
fn no_header_has_such_a_version_or_sector_size() {
    let refused = |change: fn(&mut Fields)| {
        let mut fields = fields();
        change(&mut fields);
        Header::new(fields, keys()).unwrap_err().to_string()
    };
    assert_eq!(refused(|it| it.version = 6), "header version: 6 is not one of 1 to 5");
    assert_eq!(refused(|it| it.version = 0), "header version: 0 is not one of 1 to 5");
    for size in [0, 256, 513, 8192, u32::MAX] {
        let sized = Header::new(Fields { sector_size: size, ..fields() }, keys());
        let said = alloc::format!("sector size: {size} is not 512, 1024, 2048 or 4096");
        assert_eq!(sized.unwrap_err().to_string(), said);
    }
    let mut written = bytes(fields());
    written[5] = 9;
    assert_eq!(refusal(&written), "header version: 9 is not one of 1 to 5");
    assert_eq!(Fields { version: 4, sector_size: 0, ..fields() }.shown_sector_size(), 512);
    let short = Header::new(fields(), Secret::zeroed(255)).unwrap_err();
    assert_eq!(short.to_string(), "keys: 256 bytes, not 255");
}

/// The start, the length and the first sector's number.
fn area(fields: &Fields, position: Position, mode: keyway_crypto::CascadeMode) -> (u64, Option<u64>, u64) {
    let area = fields.data_area(position, mode, Bytes(4 << 20)).unwrap();
    (area.offset.0, area.len.map(|len| len.0), area.first)
}

#[test]
fn where_the_data_is() {
    let new = fields();
    assert_eq!(area(&new, Position::Normal, Xts), (131_072, Some(1 << 20), 256));
    assert_eq!(area(&new, Position::Backup, Xts), (131_072, Some(1 << 20), 256));
    assert_eq!(area(&new, Position::System, Xts), (131_072, Some(1 << 20), 256));
    let hidden = Fields { hidden_size: Bytes(1 << 20), area_offset: Bytes(2 << 20), ..fields() };
    assert_eq!(area(&hidden, Position::Hidden, Xts), (2 << 20, Some(1 << 20), 4096));
    assert_eq!(area(&hidden, Position::HiddenBackup, Xts), (2 << 20, Some(1 << 20), 4096));
    // TrueCrypt 5 may leave the start out.
    let five = Fields { version: 3, area_offset: Bytes(0), ..fields() };
    assert_eq!(area(&five, Position::Normal, Xts), (512, Some(1 << 20), 1));
    let old = Fields { version: 2, volume_size: Bytes(0), ..five.clone() };
    assert_eq!(area(&old, Position::Normal, Lrw), (512, None, 0));
    assert_eq!(area(&old, Position::Normal, Cbc), (512, None, 1));
    let end = (4 << 20) - 1536 - (1 << 20);
    let hidden = Fields { hidden_size: Bytes(1 << 20), ..old };
    assert_eq!(area(&hidden, Position::OldHidden, Lrw), (end, Some(1 << 20), 0));
    assert_eq!(area(&hidden, Position::OldHidden, Cbc), (end, Some(1 << 20), 1));
    let hidden = Fields { hidden_size: Bytes(1 << 20), ..five };
    assert_eq!(area(&hidden, Position::OldHidden, Xts), (end, Some(1 << 20), end / 512));
}

#[test]
fn what_no_data_area_can_be() {
    let refused = |position: Position, change: fn(&mut Fields)| {
        let mut fields = fields();
        change(&mut fields);
        fields.data_area(position, Xts, Bytes(4 << 20)).unwrap_err().to_string()
    };
    use Position::{Hidden, Normal, OldHidden, System};
    assert_eq!(refused(Normal, |it| it.volume_size = Bytes(0)), "volume size: it is 0");
    assert_eq!(refused(Hidden, |_| ()), "size of the hidden volume: it is 0");
    assert_eq!(
        refused(Normal, |it| it.volume_size = Bytes(513)),
        "volume size: 513 is not a multiple of 512"
    );
    assert_eq!(
        refused(Normal, |it| it.area_offset = Bytes(131_073)),
        "start of the encrypted area: 131073 is not a multiple of 512"
    );
    assert_eq!(
        refused(Normal, |it| it.area_offset = Bytes(u64::MAX - 511)),
        "volume size: 1048576 bytes from byte 18446744073709551104 on exceed any device"
    );
    assert_eq!(
        refused(System, |it| it.area_size = Bytes(4096)),
        "size of the encrypted area: 4096 of 1048576 bytes: in-place encryption or decryption is unfinished; \
         let VeraCrypt finish it"
    );
    assert_eq!(
        refused(Hidden, |it| it.hidden_size = Bytes(4096)),
        "size of the hidden volume: 4096 bytes, but the volume size is 1048576"
    );
    for size in [(4 << 20) - 1536, 1 << 40, u64::MAX - 511] {
        let old = Fields { version: 2, hidden_size: Bytes(size), ..fields() };
        let why = old.data_area(OldHidden, Xts, Bytes(4 << 20)).unwrap_err().to_string();
        let expected = "bytes do not fit before its header at byte 4192768";
        assert_eq!(why, alloc::format!("size of the hidden volume: {size} {expected}"));
    }
}

#[test]
fn places_of_headers() {
    let at = |position: Position| [512, 65536, 66048, 131_072, 1 << 20].map(|len| position.offset(len));
    assert_eq!(at(Position::Normal), [Some(0); 5]);
    assert_eq!(at(Position::System), [None, Some(31744), Some(31744), Some(31744), Some(31744)]);
    assert_eq!(at(Position::Hidden), [None, None, Some(65536), Some(65536), Some(65536)]);
    assert_eq!(at(Position::Backup), [None, None, None, Some(0), Some((1 << 20) - 131_072)]);
    assert_eq!(at(Position::HiddenBackup), [None, Some(0), Some(512), Some(65536), Some((1 << 20) - 65536)]);
    assert_eq!(at(Position::OldHidden)[..2], [None, Some(64000)]);
    assert_eq!(Position::Normal.offset(511), None);
}

#[test]
fn every_chain_exists_and_fits() {
    for cipher in &CIPHERS {
        let len = Cascade::key_len(cipher.chain, cipher.mode).unwrap();
        assert!(len <= DERIVED_LEN.min(KEYS_LEN), "{} {:?}", cipher.chain, cipher.mode);
        let key = cipher.volume_key(&keys()).unwrap();
        assert_eq!(key.len(), cipher.key_len(), "{} {:?}", cipher.chain, cipher.mode);
        if let Some(spec) = cipher.dm_crypt() {
            let spec = keyway_crypto::CipherSpec::parse(&spec).unwrap();
            spec.check_key_bits(8 * key.len()).unwrap();
        }
    }
}

/// cryptsetup's order (`TCRYPT_copy_key`).
#[test]
fn volume_keys_as_dm_crypt_takes_them() {
    let find = |chain, mode| CIPHERS.iter().find(|it| (it.chain, it.mode) == (chain, mode)).unwrap();
    let key = |chain, mode| find(chain, mode).volume_key(&keys()).unwrap().expose().to_vec();
    let range = |ranges: &[core::ops::Range<u8>]| ranges.iter().cloned().flatten().collect::<Vec<u8>>();
    assert_eq!(key("aes", Xts), range(&[0..32, 32..64]));
    assert_eq!(key("twofish-aes", Xts), range(&[0..32, 64..96, 32..64, 96..128]));
    assert_eq!(key("aes", Lrw), range(&[32..64, 0..16]));
    assert_eq!(key("aes-serpent", Lrw), range(&[32..64, 0..16, 64..96, 0..16]));
    assert_eq!(key("aes", Cbc), range(&[32..64, 0..32]));
    assert_eq!(key("cast5", Cbc), range(&[32..48, 0..24]));
    assert_eq!(key("blowfish_le-aes", Cbc), range(&[32..120, 0..32]));
    let short = find("aes", Xts).volume_key(&Secret::zeroed(63)).err().unwrap();
    assert_eq!(short.to_string(), "the header's keys end before the cipher's");
}

#[test]
fn costs_with_and_without_a_pim() {
    let of = |name: &str, boot, pim| {
        let found = KDFS.iter().find(|it| (it.name, it.boot, it.program) == (name, boot, Program::VeraCrypt));
        match found.unwrap().stretch(pim).unwrap() {
            Stretch::Pbkdf2 { iterations, .. } => (iterations, 0),
            Stretch::Argon2id(Argon2 { passes, memory_kib }) => (passes, memory_kib >> 10),
        }
    };
    let of_sha512 = [None, Some(1), Some(485), Some(2_147_468)].map(|pim| of("sha512", false, pim).0);
    assert_eq!(of_sha512, [500_000, 16_000, 500_000, 2_147_483_000]);
    let of_boot = [None, Some(1), Some(98), Some(65535)].map(|pim| of("sha256", true, pim).0);
    assert_eq!(of_boot, [200_000, 2048, 200_704, 134_215_680]);
    let of_argon2 =
        [None, Some(1), Some(8), Some(12), Some(31), Some(32)].map(|pim| of("argon2id", false, pim));
    assert_eq!(of_argon2, [(6, 416), (3, 64), (5, 288), (6, 416), (13, 1024), (14, 1024)]);
    assert!(
        KDFS.iter().filter(|kdf| kdf.program == Program::TrueCrypt).all(|kdf| kdf.stretch(Some(1)).is_none())
    );
    let refused = |pim, system| check_pim(pim, system).unwrap_err().to_string();
    assert_eq!(refused(0, false), "PIM: 0 is not one of 1 to 2147468");
    assert_eq!(refused(2_147_469, false), "PIM: 2147469 is not one of 1 to 2147468");
    assert_eq!(refused(65536, true), "PIM: 65536 is not one of 1 to 65535 for an encrypted system");
    assert!(check_pim(65536, false).is_ok() && check_pim(65535, true).is_ok());
}

/// The pool of 64 bytes written a second time, from the guide's words.
#[test]
fn key_files_are_mixed_into_the_pool() {
    let key_files: [&[u8]; 2] = [&[7; 100], b"a second key file"];
    let mut pool = Pool::default();
    key_files.iter().for_each(|content| pool.mix(content));
    for (passphrase, len) in [(&b""[..], 64), (&[b'a'; 64], 64), (&[b'a'; 65], 128), (&[b'a'; 128], 128)] {
        let mut expected = alloc::vec![0_u8; len];
        for content in key_files {
            for at in 0..content.len() {
                let register = !crate::crc32::crc32(&content[..=at]);
                for (offset, shift) in [24, 16, 8, 0].into_iter().enumerate() {
                    let place = &mut expected[(4 * at + offset) % len];
                    *place = place.wrapping_add((register >> shift) as u8);
                }
            }
        }
        expected.iter_mut().zip(passphrase).for_each(|(byte, added)| *byte = byte.wrapping_add(*added));
        let mixed = pool.copy().with(&Secret::copy_from(passphrase)).unwrap();
        assert_eq!(mixed.expose(), expected);
    }
    let long = Secret::zeroed(129);
    assert_eq!(
        pool.with(&long).err().unwrap().to_string(),
        "passphrase: 129 bytes, but VeraCrypt takes at most 128"
    );
    let refused = Program::TrueCrypt.check_passphrase(&Secret::zeroed(65)).unwrap_err().to_string();
    assert_eq!(refused, "passphrase: 65 bytes, but TrueCrypt takes at most 64");
}

#[test]
fn a_mib_of_a_key_file_counts() {
    let mixed = |content: &[u8]| {
        let mut pool = Pool::default();
        pool.mix(content);
        pool.with(&Secret::zeroed(0)).unwrap().expose().to_vec()
    };
    let content = alloc::vec![5; KEY_FILE_LEN + 1];
    assert_eq!(mixed(&content), mixed(&content[..KEY_FILE_LEN]));
    assert_ne!(mixed(&content), mixed(&content[..KEY_FILE_LEN - 1]));
}
