//! The start of a device as both copies of a LUKS2 header: as it is, and once more with its
//! checksums mended, because no mutation finds a SHA-256; what a repair would write is sound.
#![no_main]

use keyway_crypto::Hash;
use keyway_format::Error;
use keyway_format::luks2::{
    BinaryHeader, Copy, HeaderCopy, HeaderSize, Recovery, Selection, Write, secondary_candidates, select,
};
use libfuzzer_sys::fuzz_target;

/// Larger copies only make the fuzzer slower.
const LARGEST: HeaderSize = HeaderSize::ALL[1];

fuzz_target!(|device: &[u8]| {
    check(device);
    let mut mended = device.to_vec();
    if let Some(size) = mend(&mut mended, 0, Copy::Primary) {
        mend(&mut mended, size, Copy::Secondary);
    } else {
        for size in HeaderSize::ALL.into_iter().filter(|size| *size <= LARGEST) {
            mend(&mut mended, size.bytes().0 as usize, Copy::Secondary);
        }
    }
    check(&mended);
    repair(mended);
});

/// Writes what a repair would: there is nothing to repair then.
fn repair(mut device: Vec<u8>) {
    let Ok(Recovery { winner, writes, .. }) = Recovery::search(&device) else { return };
    for write in writes {
        let (offset, bytes) = match write {
            Write::Restored { offset, bytes, .. } => (offset as usize, bytes),
            Write::Rewritten(copy) => {
                let offset = if copy == Copy::Primary { 0 } else { winner.binary.size.bytes().0 as usize };
                let binary = winner.binary.as_copy(copy, [9; 64]);
                (offset, binary.copy_to_bytes(&winner.metadata.to_json()).unwrap())
            }
        };
        device.resize(device.len().max(offset + bytes.len()), 0);
        device[offset..offset + bytes.len()].copy_from_slice(&bytes);
    }
    let again = Recovery::search(&device).unwrap();
    assert!(again.writes.is_empty());
    assert_eq!(again.winner.metadata, winner.metadata);
}

/// Reads both copies, and checks that what was accepted is written back to the byte.
fn check(device: &[u8]) {
    let read = |offset: usize, copy| {
        let bytes = device.get(offset..).ok_or(Error::NotLuks)?;
        let header = HeaderCopy::parse(bytes, copy)?;
        let written = header.binary.copy_to_bytes(&header.metadata.to_json()).unwrap();
        assert_eq!(written, bytes[..written.len()]);
        Ok(header)
    };
    let primary = read(0, Copy::Primary);
    let secondary = secondary_candidates(device)
        .into_iter()
        .map(|size| read(size.bytes().0 as usize, Copy::Secondary))
        .find(Result::is_ok)
        .unwrap_or(Err(Error::NotLuks));
    if let Ok(Selection { header, recover: Some(copy) }) = select(primary, secondary) {
        let recovered = header.binary.as_copy(copy, [9; 64]);
        let bytes = recovered.copy_to_bytes(&header.metadata.to_json()).unwrap();
        assert_eq!(HeaderCopy::parse(&bytes, copy).unwrap().metadata, header.metadata);
    }
}

/// Puts the right SHA-256 into the copy at `offset`, growing the
/// device with zeros where it is too short.
fn mend(device: &mut Vec<u8>, offset: usize, copy: Copy) -> Option<usize> {
    let header =
        BinaryHeader::parse(device.get(offset..)?, copy).ok().filter(|header| header.size <= LARGEST)?;
    let end = offset + header.size.bytes().0 as usize;
    device.resize(device.len().max(end), 0);
    device[offset + 448..offset + 480].fill(0);
    let mut zeroed = device[offset..end].to_vec();
    zeroed[448..512].fill(0);
    let digest = Hash::Sha256.digest(&[&zeroed]);
    device[offset + 448..offset + 480].copy_from_slice(&digest);
    Some(end - offset)
}
