//! Determines where a compressed part of an image ends without decompressing it, so that what
//! follows can be read at once.
//!
//! Only for formats that tell: zstd frames consist of blocks with lengths (RFC 8878, 3.1.1), and an
//! .xz stream at the end of the image has an index of its blocks (The .xz File Format, 2.1.2 and
//! 4).

use super::Compression;

impl Compression {
    /// The number of bytes of `part` in this format, if it can be determined; zeros and other parts
    /// may follow.
    pub(super) fn extent(self, part: &[u8]) -> Option<usize> {
        match self {
            Self::Zstd => zstd(part),
            Self::Xz => xz(part),
            _ => None,
        }
    }
}

/// One frame.
fn zstd(frame: &[u8]) -> Option<usize> {
    let descriptor = *frame.get(4)?;
    let (single_segment, checksum) = (descriptor & 0x20 != 0, descriptor & 4 != 0);
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let content_size = match descriptor >> 6 {
        0 => usize::from(single_segment),
        bits => 1 << bits,
    };
    let mut at = 5 + usize::from(!single_segment) + dictionary + content_size;
    loop {
        let header = frame.get(at..at + 3)?;
        let header = u32::from_le_bytes([header[0], header[1], header[2], 0]);
        let length = match header >> 1 & 3 {
            // A run of one repeated byte.
            1 => 1,
            0 | 2 => (header >> 3) as usize,
            _ => return None,
        };
        at += 3 + length;
        if header & 1 == 1 {
            let end = at + 4 * usize::from(checksum);
            return (end <= frame.len()).then_some(end);
        }
    }
}

/// One stream, if it is the last thing in the image.
fn xz(stream: &[u8]) -> Option<usize> {
    let padding = stream.iter().rev().take(MOST_PADDING).take_while(|byte| **byte == 0).count();
    let end = stream.len() - padding;
    let footer = stream.get(end.checked_sub(FOOTER)?..end)?;
    let (length, magic) = (footer.get(4..8)?, &footer[10..]);
    if magic != b"YZ" {
        return None;
    }
    let index_length = (u32::from_le_bytes(length.try_into().ok()?) as usize + 1).checked_mul(4)?;
    let start = (end - FOOTER).checked_sub(index_length)?;
    let mut index = stream.get(start..end - FOOTER)?;
    let (&[0], rest) = index.split_first_chunk()? else { return None };
    index = rest;
    let records = number(&mut index)?;
    let mut blocks = 0_u64;
    for _ in 0..records {
        blocks = blocks.checked_add(number(&mut index)?.checked_next_multiple_of(4)?)?;
        number(&mut index)?;
    }
    // If the sizes do not add up to this stream's start, the index belongs to another stream.
    (u64::try_from(start).ok()? == blocks.checked_add(FOOTER as u64)?).then_some(end)
}

/// A number in groups of seven bits, the least significant first.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..63).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Images are padded to disk blocks. This search is made for every part of an image.
const MOST_PADDING: usize = 1 << 16;
/// The length of a stream's footer; its header has the same length.
const FOOTER: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// Texts that compress into several blocks, and a repetitive one.
    fn texts() -> [Vec<u8>; 3] {
        let mixed = (0..300_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()).collect();
        [b"short".to_vec(), mixed, vec![7; 400_000]]
    }

    #[test]
    fn frames_of_zstd() {
        for text in texts() {
            let packed =
                ruzstd::encoding::compress_to_vec(&text[..], ruzstd::encoding::CompressionLevel::Fastest);
            let mut image = packed.clone();
            image.extend(b"0707");
            assert_eq!(Compression::Zstd.extent(&image), Some(packed.len()));
            assert_eq!(Compression::Zstd.extent(&packed[..packed.len() - 1]), None);
        }
    }

    #[test]
    fn streams_of_xz() {
        for text in texts() {
            let mut packed = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::default()).unwrap();
            packed.write_all(&text).unwrap();
            let packed = packed.finish().unwrap();
            let mut image = packed.clone();
            image.extend([0; 8]);
            assert_eq!(Compression::Xz.extent(&image), Some(packed.len()));
            // Followed by another stream: nothing is known about the first.
            image.extend(&packed);
            assert_eq!(Compression::Xz.extent(&image), None);
            assert_eq!(Compression::Xz.extent(&packed[..packed.len() - 1]), None);
        }
    }
}
