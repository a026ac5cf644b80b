//! Archives that a kernel unpacks into its first root directory: "newc" cpio (Linux,
//! Documentation/driver-api/early-userspace/buffer-format.rst).

use std::fmt::Write as _;

/// A file or a directory, by its name below the root directory.
pub(super) enum Entry<'a> {
    Directory(&'a str),
    File(&'a str, &'a [u8]),
}

/// An archive of these, in this order.
pub(super) fn archive<'a>(entries: impl IntoIterator<Item = Entry<'a>>) -> Vec<u8> {
    let mut archive = Vec::new();
    for (inode, entry) in (1..).zip(entries) {
        match entry {
            Entry::Directory(name) => append(&mut archive, inode, name, 0o040_755, &[]),
            Entry::File(name, content) => append(&mut archive, inode, name, 0o100_755, content),
        }
    }
    append(&mut archive, 0, "TRAILER!!!", 0, &[]);
    archive
}

/// 110 bytes of ASCII header, the name with its NUL, the content; name and content each padded to
/// four bytes.
fn append(archive: &mut Vec<u8>, inode: usize, name: &str, mode: u32, content: &[u8]) {
    let mut header = String::from("070701");
    let (user, group, links, time, device) = (0, 0, 1, 0, 0);
    for field in [inode, mode as usize, user, group, links, time, content.len()] {
        write!(header, "{field:08x}").expect("writing to a String");
    }
    let checksum = 0;
    for field in [device, device, device, device, name.len() + 1, checksum] {
        write!(header, "{field:08x}").expect("writing to a String");
    }
    archive.extend_from_slice(header.as_bytes());
    archive.extend_from_slice(name.as_bytes());
    archive.push(0);
    archive.resize(archive.len().next_multiple_of(4), 0);
    archive.extend_from_slice(content);
    archive.resize(archive.len().next_multiple_of(4), 0);
}
