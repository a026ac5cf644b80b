//! `/etc/crypttab` in `open`: with a name from it, the options of its entry; with any volume, what it
//! demands of that volume. The table is root's, and says what this machine opens.
//!
//! (crypttab(5) of Debian's cryptsetup and of systemd; keyway-boot parses the format itself.)

use super::Open;
use crate::args::shared::{self, ALLOW_DISCARDS, PERF_NO_READ, PERF_NO_WRITE, PERF_SAME_CPU, PERF_SUBMIT};
use crate::args::{Opt, address};
use crate::device::tables::{self, Meant};
use crate::device::{self, Target, found};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::paint::printable;
use crate::output::size;
use crate::output::stdio;
use crate::unlock::admission::WeakCiphers;
use crate::unlock::policy::PolicyText;
use crate::unlock::seal_context;
use keyway_boot::crypttab::{Entry, REQUIRE, SEAL_CONTEXT, SEAL_CONTEXT_FILE, duration, is_demand};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Whether `open NAME` opens this entry.
pub(crate) fn is_in_crypttab(entry: &Entry) -> bool {
    let entries = tables::read(FILE).unwrap_or_default();
    let named = entries.iter().find(|named| named.name == entry.name);
    named.is_some_and(|named| named.options.iter().all(|(name, _)| refuse(named, name).is_ok()))
}

/// Completes `open NAME` from crypttab: device, key file and options, unless given on the command
/// line. Any other command line is left as it is but for the demands that crypttab makes of its
/// volume; warns if crypttab gives the name to another device.
pub(super) fn look_up(open: &mut Open, is_given: &dyn Fn(&Opt) -> bool) -> Result<()> {
    let entries = tables::read(FILE).or_else(|e| unreadable(open, &e))?;
    let mut done = None;
    match &open.name {
        None if !device::exists(&open.target.device) => {
            done = entries.iter().find(|entry| *entry.name == *open.target.device);
            done.map_or(Ok(()), |entry| complete(open, entry, Some(FILE), is_given))?;
        }
        None => {}
        Some(name) => {
            if let Some(entry) = entries.iter().find(|entry| entry.name == *name) {
                warn_of_another(open, entry);
            }
        }
    }
    demand(open, &entries, done)
}

/// Adds what the table demands of the volume, whatever it is called here. `done` was applied already.
fn demand(open: &mut Open, entries: &[Entry], done: Option<&Entry>) -> Result<()> {
    let Target { device, header, manner, .. } = open.target.clone();
    let meant = Meant { name: open.name.as_deref(), device: &device, header: header.as_deref() };
    let mut all = done.cloned().unwrap_or_default();
    let before = all.options.len();
    for entry in meant.demanding(entries) {
        all.demand_as(entry);
    }
    for (name, value) in all.options.split_off(before) {
        stdio::verbose(manner, &format!("{FILE} demands {name}={value} of {}.", device.display()))?;
        make(open, Some(FILE), &name, &value)?;
    }
    Ok(())
}

/// Makes a demand of this table's, if that is known.
fn make(open: &mut Open, table: Option<&str>, name: &str, value: &str) -> Result<()> {
    match name {
        SEAL_CONTEXT => open.demands.bind_seal(value, &source(table, name)),
        SEAL_CONTEXT_FILE => {
            let context = seal_context::from_file(Path::new(value))?;
            open.demands.bind_seal(&context, &source(table, name))
        }
        name if name != REQUIRE => {
            let message =
                format!("{name}={value} is unknown, and may be meant as a demand: the volume is not opened.");
            Err(Failure::new(Exit::Parameters, message))
        }
        _ => {
            let from = table.map_or_else(String::new, |table| format!("{table} demands "));
            let who = format!("{from}{REQUIRE}=");
            open.demands.require(PolicyText::read(&address::without_secrets(value.into()), &who)?)
        }
    }
}

/// An option of a table's, for messages; without a table the entry itself is what is opened.
fn source(table: Option<&str>, option: &str) -> String {
    table.map_or_else(|| option.to_owned(), |table| format!("{option} in {table}"))
}

/// Root opens nothing that the table may forbid; other users, whom it may be hidden from, are told.
fn unreadable(open: &Open, error: &std::io::Error) -> Result<Vec<Entry>> {
    if rustix::process::geteuid().is_root() {
        let message = format!("{FILE} cannot be read ({error}), and may contain demands: nothing is opened.");
        return Err(Failure::new(Exit::Device, message));
    }
    if !open.target.manner.batch_mode {
        say!("WARNING: {FILE} cannot be read ({error}): its demands on the volume are unknown.");
    }
    Ok(Vec::new())
}

/// Applies the entry's device and its values, except where `is_given` says that the command line
/// has them. Refusals name its table, if that is known.
pub(super) fn complete(
    open: &mut Open,
    entry: &Entry,
    table: Option<&str>,
    is_given: &dyn Fn(&Opt) -> bool,
) -> Result<()> {
    open.target.device = address::without_secrets(found::path_of(&entry.device).into_os_string()).into();
    open.name = Some(entry.name.clone());
    let mut seen = Vec::new();
    if let Some(key_file) =
        entry.key_file.as_ref().filter(|_| !PASSPHRASE.iter().any(|option| is_given(option)))
    {
        let file: PathBuf = address::without_secrets(key_file.clone()).into();
        open.given.tcrypt.passphrase_file = Some(file.clone());
        open.key.passphrase.key_file = Some(file);
    }
    for (name, value) in &entry.options {
        refuse(entry, name)?;
        if is_demand(name) {
            // Demands accumulate.
            make(open, table, name, value)?;
        } else if name == "tcrypt-keyfile" {
            open.kind.get_or_insert_with(|| "tcrypt".to_owned());
            open.given.tcrypt.key_files.push(PathBuf::from(value));
        } else if TYPES.contains(&name.as_str()) {
            let kind = if name == "tcrypt-veracrypt" { "tcrypt" } else { name };
            open.kind.get_or_insert_with(|| kind.to_owned());
        } else if let Some((_, option, put)) = KNOWN.iter().find(|(known, ..)| known == name)
            && !is_given(option)
            && !seen.contains(&option.long)
        {
            // If an option appears twice, the first one counts.
            seen.push(option.long);
            let value =
                in_our_words(name, value).and_then(|value| option.check(value.as_ref()).map(|()| value));
            let instead = OF_QUESTION.iter().find(|(of, _)| of == name && table.is_none());
            match (value, instead) {
                // At boot nobody can mend it, and what it says of the question changes nothing that is opened.
                (Err(why), Some((_, instead))) => {
                    let of = printable(&entry.name.to_string_lossy());
                    say!("WARNING: {of}: {} {instead} is taken.", printable(why.message()));
                    put(open, instead)?;
                }
                (value, _) => put(open, &value?)?,
            }
        }
    }
    Ok(())
}

/// A value as the option of the command line takes it: crypttab's times have units.
fn in_our_words(name: &str, value: &str) -> Result<String> {
    if name != "timeout" {
        return Ok(value.to_owned());
    }
    let seconds = duration(value).map(|time| time.as_secs().max(u64::from(!time.is_zero())));
    seconds.map(|seconds| seconds.to_string()).ok_or_else(|| {
        Failure::new(Exit::Parameters, format!("timeout={value} is not a time (90, 90s, 1min 30s)."))
    })
}

/// The kind that an entry says: the first of its words for one.
pub(crate) fn kind(entry: &Entry) -> Option<&str> {
    entry.options.iter().map(|(name, _)| name.as_str()).find(|name| TYPES.contains(name))
}

/// Refuses an option that cannot be ignored without opening something other than the entry means.
fn refuse(entry: &Entry, option: &str) -> Result<()> {
    let Some((_, why)) = REFUSED.iter().find(|(name, _)| *name == option) else { return Ok(()) };
    let message = format!("{FILE}: {}: {option} {why}.", entry.name.to_string_lossy());
    Err(Failure::new(Exit::Parameters, message))
}

fn warn_of_another(open: &Open, entry: &Entry) {
    let device = &open.target.device;
    if !open.target.manner.batch_mode && !device::is_same(&found::path_of(&entry.device), device) {
        say!(
            "WARNING: {FILE} gives the name {} to {}, not to {}.",
            entry.name.to_string_lossy(),
            address::without_secrets(entry.device.clone()).to_string_lossy(),
            device.display()
        );
    }
}

/// Options in place of which the entry's key file stands.
static PASSPHRASE: [&Opt; 2] = [&shared::KEY_FILE, &shared::PASSWORD_COMMAND];

const FILE: &str = "/etc/crypttab";

/// How a passphrase is asked for, and what is taken for a value that is none. (A question without an end would hold up
/// a boot where nobody is.)
const OF_QUESTION: &[(&str, &str)] = &[("tries", "3"), ("timeout", "90")];

const TYPES: &[&str] = &["luks", "plain", "tcrypt", "tcrypt-veracrypt", "bitlk", "fvault2", "loopaes"];

/// Crypttab options that Keyway supports. Options about booting (`noauto`, `nofail`, `initramfs`,
/// `_netdev`, `x-systemd.…`) are ignored here.
static KNOWN: &[(&str, &Opt, Put)] = &[
    ("cipher", &shared::CIPHER, |open, value| text(&mut open.given.plain.cipher, value)),
    ("size", &shared::KEY_SIZE, |open, value| {
        number(&mut open.given.plain.key_bits, value)?;
        number(&mut open.key.key_bits, value)
    }),
    ("hash", &shared::HASH, |open, value| text(&mut open.given.plain.hash, value)),
    ("offset", &shared::OFFSET, |open, value| number(&mut open.given.plain.offset, value)),
    ("skip", &shared::SKIP, |open, value| number(&mut open.given.plain.skip, value)),
    ("sector-size", &shared::SECTOR_SIZE, |open, value| number(&mut open.given.plain.sector_size, value)),
    ("key-slot", &shared::KEY_SLOT, KEY_SLOT),
    ("keyslot", &shared::KEY_SLOT, KEY_SLOT),
    ("keyfile-offset", &shared::KEYFILE_OFFSET, |open, value| {
        open.key.passphrase.part.offset = size::parse_number(value).unwrap_or_default();
        Ok(())
    }),
    ("keyfile-size", &shared::KEYFILE_SIZE, |open, value| {
        open.key.passphrase.part.size = size::parse_number(value).filter(|bytes| *bytes > 0);
        Ok(())
    }),
    ("header", &shared::HEADER, |open, value| {
        let path = PathBuf::from(address::without_secrets(value.into()));
        open.target.header = Some(device::resolve(&path));
        Ok(())
    }),
    ("readonly", &shared::READONLY, READ_ONLY),
    ("read-only", &shared::READONLY, READ_ONLY),
    ("discard", &ALLOW_DISCARDS, |open, _| flag(open, &ALLOW_DISCARDS)),
    ("same-cpu-crypt", &PERF_SAME_CPU, |open, _| flag(open, &PERF_SAME_CPU)),
    ("perf-same_cpu_crypt", &PERF_SAME_CPU, |open, _| flag(open, &PERF_SAME_CPU)),
    ("submit-from-crypt-cpus", &PERF_SUBMIT, |open, _| flag(open, &PERF_SUBMIT)),
    ("perf-submit_from_crypt_cpus", &PERF_SUBMIT, |open, _| flag(open, &PERF_SUBMIT)),
    ("no-read-workqueue", &PERF_NO_READ, |open, _| flag(open, &PERF_NO_READ)),
    ("perf-no_read_workqueue", &PERF_NO_READ, |open, _| flag(open, &PERF_NO_READ)),
    ("no-write-workqueue", &PERF_NO_WRITE, |open, _| flag(open, &PERF_NO_WRITE)),
    ("perf-no_write_workqueue", &PERF_NO_WRITE, |open, _| flag(open, &PERF_NO_WRITE)),
    ("allow-weak-cipher", &shared::WEAK_CIPHER, |open, _| {
        let weak = WeakCiphers { taken: true, by_name: true };
        open.key.take_weak_ciphers(weak);
        open.demands.take_weak_ciphers(weak);
        Ok(())
    }),
    ("allow-vista", &shared::ALLOW_VISTA, |open, _| {
        open.given.allows_vista = true;
        Ok(())
    }),
    ("tcrypt-hidden", &shared::TCRYPT_HIDDEN, HIDDEN),
    ("tcrypthidden", &shared::TCRYPT_HIDDEN, HIDDEN),
    ("tcrypt-system", &shared::TCRYPT_SYSTEM, SYSTEM),
    ("tcryptsystem", &shared::TCRYPT_SYSTEM, SYSTEM),
    ("veracrypt-pim", &shared::VERACRYPT_PIM, |open, value| number(&mut open.given.tcrypt.pim, value)),
    ("tries", &shared::TRIES, |open, value| {
        // 0: without end.
        open.key.tries = size::parse_number(value).filter(|tries| *tries > 0).unwrap_or(u64::MAX);
        Ok(())
    }),
    ("timeout", &shared::TIMEOUT, |open, value| {
        let seconds = size::parse_number(value).filter(|seconds| *seconds > 0);
        open.key.passphrase.timeout = seconds.map(Duration::from_secs);
        Ok(())
    }),
    ("verify", &shared::VERIFY_PASSPHRASE, |open, _| {
        open.key.passphrase.asked_to_verify = true;
        Ok(())
    }),
];

/// Stores an option's value, which has been checked, in its field.
type Put = fn(&mut Open, &str) -> Result<()>;

const HIDDEN: Put = |open, _| {
    open.given.tcrypt.hidden = true;
    Ok(())
};
const SYSTEM: Put = |open, _| {
    open.given.tcrypt.system = true;
    Ok(())
};
const KEY_SLOT: Put = |open, value| number(&mut open.key.keyslot, value);
const READ_ONLY: Put = |open, _| {
    open.read_only = true;
    Ok(())
};

fn text(place: &mut Option<String>, value: &str) -> Result<()> {
    *place = Some(value.to_owned());
    Ok(())
}

fn number<N: TryFrom<u64>>(place: &mut Option<N>, value: &str) -> Result<()> {
    *place = size::parse_number(value).and_then(|number| number.try_into().ok());
    Ok(())
}

fn flag(open: &mut Open, option: &Opt) -> Result<()> {
    open.flags.give(option);
    Ok(())
}

/// Options that cannot be ignored without opening something other than the entry means.
static REFUSED: &[(&str, &str)] = &[
    ("keyscript", "runs a program for the key, which open does not do: pipe its output to --key-file -"),
    ("swap", "makes a new swap area each time, which open does not do"),
    ("tmp", "makes a new file system each time, which open does not do"),
    ("tpm2-device", "takes the key from a TPM, which is not implemented yet"),
    ("fido2-device", "takes the key from a FIDO2 token, which is not implemented yet"),
    ("pkcs11-uri", "takes the key from a smart card, which is not implemented yet"),
    ("fixate-volume-key", "demands a certain volume key, which is not checked yet"),
];

#[cfg(test)]
mod tests;
