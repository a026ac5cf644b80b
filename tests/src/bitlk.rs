//! BitLocker volumes, made from the specification (libyal, "BitLocker Drive Encryption (BDE) format"), as there is no
//! Windows here: real peers read them.
//!
//! ```text
//! 0        boot sector         1 MiB   metadata      1.5 MiB  the first 8 KiB of the plaintext
//! 2 MiB    metadata again      3 MiB   and again     4 MiB    end
//! ```

use keyway_crypto::kdf::{STRETCH_ROUNDS, stretch};
use keyway_crypto::{AesCcm, CipherSpec, Cpu, Secret, SectorCipher, SectorSize, Stop};
use keyway_format::bitlk::{Encryption, RecoveryPassword, passphrase_digest, recovery_digest};
use keyway_format::crc32::crc32;
use std::cell::Cell;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// A volume to be made.
#[derive(Debug, Clone)]
pub struct Bitlk {
    /// The number of the method of encryption.
    pub method: u16,
    /// 512 or 4096.
    pub sector_size: usize,
    /// The boot sector is that of BitLocker To Go.
    pub to_go: bool,
    /// It is one of Windows Vista: it begins and ends in the clear, and has no digest.
    pub vista: bool,
    /// The state, and the one that it goes to; 4 is encrypted, 5 paused.
    pub state: [u16; 2],
    /// The bytes from the start that are encrypted.
    pub encrypted: usize,
    /// The ways to the volume master key.
    pub protectors: Vec<Protector>,
}

/// What opens a volume.
#[derive(Debug, Clone)]
pub enum Protector {
    /// A passphrase.
    Passphrase(&'static str),
    /// A recovery password.
    Recovery(&'static str),
    /// A file.
    StartupKey,
    /// A key in the clear.
    Clear,
    /// A number of another protection, and nothing else.
    Other(u16),
}

/// The length of a volume.
pub const LEN: usize = 4 << 20;
/// Where the metadata are.
pub const METADATA: [usize; 3] = [1 << 20, 2 << 20, 3 << 20];
/// Where the first sectors are.
pub const MOVED: usize = 3 << 19;
/// Their length.
pub const MOVED_LEN: usize = 8192;
/// The passphrase of most tests.
pub const PASSPHRASE: &str = "correct hörse";
/// libyal's example of a recovery password.
pub const RECOVERY: &str = "471207-278498-422125-177177-561902-537405-468006-693451";

impl Default for Bitlk {
    /// AES-XTS of 128 bits, by passphrase and recovery password.
    fn default() -> Self {
        Self {
            method: 0x8004,
            sector_size: 512,
            to_go: false,
            vista: false,
            state: [4, 4],
            encrypted: LEN,
            protectors: vec![Protector::Passphrase(PASSPHRASE), Protector::Recovery(RECOVERY)],
        }
    }
}

impl Bitlk {
    /// The volume with this plaintext, which is [`LEN`] bytes long. What is in it where zeros are read is left out.
    pub fn make(&self, plain: &[u8]) -> Vec<u8> {
        assert_eq!(plain.len(), LEN);
        let mut volume = plain.to_vec();
        self.encrypt(&mut volume, 0..LEN, 0);
        if self.vista {
            volume[..MOVED_LEN].copy_from_slice(&plain[..MOVED_LEN]);
            let boot = vistas_boot_sector(plain, b"-FVE-FS-", METADATA[0] as u64 / 4096);
            [0, LEN - 512].iter().for_each(|at| volume[*at..*at + 512].copy_from_slice(&boot));
            let metadata = self.metadata();
            METADATA.iter().for_each(|at| volume[*at..*at + metadata.len()].copy_from_slice(&metadata));
            return volume;
        }
        let mut moved = plain[..MOVED_LEN].to_vec();
        self.encrypt(&mut moved, 0..MOVED_LEN, MOVED);
        volume[MOVED..MOVED + MOVED_LEN].copy_from_slice(&moved);
        volume[..MOVED_LEN].fill(0);
        volume[..512].copy_from_slice(&self.boot_sector());
        let metadata = self.metadata();
        METADATA.iter().for_each(|at| volume[*at..*at + metadata.len()].copy_from_slice(&metadata));
        volume
    }

    /// What is read from it.
    pub fn visible(plain: &[u8]) -> Vec<u8> {
        let mut plain = plain.to_vec();
        METADATA.iter().for_each(|at| plain[*at..*at + (64 << 10)].fill(0));
        plain[MOVED..MOVED + MOVED_LEN].fill(0);
        plain
    }

    /// What is read from one of Windows Vista.
    pub fn visible_of_vista(plain: &[u8]) -> Vec<u8> {
        let mut shown = plain.to_vec();
        let boot = vistas_boot_sector(plain, b"NTFS    ", SECOND_MFT);
        [0, LEN - 512].iter().for_each(|at| shown[*at..*at + 512].copy_from_slice(&boot));
        METADATA.iter().for_each(|at| shown[*at..*at + (16 << 10)].fill(0));
        shown
    }

    /// The key that the data are encrypted with.
    pub fn volume_key(&self) -> Secret {
        self.encryption().volume_key(&self.wrapped_volume_key()).expect("a key of the method's length")
    }

    /// The file of [`Protector::StartupKey`].
    pub fn startup_key() -> Vec<u8> {
        let key = entry(0, 1, &[&0x2002_u32.to_le_bytes()[..], &EXTERNAL].concat());
        let entry = entry(6, 9, &[&GUID[..], &[0; 8], &key].concat());
        let len = 48 + entry.len() as u32;
        let head: Vec<u8> = [len, 1, 48, len].iter().flat_map(|field| field.to_le_bytes()).collect();
        [&head[..], &GUID, &[0; 16], &entry].concat()
    }

    fn encryption(&self) -> Encryption {
        Encryption::of(self.method).expect("a method that is known")
    }

    /// The diffuser's keys are the starts of two halves.
    fn wrapped_volume_key(&self) -> Secret {
        let len = if self.method < 0x8002 { 64 } else { self.encryption().key_bits() / 8 };
        Secret::copy_from(&(0..len).map(|index| 0xa0 ^ index as u8).collect::<Vec<_>>())
    }

    /// Encrypts what of `range` belongs to the encrypted part; it will be at `place` on the device.
    fn encrypt(&self, data: &mut [u8], range: Range<usize>, place: usize) {
        let spec = CipherSpec::parse(&format!("aes-{}", self.encryption().mode())).expect("a specification");
        let size = SectorSize::new(self.sector_size as u32).expect("a sector size");
        let cipher = SectorCipher::new(&spec, &self.volume_key(), size, Cpu::detect()).expect("a cipher");
        let cipher = if self.sector_size == 512 { cipher } else { cipher.with_large_iv_sectors() };
        let len = self.encrypted.saturating_sub(place).min(range.len());
        cipher.encrypt(place as u64 / 512, &mut data[range][..len]);
    }

    fn boot_sector(&self) -> [u8; 512] {
        let mut sector = [0; 512];
        let (signature, at) = if self.to_go { (b"MSWIN4.1", 424) } else { (b"-FVE-FS-", 160) };
        sector[..3].copy_from_slice(b"\xeb\x58\x90");
        sector[3..11].copy_from_slice(signature);
        sector[11..13].copy_from_slice(&(self.sector_size as u16).to_le_bytes());
        sector[13] = 8;
        sector[at..at + 16]
            .copy_from_slice(b"\x3b\xd6\x67\x49\x29\x2e\xd8\x4a\x83\x99\xf6\xa3\x39\xe3\xd0\x01");
        for (field, place) in sector[at + 16..].chunks_exact_mut(8).zip(METADATA) {
            field.copy_from_slice(&(place as u64).to_le_bytes());
        }
        sector[510..].copy_from_slice(&[0x55, 0xaa]);
        sector
    }

    /// The length of a copy's headers and entries, which its checksum is of.
    pub fn headers_len(&self) -> usize {
        let metadata = self.metadata();
        let units = usize::from(u16::from_le_bytes([metadata[8], metadata[9]]));
        if self.vista { units } else { 16 * units }
    }

    /// A copy of the metadata.
    pub fn metadata(&self) -> Vec<u8> {
        let nonces = Nonces::default();
        let text: Vec<u8> = "TESTS E: 1/2/2026\0".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let mut entries = vec![entry(7, 2, &text)];
        entries.extend(self.protectors.iter().map(|protector| protector.entry(&nonces)));
        let key = [&u32::from(self.method).to_le_bytes()[..], self.wrapped_volume_key().expose()].concat();
        entries.push(entry(3, 5, &nonces.wrap(&MASTER, &key)));
        if self.vista {
            return checked(self.headers(&entries.concat()));
        }
        let place = [MOVED as u64, MOVED_LEN as u64].map(u64::to_le_bytes);
        entries.push(entry(15, 15, place.as_flattened()));
        let bytes = self.headers(&entries.concat());
        sealed(bytes, &nonces)
    }

    /// Both headers and the entries.
    fn headers(&self, entries: &[u8]) -> Vec<u8> {
        let len = (112 + entries.len()).next_multiple_of(16);
        let dataset = 48 + entries.len() as u32;
        let mut bytes = b"-FVE-FS-".to_vec();
        let (units, version) = if self.vista { (len, 1) } else { (len / 16, 2) };
        [units as u16, version, self.state[0], self.state[1]]
            .iter()
            .for_each(|field| bytes.extend(field.to_le_bytes()));
        bytes.extend((self.encrypted as u64).to_le_bytes());
        [0, (MOVED_LEN / self.sector_size) as u32].iter().for_each(|field| bytes.extend(field.to_le_bytes()));
        METADATA.iter().for_each(|place| bytes.extend((*place as u64).to_le_bytes()));
        bytes.extend(if self.vista { SECOND_MFT } else { MOVED as u64 }.to_le_bytes());
        [dataset, 1, 48, dataset].iter().for_each(|field| bytes.extend(field.to_le_bytes()));
        bytes.extend(GUID);
        [99, u32::from(self.method)].iter().for_each(|field| bytes.extend(field.to_le_bytes()));
        bytes.extend(CREATED.to_le_bytes());
        bytes.extend(entries);
        bytes.resize(len, 0);
        bytes
    }
}

impl Protector {
    fn entry(&self, nonces: &Nonces) -> Vec<u8> {
        let master = [&0x2003_u32.to_le_bytes()[..], &MASTER].concat();
        let (number, properties) = match self {
            Self::Passphrase(text) => {
                let digest = passphrase_digest(&Secret::copy_from(text.as_bytes())).expect("it is UTF-8");
                (0x2000, stretched(&digest, &master, nonces))
            }
            Self::Recovery(text) => {
                let RecoveryPassword::Key(key) = RecoveryPassword::parse(&Secret::copy_from(text.as_bytes()))
                else {
                    panic!("{text} is no recovery password");
                };
                (0x0800, stretched(&recovery_digest(&key), &master, nonces))
            }
            Self::StartupKey => {
                let name: Vec<u8> = "ExternalKey\0".encode_utf16().flat_map(u16::to_le_bytes).collect();
                (0x0200, [entry(0, 2, &name), entry(0, 5, &nonces.wrap(&EXTERNAL, &master))].concat())
            }
            Self::Clear => {
                let key = entry(0, 1, &[&0x2000_u32.to_le_bytes()[..], &EXTERNAL].concat());
                (0x0000, [key, entry(0, 5, &nonces.wrap(&EXTERNAL, &master))].concat())
            }
            Self::Other(number) => (*number, Vec::new()),
        };
        entry(2, 8, &[&GUID[..], &[0; 10], &u16::to_le_bytes(number), &properties].concat())
    }
}

/// Salt and wrapped key.
fn stretched(digest: &Secret, master: &[u8], nonces: &Nonces) -> Vec<u8> {
    let key = stretched_once(digest.expose().first_chunk().expect("a digest of SHA-256"));
    // Windows keeps the stretched key in it, too, wrapped for itself.
    let own = entry(0, 5, &nonces.wrap(&MASTER, &[&0x1001_u32.to_le_bytes()[..], &key].concat()));
    let salt = entry(0, 3, &[&0x1001_u32.to_le_bytes()[..], &SALT, &own].concat());
    [salt, entry(0, 5, &nonces.wrap(&key, master))].concat()
}

/// Each secret is stretched once in a process: all volumes have the same salt.
fn stretched_once(digest: &[u8; 32]) -> [u8; 32] {
    static KNOWN: Mutex<Vec<([u8; 32], [u8; 32])>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, key)) = known.iter().find(|(of, _)| of == digest) {
        return *key;
    }
    let mut key = [0; 32];
    stretch(Cpu::detect(), digest, &SALT, STRETCH_ROUNDS, &mut key, &Stop::new()).expect("nobody stops it");
    known.push((*digest, key));
    key
}

/// NTFS's boot sector, with this name, and this cluster where it has that of the second MFT.
fn vistas_boot_sector(plain: &[u8], name: &[u8; 8], cluster: u64) -> [u8; 512] {
    let mut sector = [0; 512];
    sector.copy_from_slice(&plain[..512]);
    sector[..3].copy_from_slice(b"\xeb\x52\x90");
    sector[3..11].copy_from_slice(name);
    // 512 bytes a sector, eight of them a cluster.
    sector[11..14].copy_from_slice(&[0, 2, 8]);
    sector[56..64].copy_from_slice(&cluster.to_le_bytes());
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    sector
}

/// Behind headers and entries of Windows Vista: their checksum.
pub fn checked(mut bytes: Vec<u8>) -> Vec<u8> {
    let sum = crc32(&bytes);
    [8_u16, 1].iter().for_each(|field| bytes.extend(field.to_le_bytes()));
    bytes.extend(sum.to_le_bytes());
    bytes
}

/// Behind headers and entries: their checksum, and their digest.
pub fn sealed_again(bytes: &[u8]) -> Vec<u8> {
    sealed(bytes.to_vec(), &Nonces::default())
}

fn sealed(mut bytes: Vec<u8>, nonces: &Nonces) -> Vec<u8> {
    let digest = keyway_crypto::Hash::Sha256.digest(&[&bytes]);
    let digest = entry(0, 5, &nonces.wrap(&MASTER, &[&0x2005_u32.to_le_bytes()[..], &digest].concat()));
    let sum = crc32(&bytes);
    let len = 8 + digest.len() as u16;
    bytes.extend(len.to_le_bytes());
    bytes.extend(2_u16.to_le_bytes());
    bytes.extend(sum.to_le_bytes());
    bytes.extend(digest);
    bytes
}

/// An entry of metadata.
fn entry(purpose: u16, value: u16, data: &[u8]) -> Vec<u8> {
    let head = [data.len() as u16 + 8, purpose, value, 1].map(u16::to_le_bytes);
    [head.as_flattened(), data].concat()
}

/// Nonces, each used once.
#[derive(Default)]
struct Nonces(Cell<u32>);

impl Nonces {
    /// Nonce, tag and the entry of a key, encrypted.
    fn wrap(&self, with: &[u8], key: &[u8]) -> Vec<u8> {
        let mut nonce = [0; 12];
        self.0.set(self.0.get() + 1);
        nonce[..8].copy_from_slice(&CREATED.to_le_bytes());
        nonce[8..].copy_from_slice(&self.0.get().to_le_bytes());
        let mut key = entry(0, 1, key);
        let ccm = AesCcm::new(with, Cpu::detect()).expect("a key of AES");
        let tag: [u8; 16] = ccm.encrypt(&nonce, &[], &mut key);
        [&nonce[..], &tag, &key].concat()
    }
}

const MASTER: [u8; 32] = *b"the volume master key, 32 bytes.";
const EXTERNAL: [u8; 32] = *b"an external or clear key, 32 too";
const SALT: [u8; 16] = *b"sixteen of salt!";
/// The cluster of the second MFT of a volume of Windows Vista.
pub const SECOND_MFT: u64 = 0x1234;
const GUID: [u8; 16] = *b"sixteen of guid.";
/// 2026-01-02 03:04:05 UTC.
const CREATED: u64 = 116_444_736_000_000_000 + 1_767_323_045 * 10_000_000;
