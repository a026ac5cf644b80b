//! A volume at boot: waits for its device, opens it with the key that its entry names, else asks on
//! the console.

use super::find::Below;
use super::key_file::KeyFile;
use super::typed::is_yes;
use super::{Plan, Terms, find, is_first_process, rekey, script};
use crate::args::Request;
use crate::device::{explain, found, hardware};
use crate::mapping;
use crate::output::failure::{Cause, Exit, Failure, Result};
use crate::output::stdio;
use crate::unlock::passphrase::Heard;
use crate::verb::session::open::crypttab::is_in_crypttab;
use keyway::Mapping;
use keyway_boot::cmdline::{CRYPTO, plain_options};
use keyway_boot::crypttab::{self, Entry, duration};
use keyway_boot::root::{WITHOUT_END, Waits};
use keyway_crypto::Secret;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

impl Terms {
    /// Opens the volume, unless it is open already.
    pub(super) fn unlock(&self, entry: &Entry, plan: &Plan) -> Result<()> {
        let name = entry.name.to_string_lossy();
        if let Ok(Some(found)) = mapping::find_mapping(&name) {
            // Metadata of LVM's, which anybody may have written, give names to mappings too.
            if !found.is_of_volume() {
                let message =
                    format!("{name} cannot be opened: a mapping that is no encrypted volume has that name.");
                return Err(Failure::new(Exit::Busy, message));
            }
            return stdio::verbose(self.manner, &format!("{name} is already open."));
        }
        let (mut there, _header) = reached(entry, plan.waits, plan.below())?;
        plan.demand(&mut there);
        if !Mapping::has_dm_crypt() {
            return Err(without_dm_crypt(entry));
        }
        let (what, opened) = match (entry.option("keyscript"), &entry.key_file) {
            (Some(program), _) => ("keyscript", script::open(self, program, entry, &there)),
            (None, Some(file)) => {
                ("key file", self.by_file(file, &there, key_limit(entry, plan.waits), plan.below()))
            }
            (None, None) => return self.ask(&there, plan),
        };
        let Err(failure) = opened else { return Ok(()) };
        if failure.exit() == Exit::Unmet {
            // The key is not the cause, and nobody should enter another one for a volume that may
            // be forged.
            return Err(failure);
        }
        failure.report();
        say!("{name}: the {what} did not open it.");
        match self.ask(&there, plan) {
            // Nobody could be asked: the failure is the one reported before.
            Err(nobody) if nobody.cause() == Cause::NoInput => Err(Failure::silent(failure.exit())),
            asked => asked,
        }
    }

    fn by_file(&self, file: &OsStr, there: &Entry, limit: Duration, below: Below<'_>) -> Result<()> {
        let key = KeyFile::reach(file, limit, below, "key file")?;
        let opened =
            self.open_as(&Entry { key_file: Some(key.path().as_os_str().to_owned()), ..there.clone() });
        if is_yes(there.option("keyfile-erase")) {
            key.erase();
        }
        opened
    }

    /// With what opened another volume, else with what the user types.
    fn ask(&self, there: &Entry, plan: &Plan) -> Result<()> {
        for known in self.typed.to_try(there, plan.forgets) {
            match self.open_with(there, Some(&known)) {
                Err(wrong) if wrong.cause() == Cause::WrongKey => {}
                done => return done,
            }
        }
        if is_yes(there.option("headless")) {
            let message = format!("{}: no passphrase is asked for (headless).", there.name.to_string_lossy());
            return Err(Failure::new(Exit::Parameters, message).because(Cause::NoInput));
        }
        // What was typed for a volume that it did not open.
        drop(self.key.passphrase.heard.as_ref().and_then(Heard::take));
        self.open_as(there)?;
        self.typed.keep(self.key.passphrase.heard.as_ref(), there, plan.forgets);
        Ok(())
    }

    /// Runs `open` with the entry's options and those of this command; before, a volume that waits for
    /// its first boot gets its own key.
    pub(super) fn open_as(&self, entry: &Entry) -> Result<()> {
        self.open_with(entry, None)
    }

    fn open_with(&self, entry: &Entry, known: Option<&Secret>) -> Result<()> {
        let device = Path::new(&entry.device);
        let open = || {
            let open = self.opening(entry)?;
            Ok(match known {
                Some(known) => open.knowing(Secret::copy_from(known.expose())),
                None => open,
            })
        };
        let opened = rekey::first_boot(entry, open).and_then(|read| match read {
            Some(passphrase) => open()?.knowing(passphrase).run(),
            None => open()?.run(),
        });
        opened.map_err(|failure| explain::placed(failure, Some(device)).without_hint())
    }
}

/// How long the key's device is waited for: as the entry says, else as usual.
fn key_limit(entry: &Entry, waits: Waits) -> Duration {
    said_limit(entry, "keyfile-timeout", waits.optional).unwrap_or(waits.optional)
}

/// How long a volume's device and its header's are waited for.
fn limits(entry: &Entry, waits: Waits) -> (Duration, Duration) {
    let usual = if entry.option("nofail").is_some() { waits.optional } else { waits.needed };
    match said_limit(entry, "x-systemd.device-timeout", usual) {
        Some(said) => (said, said),
        None => (usual, waits.optional),
    }
}

/// What an option says of it: 0 is without end.
fn said_limit(entry: &Entry, option: &str, usual: Duration) -> Option<Duration> {
    let said = entry.option(option)?;
    let time = duration(said).map(|time| if time.is_zero() { WITHOUT_END } else { time });
    if time.is_none() {
        let (name, usual) = (entry.name.to_string_lossy(), find::in_words(usual));
        say!("WARNING: {name}: {option}={said} is not a time (90, 90s, 1min 30s); {usual}.");
    }
    time
}

fn without_dm_crypt(entry: &Entry) -> Failure {
    let message = "This kernel has no dm-crypt: the module dm-crypt (dm_crypt.ko) is neither built in nor loaded; \
                   \"keyway xray --initramfs IMAGE VOLUME\" tells what an image lacks.";
    let failure = Failure::new(Exit::Device, message);
    // Where a person typed this, and open finds the name.
    match is_in_crypttab(entry) && !is_first_process() {
        true => failure.hinting(format!(
            "\"keyway open {}\" opens it through another backend.",
            entry.name.to_string_lossy()
        )),
        false => failure,
    }
}

/// The entry with its devices located and present, and without keys from elsewhere, which `open`
/// does not handle; and its header, as long as that is needed.
fn reached(entry: &Entry, waits: Waits, below: Below<'_>) -> Result<(Entry, Option<KeyFile>)> {
    let name = entry.name.to_string_lossy();
    let (of_device, of_header) = limits(entry, waits);
    let device = find::reach(&entry.device, of_device, below)
        .map_err(|why| Failure::new(Exit::Device, format!("{name}: {why}.")))?;
    let whole = whole_name(entry, &device);
    let mut there = Entry { name: whole, device: device.into(), key_file: None, ..entry.clone() };
    there.options.retain(|(option, _)| {
        if UNDONE.contains(&option.as_str()) {
            say!("{name}: {option}= is ignored: it is not implemented yet.");
        }
        // A swap and a /tmp that have a key of their own are opened as they are: what is on them stays.
        !["keyscript", "swap", "tmp"].contains(&option.as_str()) && !UNDONE.contains(&option.as_str())
    });
    settle_crypto(&mut there, |device| found::has_luks(device) == Some(false));
    if entry.option("swap").or(entry.option("tmp")).is_some() && entry.option("luks").is_none() {
        there.options.push(("plain".into(), String::new()));
    }
    let Some((_, header)) = there.options.iter_mut().find(|(option, _)| option == "header") else {
        return Ok((there, None));
    };
    let file = KeyFile::reach(header.as_ref(), of_header, below, "header")?;
    if file.mounted_nowhere() {
        find::reach(file.path().as_os_str(), of_header, below)
            .map_err(|why| Failure::new(Exit::Device, format!("{name}: {why}.")))?;
    }
    *header = file.path().to_string_lossy().into_owned();
    Ok((there, Some(file)))
}

/// With `crypto=` a volume is plain where its device has no LUKS header, as mkinitcpio's hook encrypt has it.
pub(super) fn settle_crypto(there: &mut Entry, is_plain: impl FnOnce(&Path) -> bool) {
    let Some(place) = there.options.iter().position(|(option, _)| option == CRYPTO) else { return };
    let (_, crypto) = there.options.remove(place);
    if there.option("header").is_none() && is_plain(Path::new(&there.device)) {
        there.options.extend(plain_options(&crypto).unwrap_or_default());
    } else {
        say!("{}: crypto= is ignored: the volume has a LUKS header.", there.name.to_string_lossy());
    }
}

/// The name of a volume of which the command line has only the beginning of the UUID, as dracut makes it.
pub(super) fn whole_name(entry: &Entry, device: &Path) -> OsString {
    let (name, spec) = (entry.name.to_string_lossy(), entry.device.to_string_lossy());
    let start = spec.strip_prefix("UUID=").and_then(|start| start.strip_suffix('*'));
    let is_of_start = start.is_some() && start == name.strip_prefix("luks-");
    let uuid = if is_of_start { found::uuid(device) } else { None };
    uuid.map_or_else(|| entry.name.clone(), |uuid| format!("luks-{uuid}").into())
}

/// Says which options of an entry no program knows: one that is mistyped does nothing, and nobody
/// sees it when it matters.
pub(super) fn say_unknown(entry: &Entry) {
    if let Some(better) = hardware::better_name(Path::new(&entry.device)) {
        let (name, device) = (entry.name.to_string_lossy(), entry.device.to_string_lossy());
        say!("WARNING: {name}: only udev knows {device}; where none runs, write {better}.");
    }
    for (option, _) in entry.options.iter().filter(|(option, _)| !crypttab::is_known(option)) {
        let what = match crypttab::is_demand(option) {
            true => "is unknown, and may be meant as a demand: the volume is not opened",
            false => "is unknown and ignored",
        };
        say!("WARNING: {}: the option \"{option}\" {what}.", entry.name.to_string_lossy());
    }
}

/// Options that name hardware tokens for the key (the user is asked instead), and what is done once it is open.
const UNDONE: &[&str] = &["tpm2-device", "fido2-device", "pkcs11-uri", "link-volume-key", "check"];

#[cfg(test)]
mod tests {
    use super::*;

    /// rootwait is for the root, and an entry's own words go before it.
    #[test]
    fn what_the_system_starts_without_is_not_waited_for_without_end() {
        let seconds = Duration::from_secs;
        let waits = Waits { needed: WITHOUT_END, optional: seconds(30) };
        for (options, device, header) in [
            ("luks", WITHOUT_END, seconds(30)),
            ("nofail", seconds(30), seconds(30)),
            ("nofail,x-systemd.device-timeout=0", WITHOUT_END, WITHOUT_END),
            ("x-systemd.device-timeout=1min 30s", seconds(90), seconds(90)),
            ("nofail,x-systemd.device-timeout=soon", seconds(30), seconds(30)),
        ] {
            let entry = &crypttab::parse(format!("a /dev/a none {}", options.replace(' ', "")).as_bytes())[0];
            assert_eq!(limits(entry, waits), (device, header), "{options}");
        }
    }
}
