//! Writes a range of a volume's plaintext to standard output:
//! `cargo run -p keyway --example read_range DEVICE KEY-FILE OFFSET LENGTH`.

use keyway::{Device, Key};
use std::error::Error;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [device, key_file, offset, length] = arguments.as_slice() else {
        return Err("usage: read_range DEVICE KEY-FILE OFFSET LENGTH".into());
    };
    let (offset, length) = (offset.parse()?, length.parse()?);
    read_range(Path::new(device), Path::new(key_file), offset, length, &mut io::stdout())
}

pub(crate) fn read_range(
    device: &Path,
    key_file: &Path,
    offset: u64,
    length: u64,
    out: &mut dyn Write,
) -> Result<(), Box<dyn Error>> {
    let mut volume = Device::open(device)?.unlock(&Key::key_file(key_file))?;
    volume.seek(SeekFrom::Start(offset))?;
    io::copy(&mut volume.take(length), out)?;
    Ok(())
}
