//! Makes a volume and fills it with an image, as a CI job would; no root is needed:
//! `cargo run -p keyway --example make_and_fill IMAGE VOLUME KEY-FILE`.

use keyway::{Create, Key, NewKdf};
use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [image, volume, key_file] = paths.as_slice() else {
        return Err("usage: make_and_fill IMAGE VOLUME KEY-FILE".into());
    };
    println!("{} bytes", make_and_fill(image, volume, key_file)?);
    Ok(())
}

pub(crate) fn make_and_fill(image: &Path, volume: &Path, key_file: &Path) -> Result<u64, Box<dyn Error>> {
    let (mut image, key) = (File::open(image)?, Key::key_file(key_file));
    // The machine that builds is not the one that opens: a cost that is named, not measured.
    let create = Create::luks2().kdf(NewKdf::argon2id_forced(4, 64 << 10, 2)).size(image.metadata()?.len());
    Ok(create.create(volume, &key)?.unlock(&key)?.copy_from(&mut image)?)
}
