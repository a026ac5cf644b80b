//! What a table says that a partition is for: a GUID (UEFI 2.10, 5.3.3, and the Discoverable
//! Partitions Specification), or the type byte of an MBR's entry.

use std::fmt;

/// The type of a partition. `Display` is its name, or else its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// An MBR's type.
    Mbr(u8),
    /// A GPT's type, as it is stored: the first three fields of the GUID are little-endian.
    Gpt([u8; 16]),
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mbr(kind) => match MBR.iter().find(|(kinds, _)| kinds.contains(kind)) {
                Some((_, name)) => f.write_str(name),
                None => write!(f, "type {kind:02x}"),
            },
            Self::Gpt(guid) => {
                let text = text_of(guid);
                f.write_str(GPT.iter().find(|(known, _)| *known == text).map_or(&text, |(_, name)| name))
            }
        }
    }
}

/// A GUID as people write it.
fn text_of(guid: &[u8; 16]) -> String {
    let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let mut text = String::new();
    for (place, index) in order.into_iter().enumerate() {
        let hyphen = if [4, 6, 8, 10].contains(&place) { "-" } else { "" };
        text.push_str(&format!("{hyphen}{:02x}", guid[index]));
    }
    text
}

static GPT: &[(&str, &str)] = &[
    ("0fc63daf-8483-4772-8e79-3d69d8477de4", "Linux filesystem"),
    ("ca7d7ccb-63ed-4c53-861c-1742536059cc", "Linux LUKS"),
    ("0657fd6d-a4ab-43c4-84e5-0933c84b4f4f", "Linux swap"),
    ("e6d6d379-f507-44c2-a23c-238f2a3df928", "Linux LVM"),
    ("a19d880f-05fc-4d3b-a006-743f0f84911e", "Linux RAID"),
    ("4f68bce3-e8cd-4db1-96e7-fbcaf984b709", "Linux root (x86-64)"),
    ("b921b045-1df0-41c3-af44-4c6f280d3fae", "Linux root (ARM64)"),
    ("933ac7e1-2eb4-4f13-b844-0e14e2aef915", "Linux home"),
    ("bc13c2ff-59e6-4262-a352-b275fd6f7172", "Linux extended boot"),
    ("c12a7328-f81f-11d2-ba4b-00a0c93ec93b", "EFI System"),
    ("21686148-6449-6e6f-744e-656564454649", "BIOS boot"),
    ("ebd0a0a2-b9e5-4433-87c0-68b6b72699c7", "Microsoft basic data"),
    ("e3c9e316-0b5c-4db8-817d-f92df00215ae", "Microsoft reserved"),
    ("de94bba4-06d1-4d40-a16a-bfd50179d6ac", "Windows recovery"),
];

static MBR: &[(&[u8], &str)] = &[
    (&[0x83], "Linux"),
    (&[0x82], "Linux swap"),
    (&[0x8e], "Linux LVM"),
    (&[0xe8], "Linux LUKS"),
    (&[0xfd], "Linux RAID"),
    (&[0x01, 0x04, 0x06, 0x0b, 0x0c, 0x0e], "FAT"),
    (&[0x07], "NTFS or exFAT"),
    (&[0xef], "EFI System"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_its_name_or_its_number() {
        let efi = *b"\x28\x73\x2a\xc1\x1f\xf8\xd2\x11\xba\x4b\x00\xa0\xc9\x3e\xc9\x3b";
        assert_eq!(Purpose::Gpt(efi).to_string(), "EFI System");
        let unknown = "03020100-0504-0706-0809-0a0b0c0d0e0f";
        assert_eq!(Purpose::Gpt(std::array::from_fn(|i| i as u8)).to_string(), unknown);
        assert_eq!([0x83, 0x0c, 0x3].map(|kind| Purpose::Mbr(kind).to_string()), ["Linux", "FAT", "type 03"]);
    }
}
