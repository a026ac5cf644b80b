//! A FileVault volume: its header, and blocks of its metadata whose checksums are mended, as they are on the device once
//! it is decrypted. What is accepted lies in whole blocks. The same bytes as a property list and as a UUID.
#![no_main]

use keyway_crypto::Cpu;
use keyway_format::crc32::crc32c_register;
use keyway_format::fvault2::{Block, Newest, Uuid, Value, VolumeHeader};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = Value::parse(bytes);
    if let Some(uuid) = std::str::from_utf8(bytes).ok().and_then(Uuid::parse) {
        assert_eq!(Uuid::parse(&uuid.to_string()), Some(uuid));
    }
    let Some((header, blocks)) = bytes.split_at_checked(VolumeHeader::LEN) else { return };
    let Ok(header) = VolumeHeader::parse(&mended(header.to_vec())) else { return };
    let _ = header.metadata_cipher(Cpu::detect());
    let mut newest = Newest::default();
    for short in blocks.chunks(4096) {
        // The start of a block; the rest of it is zeros.
        let mut block = short.to_vec();
        block.resize(Block::LEN, 0);
        let block = mended(block);
        if let Some(block) = block.first_chunk().and_then(Block::parse) {
            newest.take(&block);
        }
    }
    for volume in newest.volumes(&header).unwrap_or_default() {
        assert!(volume.extents.iter().all(|extent| extent.len.0.is_multiple_of(header.block_size.0)));
        assert!(volume.users.iter().all(|user| user.iterations > 0));
    }
});

/// With the right checksum.
fn mended(mut bytes: Vec<u8>) -> Vec<u8> {
    let sum = crc32c_register(&bytes[8..], u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]));
    bytes[..4].copy_from_slice(&sum.to_le_bytes());
    bytes
}
