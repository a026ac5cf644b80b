//! The program's sources are divided into rooms and import downwards only; no files import each
//! other in a circle; parsed arguments go no further than the reading of a request.

mod imports;

use imports::Imports;
use std::collections::BTreeSet;
use std::path::Path;

/// From the top: each may import from those after it.
const ROOMS: [&str; 10] =
    ["verb", "mapping", "session", "make", "volume", "unlock", "device", "door", "say", "process"];

/// Allowed upward imports, and the reasons.
const UPWARDS: &[(&str, &str, &str)] = &[];

fn program() -> Imports {
    Imports::of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/cli/src"))
}

#[test]
fn every_folder_is_a_room() {
    let found: BTreeSet<String> = program().modules().filter_map(room_of).collect();
    assert_eq!(found, ROOMS.iter().map(ToString::to_string).collect());
}

#[test]
fn nothing_imports_upwards() {
    let rank = |room: &str| ROOMS.iter().position(|known| *known == room);
    let imports = program();
    let mut allowed: BTreeSet<_> = UPWARDS.iter().map(|(from, to, _)| (*from, *to)).collect();
    let mut found = Vec::new();
    for (from, to) in imports.edges() {
        let (Some(below), Some(above)) = (room_of(from), room_of(to)) else { continue };
        let is_known = UPWARDS.iter().any(|(known, room, _)| from == *known && above == *room);
        if rank(&below) > rank(&above) && !is_known {
            found.push(format!("{from} imports {to}"));
        }
        allowed.retain(|(known, room)| !(from == *known && above == *room));
    }
    assert!(found.is_empty(), "{found:#?}");
    assert!(allowed.is_empty(), "no longer needed: {allowed:?}");
    assert!(UPWARDS.len() <= 10);
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let imports = program();
    let circles = imports.circles();
    assert!(circles.is_empty(), "{circles:#?}");
}

/// What reads arguments besides a request's `from_args`, for one of them.
const READERS: &[(&str, &str)] = &[
    ("device::target", "locking"),
    ("make::header", "check_keyslot_encryption"),
    ("make::header", "check_options"),
    ("make::header", "key_bits"),
    ("make::kdf", "cost"),
    ("make::new_volume", "holes_from_args"),
    ("unlock::key_options", "volume_key_file"),
    ("verb::key::add", "unbound_bits"),
    ("verb::session::open::conflicts", "of_another_format"),
    ("verb::volume::backup", "backup_file"),
];

#[test]
fn arguments_stop_where_requests_are_read() {
    let imports = program();
    let mut found = Vec::new();
    for (module, function) in imports.functions_with("&Args") {
        let is_door = room_of(module).is_none_or(|room| room == "door");
        let is_known = function == "from_args" || READERS.contains(&(module, function));
        if !is_door && !is_known {
            found.push(format!("{module}::{function}"));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
    let is_there = |reader: &&(&str, &str)| imports.functions_with("&Args").any(|found| found == **reader);
    let gone: Vec<_> = READERS.iter().filter(|reader| !is_there(reader)).collect();
    assert!(gone.is_empty(), "no longer there: {gone:?}");
}

/// The first part of a module's path; main.rs stands above all rooms.
fn room_of(module: &str) -> Option<String> {
    let first = module.split("::").next().unwrap_or_default();
    (!first.is_empty()).then(|| first.to_owned())
}
