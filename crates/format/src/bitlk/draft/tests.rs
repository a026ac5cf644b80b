//! What is written is what is read, and what is not touched stays to the byte.

use super::super::{Conversion, NewProtector, Protection};
use super::*;
use alloc::string::{String, ToString};

const LEN: u64 = 64 << 20;

fn key(byte: u8) -> Secret {
    Secret::copy_from(&[byte; 32])
}

fn new<'a>(description: &'a str, volume_key: &'a Secret) -> NewMetadata<'a> {
    NewMetadata {
        len: Bytes(LEN),
        copies: [1, 2, 3].map(|place| Bytes(place << 20)),
        boot_sectors: BootSectors { offset: Bytes(0x11_0000), len: Bytes(8192) },
        sector_size: Bytes(512),
        guid: Guid([5; 16]),
        created: 0x01d5_3236_5d42_8a70,
        encryption: Encryption::of(0x8004).unwrap(),
        description,
        volume_key,
    }
}

fn draft(nonces: &mut Nonces) -> Draft {
    new("PC E: 1/2/2026", &key(4)).draft(&key(2), nonces, Cpu::detect()).unwrap()
}

fn protector(recovery: Option<&Secret>, nonces: &mut Nonces) -> Vec<u8> {
    let new = NewProtector { guid: Guid([7; 16]), changed: 5, salt: [9; 16], stretched: &key(1), recovery };
    new.entry(&key(2), nonces, Cpu::detect()).unwrap()
}

fn sealed(draft: Draft, nonces: &mut Nonces) -> Vec<u8> {
    draft.sealed(&key(2), nonces, Cpu::detect()).unwrap()
}

fn refusal<T>(result: Result<T, Error>) -> String {
    result.err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn what_is_written_is_what_is_read() {
    let mut nonces = Nonces::new(77, 1);
    let mut draft = draft(&mut nonces);
    let password = Secret::copy_from(&[3; 16]);
    draft.add(&protector(None, &mut nonces)).unwrap();
    draft.add(&protector(Some(&password), &mut nonces)).unwrap();
    let bytes = sealed(draft, &mut nonces);
    let read = Metadata::parse(&bytes).unwrap();
    assert_eq!(read.to_bytes(), bytes);
    assert_eq!((read.version, read.guid, read.created), (2, Guid([5; 16]), 0x01d5_3236_5d42_8a70));
    assert_eq!((read.state.now, read.state.then), (Conversion::Encrypted, Conversion::Encrypted));
    assert_eq!((read.state.encrypted, read.state.converting), (Bytes(LEN), Bytes(0)));
    assert_eq!(read.copies, [1, 2, 3].map(|place| Bytes(place << 20)));
    assert_eq!(read.boot_sectors, Some(BootSectors { offset: Bytes(0x11_0000), len: Bytes(8192) }));
    assert_eq!(read.moved_sectors(), 16);
    assert_eq!((read.encryption.method, read.description.as_deref()), (0x8004, Some("PC E: 1/2/2026")));
    let protections: Vec<Protection> = read.protectors.iter().map(|it| it.protection).collect();
    assert_eq!(protections, [Protection::Passphrase, Protection::RecoveryPassword]);
    assert!(read.is_vouched_for(&key(2), Cpu::detect()).unwrap());
    assert_eq!(read.unwrap_volume_key(&key(2), Cpu::detect()).unwrap().expose(), [4; 32]);
    // Volume key, two of a passphrase, three of a recovery password, digest: the next one is the eighth.
    assert_eq!(Draft::of(&read).next_nonce(), 8);
    let order: Vec<u16> = read.entries().map(|entry| entry.unwrap().purpose).collect();
    assert_eq!(order, [purpose::DESCRIPTION, 2, 2, purpose::VOLUME_KEY, purpose::BOOT_SECTORS]);
}

#[test]
fn what_is_not_touched_stays() {
    let mut nonces = Nonces::new(77, 1);
    let mut first = draft(&mut nonces);
    first.add(&protector(None, &mut nonces)).unwrap();
    // An entry that nobody knows, and what is behind the end of the list.
    first.bytes.extend(bytes_of(99, 98, b"unknown"));
    first.bytes.extend([0, 0, 7, 7]);
    let read = Metadata::parse(&sealed(first, &mut nonces)).unwrap();

    let mut changed = Draft::of(&read);
    let mut nonces = Nonces::new(78, changed.next_nonce());
    changed.add(&protector(Some(&Secret::copy_from(&[3; 16])), &mut nonces)).unwrap();
    let more = Metadata::parse(&sealed(changed, &mut nonces)).unwrap();
    assert!(more.is_vouched_for(&key(2), Cpu::detect()).unwrap());
    assert_eq!((more.protectors.len(), more.as_bytes().len()), (2, read.as_bytes().len() + 288));

    let mut again = Draft::of(&more);
    again.remove(1).unwrap();
    let mut nonces = Nonces::new(79, Draft::of(&read).next_nonce().wrapping_sub(1));
    let again = Metadata::parse(&sealed(again, &mut nonces)).unwrap();
    assert_eq!(again.as_bytes(), read.as_bytes());
    assert_ne!(again.to_bytes(), read.to_bytes(), "the digest is wrapped under another nonce");
}

#[test]
fn what_cannot_be_written_is_refused() {
    let mut nonces = Nonces::new(77, 1);
    let long = "x".repeat(256);
    let expected = "description: at most 255 characters of UTF-16, none of them NUL, fit";
    for text in [&long[..], "a\0b"] {
        let made = new(text, &key(4)).draft(&key(2), &mut nonces, Cpu::detect());
        assert_eq!(refusal(made), expected);
    }
    assert!(new(&long[1..], &key(4)).draft(&key(2), &mut nonces, Cpu::detect()).is_ok());
    let mut full = draft(&mut nonces);
    assert_eq!(refusal(full.remove(0)), "protectors: there is no number 0");
    let entry = protector(None, &mut nonces);
    (0..32).for_each(|_| full.add(&entry).unwrap());
    assert_eq!(refusal(full.add(&entry)), "protectors: there are 32 already");
    // Units of 16 bytes, checksum and digest.
    let longest = METADATA_LEN - 96;
    for (len, why) in [(longest, ""), (longest + 1, "metadata length: at most 65536 bytes fit")] {
        let mut bytes = full.bytes.clone();
        bytes.resize(len, 0);
        let made = Draft { bytes }.sealed(&key(2), &mut nonces, Cpu::detect());
        assert_eq!(refusal(made), why, "{len}");
    }
}
