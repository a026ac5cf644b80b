//! The library as other programs use it, beside cryptsetup and QEMU:
//! each opens what the other made.

use crate::tokens::{InKeyring, keyring_is_usable};
use keyway::{Create, Device, ErrorKind, Key, LastKeyslot, NewKdf, NewKeyslot, Token, Version};
use keyway_tests::{Scratch, assert_same_bytes, cryptsetup, need, need_that, peer};
use std::fs::read;
use std::path::Path;

fn theirs(path: &Path, passphrase: &str) -> keyway_tests::Run {
    cryptsetup("open --test-passphrase -q -d -").arg(path).stdin(passphrase.as_bytes())
}

#[test]
fn cryptsetup_opens_what_the_library_made_and_edited() {
    need!("cryptsetup");
    let (one, two) = (Key::passphrase("one"), Key::passphrase("two"));
    let cheap = || NewKeyslot::new().kdf(NewKdf::pbkdf2(1000));
    for version in [Version::Luks1, Version::Luks2] {
        let scratch = Scratch::new();
        let path = scratch.path("volume");
        let device =
            Create::new(version).kdf(NewKdf::pbkdf2(1000)).size(1 << 20).create(&path, &one).unwrap();
        theirs(&path, "one").ok();
        let mut header = device.header().unwrap();
        assert_eq!(header.add_key(&one, &two, &cheap().number(3)).unwrap(), 3);
        theirs(&path, "two").ok();
        header.kill_keyslot(0, LastKeyslot::Keep).unwrap();
        theirs(&path, "one").fails(2);
        let error = header.kill_keyslot(3, LastKeyslot::Keep).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::LastKeyslot { keyslot: 3 });
        header.change_key(&two, &one, &cheap()).unwrap();
        theirs(&path, "one").ok();
        theirs(&path, "two").fails(2);
        let saved = scratch.path("header");
        cryptsetup("luksHeaderBackup -q --header-backup-file").arg(&saved).arg(&path).ok();
        header.erase().unwrap();
        device.restore_header(&saved).unwrap().run().unwrap();
        theirs(&path, "one").ok();
    }
}

#[test]
fn cryptsetup_takes_the_librarys_detached_headers() {
    need!("cryptsetup");
    for version in [Version::Luks1, Version::Luks2] {
        let scratch = Scratch::new();
        let (path, header) = (scratch.path("volume"), scratch.path("header"));
        let create = Create::new(version).kdf(NewKdf::pbkdf2(1000)).header(&header).size(1 << 20);
        create.create(&path, &Key::passphrase("one")).unwrap();
        let test = || cryptsetup("open --test-passphrase -q -d - --header").arg(&header).arg(&path);
        test().stdin(b"one").ok();
        test().stdin(b"two").fails(2);
    }
}

#[test]
fn the_library_opens_what_cryptsetup_made() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    let (path, key) = (scratch.sized("volume", 20 << 20), scratch.file("key", "one"));
    let options =
        "luksFormat -q --type luks2 --pbkdf argon2id --pbkdf-force-iterations 4 --pbkdf-memory 1024";
    cryptsetup(options).arg(&path).arg(&key).ok();
    let dumped = scratch.path("volume key");
    let dump = cryptsetup("luksDump -q --dump-volume-key --volume-key-file").arg(&dumped).arg("--key-file");
    dump.arg(&key).arg(&path).ok();
    let device = Device::open_rw(&path).unwrap();
    let found = device.admit(&Default::default()).unwrap().try_key(&Key::key_file(&key)).unwrap();
    assert_same_bytes("library", found.expose().expose(), "cryptsetup", &read(&dumped).unwrap());
    let by_volume_key = device.unlock(&Key::VolumeKeyFile(dumped)).unwrap();
    assert_eq!((by_volume_key.keyslot(), by_volume_key.len()), (None, 4 << 20));
    assert_eq!(by_volume_key.uuid(), device.header().unwrap().uuid());
}

#[test]
fn the_library_opens_by_the_tokens_that_cryptsetup_made() {
    need!("cryptsetup", "keyctl");
    need_that!(keyring_is_usable(), "the kernel's keyring is not to be had here");
    let scratch = Scratch::new();
    let path = scratch.path("volume");
    let create = Create::luks2().kdf(NewKdf::pbkdf2(1000)).size(1 << 20);
    let device = create.create(&path, &Key::passphrase("one")).unwrap();
    let by = |token: Token| device.unlock(&Key::Token(token)).map(|volume| volume.keyslot());
    let refusal = |token: Token| by(token).unwrap_err().kind().clone();
    assert_eq!(refusal(Token::any()), ErrorKind::NotFound);
    let named = InKeyring::new("library");
    cryptsetup("token add --key-slot 0 --key-description").arg(&named.0).arg(&path).ok();
    assert_eq!(refusal(Token::any()), ErrorKind::NotFound, "its key is not there");
    named.holds(&scratch.file("wrong", "two"));
    assert_eq!(refusal(Token::any()), ErrorKind::WrongPassphrase);
    named.holds(&scratch.file("right", "one"));
    assert_eq!([Token::any(), Token::number(0)].map(|token| by(token).unwrap()), [Some(0); 2]);
    assert_eq!(refusal(Token::number(1)), ErrorKind::NotFound);
}

#[test]
fn qemu_reads_what_the_library_filled() {
    need!("qemu-img");
    let scratch = Scratch::new();
    let content = read(scratch.random_file("content", 5, (3 << 20) + 512)).unwrap();
    let (path, key) = (scratch.path("volume"), scratch.file("key", "one"));
    let create = Create::luks1().kdf(NewKdf::pbkdf2(1000)).size(content.len() as u64);
    let volume = create.create(&path, &Key::key_file(&key)).unwrap().unlock(&Key::key_file(&key)).unwrap();
    assert_eq!(volume.copy_from(&mut content.as_slice()).unwrap(), content.len() as u64);
    drop(volume);
    let (secret, decrypted) = (format!("secret,id=key,file={}", key.display()), scratch.path("decrypted"));
    let image = format!("driver=luks,key-secret=key,file.filename={}", path.display());
    peer("qemu-img", "convert -O raw --object")
        .arg(secret)
        .arg("--image-opts")
        .arg(image)
        .arg(&decrypted)
        .ok();
    assert_same_bytes("qemu", &read(&decrypted).unwrap(), "original", &content);
}
