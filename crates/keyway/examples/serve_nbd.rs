//! Serves a volume over NBD, in this process, until Enter is pressed:
//! `cargo run -p keyway --features nbd --example serve_nbd DEVICE KEY-FILE SOCKET`.

use keyway::{Attached, Device, Key};
use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [device, key_file, socket] = paths.as_slice() else {
        return Err("usage: serve_nbd DEVICE KEY-FILE SOCKET".into());
    };
    let front_end = serve_nbd(device, key_file, socket)?;
    println!("{}", front_end.place());
    io::stdin().read_line(&mut String::new())?;
    Ok(front_end.stop()?)
}

pub(crate) fn serve_nbd(device: &Path, key_file: &Path, socket: &Path) -> keyway::Result<Attached> {
    let volume = Device::open_rw(device)?.unlock(&Key::key_file(key_file))?;
    volume.serve_nbd(socket)
}
