//! Unlocks LUKS volumes on a bare aarch64 machine: no operating system,
//! no allocator, nothing but memory and a console.
//!
//! A boot loader does the same: KDF, decryption of the keyslot's area, AF merge, the key's
//! digest, and then sectors. The volumes are constants (`build.rs`); for each the program prints
//! the first line of the first sector, or why not.
#![no_std]
#![no_main]

mod arm;
mod unlock;

use core::fmt::Write;
use unlock::{Kdf, Volume, unlock};

include!(concat!(env!("OUT_DIR"), "/volumes.rs"));

/// Called by [`arm`] with memory that nothing else uses.
fn main(console: &mut arm::Console, memory: &mut [u8]) {
    for volume in &VOLUMES {
        for passphrase in ["not the passphrase", "correct horse battery staple"] {
            let _ = match unlock(volume, passphrase.as_bytes(), memory) {
                Ok(sector) => writeln!(console, "{}: {}", volume.name, first_line(sector)),
                Err(why) => writeln!(console, "{}: {why}", volume.name),
            };
        }
    }
}

fn first_line(sector: &[u8]) -> &str {
    let line = sector.split(|byte| *byte == b'\n').next().unwrap_or_default();
    core::str::from_utf8(line).unwrap_or("(not text)")
}
