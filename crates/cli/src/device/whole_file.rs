//! Small files that are read whole, up to a limit, whatever length they claim to have.

use crate::output::size::human;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The limit for boot images and their parts: no boot loader accepts more.
pub(crate) const BOOT_IMAGE: u64 = 2 << 30;
/// The limit for bench's results: a run of every case with all its samples takes some MiB.
pub(crate) const RESULTS: u64 = 64 << 20;

/// The content of a file of at most `most` bytes.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let length = file.metadata().map_or(0, |found| found.len()).min(most);
    let mut content = Vec::new();
    content.try_reserve_exact(usize::try_from(length).unwrap_or(usize::MAX))?;
    file.take(most + 1).read_to_end(&mut content)?;
    match content.len() as u64 > most {
        true => Err(io::Error::new(
            ErrorKind::FileTooLarge,
            format!("it is larger than {}, the limit for such a file", human(most)),
        )),
        false => Ok(content),
    }
}

/// The same for a text file.
pub(crate) fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "stream did not contain valid UTF-8"))
}
