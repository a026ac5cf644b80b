//! What images and modules are packed with, by their first bytes; all
//! of it in Rust, read as a stream.

use std::io::{self, BufRead, BufReader, Read};

/// A way of packing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// RFC 1952.
    Gzip,
    /// RFC 8878.
    Zstd,
    /// .xz.
    Xz,
    /// .lzma, of older kernels.
    Lzma,
    /// The older framing of LZ4 (`lz4 -l`), which kernels read.
    Lz4,
    /// Burrows and Wheeler's, of the oldest.
    Bzip2,
    /// Not read here.
    Lzo,
}

impl Compression {
    /// By the first bytes; `None` when they are none of these.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let found = MAGICS.iter().find(|(magic, _)| bytes.starts_with(magic));
        found.map(|(_, compression)| *compression)
    }

    /// Its name.
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

    /// The unpacked bytes of `packed`. The readers of one stream leave what follows it in `packed`.
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
                    "it is packed with lzo, which this build does not read; unpack it first",
                ));
            }
        })
    }

    /// All of `packed`, where that is not more than `most` bytes.
    pub fn unpack_all(self, packed: &[u8], most: u64) -> io::Result<Vec<u8>> {
        let unpacked = self.unpack_some(packed, most.saturating_add(1))?;
        match unpacked.len() as u64 > most {
            true => Err(io::Error::other(format!("it unpacks to more than {most} bytes"))),
            false => Ok(unpacked),
        }
    }

    /// The first bytes of what `packed` unpacks to.
    pub fn unpack_some(self, mut packed: &[u8], most: u64) -> io::Result<Vec<u8>> {
        let mut unpacked = Vec::new();
        self.unpack(&mut packed)?.take(most).read_to_end(&mut unpacked)?;
        Ok(unpacked)
    }
}

/// One byte at a time: the reader of .lzma takes more than it needs into its own
/// buffer, and what follows must not get lost there.
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
/// For the dictionary, which stands in the packed bytes: `xz -9` takes half of that.
const LZMA_MEMORY_KIB: u32 = 1 << 17;
