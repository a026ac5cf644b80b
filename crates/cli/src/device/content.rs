//! What a device holds before it is overwritten, in cryptsetup's words.

use crate::output::failure::{Exit, Failure, Result};
use keyway::storage::Storage;
use keyway::{Signature, SignatureKind as Kind, devices};
use std::path::Path;

/// One warning for each signature found.
pub(crate) fn warnings(storage: &dyn Storage, device: &Path) -> Result<Vec<String>> {
    Ok(found(storage, device)?.into_iter().map(|find| format!("WARNING: {find}")).collect())
}

/// One sentence for each signature found.
pub(crate) fn found(storage: &dyn Storage, device: &Path) -> Result<Vec<String>> {
    let device = device.display();
    let cannot = |error| format!("Cannot check what {device} holds: {error}.");
    let found =
        devices::signatures(storage).map_err(|error| Failure::new(Exit::Parameters, cannot(error)))?;
    let line = |(name, kind)| format!("Device {device} already contains a '{name}' {kind} signature.");
    let mut lines: Vec<_> = found.iter().map(|found| line(words(found))).collect();
    lines.dedup();
    Ok(lines)
}

/// blkid's name and class of a signature.
fn words(signature: &Signature) -> (&'static str, &'static str) {
    let is_table = signature.kind == Kind::PartitionTable;
    (signature.blkid, if is_table { "partition" } else { "superblock" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyway::storage::Memory;

    #[test]
    fn each_find_is_a_line_in_cryptsetups_words() {
        let lines = |writes: &[(u64, &[u8])]| {
            let storage = Memory::zeroed(1 << 18);
            writes.iter().for_each(|(at, bytes)| storage.write_at(bytes, *at).unwrap());
            warnings(&storage, Path::new("x")).unwrap()
        };
        assert_eq!(lines(&[]), [""; 0]);
        assert_eq!(
            lines(&[(1080, b"\x53\xef"), (1024 + 0x60, &[0x40]), (512, b"EFI PART")]),
            [
                "WARNING: Device x already contains a 'ext4' superblock signature.",
                "WARNING: Device x already contains a 'gpt' partition signature."
            ]
        );
        for (at, mark, name) in [
            ((1 << 18) - 1024, &b"Intel Raid ISM Cfg Sig. "[..], "isw_raid_member"),
            (32768, b"JFS1", "jfs"),
            (65536 + 52, b"ReIsEr2Fs", "reiserfs"),
            (54, b"FAT12   ", "vfat"),
            (8192 - 10, b"SWAPSPACE2", "swap"),
            (1024, b"\xe2\xe1\xf5\xe0", "erofs"),
        ] {
            let expected = format!("WARNING: Device x already contains a '{name}' superblock signature.");
            assert_eq!(lines(&[(at, mark)]), [expected]);
        }
        assert_eq!(warnings(&Memory::zeroed(3), Path::new("x")).unwrap(), [""; 0]);
    }
}
