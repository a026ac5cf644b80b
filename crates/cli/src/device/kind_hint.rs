//! What a device is that has no LUKS header, and which option or command is for it.
//!
//! `--type` is never chosen by a signature: whoever can write to the device could put a volume there that opens without
//! a key (BitLocker whose protection is suspended) in the place of the one that was there.

use crate::device;
use crate::output::failure::{Cause, Failure};
use keyway::storage::Storage;
use keyway::{Access, Signature, SignatureKind as Kind, devices};
use std::path::Path;

/// What opens a volume whose signature says that it is no LUKS volume.
pub(crate) fn of_another_kind(path: &Path) -> Option<String> {
    let found = devices::signatures(&*device::storage(path, Access::Probe).ok()?).ok()?;
    found.iter().find_map(opened_by_type)
}

fn opened_by_type(found: &Signature) -> Option<String> {
    let (name, kind) = match found.name {
        "BitLocker volume" => ("BitLocker", "bitlk"),
        "FileVault volume" => ("FileVault", "fvault2"),
        _ => return None,
    };
    Some(format!(
        "It is a {name} volume: --type {kind} opens it (read, copy, write, compare, serve, mount, open, passport), and {kind}Dump shows what \
         it is."
    ))
}

/// Adds to the refusal of a device without a LUKS header what it is, where the refusal does not say so yet.
pub(crate) fn say_what_it_is(failure: Failure, path: &Path) -> Failure {
    if failure.cause() != Cause::NotLuks || failure.has_hint() {
        return failure;
    }
    match device::storage(path, Access::Probe).ok().and_then(|storage| content(&*storage)) {
        Some(what) => failure.hinting(what),
        None => failure,
    }
}

/// `None` for what is damaged or has damaged partitions.
fn content(storage: &dyn Storage) -> Option<String> {
    match devices::signatures(storage).ok()?.first() {
        Some(found) if matches!(found.kind, Kind::PartitionTable | Kind::Encrypted) => None,
        Some(found) => Some(format!("It has the signature of: {}.", found.name)),
        None => {
            let mut start = vec![0; START.min(storage.len()) as usize];
            storage.read_at(&mut start, 0).ok()?;
            let is_empty = start.iter().all(|byte| *byte == 0);
            match devices::is_noise(&start) {
                true => Some(NOISE.to_owned()),
                false if is_empty => Some("It has no known signature, and begins with zeros.".to_owned()),
                false => Some("It has no known signature.".to_owned()),
            }
        }
    }
}

const NOISE: &str = "It has no signature, and is random from the first byte: a TrueCrypt or VeraCrypt volume (--type \
                     tcrypt), plain dm-crypt (--type plain), the data of a detached header (--header), or noise. Only its \
                     key can tell.";

/// How much of the start is looked at.
const START: u64 = 64 << 10;
