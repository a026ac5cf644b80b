//! Prints what a LUKS header says: `cargo run -p keyway --example print_header DEVICE`.

use keyway::{Device, Kdf, Probe};
use std::error::Error;
use std::io::{self, Write};
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: print_header DEVICE")?;
    print_header(Path::new(&path), &mut io::stdout())
}

pub(crate) fn print_header(path: &Path, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let device = Device::open(path)?;
    match device.probe()? {
        Probe::Luks1 | Probe::Luks2 => print(&device, out),
        Probe::Damaged { place, why } => Err(format!("a damaged LUKS header: {place}: {why}").into()),
        Probe::Other(signature) => Err(format!("no LUKS header, but {}", signature.name).into()),
        other => Err(format!("no LUKS header that can be read: {other:?}").into()),
    }
}

fn print(device: &Device, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let header = device.header()?;
    writeln!(out, "{} {}, label {:?}", header.version(), header.uuid(), header.label())?;
    for segment in header.segments() {
        let length =
            segment.length.map_or("the end".to_owned(), |length| (segment.offset + length).to_string());
        let cipher = segment.cipher.as_deref().unwrap_or("not encrypted");
        writeln!(
            out,
            "bytes {} to {length}: {cipher}, sectors of {} bytes",
            segment.offset, segment.sector_size
        )?;
    }
    for keyslot in header.keyslots() {
        let kdf = match &keyslot.kdf {
            Kdf::Pbkdf2 { hash, iterations, .. } => format!("{iterations} iterations of {hash}"),
            Kdf::Argon2 { variant, passes, memory_kib, lanes, .. } => {
                format!("{variant}, {passes} passes over {memory_kib} KiB in {lanes} lanes")
            }
            other => format!("{other:?}"),
        };
        writeln!(out, "keyslot {}: {:?}, {kdf}", keyslot.number, keyslot.state)?;
    }
    for finding in header.findings() {
        writeln!(out, "against opening it: {finding}")?;
    }
    Ok(())
}
