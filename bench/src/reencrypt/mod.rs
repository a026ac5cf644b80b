//! `./dev bench reencrypt`: another volume key in place, beside a copy of the same bytes and beside
//! cryptsetup, in memory and on a disk.
//!
//! Each sample begins with a fresh copy of the same volume, which is not timed. The copy that Keyway
//! is compared with is on stable storage when its time ends, as what Keyway writes is.

mod flushes;
mod unused;

use crate::options::Options;
use crate::peers::memory::peak;
use crate::peers::volumes::{Place, milliseconds, program};
use crate::rounds::{Case, Goal, Unit};
use flushes::Flushes;
use std::path::PathBuf;
use std::rc::Rc;

/// What is measured, in the order of the table.
pub(crate) const SECTIONS: [fn(&Options) -> Vec<Case>; 3] = [in_memory, on_disk, unused::cases];

/// A resilience, and the part of a copy's rate that is wanted.
const RESILIENCES: [(&str, f64); 3] = [("none", 0.7), ("checksum", 0.6), ("journal", 0.4)];

fn in_memory(options: &Options) -> Vec<Case> {
    cases(options, "memory", || Place::new("reencrypt"))
}

fn on_disk(options: &Options) -> Vec<Case> {
    cases(options, "disk", || Place::on_disk("reencrypt"))
}

fn cases(options: &Options, on: &str, place: impl FnOnce() -> Place) -> Vec<Case> {
    let title = |resilience: &str| format!("reencrypt, {resilience}, {} MiB, {on}", options.mib);
    let memory = format!("reencrypt, peak memory, {} MiB, {on}", options.mib);
    let wanted: Vec<_> = RESILIENCES.iter().filter(|(name, _)| options.wants(&title(name))).collect();
    if wanted.is_empty() && !options.wants(&memory) {
        return Vec::new();
    }
    let volume = Rc::new(Volume::new(place(), options.mib));
    let mut cases: Vec<_> =
        wanted.into_iter().map(|(name, part)| case(&volume, title(name), name, *part)).collect();
    cases.push(
        Case::new(memory, Unit::Mebibytes, 3)
            .with("keyway", {
                let volume = Rc::clone(&volume);
                move || {
                    volume.renew();
                    peak(&mut volume.reencrypt("keyway", "checksum"))
                }
            })
            .wanting(Goal::Below(64.0)),
    );
    cases.extend(flushes(&volume, options, on));
    cases
}

/// What of the time is spent on waiting for stable storage.
fn flushes(volume: &Rc<Volume>, options: &Options, on: &str) -> [Case; 2] {
    let case = |what: &str, unit, of: fn(Flushes) -> f64| {
        let title = format!("reencrypt, checksum, {what}, {} MiB, {on}", options.mib);
        let run = |name: &'static str| {
            let volume = Rc::clone(volume);
            move || of(Flushes::of(&volume, name, "checksum"))
        };
        Case::new(title, unit, 3).with("keyway", run("keyway")).with("cryptsetup", run("cryptsetup"))
    };
    [
        case("calls of fsync", Unit::Count, |flushes| flushes.count),
        case("time in fsync", Unit::Milliseconds, |flushes| flushes.milliseconds),
    ]
}

fn case(volume: &Rc<Volume>, title: String, resilience: &'static str, part: f64) -> Case {
    let rate = |volume: &Volume, ms: f64| (volume.mib << 20) as f64 / 1e3 / ms;
    let run = |name: &'static str| {
        let volume = Rc::clone(volume);
        move || {
            volume.renew();
            rate(&volume, milliseconds(&mut volume.reencrypt(name, resilience)))
        }
    };
    let copied = Rc::clone(volume);
    Case::new(title, Unit::Megabytes, 5)
        .with("keyway", run("keyway"))
        .with("a copy (dd conv=fsync)", move || {
            let copy = copied.place.path("copy");
            let _ = std::fs::remove_file(&copy);
            let (from, to) = (format!("if={}", copied.image.display()), format!("of={}", copy.display()));
            let mut dd = program("dd bs=1M conv=fsync status=none", &[]);
            rate(&copied, milliseconds(dd.arg(from).arg(to)))
        })
        .wanting(Goal::RatioAtLeast(part))
        .with("cryptsetup", run("cryptsetup"))
        .wanting(Goal::RatioAtLeast(3.0))
}

/// A volume that is re-encrypted again and again.
struct Volume {
    place: Place,
    mib: u64,
    key: PathBuf,
    image: PathBuf,
    /// As it was built, and the copy that is worked on.
    original: PathBuf,
    at_work: PathBuf,
}

impl Volume {
    fn new(place: Place, mib: u64) -> Self {
        let (key, image) = (place.file("key", b"correct horse"), place.image("image", mib));
        let (original, at_work) = (place.path("original"), place.path("volume"));
        let build = format!("keyway build --fill --sector-size 4096 {CHEAP} --key-file {{}} {{}} {{}}");
        milliseconds(&mut program(&build, &[&key, &image, &original]));
        Self { place, mib, key, image, original, at_work }
    }

    fn renew(&self) {
        let _ = std::fs::remove_file(self.place.path("copy"));
        let copy = std::fs::File::create(&self.at_work).and_then(|mut to| {
            std::io::copy(&mut std::fs::File::open(&self.original)?, &mut to)?;
            to.sync_all()
        });
        copy.expect("room for a copy of the volume");
    }

    fn reencrypt(&self, name: &str, resilience: &str) -> std::process::Command {
        // cryptsetup makes no header backup.
        let none = if name == "keyway" { "--no-header-backup" } else { "" };
        let options = format!("-q --force-offline-reencrypt --resilience {resilience} {none} {CHEAP}");
        program(&format!("{name} reencrypt {options} --key-file {{}} {{}}"), &[&self.key, &self.at_work])
    }
}

const CHEAP: &str = "--pbkdf pbkdf2 --pbkdf-force-iterations 1000";
