//! Decrypted headers of TrueCrypt and VeraCrypt: what is accepted is written back to the byte, and its
//! data area lies where sectors can. Checksums are put right first: whoever knows the passphrase can
//! do so.
#![no_main]

use keyway_crypto::CascadeMode;
use keyway_format::Bytes;
use keyway_format::tcrypt::{Header, Position, Program};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for program in [Program::TrueCrypt, Program::VeraCrypt] {
        let _ = Header::parse(bytes, program);
        let Some(mut bytes) = bytes.first_chunk::<448>().copied() else { return };
        bytes[..4].copy_from_slice(program.magic());
        let sum = crc32(&bytes[192..]);
        bytes[8..12].copy_from_slice(&sum.to_be_bytes());
        if bytes[4..6] >= [0, 4][..] {
            let sum = crc32(&bytes[..188]);
            bytes[188..192].copy_from_slice(&sum.to_be_bytes());
        }
        let Ok(Some(header)) = Header::parse(&bytes, program) else { continue };
        assert_eq!(header.to_bytes().expose(), bytes);
        areas(&header, bytes[447]);
    }
});

fn areas(header: &Header, len: u8) {
    use Position::{Backup, Hidden, HiddenBackup, Normal, OldHidden, System};
    for position in [Normal, Hidden, OldHidden, Backup, HiddenBackup, System] {
        for mode in [CascadeMode::Xts, CascadeMode::Lrw, CascadeMode::Cbc] {
            let Ok(area) = header.data_area(position, mode, Bytes(u64::from(len) << 12)) else { continue };
            assert!(area.offset.0.is_multiple_of(512));
            assert!(area.len.is_none_or(|len| len.0 > 0 && len.0.is_multiple_of(512)));
            assert!(area.offset.0.checked_add(area.len.unwrap_or_default().0).is_some());
        }
    }
}

fn crc32(bytes: &[u8]) -> u32 {
    let bit = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), bit))
}
