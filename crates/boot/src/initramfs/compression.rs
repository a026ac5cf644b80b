//! Compression formats of images and modules, recognised by their first bytes; all decompressors
//! are written in Rust and read a stream.

use std::io::{self, BufRead, BufReader, Read};

/// A compression format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// RFC 1952.
    Gzip,
    /// RFC 8878.
    Zstd,
    /// .xz.
    Xz,
    /// .lzma, used by older kernels.
    Lzma,
    /// The older LZ4 framing (`lz4 -l`), which kernels read.
    Lz4,
    /// The Burrows–Wheeler format of the oldest kernels.
    Bzip2,
    /// Not supported here.
    Lzo,
}

impl Compression {
    /// Recognises a format by its first bytes; `None` if there is no match.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let found = MAGICS.iter().find(|(magic, _)| bytes.starts_with(magic));
        found.map(|(_, compression)| *compression)
    }

    /// The format's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
            Self::Lzma => "lzma",
            Self::Lz4 => "lz4",
            Self::Bzip2 => "bzip2",
            Self::Lzo => "lzo",
        }
    }

    /// The decompressed bytes of `packed`. Readers of single-stream formats leave what follows the
    /// stream in `packed`.
    pub fn unpack<'a>(self, packed: &'a mut &[u8]) -> io::Result<Box<dyn BufRead + 'a>> {
        Ok(match self {
            Self::Gzip => Box::new(BufReader::new(flate2::bufread::GzDecoder::new(packed))),
            Self::Zstd => {
                let stream = ruzstd::decoding::StreamingDecoder::new(packed).map_err(io::Error::other)?;
                Box::new(BufReader::new(stream))
            }
            Self::Xz => {
                Box::new(BufReader::new(lzma_rust2::XzReader::new_mem_limit(packed, false, LZMA_MEMORY_KIB)))
            }
            Self::Lzma => {
                let reader = lzma_rust2::LzmaReader::new_mem_limit(Bytewise(packed), LZMA_MEMORY_KIB, None)?;
                Box::new(BufReader::new(reader))
            }
            Self::Lz4 => Box::new(BufReader::new(super::lz4::Reader::new(packed))),
            Self::Bzip2 => Box::new(BufReader::new(bzip2::bufread::BzDecoder::new(packed))),
            Self::Lzo => {
                return Err(io::Error::other(
                    "it is compressed with lzo, which this build does not support; decompress it first",
                ));
            }
        })
    }

    /// Decompresses all of `packed`, unless the result is longer than `most` bytes.
    pub fn unpack_all(self, packed: &[u8], most: u64) -> io::Result<Vec<u8>> {
        let unpacked = self.unpack_some(packed, most.saturating_add(1))?;
        match unpacked.len() as u64 > most {
            true => Err(io::Error::other(format!("it decompresses to more than {most} bytes"))),
            false => Ok(unpacked),
        }
    }

    /// The first bytes of the decompressed data.
    pub fn unpack_some(self, mut packed: &[u8], most: u64) -> io::Result<Vec<u8>> {
        let mut unpacked = Vec::new();
        self.unpack(&mut packed)?.take(most).read_to_end(&mut unpacked)?;
        Ok(unpacked)
    }
}

/// Yields one byte at a time: the .lzma reader buffers more than it needs, and the bytes after the
/// stream must not get lost in its buffer.
struct Bytewise<'a, 'b>(&'a mut &'b [u8]);

impl Read for Bytewise<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(1);
        self.0.read(&mut buffer[..most])
    }
}

#[rustfmt::skip]
const MAGICS: &[(&[u8], Compression)] = &[
    (&[0x1f, 0x8b], Compression::Gzip),
    (&[0x28, 0xb5, 0x2f, 0xfd], Compression::Zstd),
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], Compression::Xz),
    (&[0x5d, 0, 0], Compression::Lzma),
    (super::lz4::MAGIC, Compression::Lz4),
    (b"BZh", Compression::Bzip2),
    (&[0x89, b'L', b'Z', b'O'], Compression::Lzo),
];
/// The limit for the dictionary, whose size is given in the compressed data: `xz -9` uses half of
/// this.
const LZMA_MEMORY_KIB: u32 = 1 << 17;
