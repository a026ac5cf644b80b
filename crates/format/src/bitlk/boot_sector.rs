//! The first sector of a BitLocker volume (libyal, "Volume header"), which looks like one of NTFS (Vista) or of FAT32
//! (later): where the metadata are.
//!
//! | offset | length | field                                                                  |
//! |--------|--------|------------------------------------------------------------------------|
//! | 0      | 3      | jump: eb 52 90 (Vista), eb 58 90 (later)                                 |
//! | 3      | 8      | `-FVE-FS-`, or `MSWIN4.1` (To Go; also on any FAT of those years)        |
//! | 11     | 2      | bytes per sector: 512 or 4096; 0 before an exFAT, means 512 (dislocker)  |
//! | 13     | 1      | sectors per cluster                                                    |
//! | 40     | 8      | Vista: NTFS's sectors; its copy of the boot sector is behind them        |
//! | 56     | 8      | Vista: the cluster of the first copy of the metadata                   |
//! | 160    | 16     | scheme, a GUID (To Go: at 424)                                          |
//! | 176    | 3 × 8  | byte offsets of the three copies (To Go: at 440)                         |
//! | 200    | 2 × 8  | encrypt-on-write: byte offsets of its two maps                         |

use super::{Guid, le16, le64};
use crate::{Bytes, Error};
use alloc::format;

/// A BitLocker volume's first sector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootSector {
    /// Who wrote it.
    pub version: Version,
    /// How it is encrypted.
    pub scheme: Scheme,
    /// 512 or 4096: data are encrypted in sectors of this length.
    pub sector_size: Bytes,
    /// A cluster of the file system inside; at least a sector.
    pub cluster_size: Bytes,
    /// Where the copies of the metadata are; Vista says only the first here, and its metadata say all of them.
    pub metadata: [Option<Bytes>; 3],
    /// Where NTFS has a copy of its boot sector, if Vista wrote this one.
    pub boot_copy: Option<Bytes>,
}

/// Who wrote a boot sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Version {
    Vista,
    Seven,
    ToGo,
}

/// How a volume is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// From its start on.
    Normal,
    /// Encrypt-on-write (Windows 10): maps at these places say what is encrypted by now.
    EncryptOnWrite([Bytes; 2]),
    /// None that is known.
    Unknown(Guid),
}

impl BootSector {
    /// The bytes that are read.
    pub const LEN: usize = 512;

    /// Parses the first [`BootSector::LEN`] bytes of a device; the bytes after them are ignored.
    ///
    /// # Errors
    /// [`Error::Truncated`]; [`Error::Invalid`] with the field.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let Some(bytes) = bytes.first_chunk::<{ Self::LEN }>() else {
            return Err(Error::Truncated { needs: Self::LEN as u64, has: bytes.len() as u64 });
        };
        let version = version(bytes)?;
        let sector_size = sector_size(bytes)?;
        let cluster_size = Bytes(sector_size.0 * u64::from(bytes[13].max(1)));
        let (scheme, metadata) = match version {
            Version::Vista => (Scheme::Normal, [Some(first_cluster(bytes, cluster_size)?), None, None]),
            Version::Seven | Version::ToGo => {
                let at = recognition(version);
                (scheme(bytes, at), [16, 24, 32].map(|field| Some(Bytes(le64(bytes, at + field)))))
            }
        };
        let is_vistas = version == Version::Vista;
        let boot_copy =
            le64(bytes, 40).checked_mul(sector_size.0).filter(|at| is_vistas && *at > 0).map(Bytes);
        Ok(Self { version, scheme, sector_size, cluster_size, metadata, boot_copy })
    }

    /// The sector that says this. It looks like a boot sector of FAT32 (Vista: of NTFS) to those who do not know
    /// BitLocker, with the values that Windows has there, and with code that only goes on to the next device.
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        let sectors = self.cluster_size.0 / self.sector_size.0.max(1);
        let vista = self.version == Version::Vista;
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(0, if vista { b"\xeb\x52\x90" } else { b"\xeb\x58\x90" });
        put(3, if self.version == Version::ToGo { TO_GO } else { SIGNATURE });
        put(11, &(self.sector_size.0 as u16).to_le_bytes());
        put(13, &[sectors as u8]);
        FAT32.iter().for_each(|(at, field)| put(*at, field));
        put(if vista { 0x54 } else { 0x5a }, NEXT_DEVICE);
        if let (Version::Vista, [Some(first), ..]) = (self.version, self.metadata) {
            put(40, &(self.boot_copy.unwrap_or_default().0 / self.sector_size.0.max(1)).to_le_bytes());
            put(56, &(first.0 / self.cluster_size.0.max(1)).to_le_bytes());
            return bytes;
        }
        let at = recognition(self.version);
        let (guid, maps) = match self.scheme {
            Scheme::Normal => (NORMAL, None),
            Scheme::EncryptOnWrite(maps) => (ENCRYPT_ON_WRITE, Some(maps)),
            Scheme::Unknown(guid) => (guid, None),
        };
        put(at, &guid.0);
        let places = self.metadata.into_iter().chain(maps.into_iter().flatten().map(Some));
        for (number, place) in places.enumerate() {
            put(at + 16 + 8 * number, &place.unwrap_or_default().0.to_le_bytes());
        }
        bytes
    }
}

/// Whether the bytes are the first of a BitLocker volume; nothing else is checked.
fn version(bytes: &[u8; BootSector::LEN]) -> Result<Version, Error> {
    match (&bytes[..3], &bytes[3..11]) {
        (b"\xeb\x52\x90", SIGNATURE) => Ok(Version::Vista),
        (b"\xeb\x58\x90", SIGNATURE) => Ok(Version::Seven),
        (b"\xeb\x58\x90", TO_GO) if scheme_guid(bytes, Version::ToGo).is_known() => Ok(Version::ToGo),
        _ => Err(Error::invalid("boot sector", "it is not BitLocker's")),
    }
}

fn sector_size(bytes: &[u8; BootSector::LEN]) -> Result<Bytes, Error> {
    match le16(bytes, 11) {
        0 | 512 => Ok(Bytes(512)),
        4096 => Ok(Bytes(4096)),
        other => Err(Error::invalid("boot sector: bytes per sector", format!("{other} is not 512 or 4096"))),
    }
}

fn first_cluster(bytes: &[u8; BootSector::LEN], cluster_size: Bytes) -> Result<Bytes, Error> {
    let cluster = le64(bytes, 56);
    let offset = cluster.checked_mul(cluster_size.0).map(Bytes);
    offset
        .ok_or_else(|| Error::invalid("boot sector: cluster of the metadata", format!("{cluster} overflows")))
}

/// Where the scheme's GUID is; the places of the metadata follow it.
fn recognition(version: Version) -> usize {
    if version == Version::ToGo { 424 } else { 160 }
}

fn scheme_guid(bytes: &[u8; BootSector::LEN], version: Version) -> Guid {
    Guid::at(bytes, recognition(version))
}

fn scheme(bytes: &[u8; BootSector::LEN], at: usize) -> Scheme {
    match Guid::at(bytes, at) {
        NORMAL => Scheme::Normal,
        ENCRYPT_ON_WRITE => Scheme::EncryptOnWrite([40, 48].map(|field| Bytes(le64(bytes, at + field)))),
        other => Scheme::Unknown(other),
    }
}

impl Guid {
    fn is_known(self) -> bool {
        matches!(self, NORMAL | ENCRYPT_ON_WRITE)
    }
}

/// The signature of boot sectors and of metadata.
pub(super) const SIGNATURE: &[u8] = b"-FVE-FS-";
const TO_GO: &[u8] = b"MSWIN4.1";

/// What a boot sector of FAT32 says of a disk, as Windows 10 puts it before its own fields: medium, geometry, length of
/// a FAT, information sector and backup, drive, label, the mark at the end.
const FAT32: [(usize, &[u8]); 7] = [
    (0x15, b"\xf8"),
    (0x18, b"\x3f\0\xff\0"),
    (0x24, b"\xe0\x1f"),
    (0x30, b"\x01\0\x06\0"),
    (0x40, b"\x80\0\x29"),
    (0x47, b"NO NAME    FAT32   "),
    (0x1fe, b"\x55\xaa"),
];
/// x86: int 18h, which tries the next device; hlt and a jump to it, should that come back.
const NEXT_DEVICE: &[u8] = b"\xcd\x18\xf4\xeb\xfd";

/// 4967d63b-2e29-4ad8-8399-f6a339e3d001
const NORMAL: Guid = Guid(*b"\x3b\xd6\x67\x49\x29\x2e\xd8\x4a\x83\x99\xf6\xa3\x39\xe3\xd0\x01");
/// 92a84d3b-dd80-4d0e-9e4e-b1e3284eaed8
const ENCRYPT_ON_WRITE: Guid = Guid(*b"\x3b\x4d\xa8\x92\x80\xdd\x0e\x4d\x9e\x4e\xb1\xe3\x28\x4e\xae\xd8");

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn seven() -> [u8; 512] {
        let mut bytes = [0; 512];
        bytes[..11].copy_from_slice(b"\xeb\x58\x90-FVE-FS-");
        bytes[11..14].copy_from_slice(&[0, 2, 8]);
        bytes[160..176].copy_from_slice(&NORMAL.0);
        for (copy, offset) in [0x10_0000_u64, 0x20_0000, 0x30_0000].iter().enumerate() {
            bytes[176 + 8 * copy..][..8].copy_from_slice(&offset.to_le_bytes());
        }
        bytes
    }

    fn with(at: usize, field: &[u8]) -> [u8; 512] {
        let mut bytes = seven();
        bytes[at..at + field.len()].copy_from_slice(field);
        bytes
    }

    fn refusal(bytes: &[u8]) -> alloc::string::String {
        BootSector::parse(bytes).unwrap_err().to_string()
    }

    #[test]
    fn each_version_says_where_its_metadata_are() {
        let found = BootSector::parse(&seven()).unwrap();
        assert_eq!((found.version, found.scheme), (Version::Seven, Scheme::Normal));
        assert_eq!(found.metadata, [0x10_0000, 0x20_0000, 0x30_0000].map(|at| Some(Bytes(at))));
        assert_eq!((found.sector_size, found.cluster_size), (Bytes(512), Bytes(4096)));

        let mut vista = with(1, b"\x52");
        vista[40..48].copy_from_slice(&8191_u64.to_le_bytes());
        vista[56..64].copy_from_slice(&77_u64.to_le_bytes());
        let found = BootSector::parse(&vista).unwrap();
        assert_eq!((found.version, found.metadata), (Version::Vista, [Some(Bytes(77 * 4096)), None, None]));
        assert_eq!(found.boot_copy, Some(Bytes(8191 * 512)));
        vista[40..48].fill(0xff);
        assert_eq!(BootSector::parse(&vista).unwrap().boot_copy, None, "it overflows");
        let parsed = BootSector::parse(&vista).unwrap();
        assert_eq!(BootSector::parse(&parsed.to_bytes()), Ok(parsed));

        let mut to_go = with(3, TO_GO);
        assert_eq!(refusal(&to_go), "boot sector: it is not BitLocker's", "a FAT");
        to_go.copy_within(160..200, 424);
        to_go[160..200].fill(0);
        let found = BootSector::parse(&to_go).unwrap();
        assert_eq!((found.version, found.metadata[2]), (Version::ToGo, Some(Bytes(0x30_0000))));
    }

    #[test]
    fn schemes() {
        let mut bytes = with(160, &ENCRYPT_ON_WRITE.0);
        bytes[200] = 5;
        bytes[209] = 7;
        let maps = Scheme::EncryptOnWrite([Bytes(5), Bytes(0x700)]);
        assert_eq!(BootSector::parse(&bytes).unwrap().scheme, maps);
        let other = BootSector::parse(&with(160, &[7; 16])).unwrap().scheme;
        assert_eq!(other, Scheme::Unknown(Guid([7; 16])));
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let places = [0x10_0000, 0x20_0000, 0x30_0000].map(|at| Some(Bytes(at)));
        let maps = Scheme::EncryptOnWrite([Bytes(5), Bytes(0x700)]);
        for version in [Version::Vista, Version::Seven, Version::ToGo] {
            for scheme in [Scheme::Normal, maps, Scheme::Unknown(Guid([7; 16]))] {
                for (sector, cluster) in [(512, 4096), (4096, 4096)] {
                    let [sector_size, cluster_size] = [Bytes(sector), Bytes(cluster)];
                    let made = match version {
                        Version::Vista => {
                            let metadata = [places[0], None, None];
                            BootSector {
                                version,
                                scheme: Scheme::Normal,
                                sector_size,
                                cluster_size,
                                metadata,
                                boot_copy: Some(Bytes(0x7000)),
                            }
                        }
                        _ => BootSector {
                            version,
                            scheme,
                            sector_size,
                            cluster_size,
                            metadata: places,
                            boot_copy: None,
                        },
                    };
                    // What is no scheme's is a FAT.
                    if (version, scheme) != (Version::ToGo, Scheme::Unknown(Guid([7; 16]))) {
                        assert_eq!(BootSector::parse(&made.to_bytes()), Ok(made));
                    }
                }
            }
        }
    }

    /// But for its code, the sector is Windows' own: these bytes are of a disk of Windows 10.
    #[test]
    fn is_as_windows_writes_it() {
        let mut windows = seven();
        windows[0x10..0x20].copy_from_slice(b"\0\0\0\0\0\xf8\0\0\x3f\0\xff\0\0\0\0\0");
        windows[0x20..0x28].copy_from_slice(b"\0\0\0\0\xe0\x1f\0\0");
        windows[0x30..0x5a]
            .copy_from_slice(b"\x01\0\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\x80\0\x29\0\0\0\0NO NAME    FAT32   ");
        windows[510..].copy_from_slice(b"\x55\xaa");
        let mut made = BootSector::parse(&windows).unwrap().to_bytes();
        made[0x5a..0x5a + NEXT_DEVICE.len()].fill(0);
        assert_eq!(made, windows);
    }

    #[test]
    fn every_rule_names_its_field() {
        assert_eq!(refusal(&seven()[..511]), "truncated: needs 512 bytes, has 511");
        assert_eq!(refusal(&with(3, b"NTFS    ")), "boot sector: it is not BitLocker's");
        assert_eq!(refusal(&with(0, b"\xeb\x53")), "boot sector: it is not BitLocker's");
        assert_eq!(refusal(&with(11, &[0, 4])), "boot sector: bytes per sector: 1024 is not 512 or 4096");
        assert_eq!(BootSector::parse(&with(11, &[0, 0])).unwrap().sector_size, Bytes(512), "before exFAT");
        let mut vista = with(1, b"\x52");
        vista[56..64].fill(0xff);
        assert_eq!(refusal(&vista), "boot sector: cluster of the metadata: 18446744073709551615 overflows");
    }
}
