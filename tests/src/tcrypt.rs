//! TrueCrypt and VeraCrypt volumes, made here.

use crate::random;
use keyway_crypto::kdf::pbkdf2;
use keyway_crypto::{Cascade, Cpu, Secret, Stop};
use keyway_format::Bytes;
use keyway_format::tcrypt::{CIPHERS, DERIVED_LEN, Fields, Header, KDFS, KEYS_LEN, Program, Stretch};

/// A volume of one AES cipher with such a KDF, whose passphrase is "secret".
pub fn made(program: Program, hash: &str, pim: Option<u32>) -> Vec<u8> {
    let kdf = KDFS.iter().find(|it| (it.program, it.name, it.boot) == (program, hash, false)).unwrap();
    let fields = Fields {
        program,
        version: 5,
        required: 0x010b,
        created: [0; 2],
        hidden_size: Bytes(0),
        volume_size: Bytes(65536),
        area_offset: Bytes(131_072),
        area_size: Bytes(65536),
        flags: 0,
        sector_size: 4096,
        reserved: [0; 124],
    };
    let header = Header::new(fields, Secret::copy_from(&random(5, KEYS_LEN))).unwrap();
    let mut device = random(6, 131_072 + 65536 + 131_072);
    let mut derived = Secret::zeroed(DERIVED_LEN);
    let Some(Stretch::Pbkdf2 { hash, iterations }) = kdf.stretch(pim) else { panic!("PBKDF2 is wanted") };
    pbkdf2(hash, b"secret", &device[..64], iterations, derived.expose_mut(), &Stop::new()).unwrap();
    let mut sector = vec![0; 512];
    sector[..448].copy_from_slice(header.to_bytes().expose());
    let aes = &CIPHERS[0];
    Cascade::of_header(aes.chain, aes.mode, &derived, Cpu::detect()).unwrap().encrypt(0, &mut sector);
    device[64..512].copy_from_slice(&sector[..448]);
    device
}
