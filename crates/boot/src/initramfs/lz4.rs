//! LZ4's legacy frames, the only ones that the kernel reads (lib/decompress_unlz4.c; LZ4 Frame
//! Format, "Legacy frame").
//!
//! ```text
//! 0   4   02 21 4c 18
//! then for each block: 4 bytes little-endian its length; so much of LZ4, which unpacks to at most 8 MiB
//! ```
//!
//! A frame has no end marker: it ends with the input, with a length of zero (padding), or with the
//! next frame's magic number.

use std::io::{self, Read};

/// The magic number.
pub(super) const MAGIC: &[u8] = &[0x02, 0x21, 0x4c, 0x18];

/// Decompresses one frame.
pub(super) struct Reader<'a, 'b> {
    packed: &'a mut &'b [u8],
    /// As long as the longest block so far could be. It is never shortened, because extending it
    /// again costs more than decompressing small blocks.
    block: Vec<u8>,
    /// The current block: how much of it was read, and where it ends.
    read: usize,
    end: usize,
    started: bool,
}

impl<'a, 'b> Reader<'a, 'b> {
    pub(super) fn new(packed: &'a mut &'b [u8]) -> Self {
        Self { packed, block: Vec::new(), read: 0, end: 0, started: false }
    }

    /// Decompresses the next block. Returns whether there was one.
    fn next_block(&mut self) -> io::Result<bool> {
        while let Some((word, rest)) = self.packed.split_first_chunk::<4>() {
            if word == MAGIC {
                (self.started, *self.packed) = (true, rest);
                continue;
            }
            let length = u32::from_le_bytes(*word) as usize;
            if !self.started || length == 0 {
                break;
            }
            let Some((block, after)) = rest.split_at_checked(length) else {
                return Err(io::ErrorKind::UnexpectedEof.into());
            };
            let room = length.saturating_mul(MOST_TIMES).min(LARGEST_BLOCK);
            self.block.resize(room.max(self.block.len()), 0);
            self.end = lz4_flex::block::decompress_into(block, &mut self.block)
                .map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))?;
            (self.read, *self.packed) = (0, after);
            return Ok(true);
        }
        Ok(false)
    }
}

impl Read for Reader<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.read == self.end {
            if !self.next_block()? {
                return Ok(0);
            }
        }
        let length = buffer.len().min(self.end - self.read);
        buffer[..length].copy_from_slice(&self.block[self.read..self.read + length]);
        self.read += length;
        Ok(length)
    }
}

const LARGEST_BLOCK: usize = 8 << 20;
/// A length byte stands for at most 255 bytes, and there is no shorter encoding.
const MOST_TIMES: usize = 255;

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight megabytes used to be cleared for each block: 64 seconds for one megabyte of blocks.
    #[test]
    fn small_blocks_take_no_more_than_they_are() {
        let mut packed = Vec::from(MAGIC);
        for byte in 0..200_000_u32 {
            // A token for one literal, and the literal.
            packed.extend([2, 0, 0, 0, 0x10, byte as u8]);
        }
        let mut rest = &packed[..];
        let mut reader = Reader::new(&mut rest);
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        assert_eq!((bytes.len(), bytes[300], reader.block.len()), (200_000, 44, 2 * 255));
        // The format's maximum block size is enough for the most compressible data.
        let block = lz4_flex::block::compress(&vec![0; LARGEST_BLOCK]);
        let packed = [MAGIC, &(block.len() as u32).to_le_bytes(), &block].concat();
        let mut bytes = Vec::new();
        Reader::new(&mut &packed[..]).read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, vec![0; LARGEST_BLOCK]);
    }

    #[test]
    fn blocks_until_the_padding() {
        let mut packed = Vec::from(MAGIC);
        for text in ["first ", "second"] {
            let block = lz4_flex::block::compress(text.as_bytes());
            packed.extend((block.len() as u32).to_le_bytes());
            packed.extend(block);
        }
        packed.extend([0; 4]);
        let mut rest = &packed[..];
        let mut text = String::new();
        Reader::new(&mut rest).read_to_string(&mut text).unwrap();
        assert_eq!((&text[..], rest), ("first second", &[0; 4][..]));
        for length in 4..packed.len() - 4 {
            let _ = Reader::new(&mut &packed[..length]).read_to_end(&mut Vec::new());
        }
    }
}
