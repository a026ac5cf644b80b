//! Volumes written here: what no other program makes any more, and what none would make.

use keyway_crypto::{Cascade, CascadeMode, Cpu, Secret};
use keyway_format::Bytes;
use keyway_format::tcrypt::{CIPHERS, Cipher, Fields, Header, KDFS, KEYS_LEN, Kdf, Position, Program};
use keyway_volume::kind::tcrypt::Sealing;

/// A volume to be made.
pub(crate) struct Made {
    pub(crate) password: Vec<u8>,
    pub(crate) kdf: &'static Kdf,
    pub(crate) pim: Option<u32>,
    pub(crate) cipher: &'static Cipher,
    pub(crate) position: Position,
    pub(crate) fields: Fields,
    /// Bytes of the device.
    pub(crate) len: usize,
}

impl Made {
    /// A normal volume of the KDF's program, in sectors 256 to 295 of 640, or from the second on in the
    /// older modes.
    pub(crate) fn new(kdf: &'static Kdf, cipher: &'static Cipher) -> Self {
        let fields = Fields {
            program: kdf.program,
            version: if cipher.mode == CascadeMode::Xts { 5 } else { 2 },
            required: if kdf.program == Program::TrueCrypt { 0x0700 } else { 0x010b },
            created: [0; 2],
            hidden_size: Bytes(0),
            volume_size: Bytes(DATA as u64),
            area_offset: Bytes(131_072),
            area_size: Bytes(DATA as u64),
            flags: 0,
            sector_size: 512,
            reserved: [0; 124],
        };
        let password = b"correct horse".to_vec();
        Self { password, kdf, pim: None, cipher, position: Position::Normal, fields, len: 640 * 512 }
    }

    /// TrueCrypt's quickest KDF, AES in XTS.
    pub(crate) fn quick() -> Self {
        Self::new(kdf(Program::TrueCrypt, "sha512", false), cipher("aes", CascadeMode::Xts))
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Its hidden volume's header, the volume being the sectors from 320 on.
    pub(crate) fn hidden(self, position: Position) -> Self {
        self.with(|it| {
            it.position = position;
            it.fields.hidden_size = Bytes(DATA as u64);
            it.fields.area_offset = Bytes(320 * 512);
        })
    }

    /// The device: bytes of a pattern, and the header and the encrypted plaintext in their places.
    pub(crate) fn device(&self) -> Vec<u8> {
        let mut device: Vec<u8> = (0..self.len).map(|index| (index * 31 + index / 512) as u8).collect();
        self.add_to(&mut device);
        device
    }

    pub(crate) fn add_to(&self, device: &mut [u8]) {
        let at = self.position.offset(device.len() as u64).unwrap() as usize;
        let header = self.header();
        self.seal(&mut device[at..at + 512], header.to_bytes().expose());
        let area = self.fields.data_area(self.position, self.cipher.mode, Bytes(device.len() as u64));
        let Ok(area) = area else { return };
        let start = area.offset.0 as usize;
        let Some(data) = device.get_mut(start..).and_then(|rest| rest.get_mut(..DATA)) else { return };
        data.copy_from_slice(&plaintext());
        let cascade =
            Cascade::new(self.cipher.chain, self.cipher.mode, header.keys(), Cpu::detect()).unwrap();
        cascade.encrypt(area.first, data);
    }

    pub(crate) fn header(&self) -> Header {
        let keys = Secret::copy_from(&std::array::from_fn::<u8, KEYS_LEN, _>(|at| (at * 73 + 5) as u8));
        Header::new(self.fields.clone(), keys).unwrap()
    }

    /// Encrypts a header into its place, behind the salt that is there.
    pub(crate) fn seal(&self, place: &mut [u8], decrypted: &[u8]) {
        let sealing = Sealing { kdf: self.kdf, pim: self.pim, cipher: self.cipher };
        let [decrypted, password] = [decrypted, &self.password].map(Secret::copy_from);
        let sealed = sealing.seal(&decrypted, &password, place.first_chunk().unwrap()).unwrap();
        place.copy_from_slice(&sealed);
    }
}

pub(crate) fn kdf(program: Program, name: &str, boot: bool) -> &'static Kdf {
    KDFS.iter().find(|it| (it.program, it.name, it.boot) == (program, name, boot)).unwrap()
}

pub(crate) fn cipher(chain: &str, mode: CascadeMode) -> &'static Cipher {
    CIPHERS.iter().find(|it| (it.chain, it.mode) == (chain, mode)).unwrap()
}

/// The first [`DATA`] bytes of every volume here.
pub(crate) fn plaintext() -> Vec<u8> {
    (0..DATA).map(|index| (index * 7 + index / 100) as u8).collect()
}

/// Bytes of plaintext: forty sectors.
pub(crate) const DATA: usize = 40 * 512;
