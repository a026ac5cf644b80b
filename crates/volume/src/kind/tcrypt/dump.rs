//! What `tcryptDump` shows, in cryptsetup 2.6's words and spaces (lib/tcrypt/tcrypt.c,
//! `TCRYPT_dump`; src/cryptsetup.c, `tcryptDump_with_volume_key`). Argon2id is as 2.8 shows it.

use super::Unlocked;
use crate::Result;
use keyway_crypto::Secret;
use keyway_format::Bytes;
use keyway_format::tcrypt::{Program, SECTOR};

impl Unlocked {
    /// The header, without its keys. `device` is the header's, as the user named it.
    pub fn dump(&self, device: &str) -> String {
        let (header, cipher) = (&self.header, self.cipher);
        let title = match header.program {
            Program::TrueCrypt => "TCRYPT",
            Program::VeraCrypt => "VERACRYPT",
        };
        let kdf = match self.kdf.name {
            "argon2id" => "PBKDF:\t\tArgon2id".to_owned(),
            hash => format!("PBKDF2 hash:\t{hash}"),
        };
        let (major, minor) = (header.required >> 8, header.required & 0xff);
        format!(
            "{title} header information for {device}\n\
             Version:       \t{}\n\
             Driver req.:\t{major:x}.{minor:x}\n\
             Sector size:\t{}\n\
             MK offset:\t{}\n\
             {kdf}\n\
             Cipher chain:\t{}\n\
             Cipher mode:\t{}\n\
             MK bits:       \t{}\n",
            header.version,
            header.shown_sector_size(),
            header.shown_offset().0,
            cipher.chain,
            cipher.mode_name(),
            8 * cipher.key_len(),
        )
    }

    /// The volume key with what is needed beside it, as text; cryptsetup asks before it shows this.
    ///
    /// # Errors
    /// As [`Unlocked::found`]: no volume can be where the header says.
    pub fn dump_volume_key(&self, device: &str) -> Result<Secret> {
        let (header, cipher) = (&self.header, self.cipher);
        let area = header.data_area(self.position, cipher.mode, Bytes(self.device_len))?;
        let key = cipher.volume_key(header.keys())?;
        let head = format!(
            "TCRYPT header information for {device}\n\
             Cipher chain:  \t{}\n\
             Cipher mode:   \t{}\n\
             Payload offset:\t{}\n\
             MK bits:       \t{}\n\
             MK dump:\t",
            cipher.chain,
            cipher.mode_name(),
            area.offset.0 / SECTOR,
            8 * key.len(),
        );
        let rows = key.len().div_ceil(16);
        let mut text = Secret::zeroed(head.len() + 3 * key.len() + "\n\t\t".len() * (rows - 1) + "\n".len());
        let mut place = text.expose_mut().iter_mut();
        let mut put =
            |bytes: &[u8]| bytes.iter().for_each(|byte| *place.next().expect("room for it") = *byte);
        put(head.as_bytes());
        for (at, byte) in key.expose().iter().enumerate() {
            if at > 0 && at % 16 == 0 {
                put(b"\n\t\t");
            }
            put(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)], b' ']);
        }
        put(b"\n");
        Ok(text)
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";
