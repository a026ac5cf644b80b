//! Builds OpenSSL 4 once, as a shared library: `openssl4 DIRECTORY`
//! makes `DIRECTORY/libcrypto4.so`.
//!
//! The crate `openssl-src` makes a static library. Its symbols are those of Debian's libcrypto,
//! so it must not be linked into the program that measures both; a shared library that binds
//! its own symbols may be loaded beside the other.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    let directory = PathBuf::from(env::args().nth(1).expect("openssl4 DIRECTORY"));
    let library = directory.join("libcrypto4.so");
    if library.exists() {
        return;
    }
    fs::create_dir_all(&directory).expect("a directory to build in");
    let directory = directory.canonicalize().expect("the directory that was just made");
    let archive = build(&directory.join("openssl4"));
    share(&archive, &library);
}

/// The static library, of which everything else that was built is forgotten.
fn build(directory: &Path) -> PathBuf {
    let target = format!("{}-unknown-linux-gnu", env::consts::ARCH);
    let artifacts = openssl_src::Build::new()
        .out_dir(directory)
        .target(&target)
        .host(&target)
        .openssl_dir("/nowhere")
        .build();
    artifacts.lib_dir().join("libcrypto.a")
}

/// All of `archive` as one shared library, whose calls to itself stay in itself.
fn share(archive: &Path, library: &Path) {
    let unfinished = library.with_extension("unfinished");
    let status = Command::new("cc")
        .args(["-shared", "-Wl,-Bsymbolic", "-Wl,--whole-archive"])
        .arg(archive)
        .args(["-Wl,--no-whole-archive", "-lpthread", "-ldl", "-o"])
        .arg(&unfinished)
        .status()
        .expect("a C compiler");
    assert!(status.success(), "cc: {status}");
    fs::rename(&unfinished, library).expect("the library under its name");
}
