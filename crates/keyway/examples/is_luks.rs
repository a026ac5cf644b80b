//! Says whether a device has a LUKS header: `cargo run -p keyway --example is_luks DEVICE`. What goes wrong is
//! printed by `main` as one line.

use keyway::{Device, Error, Probe};
use std::path::Path;

fn main() -> Result<(), Error> {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: is_luks DEVICE");
        std::process::exit(1);
    };
    println!("{}", if is_luks(Path::new(&path))? { "yes" } else { "no" });
    Ok(())
}

pub(crate) fn is_luks(path: &Path) -> Result<bool, Error> {
    let found = Device::open(path)?.probe()?;
    Ok(matches!(found, Probe::Luks1 | Probe::Luks2))
}
