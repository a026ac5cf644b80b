//! TrueCrypt and VeraCrypt volumes, made here.

use crate::random;
use keyway_crypto::kdf::pbkdf2;
use keyway_crypto::{Cascade, CascadeMode, Cpu, Secret, Stop};
use keyway_format::Bytes;
use keyway_format::tcrypt::{CIPHERS, Cipher, DERIVED_LEN, Fields, Header, KDFS, KEYS_LEN, Program, Stretch};

/// A volume of one AES cipher with such a KDF, whose passphrase is "secret".
pub fn made(program: Program, hash: &str, pim: Option<u32>) -> Vec<u8> {
    with_cipher(&CIPHERS[0], program, hash, pim)
}

/// A volume of a chain of ciphers, whose passphrase is "secret"; one of VeraCrypt's is for PIM 1. Its KDF is of SHA-512.
pub fn chained(program: Program, chain: &str, mode: CascadeMode) -> Vec<u8> {
    let cipher =
        CIPHERS.iter().find(|it| (it.chain, it.mode) == (chain, mode)).expect("a chain of the programs'");
    with_cipher(cipher, program, "sha512", (program == Program::VeraCrypt).then_some(1))
}

fn with_cipher(cipher: &Cipher, program: Program, hash: &str, pim: Option<u32>) -> Vec<u8> {
    let mut device = random(6, DATA + LEN + DATA);
    put_header(&mut device, 0, cipher, (program, hash, pim), fields(program, DATA, LEN));
    device
}

/// The same with a hidden volume in its second half, with the same passphrase.
pub fn made_around_hidden(program: Program, hash: &str) -> Vec<u8> {
    let mut device = made(program, hash, None);
    let size = Bytes(LEN as u64 / 2);
    let fields = Fields { hidden_size: size, ..fields(program, DATA + LEN / 2, LEN / 2) };
    put_header(&mut device, HIDDEN, &CIPHERS[0], (program, hash, None), fields);
    device
}

fn fields(program: Program, offset: usize, len: usize) -> Fields {
    Fields {
        program,
        version: 5,
        required: 0x010b,
        created: [0; 2],
        hidden_size: Bytes(0),
        volume_size: Bytes(len as u64),
        area_offset: Bytes(offset as u64),
        area_size: Bytes(len as u64),
        flags: 0,
        sector_size: 4096,
        reserved: [0; 124],
    }
}

/// The salt is what is there already.
fn put_header(
    device: &mut [u8],
    at: usize,
    cipher: &Cipher,
    (program, hash, pim): (Program, &str, Option<u32>),
    fields: Fields,
) {
    let kdf = KDFS.iter().find(|it| (it.program, it.name, it.boot) == (program, hash, false)).unwrap();
    let header = Header::new(fields, Secret::copy_from(&random(5, KEYS_LEN))).unwrap();
    let mut derived = Secret::zeroed(DERIVED_LEN);
    let Some(Stretch::Pbkdf2 { hash, iterations }) = kdf.stretch(pim) else { panic!("PBKDF2 is wanted") };
    let salt = &device[at..at + 64];
    pbkdf2(hash, b"secret", salt, iterations, derived.expose_mut(), &Stop::new()).unwrap();
    let mut sector = vec![0; 512];
    sector[..448].copy_from_slice(header.to_bytes().expose());
    let header = Cascade::of_header(cipher.chain, cipher.mode, &derived, Cpu::detect()).unwrap();
    header.encrypt(0, &mut sector);
    device[at + 64..at + 512].copy_from_slice(&sector[..448]);
}

/// Where the data begins, and as much is behind it.
const DATA: usize = 131_072;
/// Its length.
const LEN: usize = 65536;
/// Where a hidden volume's header is.
const HIDDEN: usize = 65536;
