//! Whether a plaintext is what it should be: of a volume that nothing vouches for, wrong options or a wrong key make noise,
//! of all of it or of some of its bytes.

use keyway::devices;
use keyway::storage::Storage;

/// Whether the start of the plaintext is noise without any signature: under a volume key that is another's.
pub(crate) fn is_all(plaintext: &dyn Storage) -> bool {
    let found = start(plaintext, LARGE as u64).is_some_and(|start| devices::is_noise(&start));
    found && devices::signatures(plaintext).is_ok_and(|found| found.is_empty())
}

/// Whether it is noise, wholly or in the parts where one wrong option makes it so. Content that looks random itself is
/// taken for it, too. What plain IVs do with wrong numbers is no noise, and is not found.
pub(crate) fn is_misread(plaintext: &dyn Storage) -> bool {
    start(plaintext, LOOKED_AT).is_some_and(|start| has_noise(&start))
}

fn start(plaintext: &dyn Storage, len: u64) -> Option<Vec<u8>> {
    let mut start = vec![0; len.min(plaintext.len()) as usize];
    plaintext.read_at(&mut start, 0).is_ok().then_some(start)
}

fn has_noise(start: &[u8]) -> bool {
    // With sectors of another size, one in eight has its right IV.
    let behind_firsts: Vec<u8> =
        start.chunks(LARGE).flat_map(|sector| sector.get(SMALL..).unwrap_or_default()).copied().collect();
    // In CBC, a wrong IV spoils the first block of each sector.
    let first_blocks: Vec<u8> =
        start.chunks_exact(SMALL).flat_map(|sector| &sector[..BLOCK]).copied().collect();
    devices::is_noise(&behind_firsts) || devices::is_noise(&first_blocks)
}

/// How much of the plaintext is looked at: a page of first blocks, as fewer bytes tell little.
const LOOKED_AT: u64 = 128 << 10;
/// The largest and the smallest sector, and a cipher's block.
const LARGE: usize = 4096;
const SMALL: usize = 512;
const BLOCK: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use keyway_crypto::{CipherSpec, Cpu, Secret, SectorCipher, SectorSize};

    fn cipher(spec: &str, size: SectorSize) -> SectorCipher {
        let key = Secret::copy_from(&(0..32).collect::<Vec<u8>>());
        SectorCipher::new(&CipherSpec::parse(spec).unwrap(), &key, size, Cpu::detect()).unwrap()
    }

    /// Two boot sectors' worth of text, zeros, and a number now and then: what file systems begin with.
    fn content() -> Vec<u8> {
        let mut content = vec![0; LOOKED_AT as usize];
        content[..11].copy_from_slice(b"\xeb\x52\x90NTFS    ");
        (1..128).for_each(|number| content[number * 1024] = number as u8);
        content
    }

    #[test]
    fn a_wrong_key_sector_size_or_secret_iv_is_found() {
        let encrypted = |spec: &str, size| {
            let mut data = content();
            cipher(spec, size).encrypt(0, &mut data);
            data
        };
        let (small, large) = (SectorSize::S512, SectorSize::S4096);
        assert!(!has_noise(&content()));
        assert!(has_noise(&encrypted("aes-xts-plain64", small)));
        for (wrote, reads) in [(small, large), (large, small)] {
            let mut data = encrypted("aes-xts-plain64", wrote);
            cipher("aes-xts-plain64", reads).decrypt(0, &mut data);
            assert_eq!(data[..512], content()[..512]);
            assert!(has_noise(&data));
        }
        let mut data = encrypted("aes-cbc-essiv:sha256", small);
        cipher("aes-cbc-essiv:sha256", small).decrypt(24, &mut data);
        assert_eq!(data[512 + 16..1024], content()[512 + 16..1024]);
        assert!(has_noise(&data));
    }

    #[test]
    fn short_content_is_no_noise() {
        for len in [0, 1, 511, 512, 4096] {
            assert!(!has_noise(&content()[..len]), "{len}");
        }
    }
}
