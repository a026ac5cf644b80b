//! Whole programs, from start to exit, on volumes in memory: reading,
//! building, unlocking, starting.

use crate::options::Options;
use crate::peers::volumes::{Place, milliseconds, program};
use crate::rounds::{Case, Goal, Unit};
use std::fs::File;
use std::rc::Rc;

pub(crate) fn cases(options: &Options) -> Vec<Case> {
    let mut cases = Vec::new();
    if options.wants(READ) || options.wants(BUILD) {
        cases.extend(data(options.mib));
    }
    let unlocking = UNLOCKS.iter().filter(|row| options.wants(&unlock_title(row.title)));
    cases.extend(unlocking.map(unlock));
    cases.push(
        Case::new("keyway --help, from start to exit", Unit::Milliseconds, 100)
            .with("keyway", || milliseconds(&mut program("keyway --help", &[])))
            .with("/bin/true", || milliseconds(&mut program("true", &[])))
            .wanting(Goal::Below(5.0)),
    );
    cases
}

const READ: &str = "keyway read";
const BUILD: &str = "keyway build";

/// Reading a LUKS1 volume (the format that nbdkit knows) and building one.
fn data(mib: u64) -> Vec<Case> {
    let place = Rc::new(Place::new("data"));
    let key = place.file("key", PASSWORD);
    let image = place.image("image", mib);
    let volume = place.path("volume.luks");
    let build = "keyway build --type luks1 --pbkdf-force-iterations 1000 --key-file {} {} {}";
    milliseconds(&mut program(build, &[&key, &image, &volume]));

    let rate = move |ms: f64| (mib << 20) as f64 / 1e3 / ms;
    let (raw, luks, pass) = (image.clone(), volume.clone(), key.clone());
    let nbdkit = move || {
        let passphrase = format!("passphrase=+{}", pass.display());
        let mut command = program("nbdkit -U - --filter=luks file {}", &[&luks]);
        command.arg(passphrase).arg("--run").arg("nbdcopy $uri null:");
        rate(milliseconds(&mut command))
    };
    let read = Case::new(format!("{READ}, {mib} MiB, to /dev/null"), Unit::Megabytes, 7)
        .with("keyway", {
            let (key, volume) = (key.clone(), volume.clone());
            move || rate(milliseconds(&mut program("keyway read --key-file {} {}", &[&key, &volume])))
        })
        .with("cat of the raw file", move || rate(milliseconds(&mut program("cat {}", &[&raw]))))
        .wanting(Goal::RatioAtLeast(0.7))
        .with("nbdcopy of nbdkit luks", nbdkit)
        .wanting(Goal::RatioAtLeast(5.0));

    let out = place.path("built.luks");
    let copy = place.path("copy");
    let copied = image.clone();
    let build = Case::new(format!("{BUILD}, {mib} MiB"), Unit::Megabytes, 7)
        .with("keyway", {
            let (key, image) = (key.clone(), image.clone());
            let build = "keyway build --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --key-file {} {} {}";
            move || {
                let _ = std::fs::remove_file(&out);
                rate(milliseconds(&mut program(build, &[&key, &image, &out])))
            }
        })
        .with("cp", move || {
            let _ = std::fs::remove_file(&copy);
            // The place lives as long as the last case that needs it.
            let _ = &place;
            rate(milliseconds(&mut program("cp {} {}", &[&copied, &copy])))
        })
        .wanting(Goal::RatioAtLeast(0.5));
    vec![read, build]
}

/// Volumes made by cryptsetup, opened with `--test-passphrase`.
struct Unlock {
    title: &'static str,
    kind: &'static str,
    /// Options of luksFormat and luksAddKey.
    cost: &'static str,
    /// Keyslots of equal cost; the passphrase of the last one is given.
    slots: u32,
    wanted: f64,
}

const fn one_slot(title: &'static str, kind: &'static str, cost: &'static str) -> Unlock {
    Unlock { title, kind, cost, slots: 1, wanted: 1.0 }
}

const fn four_slots(title: &'static str, kind: &'static str, cost: &'static str) -> Unlock {
    Unlock { title, kind, cost, slots: 4, wanted: 0.6 }
}

const UNLOCKS: [Unlock; 7] = [
    one_slot("LUKS1 sha256", "luks1", "-h sha256 --pbkdf-force-iterations 500000"),
    one_slot("LUKS1 sha512", "luks1", "-h sha512 --pbkdf-force-iterations 500000"),
    one_slot("LUKS2 PBKDF2-sha256", "luks2", PBKDF2),
    one_slot(
        "LUKS2 Argon2id, 1 GiB, 4 lanes",
        "luks2",
        "--pbkdf argon2id --pbkdf-force-iterations 4 --pbkdf-memory 1048576 --pbkdf-parallel 4",
    ),
    one_slot(
        "LUKS2 Argon2i, 128 MiB, 1 lane",
        "luks2",
        "--pbkdf argon2i --pbkdf-force-iterations 4 --pbkdf-memory 131072 --pbkdf-parallel 1",
    ),
    four_slots("LUKS2 PBKDF2-sha256, last of four slots", "luks2", PBKDF2),
    four_slots(
        "LUKS2 Argon2id, 128 MiB, last of four slots",
        "luks2",
        "--pbkdf argon2id --pbkdf-force-iterations 4 --pbkdf-memory 131072 --pbkdf-parallel 4",
    ),
];
const PBKDF2: &str = "--pbkdf pbkdf2 -h sha256 --pbkdf-force-iterations 500000";

fn unlock_title(title: &str) -> String {
    format!("open, {title}")
}

fn unlock(row: &Unlock) -> Case {
    let place = Rc::new(Place::new(&row.title.replace([' ', ','], "-")));
    let volume = place.file("volume", &[]);
    File::options().write(true).open(&volume).and_then(|f| f.set_len(24 << 20)).expect("room in /dev/shm");
    let key = |slot: u32| place.file(&format!("key-{slot}"), format!("passphrase of slot {slot}").as_bytes());
    let format = format!("cryptsetup luksFormat -q --type {} {} {{}} {{}}", row.kind, row.cost);
    milliseconds(&mut program(&format, &[&volume, &key(0)]));
    for slot in 1..row.slots {
        let add = format!("cryptsetup luksAddKey -q {} --key-file {{}} {{}} {{}}", row.cost);
        milliseconds(&mut program(&add, &[&key(0), &volume, &key(slot)]));
    }
    let open = |name: &str| {
        let line = format!("{name} open --test-passphrase --key-file {{}} {{}}");
        let (place, volume, last) = (Rc::clone(&place), volume.clone(), key(row.slots - 1));
        move || {
            // The volume's directory lives as long as whoever opens it.
            let _ = &place;
            milliseconds(&mut program(&line, &[&last, &volume]))
        }
    };
    Case::new(unlock_title(row.title), Unit::Milliseconds, if row.slots > 1 { 3 } else { 5 })
        .with("keyway", open("keyway"))
        .with("cryptsetup", open("cryptsetup"))
        .wanting(Goal::RatioAtMost(row.wanted))
}

const PASSWORD: &[u8] = b"correct horse battery staple";
