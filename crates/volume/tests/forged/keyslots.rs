//! Keyslots of somebody who knows no passphrase.

use super::{Disk, secret};
use keyway_crypto::kdf::pbkdf2;
use keyway_crypto::{CipherSpec, Cpu, Hash, Secret, SectorCipher, SectorSize, Stop};
use keyway_format::Bytes;
use keyway_format::luks2::{self, Area, Digest, DigestKind, Kdf, KeyslotKind, Metadata, Priority};
use keyway_format::{af, json};
use keyway_volume::trust::admission;
use keyway_volume::unlock;
use keyway_volume::{Access, Error, Header, Locking, Luks, OsRandom, Random, Storage, Terms, UnlockOptions};

/// 31 keyslots under a cipher whose key has 256 values: each opens to
/// the forger's key with every 256th passphrase.
#[test]
fn keyslots_under_keys_of_eight_bits_open_nothing() {
    let disk = Disk::luks2();
    forge_keyslots(&disk, "arc4-ecb", 1, &[0]);
    let luks = Luks::open_with(disk.storage.clone(), Access::Probe, Locking::Disabled).unwrap();
    for number in 0..100 {
        let passphrase = secret(&format!("whatever {number}"));
        let why = match unlock(&luks, &passphrase, &UnlockOptions::default()) {
            Err(Error::Refused { why, .. }) => why,
            Err(other) => panic!("{other}"),
            Ok(unlocked) => panic!("keyslot {} opens", unlocked.keyslot),
        };
        assert_eq!(
            why,
            "keyslot 1 cannot be used: its area uses arc4-ecb, which uses the same key stream for each version \
             of a sector: anyone who can write the header could have forged it without a passphrase"
        );
    }
    // What they say who look, and what opens all the same: the owner's keyslot.
    let forged = admission::forged_keyslots(&luks);
    assert_eq!(forged.iter().map(|(number, _)| *number).collect::<Vec<_>>(), (1..32).collect::<Vec<_>>());
    let unlocked = unlock(&luks, &secret("owner"), &UnlockOptions::default()).unwrap();
    assert!(unlocked.volume_key.ct_eq(disk.key.expose()));
    // Nor does anybody who takes weak ciphers mean keyslots that the
    // data's own cipher does not explain.
    let weak_too = UnlockOptions { weak_ciphers_too: true, ..UnlockOptions::default() };
    for number in 0..20 {
        assert!(unlock(&luks, &secret(&format!("whatever {number}")), &weak_too).is_err());
    }
}

/// The same keyslots with the whole volume swapped for one of the
/// forger's: all that a header says of itself fits.
#[test]
fn nor_do_they_when_digest_and_segment_are_the_forgers_too() {
    for (cipher, key_bytes) in [("arc4-ecb", 1), ("serpent-cbc-plain64", 1), ("serpent-xts-plain64", 2)] {
        let disk = Disk::luks2();
        forge_keyslots(&disk, cipher, key_bytes, &[0]);
        edit(&disk, |metadata| metadata.remove_keyslot(0).unwrap());
        disk.forge(|text| {
            let mut document = json::parse(text.as_bytes()).unwrap();
            let digests = document.as_object_mut().unwrap().get_mut("digests").unwrap();
            digests.as_object_mut().unwrap().remove("0").expect("the owner's");
            document.to_compact()
        });
        for number in 0..30 {
            let why = disk.open(&format!("whatever {number}"), &Terms::default()).err().unwrap().to_string();
            assert!(why.contains("could have forged it without a passphrase"), "{cipher}: {why}");
        }
    }
}

/// cipher_null in LUKS1 is the keyslots' too: the key lies there for
/// everybody. Only the empty passphrase opens, so that nobody's own one does.
#[test]
fn keyslots_without_encryption_open_on_the_user_s_word_alone() {
    let disk = Disk::luks1();
    disk.storage.write_at(b"cipher_null\0", 8).unwrap();
    disk.storage.write_at(b"ecb\0\0\0\0\0\0\0\0\0", 40).unwrap();
    let area = Area { offset: Bytes(4096), size: Bytes(64 * 4000) };
    let none = Secret::copy_from(&[]);
    disk.storage.write_at(&material(&disk.key, "cipher_null-ecb", &none, area), area.offset.0).unwrap();
    let refused = disk.open("whatever", &Terms::default()).err().unwrap().to_string();
    assert!(refused.starts_with("segment 0 uses cipher_null-ecb, which encrypts nothing"), "{refused}");
    let luks = Luks::open_with(disk.storage.clone(), Access::Probe, Locking::Disabled).unwrap();
    let refused = unlock(&luks, &secret("whatever"), &UnlockOptions::default()).err().unwrap().to_string();
    assert!(refused.starts_with("keyslot 0 cannot be used: its area uses cipher_null-ecb"), "{refused}");

    let weak = Terms { weak_ciphers: true, ..Terms::default() };
    let refused = disk.open("whatever", &weak).err().unwrap();
    assert!(matches!(refused, Error::WrongPassphrase), "{refused}");
    let opened = disk.open("", &weak).unwrap();
    assert!(opened.volume_key().ct_eq(disk.key.expose()));
    let mut first = [0; 512];
    disk.volume(&opened).unwrap().read_at(&mut first, 0).unwrap();
    assert_eq!(first[..], disk.storage.to_vec()[2 << 20..][..512]);
}

/// A second digest for the owner's segment: its keyslots would open
/// to a key that the owner never had.
#[test]
fn a_second_volume_key_is_refused() {
    let disk = Disk::luks2();
    forge_keyslots(&disk, "aes-xts-plain64", 64, &[0]);
    for terms in [Terms::default(), Terms { weak_ciphers: true, linear_segments: true, ..Terms::default() }] {
        assert_eq!(
            disk.open("owner", &terms).err().unwrap().to_string(),
            "segment 0 has another key (digest 1) than segment 0 (digest 0), though no reencryption is under way"
        );
    }
}

/// Keyslots 1 to 31 under digest 1, each of which opens to the forger's key
/// for one value of the first byte of its area's.
fn forge_keyslots(disk: &Disk, cipher: &str, area_key_bytes: u32, segments: &[u32]) {
    let key = &Secret::copy_from(&[0xf0; 64]);
    edit(disk, |metadata| {
        let digest = Digest { keyslots: Vec::new(), segments: segments.to_vec(), kind: digest_of(key) };
        for number in 1..32 {
            let area = metadata.free_area(64).unwrap();
            let slot = luks2::Keyslot {
                key_size: 64,
                priority: Priority::Normal,
                area,
                kind: KeyslotKind::Luks2 {
                    kdf: Kdf::Pbkdf2 {
                        hash: "sha256".into(),
                        iterations: 1000,
                        salt: vec![number as u8; 32],
                    },
                    af_hash: "sha256".into(),
                    af_stripes: af::STRIPES,
                    area_cipher: cipher.into(),
                    area_key_size: area_key_bytes,
                },
            };
            if number == 1 {
                metadata.add_keyslot_with_digest(number, &slot, 1, &digest).unwrap();
            } else {
                metadata.add_keyslot(number, &slot, 1).unwrap();
            }
            let mut guess = vec![0; area_key_bytes as usize];
            guess[0] = number as u8;
            disk.storage
                .write_at(&material(key, cipher, &Secret::copy_from(&guess), area), area.offset.0)
                .unwrap();
        }
    });
}

fn material(key: &Secret, cipher: &str, area_key: &Secret, area: Area) -> Vec<u8> {
    let Bytes(len) = area.size;
    let mut material = vec![0; len as usize];
    let stripes = &mut material[..key.len() * af::STRIPES as usize];
    OsRandom.fill(stripes).unwrap();
    af::split(key, af::STRIPES, Hash::Sha256, stripes).unwrap();
    let spec = CipherSpec::parse(cipher).unwrap();
    let cipher = SectorCipher::new(&spec, area_key, SectorSize::S512, Cpu::detect()).unwrap();
    cipher.encrypt(0, &mut material);
    material
}

fn digest_of(key: &Secret) -> DigestKind {
    let (salt, mut value) = (vec![5; 32], vec![0; 32]);
    pbkdf2(Hash::Sha256, key.expose(), &salt, 1000, &mut value, &Stop::new()).unwrap();
    DigestKind::Pbkdf2 { hash: "sha256".into(), iterations: 1000, salt, value }
}

/// Changes the metadata behind the owner's back.
fn edit(disk: &Disk, change: impl FnOnce(&mut Metadata)) {
    let luks = Luks::open_with(disk.storage.clone(), Access::Probe, Locking::Disabled).unwrap();
    let Header::Luks2 { metadata, .. } = luks.header() else { panic!("not LUKS2") };
    let mut metadata = metadata.clone();
    change(&mut metadata);
    disk.forge(|_| String::from_utf8(metadata.to_json()).unwrap());
}
