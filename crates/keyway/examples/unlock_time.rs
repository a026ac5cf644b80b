//! Says how long each keyslot takes to unlock on this machine: `cargo run -p
//! keyway --release --example unlock_time DEVICE`.

use keyway::Device;
use std::error::Error;
use std::io::{self, Write};
use std::path::Path;
use std::thread::available_parallelism;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: unlock_time DEVICE")?;
    unlock_times(Path::new(&path), &mut io::stdout())
}

pub(crate) fn unlock_times(path: &Path, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let header = Device::open(path)?.header()?;
    for keyslot in header.keyslots() {
        match header.unlock_time(keyslot.number, available_parallelism()?.into()) {
            Ok(time) => writeln!(out, "keyslot {}: about {:.2} s", keyslot.number, time.as_secs_f64())?,
            Err(error) => writeln!(out, "keyslot {}: {error}", keyslot.number)?,
        }
    }
    Ok(())
}
