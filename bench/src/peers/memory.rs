//! Peak resident memory (VmHWM) of reading, writing and building,
//! which must not grow with the volume.

use crate::options::Options;
use crate::peers::volumes::{Place, milliseconds, program};
use crate::rounds::{Case, Goal, Unit};
use std::fs;
use std::process::Command;
use std::rc::Rc;
use std::thread::sleep;
use std::time::Duration;

pub(crate) fn cases(options: &Options) -> Vec<Case> {
    if !options.wants("peak memory") {
        return Vec::new();
    }
    let place = Rc::new(Place::new("memory"));
    let key = place.file("key", b"secret");
    let image = place.image("image", options.mib);
    let volume = place.path("volume.luks");
    let cost = "--pbkdf pbkdf2 --pbkdf-force-iterations 1000";
    milliseconds(&mut program(
        &format!("keyway build {cost} --key-file {{}} {{}} {{}}"),
        &[&key, &image, &volume],
    ));
    let built = place.path("built.luks");
    let verbs = [
        ("read", "keyway read --key-file {} {}".to_owned(), vec![key.clone(), volume.clone()]),
        ("write", "keyway write --key-file {} {} {}".to_owned(), vec![key.clone(), volume, image.clone()]),
        ("build", format!("keyway build {cost} --key-file {{}} {{}} {{}}"), vec![key, image, built.clone()]),
    ];
    let case = |(verb, line, paths): (&str, String, Vec<std::path::PathBuf>)| {
        let (place, built) = (Rc::clone(&place), built.clone());
        let title = format!("peak memory, {verb}, {} MiB", options.mib);
        let case = Case::new(title, Unit::Mebibytes, 3);
        case.with("keyway", move || {
            let _ = &place;
            let _ = fs::remove_file(&built);
            let paths: Vec<_> = paths.iter().map(|path| path.as_path()).collect();
            peak(&mut program(&line, &paths))
        })
        .wanting(Goal::Below(64.0))
    };
    verbs.into_iter().map(case).collect()
}

/// The kernel's own high-water mark, looked at until the program has ended.
pub(crate) fn peak(command: &mut Command) -> f64 {
    let mut child = command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let status = format!("/proc/{}/status", child.id());
    let mut highest = 0;
    while child.try_wait().expect("a child that can be waited for").is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        highest = highest.max(kib.unwrap_or(0));
        sleep(Duration::from_millis(1));
    }
    highest as f64 / 1024.0
}
