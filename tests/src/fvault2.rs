//! FileVault 2 volumes, made from the specification (libyal, "FileVault Drive Encryption (FVDE)"), as there is no macOS
//! here: cryptsetup and the kernel read them.
//!
//! ```text
//! 0        header    4 KiB    label        32 KiB   metadata (encrypted)
//! 256 KiB  the data of the logical volume  1280 KiB end: a copy of the header before it
//! ```

use keyway_crypto::kdf::pbkdf2;
use keyway_crypto::{AesWrap, AesXts, Cpu, Hash, Secret, SectorSize, Stop};
use keyway_format::base64;
use keyway_format::crc32::crc32c_register;
use keyway_format::fvault2::{Uuid, volume_key};

/// A volume to be made.
#[derive(Debug, Clone)]
pub struct Fvault2 {
    /// Passphrases that open it.
    pub passphrases: Vec<&'static str>,
    /// What the metadata say of the first passphrase's iterations, instead of the truth.
    pub claims: Option<u32>,
    /// "Complete", "Converting".
    pub conversion: &'static str,
    /// Where the data are: their blocks in the logical and in the physical volume.
    pub extents: Vec<[u64; 3]>,
    /// The metadata have older blocks too, which name other places, and one that was wiped. (cryptsetup reads no further than
    /// that.)
    pub has_older: bool,
    /// Only the copy of the metadata is there.
    pub only_copy: bool,
    /// Logical volumes that it describes.
    pub volumes: u64,
}

/// The plaintext's length.
pub const LEN: usize = 1 << 20;
/// The device's length.
pub const DEVICE_LEN: usize = (256 << 10) + LEN + BLOCK;
/// The passphrase of most tests.
pub const PASSPHRASE: &str = "correct horse";
/// Where the data are.
pub const DATA: usize = 64 * BLOCK;
/// Where the metadata are, and where their copy is.
pub const METADATA: [usize; 2] = [8 * BLOCK, 24 * BLOCK];
/// Where the label is.
pub const LABEL: usize = BLOCK;

impl Default for Fvault2 {
    fn default() -> Self {
        Self {
            passphrases: vec![PASSPHRASE],
            claims: None,
            conversion: "Complete",
            extents: vec![[0, (LEN / BLOCK) as u64, (DATA / BLOCK) as u64]],
            has_older: false,
            only_copy: false,
            volumes: 1,
        }
    }
}

impl Fvault2 {
    /// The volume with this plaintext, which is [`LEN`] bytes long.
    pub fn make(&self, plain: &[u8]) -> Vec<u8> {
        let mut volume = vec![0; DEVICE_LEN];
        let header = sealed(header());
        volume[..512].copy_from_slice(&header);
        volume[DEVICE_LEN - 512..].copy_from_slice(&header);
        let data = &mut volume[DATA..DATA + LEN];
        data.copy_from_slice(plain);
        let key = Self::volume_key();
        AesXts::new(key.expose(), Cpu::detect()).expect("a key").encrypt(0, SectorSize::S512, data);
        volume[LABEL..LABEL + MD].copy_from_slice(&self.label());
        volume[LABEL + MD..][..48].copy_from_slice(&self.places());
        let cipher = AesXts::new(&[&KEY[..], &PHYSICAL].concat(), Cpu::detect()).expect("a key");
        for (number, block) in (0..).zip(self.blocks()) {
            let mut block = block;
            cipher.encrypt_unit(number, &mut block);
            for at in &METADATA[usize::from(self.only_copy)..] {
                volume[at + number as usize * MD..][..MD].copy_from_slice(&block);
            }
        }
        volume
    }

    /// The key of the data.
    pub fn volume_key() -> Secret {
        volume_key(&secret(&WRAPPED), Uuid::parse(FAMILY).expect("a UUID"))
    }

    fn label(&self) -> Vec<u8> {
        let mut block = block(0x11, 6, 0, 0);
        put(&mut block, 64, &(LABEL_LEN as u32).to_le_bytes());
        put(&mut block, 220, &(MD as u32).to_le_bytes());
        sealed(block)
    }

    fn places(&self) -> Vec<u8> {
        let blocks = (METADATA[1] - METADATA[0]) / BLOCK;
        let numbers = [0, blocks as u64, 0, 2, (METADATA[0] / BLOCK) as u64, (METADATA[1] / BLOCK) as u64];
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    /// The metadata.
    fn blocks(&self) -> Vec<Vec<u8>> {
        let mut blocks = vec![self.extents(6), self.family(), self.volume(0)];
        if self.has_older {
            let older = Self { extents: vec![[0, 1, 1]], ..self.clone() };
            blocks.splice(0..0, [older.extents(5), vec![0x5a; MD]]);
            blocks.push(older.extents(4));
        }
        blocks.extend((1..self.volumes).map(|number| self.volume(number)));
        blocks
    }

    fn extents(&self, transaction: u64) -> Vec<u8> {
        let mut block = block(0x305, transaction, 8, 0);
        put(&mut block, 64, &(self.extents.len() as u32).to_le_bytes());
        for (number, [start, len, at]) in self.extents.iter().enumerate() {
            let flags = 0x40 << 48;
            let words = [0, *start, *len | flags, 0, *at];
            let bytes: Vec<u8> = words.iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
            put(&mut block, 72 + 40 * number, &bytes);
        }
        sealed(block)
    }

    fn family(&self) -> Vec<u8> {
        let claims = |number: usize| self.claims.filter(|_| number == 1);
        let user = |(number, text): (usize, &&str)| user(number, text, claims(number));
        let users: String = (1..).zip(&self.passphrases).map(user).collect();
        let keys: String = (1..=self.passphrases.len()).map(wrapped_volume_key).collect();
        let list = format!(
            "<dict ID=\"0\"><key>com.apple.corestorage.lvf.encryption.context</key><dict ID=\"1\"><key>CryptoUsers</key>\
             <array ID=\"2\">{users}</array><key>WrappedVolumeKeys</key><array ID=\"12\"><dict ID=\"13\">\
             <key>KeyEncryptingKeyIdent</key><string ID=\"16\">none</string><key>BlockAlgorithm</key>\
             <string ID=\"17\">None</string><key>KEKWrappedVolumeKeyStruct</key><data ID=\"18\"></data></dict>{keys}</array>\
             <key>ConversionInfo</key><dict ID=\"23\"><key>ConversionStatus</key><string ID=\"24\">{}</string></dict></dict>\
             <key>com.apple.corestorage.lvf.uuid</key><string ID=\"28\">{FAMILY}</string></dict>",
            self.conversion
        );
        with_list(block(0x19, 6, 10, 2), 0x3b0, 112, &list)
    }

    fn volume(&self, number: u64) -> Vec<u8> {
        let list = format!(
            "<dict ID=\"0\"><key>com.apple.corestorage.lv.familyUUID</key><string ID=\"2\">{FAMILY}</string>\
             <key>com.apple.corestorage.lv.name</key><string ID=\"6\">Untitled &amp; more</string>\
             <key>com.apple.corestorage.lv.uuid</key><string ID=\"7\">E82EC3B4-6FA6-4A43-AA98-ECA628DD3941</string>\
             <key>com.apple.corestorage.lv.size</key><integer size=\"64\" ID=\"8\">{LEN:#x}</integer></dict>"
        );
        let mut block = block(0x1a, 6, 11 + number, 3 + number);
        put(&mut block, 64, &10_u64.to_le_bytes());
        put(&mut block, 72, &8_u64.to_le_bytes());
        with_list(block, 0xb8, 128, &list)
    }
}

/// Writes the checksum of a header or block into it again.
pub fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    put(&mut bytes, 4, &[0xff; 4]);
    let sum = crc32c_register(&bytes[8..], !0);
    put(&mut bytes, 0, &sum.to_le_bytes());
    bytes
}

/// Decrypts block `number` of the metadata in place, changes it, and writes it back with a new checksum, in both copies.
pub fn forge(volume: &mut [u8], number: usize, change: impl Fn(&mut Vec<u8>)) {
    let cipher = AesXts::new(&[&KEY[..], &PHYSICAL].concat(), Cpu::detect()).expect("a key");
    for at in METADATA {
        let place = at + number * MD..at + (number + 1) * MD;
        let mut block = volume[place.clone()].to_vec();
        cipher.decrypt_unit(number as u64, &mut block);
        change(&mut block);
        let mut block = sealed(block);
        cipher.encrypt_unit(number as u64, &mut block);
        volume[place].copy_from_slice(&block);
    }
}

fn header() -> Vec<u8> {
    let mut bytes = vec![0; 512];
    put(&mut bytes, 8, &[1, 0, 0x10, 0]);
    put(&mut bytes, 48, &512_u32.to_le_bytes());
    put(&mut bytes, 64, &(DEVICE_LEN as u64).to_le_bytes());
    put(&mut bytes, 88, b"CS\x01\0\0\0\x04");
    put(&mut bytes, 96, &(BLOCK as u32).to_le_bytes());
    put(&mut bytes, 100, &(LABEL_LEN as u32).to_le_bytes());
    put(&mut bytes, 104, &((LABEL / BLOCK) as u64).to_le_bytes());
    put(&mut bytes, 168, &[16, 0, 0, 0, 2]);
    put(&mut bytes, 176, &KEY);
    put(&mut bytes, 304, &PHYSICAL);
    bytes
}

fn block(kind: u16, transaction: u64, object: u64, number: u64) -> Vec<u8> {
    let mut bytes = vec![0; MD];
    put(&mut bytes, 8, &[1, 0]);
    put(&mut bytes, 10, &kind.to_le_bytes());
    let words: Vec<u8> =
        [transaction, object, number, object].iter().flat_map(|word| word.to_le_bytes()).collect();
    put(&mut bytes, 16, &words);
    put(&mut bytes, 48, &(MD as u32).to_le_bytes());
    bytes
}

fn with_list(mut block: Vec<u8>, start: usize, at: usize, list: &str) -> Vec<u8> {
    let len = list.len() as u32;
    let words: Vec<u8> = [len, len, start as u32, len].iter().flat_map(|word| word.to_le_bytes()).collect();
    put(&mut block, at - 8, &words);
    put(&mut block, start, list.as_bytes());
    sealed(block)
}

fn user(number: usize, passphrase: &str, claims: Option<u32>) -> String {
    let (salt, iterations) = ([number as u8; 16], 1000 + number as u32);
    let mut derived = [0; 16];
    pbkdf2(Hash::Sha256, passphrase.as_bytes(), &salt, iterations, &mut derived, &Stop::new())
        .expect("PBKDF2");
    let mut bytes = vec![0; 284];
    put(&mut bytes, 0, &[3, 0, 0, 0, 16]);
    put(&mut bytes, 8, &salt);
    put(&mut bytes, 24, &[16, 0, 0, 0, 24]);
    put(&mut bytes, 32, &wrap(&derived, &kek(number)));
    put(&mut bytes, 168, &claims.unwrap_or(iterations).to_le_bytes());
    format!(
        "<dict ID=\"3{number}\"><key>PassphraseWrappedKEKStruct</key><data ID=\"4{number}\">{}</data>\
         <key>KeyEncryptingKeyIdent</key><string ID=\"9{number}\">kek-{number}</string></dict>",
        base64::encode(&bytes)
    )
}

fn wrapped_volume_key(number: usize) -> String {
    let mut bytes = vec![0; 256];
    put(&mut bytes, 0, &[2, 0, 0, 0, 24]);
    put(&mut bytes, 8, &wrap(&kek(number), &WRAPPED));
    format!(
        "<dict ID=\"19{number}\"><key>KeyEncryptingKeyIdent</key><reference IDREF=\"9{number}\"/><key>BlockAlgorithm</key>\
         <string ID=\"21{number}\">AES-XTS</string><key>KEKWrappedVolumeKeyStruct</key><data ID=\"22{number}\">{}</data></dict>",
        base64::encode(&bytes)
    )
}

fn kek(number: usize) -> [u8; 16] {
    [0x40 + number as u8; 16]
}

fn wrap(key: &[u8], wrapped: &[u8]) -> Vec<u8> {
    AesWrap::new(key, Cpu::detect()).expect("a key").wrap(&secret(wrapped))
}

fn secret(bytes: &[u8]) -> Secret {
    Secret::copy_from(bytes)
}

fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    bytes[at..at + field.len()].copy_from_slice(field);
}

/// What places are counted in.
const BLOCK: usize = 4096;
/// A block of the metadata.
const MD: usize = 8192;
const LABEL_LEN: usize = 16 << 10;
const KEY: [u8; 16] = *b"metadata's key..";
const PHYSICAL: [u8; 16] = *b"\xfc\x52\xbf\xae\x5a\x1f\x4f\x9b\xb3\xa6\xf3\x33\x03\xa0\xe4\x01";
/// The first half of the data's key.
const WRAPPED: [u8; 16] = *b"the data's key..";
const FAMILY: &str = "33A76CAA-1481-4BC5-8D04-1AC1707C19C0";
