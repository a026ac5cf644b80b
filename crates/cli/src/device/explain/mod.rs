//! Turns the libraries' errors, which say what failed and where, into one line that also says what
//! to do, and an exit code.

mod advice;

use crate::device::{is_same, remote, sessions};
use crate::output::failure::{Cause, Exit, Failure};
use crate::output::sentence::{self, sentence};
use keyway::devices::{self, Holder};
use keyway::parts::Error;
use keyway::storage::{File, Storage, image_of};
use keyway::trust::{Finding, Rule};
use keyway_attach::session::{self, SizeFault};
use keyway_format::text::Shown;
use std::io::ErrorKind;
use std::path::Path;

/// Turns the library's error into a line, about `device` if there is one; a line that exists
/// already is kept.
pub(crate) fn placed(failure: Failure, device: Option<&Path>) -> Failure {
    let is_of_command_line = failure.is_of_command_line();
    let said = match (failure.into_unplaced(), device) {
        (Ok(error), Some(device)) => on_device(device, &error),
        (Ok(error), None) => plain(&error),
        (Err(said), _) => said,
    };
    if is_of_command_line { said.of_command_line("keyway") } else { said }
}

/// An error of admitting or opening the volume on `device`, whose header is at `header`.
pub(crate) fn opening(device: &Path, header: &Path, error: keyway::Error) -> Failure {
    match error.into_volume_error() {
        Ok(error @ (Error::Format(_) | Error::Busy(_) | Error::NoLock(_) | Error::Io { .. })) => {
            on_device(header, &error)
        }
        Ok(error) => on_volume(device, &error),
        Err(other) => Failure::new(Exit::Parameters, sentence(&other.to_string())),
    }
}

impl From<keyway::Error> for Failure {
    /// No line is made yet of an error that the library made of one of `keyway-volume`'s. Any other
    /// names its place itself.
    fn from(error: keyway::Error) -> Self {
        match error.into_volume_error() {
            Ok(error) => error.into(),
            Err(other) => Self::new(Exit::Parameters, sentence(&other.to_string())),
        }
    }
}

/// An error of trying a key.
pub(crate) fn unlocking(error: keyway::Error) -> Failure {
    match error.into_volume_error() {
        Ok(error) => plain(&error),
        Err(other) => Failure::new(Exit::Parameters, sentence(&other.to_string())),
    }
}

/// What a header requires that Keyway does not do.
fn requires(device: &Path, name: &str) -> Failure {
    let (can, hint) = match name {
        "opal" => (
            "dumped, but not opened, changed or erased",
            "The drive itself encrypts it, in a range that keys in this header unlock: cryptsetup 2.7 or later opens it on \
             that drive.",
        ),
        "inline-hw-tags" => (
            "dumped and erased, but not opened or changed",
            "Its integrity tags are in the drive's own metadata of each sector: cryptsetup 2.8 or later opens it on that \
             drive.",
        ),
        _ => ("dumped and erased, but not opened or changed", ""),
    };
    let failure = Failure::new(
        Exit::Parameters,
        format!(
            "Device {} requires \"{}\", which this build does not support: it can be {can}.",
            device.display(),
            Shown(name)
        ),
    );
    if hint.is_empty() { failure } else { failure.hinting(hint) }
}

/// An error of opening what is to be a volume of another kind, which cryptsetup calls `title`.
pub(crate) fn of_kind(title: &str, device: &Path, error: keyway::Error) -> Failure {
    match error.into_volume_error() {
        Ok(Error::Format(why)) => {
            let line = format!("Device {} is not a valid {title} device: {why}.", device.display());
            Failure::new(Exit::Parameters, line)
        }
        Ok(error) => on_device(device, &error),
        Err(other) => Failure::new(Exit::Parameters, sentence(&other.to_string())),
    }
}

/// An error of an operation on `device`.
pub(crate) fn on_device(device: &Path, error: &Error) -> Failure {
    let (path, device) = (device, device.display());
    match error {
        Error::Format(keyway_format::Error::NotLuks) => super::not_luks(path),
        Error::Format(keyway_format::Error::Requirement(name)) => requires(path, name),
        Error::Format(why @ keyway_format::Error::Full { area, .. }) => {
            let failure =
                Failure::new(Exit::Parameters, format!("Device {device}: {why}; nothing was changed."));
            failure.hinting(room_in(area))
        }
        Error::Format(why) => {
            Failure::new(Exit::Parameters, format!("Device {device} is not a valid LUKS device: {why}."))
        }
        Error::Busy(_) => {
            let failure =
                Failure::new(Exit::Busy, format!("Device {device} is busy: {error}; try again later."));
            match devices::lock_holder(path) {
                Some(holder) => failure.hinting(format!("The lock is held by {}.", locker(&holder))),
                None => failure,
            }
        }
        Error::InUse(holder) => device_in_use(path, holder),
        Error::NoLock(why) => Failure::new(
            Exit::Parameters,
            format!(
                "Device {device} cannot be locked against cryptsetup: {why}; nothing was changed. \
                 --disable-locks works without the lock."
            ),
        ),
        Error::TooShort { needs, has } => Failure::new(
            Exit::Device,
            format!("{device} ends at byte {has}, but its header describes data up to byte {needs}."),
        ),
        // The remote storage's error already names the place.
        Error::Io { source, .. } if remote::is_failure(source) => plain(error),
        Error::NotAdmitted(Finding { rule: Rule::NoRoom { .. }, .. }) => {
            let what = if image_of(path).is_file() { "LUKS file container" } else { "Device" };
            let line =
                format!("{what} {device} is too small for activation, there is no remaining space for data.");
            Failure::new(Exit::Parameters, line)
        }
        Error::NotAdmitted(Finding { rule: Rule::OverHeader { start: 0, header_end }, .. }) => {
            let way = format!("give the device with the data, and --header {device}.");
            match File::open(path).is_ok_and(|file| file.len() <= header_end.next_multiple_of(PAGE)) {
                true => Failure::new(Exit::Parameters, format!("{device} is a detached header: {way}")),
                // A device with more on it may hold a forged header.
                false => plain(error)
                    .about(&format!("Device {device}"))
                    .hinting(format!("If it is a detached header: {way}")),
            }
        }
        Error::Io { .. } | Error::NotAdmitted(_) | Error::Unmet(_) | Error::NotWiped { .. } => {
            plain(error).about(&format!("Device {device}"))
        }
        _ => plain(error),
    }
}

/// What makes room in an area of a LUKS2 header. (Its place ends where the data begins.)
pub(crate) fn room_in(area: &str) -> &'static str {
    match area {
        "JSON area" => {
            "\"token remove\" and luksKillSlot make room; luksFormat --luks2-metadata-size makes a volume with more."
        }
        _ => "luksKillSlot makes room; luksFormat --luks2-keyslots-size makes a volume with more.",
    }
}

/// The line for a device that is in use elsewhere, modelled on cryptsetup's.
fn device_in_use(device: &Path, holder: &Holder) -> Failure {
    let (shown, holder) = (device.display(), named(device, holder));
    Failure::new(Exit::Busy, format!("Cannot use device {shown} which is in use ({holder})."))
}

/// A process that holds a lock, rather than the file itself.
fn locker(holder: &Holder) -> String {
    match holder {
        Holder::Process { pid, program } => format!("process {pid} ({program})"),
        other => other.to_string(),
    }
}

/// The holder of the device; a session of this user is called by its name. (Only root can see which
/// files a process that protects its keys has open: such a session is found by its own facts.)
fn named(device: &Path, holder: &Holder) -> String {
    let session = match holder {
        Holder::Process { pid, .. } => {
            sessions::registry().list().into_iter().find(|it| it.facts().pid == *pid)
        }
        Holder::Unseen => {
            let uses = |it: &session::Session| {
                let facts = it.facts();
                [&facts.device, &facts.header].iter().any(|path| is_same(Path::new(path), device))
            };
            sessions::registry().list().into_iter().find(uses)
        }
        Holder::Through(device, holder) => {
            return format!("as {}, {}", device.display(), named(device, holder));
        }
        _ => None,
    };
    session.map_or_else(|| holder.to_string(), |session| sessions::in_words(&session))
}

/// An error in mapping the volume on `device`: the cipher comes from the header then, not from the
/// command line.
pub(crate) fn on_volume(device: &Path, error: &Error) -> Failure {
    match error {
        Error::Crypto(why) => {
            let device = device.display();
            let message = format!("Device {device} cannot be decrypted: {why}; luksDump shows its cipher.");
            Failure::new(exit_code(error), message)
        }
        _ => on_device(device, error),
    }
}

/// The same of judging its header.
pub(crate) fn judging(device: &Path, error: keyway::Error) -> Failure {
    match error.into_volume_error() {
        Ok(error) => on_volume(device, &error),
        Err(other) => Failure::new(Exit::Parameters, sentence(&other.to_string())),
    }
}

/// An error of a session.
pub(crate) fn session(error: session::Error) -> Failure {
    use session::Error as Session;
    let exit = match &error {
        Session::FrontEnd(error) => return sentence::attaching(error),
        Session::Volume { device, error } => return on_volume(device, error),
        Session::Answered(answer) => {
            return Failure::new(Exit::from_code(i32::from(answer.code)), answer.sentence.clone());
        }
        // The sentence starts with the session's name.
        Session::Silent { .. } => return Failure::new(Exit::Device, format!("{error}.")),
        Session::StillUsed { .. } | Session::Taken(_) => Exit::Busy,
        Session::NoPlace(_)
        | Session::Directory { .. }
        | Session::Socket { .. }
        | Session::NotFlushed(_)
        | Session::Lost(_)
        | Session::Size { fault: SizeFault::Unknown(_), .. } => Exit::Device,
        _ => Exit::Parameters,
    };
    match error {
        Session::StillUsed { error, users } => {
            session(*error).adding(&format!("It is used by {}.", users.join(", ")))
        }
        error => Failure::new(exit, sentence(&error.to_string())),
    }
}

/// An error whose line needs no device.
pub(crate) fn plain(error: &Error) -> Failure {
    let exit = exit_code(error);
    match error {
        Error::MemoryBudget { slot, needs_kib, budget_kib } => Failure::new(
            exit,
            format!(
                "Keyslot {slot} needs {needs_kib} KiB of memory and the budget is {budget_kib} KiB; \
                 --memory-budget {needs_kib}K allows it."
            ),
        ),
        Error::NoMemory { has_kib, .. } => {
            Failure::new(exit, format!("{error}; try --pbkdf-memory {}.", (has_kib / 2).max(LEAST_KIB)))
        }
        Error::TimeLimit { slot, needs_seconds, limit_seconds } => Failure::new(
            exit,
            format!(
                "Keyslot {slot} needs about {needs_seconds} s here and the limit is {limit_seconds} s; \
                 --time-limit {} allows it.",
                needs_seconds.saturating_mul(2)
            ),
        ),
        Error::KdfMemory { needs_kib, .. } => {
            Failure::new(exit, format!("{error}; --memory-budget {needs_kib}K allows it."))
        }
        Error::KdfTime { needs_seconds, .. } => Failure::new(
            exit,
            format!("{error}; --time-limit {} allows it.", needs_seconds.saturating_mul(2)),
        ),
        Error::Unmet(unmet) => Failure::new(exit, format!("{}.", advice::unmet(unmet))),
        Error::NotAdmitted(finding) => Failure::new(exit, sentence(&advice::not_admitted(finding))),
        Error::Crypto(keyway_crypto::Error::Unknown { what, name }) if *what != "hash" => {
            Failure::new(exit, sentence(&format!("{error}; {}", advice::in_full(name))))
        }
        Error::Io { what, source } if source.kind() == ErrorKind::StorageFull => {
            Failure::new(exit, sentence(&format!("{what}: no space is left; free some and try again")))
        }
        Error::NotWiped { areas, header } => {
            let way = match (areas.is_empty(), header) {
                (false, None) => {
                    "The header no longer lists those keyslots, but with an older copy of the header their \
                     remains may still open the volume: overwrite them by other means, or destroy the device."
                }
                _ => {
                    "What was overwritten is gone. Run it again once the device can be written, or destroy the device."
                }
            };
            Failure::new(exit, sentence(&error.to_string())).hinting(way)
        }
        Error::WrongPassphrase | Error::WrongVolumeKey => {
            Failure::new(exit, sentence(&error.to_string())).because(Cause::WrongKey)
        }
        Error::Io { .. } => Failure::new(exit, sentence(&error.to_string())).in_cryptsetup(match exit {
            Exit::Permission => Exit::Parameters,
            other => other,
        }),
        _ => Failure::new(exit, sentence(&error.to_string())),
    }
}

fn exit_code(error: &Error) -> Exit {
    match error {
        Error::WrongPassphrase | Error::WrongVolumeKey => Exit::Permission,
        Error::NoMemory { .. }
        | Error::MemoryBudget { .. }
        | Error::KdfMemory { .. }
        | Error::Crypto(keyway_crypto::Error::NoMemory { .. }) => Exit::Memory,
        Error::Busy(_) | Error::InUse(_) => Exit::Busy,
        Error::Unmet(_) => Exit::Unmet,
        Error::NotAdmitted(Finding { rule: Rule::BeyondDevice { .. }, .. }) | Error::TooShort { .. } => {
            Exit::Device
        }
        Error::Io { source, .. } if remote::is_failure(source) => Exit::Device,
        Error::Io { source, .. } => Exit::of_file(source, Exit::Parameters),
        _ => Exit::Parameters,
    }
}

/// What the length of a detached LUKS1 header is a multiple of.
const PAGE: u64 = 4096;
/// The least memory for Argon2 that cryptsetup accepts.
const LEAST_KIB: u64 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_over_the_budget_names_the_way_out() {
        let failure = plain(&Error::MemoryBudget { slot: 3, needs_kib: 4096, budget_kib: 1024 });
        assert_eq!(failure.exit(), Exit::Memory);
        assert!(failure.message().contains("--memory-budget 4096K"), "{}", failure.message());
        let failure = plain(&Error::TimeLimit { slot: 3, needs_seconds: 5000, limit_seconds: 3600 });
        assert!(failure.message().contains("--time-limit 10000"), "{}", failure.message());
    }
}
