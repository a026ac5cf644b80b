//! Encrypts sectors, or derives a key, a given number of times and does
//! nothing else: what instructions are counted over.
//!
//! `one_run SPEC KEY_BITS SECTOR_BYTES SECTORS` or `one_run pbkdf2 HASH KEY_BITS ITERATIONS`
//!
//! Without arguments it names the CPU's code.

use keyway_crypto::kdf::pbkdf2;
use keyway_crypto::{CipherSpec, Cpu, Error, Hash, Secret, SectorCipher, SectorSize, Stop};

fn main() -> Result<(), Error> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| words[index].parse::<u32>().expect("a number");
    match words.first().map(String::as_str) {
        None => println!("{}", Cpu::detect()),
        Some("pbkdf2") => {
            let mut key = vec![0; number(2) as usize / 8];
            pbkdf2(Hash::parse(&words[1])?, b"password", &[7; 32], number(3), &mut key, &Stop::new())?;
        }
        Some(spec) => {
            let key = Secret::copy_from(&[0x5a; 128][..number(1) as usize / 8]);
            let size = SectorSize::new(number(2))?;
            let cipher = SectorCipher::new(&CipherSpec::parse(spec)?, &key, size, Cpu::detect())?;
            let mut data = vec![0x11; size.bytes() * number(3) as usize];
            cipher.encrypt(0, &mut data);
        }
    }
    Ok(())
}
