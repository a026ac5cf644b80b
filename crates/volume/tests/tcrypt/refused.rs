//! What is refused, and with which words.

use super::made::{DATA, Made, cipher, kdf};
use super::{open, place, system};
use keyway_crypto::{CascadeMode, Secret};
use keyway_format::tcrypt::{Position, Program};
use keyway_format::{Bytes, Sectors};
use keyway_volume::device::storage::Memory;
use keyway_volume::kind::tcrypt::{Programs, Tcrypt};
use keyway_volume::{Error, UnlockOptions};
use std::sync::Arc;
use std::time::Duration;

fn truecrypt() -> Tcrypt {
    Tcrypt { programs: Programs::TrueCrypt, ..Tcrypt::default() }
}

#[track_caller]
fn refusal(of: &Tcrypt, made: &Made) -> String {
    let device = Arc::new(Memory::from(made.device()));
    let opened = open(of, &device, "correct horse");
    let found = opened.and_then(|unlocked| unlocked.found(made.len as u64));
    found.expect_err("a refusal").to_string()
}

#[test]
fn what_does_not_open() {
    let device = Arc::new(Memory::from(Made::quick().device()));
    let wrong =
        |of: Tcrypt, passphrase: &str| matches!(open(&of, &device, passphrase), Err(Error::WrongPassphrase));
    assert!(!wrong(truecrypt(), "correct horse"));
    assert!(wrong(truecrypt(), "correct horsf"));
    let narrow = |hash: &str, cipher: &str| Tcrypt {
        hash: Some(hash.into()),
        cipher: Some(cipher.into()),
        ..truecrypt()
    };
    assert!(!wrong(narrow("sha512", "aes"), "correct horse") && !wrong(narrow("sha", "ae"), "correct horse"));
    assert!(wrong(narrow("whirlpool", "aes"), "correct horse"));
    assert!(wrong(narrow("sha512", "serpent"), "correct horse"));
    let veracrypt = Tcrypt { programs: Programs::VeraCrypt, ..narrow("sha512", "aes") };
    assert!(wrong(Tcrypt { pim: Some(1), ..veracrypt }, "correct horse"));
    assert!(wrong(Tcrypt { programs: Programs::TrueCrypt, ..place(true, false) }, "correct horse"));
    assert!(wrong(Tcrypt { programs: Programs::TrueCrypt, ..system(None) }, "correct horse"));
}

/// TrueCrypt's passphrases end at 64 bytes; both programs' at 128.
#[test]
fn long_passphrases() {
    let device = Arc::new(Memory::zeroed(1 << 20));
    let said = |of: Tcrypt, len| open(&of, &device, &"x".repeat(len)).err().unwrap().to_string();
    assert_eq!(said(truecrypt(), 65), "passphrase: 65 bytes, but TrueCrypt takes at most 64");
    let pim = Tcrypt { pim: Some(1), ..Tcrypt::default() };
    assert_eq!(said(pim, 129), "passphrase: 129 bytes, but VeraCrypt takes at most 128");
}

#[test]
fn what_nobody_can_have_meant() {
    let said = |of: Tcrypt| of.read(&Memory::zeroed(1 << 20)).err().unwrap().to_string();
    assert_eq!(
        said(Tcrypt { pim: Some(5), ..truecrypt() }),
        "a PIM is for VeraCrypt, but only TrueCrypt's headers are tried"
    );
    let pim = |pim, of: Tcrypt| said(Tcrypt { pim: Some(pim), ..of });
    assert_eq!(pim(2_147_469, Tcrypt::default()), "PIM: 2147469 is not one of 1 to 2147468");
    assert_eq!(pim(65536, system(None)), "PIM: 65536 is not one of 1 to 65535 for an encrypted system");
    assert_eq!(
        said(Tcrypt { hash: Some("md5".into()), ..truecrypt() }),
        "no such header uses the KDF \"md5\": they use sha512, ripemd160, whirlpool, sha1"
    );
    assert!(said(Tcrypt { cipher: Some("rc4".into()), ..truecrypt() }).starts_with(
        "no such header uses the cipher \"rc4\": they use aes, serpent, twofish, twofish-aes, "
    ));
    assert!(said(Tcrypt { cipher: Some("kuznyechik".into()), ..truecrypt() }).contains("\"kuznyechik\""));
}

#[test]
fn devices_without_room() {
    let said = |of: Tcrypt, len: usize| of.read(&Memory::zeroed(len)).err().unwrap().to_string();
    assert_eq!(said(Tcrypt::default(), 511), "a device of 511 bytes has no room for the header");
    assert_eq!(
        said(system(None), 32000),
        "a device of 32000 bytes has no room for the header of the encrypted system"
    );
    assert_eq!(said(place(false, true), 65536), "a device of 65536 bytes has no room for the backup header");
    assert!(
        said(place(true, false), 1000)
            .starts_with("a device of 1000 bytes has no room for the header of the hidden")
    );
}

/// It opens, so what is wrong with it is said, not that the passphrase is wrong.
#[test]
fn damaged_headers() {
    let made = Made::quick();
    let damaged = |at: usize| {
        let mut device = made.device();
        let mut header = made.header().to_bytes();
        header.expose_mut()[at] ^= 1;
        made.seal(&mut device[..512], header.expose());
        open(&truecrypt(), &Arc::new(Memory::from(device)), "correct horse").err().unwrap().to_string()
    };
    assert_eq!(damaged(50), "checksum of the header: it does not match: the header is damaged");
    assert_eq!(damaged(300), "checksum of the keys: it does not match: the header is damaged");
    assert_eq!(damaged(4), "header version: 261 is not one of 1 to 5");
    assert!(matches!(damaged(0), text if text == "No key available with this passphrase."));
}

/// Headers forged by somebody who knows the passphrase.
#[test]
fn volumes_that_cannot_be() {
    let said = |change: fn(&mut Made)| refusal(&truecrypt(), &Made::quick().with(change));
    assert_eq!(said(|it| it.fields.volume_size = Bytes(0)), "volume size: it is 0");
    assert_eq!(said(|it| it.fields.volume_size = Bytes(700)), "volume size: 700 is not a multiple of 512");
    assert_eq!(
        said(|it| it.fields.area_offset = Bytes(u64::MAX - 511)),
        "volume size: 20480 bytes from byte 18446744073709551104 on exceed any device"
    );
    assert_eq!(
        said(|it| it.fields.area_offset = Bytes(u64::MAX)),
        "start of the encrypted area: 18446744073709551615 is not a multiple of 512"
    );
    assert_eq!(
        said(|it| it.fields.area_size = Bytes(512)),
        "size of the encrypted area: 512 of 20480 bytes: in-place encryption or decryption is unfinished; let \
         TrueCrypt finish it"
    );
    assert_eq!(
        said(|it| it.fields.area_offset = Bytes(639 * 512)),
        "it ends at byte 327680, but its header describes data up to byte 347648"
    );
    assert_eq!(
        said(|it| (it.fields.volume_size, it.fields.area_size) = (Bytes(1 << 62), Bytes(1 << 62))),
        "it ends at byte 327680, but its header describes data up to byte 4611686018427518976"
    );
    let hidden = Tcrypt { programs: Programs::TrueCrypt, ..place(true, false) };
    let made = Made::quick().hidden(Position::Hidden).with(|it| it.fields.hidden_size = Bytes(512));
    assert_eq!(refusal(&hidden, &made), "size of the hidden volume: 512 bytes, but the volume size is 20480");
    let old = cipher("aes", CascadeMode::Lrw);
    let made = Made::new(kdf(Program::TrueCrypt, "sha1", false), old).hidden(Position::OldHidden);
    let made = made.with(|it| it.fields.hidden_size = Bytes(1 << 30));
    assert_eq!(
        refusal(&hidden, &made),
        "size of the hidden volume: 1073741824 bytes do not fit before its header at byte 326144"
    );
}

#[test]
fn partitions_outside_of_the_encrypted_area() {
    let disk = Made::quick().with(|it| it.position = Position::System);
    let device = Arc::new(Memory::from(disk.device()));
    let said = |start, len| {
        let of = Tcrypt { programs: Programs::TrueCrypt, ..system(Some(Sectors(start))) };
        let unlocked = open(&of, &device, "correct horse").unwrap();
        unlocked.found(len).err().map(|why| why.to_string())
    };
    assert_eq!(said(256, DATA as u64), None);
    let area = "of its disk, which is encrypted from byte 131072 to 151552";
    assert_eq!(said(255, 512).unwrap(), format!("the partition is bytes 130560 to 131072 {area}"));
    assert_eq!(said(257, DATA as u64).unwrap(), format!("the partition is bytes 131584 to 152064 {area}"));
    assert!(said(u64::MAX, 512).unwrap().ends_with(area));
}

/// Nothing opens; what could not be tried is the reason.
#[test]
fn too_little_memory_for_argon2() {
    let options = UnlockOptions { memory_budget_kib: 65535, ..UnlockOptions::default() };
    let of = Tcrypt { pim: Some(1), hash: Some("argon2id".into()), ..Tcrypt::default() };
    let locked = of.read(&Memory::zeroed(1 << 20)).unwrap();
    let why = locked.unlock(&Secret::copy_from(b"pw"), &options).err().unwrap();
    assert_eq!(
        why.to_string(),
        "Argon2id was not tried, and nothing else opens the volume: it needs 65536 KiB of memory, the budget is 65535 KiB"
    );
    assert!(matches!(why, Error::KdfMemory { needs_kib: 65536, budget_kib: 65535, .. }), "{why}");
}

/// A PIM that asks for hours: nothing is begun.
#[test]
fn too_little_time() {
    for (hash, kdf) in [("sha512", "PBKDF2 with sha512"), ("argon2id", "Argon2id")] {
        let time_limit = Duration::from_secs(5);
        let options = UnlockOptions { time_limit, memory_budget_kib: 2 << 20, ..UnlockOptions::default() };
        let of = Tcrypt { pim: Some(2_147_468), hash: Some(hash.into()), ..Tcrypt::default() };
        let locked = of.read(&Memory::zeroed(1 << 20)).unwrap();
        let why = locked.unlock(&Secret::copy_from(b"pw"), &options).err().unwrap();
        let Error::KdfTime { kdf: named, needs_seconds: 60.., limit_seconds: 5 } = &why else {
            panic!("{why}")
        };
        assert_eq!(named, kdf);
    }
}
