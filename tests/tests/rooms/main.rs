//! The sources of the program, of the volumes and of the ciphers are divided into rooms and import downwards
//! only; no files import each other in a circle; parsed arguments go no further than the reading of
//! a request; what inner crates make public is named by others; no sentence is written twice.

mod imports;
mod public;
mod sentences;

use imports::Imports;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The program's, from the top: each may import from those after it.
const ROOMS: [&str; 10] =
    ["verb", "mapping", "session", "make", "volume", "unlock", "device", "args", "output", "process"];

/// Those of `keyway-crypto`, from the top: construction from a specification, what is constructed,
/// the traits between them, and what all of it stands on.
const CRYPTO: [&str; 21] = [
    "cascade",
    "sector",
    "choice",
    "spec",
    "aes_xts",
    "aes_ccm",
    "aes_wrap",
    "block",
    "mode",
    "iv",
    "engine",
    "block_cipher",
    "chaining",
    "sector_size",
    "kdf",
    "hash",
    "secret",
    "sys",
    "simd",
    "cpu",
    "error",
];

/// Those of `keyway-volume`, from the top, as its documentation describes them.
const VOLUME: [&str; 10] =
    ["trust", "reencrypt", "data", "change", "kind", "keyslot", "header", "device", "random", "error"];

/// All crates.
const CRATES: [&str; 11] = [
    "attach", "boot", "cli", "crypto", "format", "kernel", "keyway", "measure", "remote", "resolve", "volume",
];

/// Those that are divided, with their rooms.
const DIVIDED: [(&str, &[&str]); 3] = [("cli", &ROOMS), ("crypto", &CRYPTO), ("volume", &VOLUME)];

fn program() -> Imports {
    sources("cli")
}

fn sources(package: &str) -> Imports {
    Imports::of(&Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../crates/{package}/src")))
}

#[test]
fn every_folder_is_a_room() {
    for (package, rooms) in DIVIDED {
        let found: BTreeSet<String> = sources(package).modules().filter_map(room_of).collect();
        assert_eq!(found, rooms.iter().map(ToString::to_string).collect(), "{package}");
    }
}

#[test]
fn nothing_imports_upwards() {
    for (package, rooms) in DIVIDED {
        assert_eq!(upwards(&sources(package), rooms), BTreeSet::new(), "{package}");
    }
}

/// The imports that go upwards: the module, and the room that it imports from.
fn upwards(imports: &Imports, rooms: &[&str]) -> BTreeSet<(String, String)> {
    let rank = |room: &str| rooms.iter().position(|known| *known == room);
    let mut found = BTreeSet::new();
    for (from, to) in imports.edges() {
        let (Some(below), Some(above)) = (room_of(from), room_of(to)) else { continue };
        if rank(&below) > rank(&above) {
            found.insert((from.to_owned(), above));
        }
    }
    found
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    for package in CRATES {
        let imports = sources(package);
        let circles = imports.circles();
        assert!(circles.is_empty(), "{package}: {circles:#?}");
    }
}

/// What reads arguments besides a request's `from_args`, for one of them.
const READERS: &[(&str, &str)] = &[
    ("device::target", "if_given"),
    ("device::target", "locking"),
    ("make::header", "check_options"),
    ("make::header", "key_bits"),
    ("make::header", "optional"),
    ("make::kdf", "cost"),
    ("make::new_volume", "holes_from_args"),
    ("unlock::key_options", "volume_key_file"),
    ("volume::kinds::plain::given", "of_source"),
    ("verb::tools::boot::own_options", "check"),
    ("verb::key::add", "unbound_bits"),
    ("verb::key::reencrypt::opened", "check_nothing_is_skipped"),
    ("verb::session::open", "of_new_volume"),
    ("verb::volume::backup", "backup_file"),
];

#[test]
fn arguments_stop_where_requests_are_read() {
    let imports = program();
    let mut found = Vec::new();
    for (module, function) in imports.functions_with("&Args") {
        let is_of_args = room_of(module).is_none_or(|room| room == "args");
        let is_known = function == "from_args" || READERS.contains(&(module, function));
        if !is_of_args && !is_known {
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

/// A file that moves takes its row in `./dev mutants`'s tables along.
#[test]
fn tables_of_mutants_name_files_that_there_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for table in ["guards", "harmless"] {
        let text = fs::read_to_string(root.join(format!("tests/mutants/{table}.tsv"))).unwrap();
        for row in text.lines().filter(|line| !line.starts_with('#')) {
            let file = row.split('\t').next().unwrap();
            assert!(root.join(file).is_file(), "{table}.tsv: {file}");
        }
    }
}

/// What `keyway-volume` has for edits and new volumes. The library `keyway` offers all of it.
const OFFERED: [&str; 10] = [
    "change::backup",
    "change::convert",
    "change::create::create",
    "change::create::plan",
    "change::edit",
    "change::repair",
    "change::seal::remove",
    "change::seal::seal",
    "data::build::Build",
    "data::build::plan",
];

#[test]
fn headers_are_edited_and_volumes_made_through_the_library() {
    let program = program();
    let named = program.named_of("keyway_volume");
    assert!(named.contains(&("volume::opening", "Volume".to_owned())), "{named:?}");
    let is_offered = |path: &str| OFFERED.iter().any(|offered| path.starts_with(offered));
    let below: BTreeSet<_> = named.into_iter().filter(|(_, path)| is_offered(path)).collect();
    assert_eq!(below, BTreeSet::new());
}

/// How many paths of the program go past the library, at most: it is to be a client of `keyway` alone. Lower them as
/// they fall.
const PAST_THE_LIBRARY: [(&str, usize); 2] = [("keyway_volume", 38), ("keyway_attach", 117)];

#[test]
fn the_program_goes_past_the_library_no_more_than_it_did() {
    let program = program();
    for (package, most) in PAST_THE_LIBRARY {
        let paths = program.named_of(package).len();
        println!("{paths} paths of the program go into {package}");
        assert_eq!(
            paths, most,
            "{package}: fewer? Then lower the figure. More? The library should offer it."
        );
    }
}

/// Who opens, finds and serves volumes in sessions: what `keyway-attach` is named for.
const SESSIONS: [&str; 6] = [
    "device::explain",
    "device::sessions",
    "mapping",
    "session",
    "verb::key::reencrypt::online",
    "verb::session",
];

/// Others that name `keyway-attach`, and why.
const BESIDE_SESSIONS: [(&str, &str); 6] = [
    ("device::nbd", "an export's address, with the timeouts and TLS keys of the command line"),
    ("device::tls", "certificates and keys, by the names of options"),
    ("output::sentence", "errors of front ends, as sentences"),
    ("unlock::keyring", "keys that the user names in the kernel's keyring"),
    ("verb::boot::unlock", "what only the first process of an initramfs may do, with its proof"),
    ("verb::tools::measure::bench::disk", "dm-crypt is measured with tables that no volume has"),
];

#[test]
fn front_ends_are_named_for_sessions_or_for_a_reason() {
    let program = program();
    let named: BTreeSet<&str> =
        program.named_of("keyway_attach").into_iter().map(|(module, _)| module).collect();
    let is_in = |module: &str, room: &str| {
        module == room || module.strip_prefix(room).is_some_and(|rest| rest.starts_with("::"))
    };
    let known = || SESSIONS.into_iter().chain(BESIDE_SESSIONS.map(|(room, _)| room));
    let others: Vec<_> = named.iter().filter(|module| !known().any(|room| is_in(module, room))).collect();
    assert!(others.is_empty(), "the library should offer what these need: {others:?}");
    let gone: Vec<_> = known().filter(|room| !named.iter().any(|module| is_in(module, room))).collect();
    assert!(gone.is_empty(), "no longer there: {gone:?}");
}
