//! Refuses options that exclude each other, in cryptsetup's words, before anything is opened.

use super::backend::Backend;
use super::{Open, rules};
use crate::device::Versions;
use crate::output::failure::{Exit, Failure, Result};
use crate::volume::kinds::plain::given::IV_LARGE_SECTORS_ALONE;
use crate::volume::kinds::{self, plain};

/// The kind of volume that is requested.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// LUKS, of one version or any.
    Luks(Versions),
    /// Another.
    Other(&'static kinds::Row),
}

impl Kind {
    /// From `--type`, the command's old name or crypttab.
    pub(super) fn named(name: Option<&str>) -> Result<Self> {
        match name.map(str::to_ascii_lowercase).as_deref() {
            None | Some("luks") => Ok(Self::Luks(Versions::Any)),
            Some("luks1") => Ok(Self::Luks(Versions::One)),
            Some("luks2") => Ok(Self::Luks(Versions::Two)),
            Some(other) => match kinds::named(other) {
                Some(row) => Ok(Self::Other(row)),
                None => refuse(
                    another_format(other)
                        .unwrap_or_else(|| format!("Unrecognized metadata device type {other}.")),
                ),
            },
        }
    }
}

/// What is said of a format of cryptsetup's or its sisters' that this program does not read: that,
/// and which program does.
fn another_format(kind: &str) -> Option<String> {
    let (format, programs) = match kind {
        "verity" => ("dm-verity devices", "veritysetup opens them"),
        "integrity" => ("dm-integrity devices", "integritysetup opens them"),
        _ => return None,
    };
    Some(format!(
        "{format} (type {kind}) are not implemented yet: {programs}. Keyway opens LUKS, plain, TrueCrypt, VeraCrypt, BitLocker, FileVault and loop-AES volumes."
    ))
}

/// Refuses invalid combinations of options.
pub(super) fn check(open: &Open, kind: Kind) -> Result<()> {
    match kind {
        Kind::Luks(_) => check_luks(open)?,
        Kind::Other(row) if open.test_passphrase && !row.tests_passphrases => {
            return refuse(rules::UNTESTED);
        }
        // As with cryptsetup: success would say that the key is right.
        Kind::Other(row)
            if open.test_passphrase && row.takes_unproven_keys && open.key.volume_key.is_some() =>
        {
            return refuse(rules::UNPROVEN_KEY);
        }
        Kind::Other(_) if open.unbound => {
            return refuse(rules::UNBOUND_OF_OTHERS);
        }
        Kind::Other(_) => {}
    }
    let is_plain = matches!(kind, Kind::Other(row) if row.of == plain::ROW.of);
    let has_large_sectors = is_plain && open.given.plain.sector_size.is_some_and(|bytes| bytes > 512);
    if open.given.plain.iv_large_sectors && !has_large_sectors {
        return refuse(IV_LARGE_SECTORS_ALONE);
    }
    open.given.plain.check_size()?;
    match open.name {
        None if !open.test_passphrase => Err(no_name(open)),
        _ => Ok(()),
    }
}

/// In cryptsetup's words; as Keyway, with what to type.
fn no_name(open: &Open) -> Failure {
    let words = "Command requires device and mapped name as arguments";
    let usage = if open.expects_mapping { "." } else { "; usage: keyway open [OPTION...] DEVICE NAME" };
    Failure::new(Exit::Parameters, format!("{words}{usage}"))
}

/// Refuses options whose values come from the LUKS header.
fn check_luks(open: &Open) -> Result<()> {
    open.given.refuse()?;
    if open.unbound && !open.test_passphrase {
        return refuse(rules::UNBOUND_ALONE);
    }
    if open.sharing.allowed && open.backend() == Backend::Kernel {
        return refuse(rules::SHARED_OF_OTHERS);
    }
    Ok(())
}

fn refuse<T>(message: impl Into<String>) -> Result<T> {
    Err(Failure::new(Exit::Parameters, message))
}
