//! Foretells what opening a volume takes on every machine that is known, GRUB's too: `cargo run -p
//! keyway --release --features predict --example predict DEVICE`.

use keyway::{Device, Machine, Outcome};
use std::error::Error;
use std::io::{self, Write};
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: predict DEVICE")?;
    predict(Path::new(&path), &mut io::stdout())
}

pub(crate) fn predict(path: &Path, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let device = Device::open(path)?;
    for machine in Machine::names().filter_map(Machine::find) {
        writeln!(out, "{machine}:")?;
        let prediction = device.predict(&machine)?;
        if let Some(why) = prediction.refused() {
            writeln!(out, "  opens no keyslot, because {why}")?;
        }
        for keyslot in prediction.keyslots() {
            write!(out, "  keyslot {}: ", keyslot.number())?;
            match (keyslot.outcome(), keyslot.time()) {
                (Outcome::Cannot(why) | Outcome::SaysInvalidPassphrase(why), _) => {
                    writeln!(out, "does not open, because {why}")?;
                }
                (_, Some(time)) => writeln!(out, "about {:.2} s", time.as_secs_f64())?,
                _ => writeln!(out, "not tried, or for how long nobody knows")?,
            }
        }
    }
    Ok(())
}
