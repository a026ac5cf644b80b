//! The bytes of a volume that GRUB reads for its header.

/// A volume's header, and the length of its device.
pub struct Disk<'a> {
    read: &'a dyn Fn(u64, usize) -> Option<Vec<u8>>,
    /// The length of the data device in bytes.
    pub(super) len: u64,
}

impl<'a> Disk<'a> {
    /// `read` returns a number of bytes at an offset of the header, or nothing if there are fewer;
    /// `len` is the length of the data device.
    pub fn new(read: &'a dyn Fn(u64, usize) -> Option<Vec<u8>>, len: u64) -> Self {
        Self { read, len }
    }

    pub(super) fn at(&self, offset: u64, len: usize) -> Option<Vec<u8>> {
        (self.read)(offset, len).filter(|bytes| bytes.len() == len)
    }

    pub(super) fn start(&self) -> Option<Vec<u8>> {
        self.at(0, 8)
    }
}

/// A number in a header; these are big-endian.
pub(super) fn number(bytes: &[u8], at: usize, len: usize) -> u64 {
    bytes.get(at..at + len).unwrap_or_default().iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// The text up to the first NUL; bytes that are not UTF-8 are replaced.
pub(super) fn text(bytes: &[u8], at: usize, len: usize) -> String {
    let field = bytes.get(at..at + len).unwrap_or_default();
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}
