//! What `--skip-unused` saves: a nearly empty ext4 file system, beside the full way in the same round.
//!
//! Nothing on the volume is a hole when a sample begins: what was discarded is filled again first, which
//! is not timed.

use super::CHEAP;
use crate::options::Options;
use crate::peers::volumes::{Place, milliseconds, program};
use crate::rounds::{Case, Goal, Unit};
use std::cell::Cell;
use std::fs::File;
use std::path::PathBuf;
use std::rc::Rc;

/// The rate is that of the whole volume, used or not.
pub(super) fn cases(options: &Options) -> Vec<Case> {
    let ways = [("--skip-unused", 1.2), ("--skip-unused --discard-unused", 3.0)];
    let title = |way: &str| format!("reencrypt {way}, ext4 nearly empty, {} MiB, memory", options.mib);
    let wanted: Vec<_> = ways.into_iter().filter(|(way, _)| options.wants(&title(way))).collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let volume = Rc::new(Volume::new(Place::new("unused"), options.mib));
    let case = |(way, ratio): (&'static str, f64)| {
        let sample = |way: &'static str| {
            let volume = Rc::clone(&volume);
            move || volume.rate(way)
        };
        Case::new(title(way), Unit::Megabytes, 3)
            .with("keyway", sample(way))
            .with("keyway, the full way", sample(""))
            .wanting(Goal::RatioAtLeast(ratio))
    };
    wanted.into_iter().map(case).collect()
}

/// A volume with 20 MiB of files on it, re-encrypted again and again.
struct Volume {
    _place: Place,
    mib: u64,
    key: PathBuf,
    at_work: PathBuf,
    has_holes: Cell<bool>,
}

impl Volume {
    fn new(place: Place, mib: u64) -> Self {
        let (key, tree, image) =
            (place.file("key", b"correct horse"), place.path("tree"), place.path("image"));
        std::fs::create_dir(&tree).expect("a directory in memory");
        std::fs::rename(place.image("files", 20), tree.join("files")).expect("a file in memory");
        File::create(&image).and_then(|file| file.set_len(mib << 20)).expect("room for an image");
        milliseconds(&mut program("mke2fs -q -F -t ext4 -d {} {}", &[&tree, &image]));
        let at_work = place.path("volume");
        let build = format!("keyway build --fill --sector-size 4096 {CHEAP} --key-file {{}} {{}} {{}}");
        milliseconds(&mut program(&build, &[&key, &image, &at_work]));
        std::fs::remove_file(image).expect("the image is there");
        Self { _place: place, mib, key, at_work, has_holes: Cell::new(false) }
    }

    fn rate(&self, way: &str) -> f64 {
        if self.has_holes.get() {
            self.reencrypt("--skip-unused");
        }
        self.has_holes.set(way.contains("--discard-unused"));
        (self.mib << 20) as f64 / 1e3 / self.reencrypt(way)
    }

    fn reencrypt(&self, way: &str) -> f64 {
        let line = format!("keyway reencrypt -q --no-header-backup {CHEAP} {way} --key-file {{}} {{}}");
        // Its warning is no part of a table.
        milliseconds(program(&line, &[&self.key, &self.at_work]).stderr(std::process::Stdio::null()))
    }
}
