//! `keyway bench`: real runs of every suite, with minimal time; its output is read by third-party
//! parsers, and the page by a browser. And `keyway xray`, of texts.

mod browser;
mod disk;
mod files;
mod pages;
mod runs;
mod xray;

use keyway_tests::{Scratch, keyway};
use std::path::PathBuf;

/// The results file of a short run.
#[track_caller]
fn saved(scratch: &Scratch, name: &str, options: &str) -> PathBuf {
    let path = scratch.path(name);
    keyway("bench --time 3").args(options).args("--save").arg(&path).ok();
    path
}
