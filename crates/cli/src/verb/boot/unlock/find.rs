//! Finding a device without udev: by the kernel's list of block devices and the first bytes of
//! each.
//!
//! `keyway_volume::probe` knows where the UUID and label of a volume or file system are. A
//! partition's UUID is that of its GPT entry, or the disk's signature and the partition number.

use crate::device;
use keyway_volume::probe::{Identity, identity};
use keyway_volume::storage;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The device that a table or a command line names; `None` if it is not there yet.
pub(super) fn find(spec: &OsStr) -> Option<PathBuf> {
    let text = spec.to_string_lossy();
    let tagged = TAGS.iter().find_map(|(tag, links, is)| Some((text.strip_prefix(tag)?, *links, *is)));
    let Some((value, links, is)) = tagged else {
        return Some(device::resolve(Path::new(spec))).filter(|path| path.exists());
    };
    let value = value.trim_matches('"');
    let link = Path::new("/dev/disk").join(links).join(value);
    if link.exists() {
        return Some(link);
    }
    let mut found = block_devices().into_iter().filter(|device| is(device, value));
    found.next().map(|device| device.node)
}

/// The same, waiting until the device appears or the time is up. Prints on the console what it
/// waits for.
pub(super) fn wait(spec: &OsStr, limit: Duration) -> Option<PathBuf> {
    let start = Instant::now();
    let mut said = false;
    loop {
        if let Some(found) = find(spec) {
            return Some(found);
        }
        if start.elapsed() >= limit {
            return None;
        }
        if !said && start.elapsed() > PATIENCE {
            say!("Waiting for {} ({} s at most).", spec.to_string_lossy(), limit.as_secs());
            said = true;
        }
        thread::sleep(LOOK_AGAIN);
    }
}

type Is = fn(&Block, &str) -> bool;

const TAGS: &[(&str, &str, Is)] = &[
    ("UUID=", "by-uuid", |device, value| {
        device.identity().is_some_and(|identity| identity.uuid.eq_ignore_ascii_case(value))
    }),
    ("LABEL=", "by-label", |device, value| {
        device.identity().is_some_and(|identity| !value.is_empty() && identity.label == value)
    }),
    ("PARTUUID=", "by-partuuid", |device, value| {
        device.partition_uuid().is_some_and(|uuid| uuid.eq_ignore_ascii_case(value))
    }),
    ("PARTLABEL=", "by-partlabel", |device, value| {
        device.partition_label().is_some_and(|label| label == value)
    }),
];

/// A block device.
struct Block {
    sys: PathBuf,
    node: PathBuf,
}

fn block_devices() -> Vec<Block> {
    let names = fs::read_dir(SYS).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let mut names: Vec<_> = names.collect();
    names.sort();
    let device = |name: std::ffi::OsString| {
        let node = Path::new("/dev").join(name.to_string_lossy().replace('!', "/"));
        Block { sys: Path::new(SYS).join(&name), node }
    };
    names.into_iter().map(device).filter(|device| device.node.exists()).collect()
}

impl Block {
    fn bytes<const N: usize>(&self, offset: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        File::open(&self.node).ok()?.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }

    fn identity(&self) -> Option<Identity> {
        identity(&storage::File::open(&self.node).ok()?).ok()?
    }

    fn partition_uuid(&self) -> Option<String> {
        if let Some(told) = self.told("PARTUUID=") {
            return Some(told);
        }
        let (disk, number) = self.disk()?;
        let mbr: [u8; 512] = disk.bytes(0)?;
        match disk.gpt_entry(number) {
            Some(entry) => Some(guid(&entry[16..32])),
            None => {
                let signature = u32::from_le_bytes(mbr[440..444].try_into().ok()?);
                (mbr[510..] == [0x55, 0xaa]).then(|| format!("{signature:08x}-{number:02x}"))
            }
        }
    }

    fn partition_label(&self) -> Option<String> {
        if let Some(told) = self.told("PARTNAME=") {
            return Some(told);
        }
        let (disk, number) = self.disk()?;
        let entry = disk.gpt_entry(number)?;
        let units: Vec<u16> =
            entry[56..128].chunks(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]])).collect();
        let end = units.iter().position(|unit| *unit == 0).unwrap_or(units.len());
        String::from_utf16(&units[..end]).ok()
    }

    /// A property that newer kernels report.
    fn told(&self, key: &str) -> Option<String> {
        let facts = fs::read_to_string(self.sys.join("uevent")).ok()?;
        facts.lines().find_map(|line| line.strip_prefix(key)).map(str::to_owned)
    }

    /// The disk of a partition, and the partition's number.
    fn disk(&self) -> Option<(Self, u32)> {
        let number = fs::read_to_string(self.sys.join("partition")).ok()?.trim().parse().ok()?;
        let sys = fs::canonicalize(&self.sys).ok()?.parent()?.to_owned();
        let node = Path::new("/dev").join(sys.file_name()?.to_string_lossy().replace('!', "/"));
        Some((Self { sys, node }, number))
    }

    /// The partition's GPT entry. (UEFI specification, 5.3: header at the second block, "EFI PART";
    /// entries where it says.)
    fn gpt_entry(&self, number: u32) -> Option<[u8; 128]> {
        let size = fs::read_to_string(self.sys.join("queue/logical_block_size"));
        let block: u64 = size.ok().and_then(|size| size.trim().parse().ok()).unwrap_or(512);
        let header: [u8; 92] = self.bytes(block)?;
        let le32 = |at: usize| Some(u32::from_le_bytes(header[at..at + 4].try_into().ok()?));
        let table = u64::from_le_bytes(header[72..80].try_into().ok()?);
        let (count, size) = (le32(80)?, le32(84)?);
        if header[..8] != *b"EFI PART" || number == 0 || number > count || size < 128 {
            return None;
        }
        let at =
            table.checked_mul(block)?.checked_add(u64::from(number - 1).checked_mul(u64::from(size))?)?;
        self.bytes(at)
    }
}

/// Sixteen bytes in the notation of a UUID.
fn hyphens(bytes: &[u8]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// A GUID's first three fields are little-endian.
fn guid(bytes: &[u8]) -> String {
    let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    hyphens(&order.map(|place| bytes[place]))
}

const SYS: &str = "/sys/class/block";
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// No message is printed for devices that appear within this time.
const PATIENCE: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    fn device(content: &[u8]) -> (PathBuf, Block) {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("keyway-find-{}-{number}", std::process::id()));
        let mut padded = content.to_vec();
        padded.resize(padded.len().max(1 << 16), 0);
        fs::write(&path, padded).unwrap();
        (path.clone(), Block { sys: "/nowhere".into(), node: path })
    }

    #[test]
    fn names_of_volumes_and_file_systems() {
        let mut luks = b"LUKS\xba\xbe\0\x02".to_vec();
        luks.resize(2048, 0);
        luks[24..28].copy_from_slice(b"disk");
        luks[168..172].copy_from_slice(b"0815");
        let (path, found) = device(&luks);
        let identity = found.identity().unwrap();
        assert_eq!((&*identity.uuid, &*identity.label), ("0815", "disk"));
        fs::remove_file(path).unwrap();

        let mut ext = vec![0; 2048];
        ext[1024 + 56..1024 + 58].copy_from_slice(b"\x53\xef");
        ext[1024 + 0x68..1024 + 0x78].copy_from_slice(&[0xab; 16]);
        ext[1024 + 0x78..1024 + 0x7c].copy_from_slice(b"keys");
        let (path, found) = device(&ext);
        let identity = found.identity().unwrap();
        assert_eq!(identity.uuid, "abababab-abab-abab-abab-abababababab");
        assert_eq!(identity.label, "keys");
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn partitions_of_a_gpt() {
        let mut disk = vec![0; 4096];
        disk[512..520].copy_from_slice(b"EFI PART");
        disk[512 + 72] = 2;
        disk[512 + 80] = 4;
        disk[512 + 84] = 128;
        let entry = &mut disk[1024 + 128..1024 + 256];
        entry[16..32].copy_from_slice(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
        entry[56..60].copy_from_slice(&[b'o', 0, b's', 0]);
        let (path, found) = device(&disk);
        let entry = found.gpt_entry(2).unwrap();
        assert_eq!(guid(&entry[16..32]), "03020100-0504-0706-0809-0a0b0c0d0e0f");
        assert!(found.gpt_entry(5).is_none() && found.gpt_entry(0).is_none());
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn what_never_comes_is_not_waited_for_longer_than_said() {
        let start = Instant::now();
        assert_eq!(wait(OsStr::new("/nowhere/at/all"), Duration::from_millis(120)), None);
        assert!(start.elapsed() >= Duration::from_millis(120));
        assert_eq!(find(OsStr::new("UUID=no-such-uuid")), None);
    }
}
