//! A volume at boot: waits for its device, opens it with the key that its entry names, else asks on
//! the console.

use super::key_file::KeyFile;
use super::{Plan, Terms, find, is_first_process, rekey, script, whole_name};
use crate::device::explain;
use crate::door::Request;
use crate::mapping;
use crate::say::failure::{Cause, Exit, Failure, Result};
use crate::say::output;
use crate::verb::session::open::crypttab::is_in_crypttab;
use keyway_boot::crypttab::Entry;
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

impl Terms {
    /// Opens the volume, unless it is open already.
    pub(super) fn unlock(&self, entry: &Entry, plan: &Plan) -> Result<()> {
        let limit = plan.wait;
        let name = entry.name.to_string_lossy();
        if mapping::find_mapping(&name).is_ok_and(|found| found.is_some()) {
            return output::verbose(self.manner, &format!("{name} is already open."));
        }
        let (mut there, _header) = reached(entry, limit)?;
        plan.demand(&mut there);
        if !mapping::has_dm_crypt() {
            return Err(without_dm_crypt(entry));
        }
        let (what, opened) = match (entry.option("keyscript"), &entry.key_file) {
            (Some(program), _) => ("keyscript", script::open(self, program, entry, &there)),
            (None, Some(file)) => ("key file", self.by_file(file, &there, limit)),
            (None, None) => return self.open_as(&there),
        };
        let Err(failure) = opened else { return Ok(()) };
        if failure.exit() == Exit::Unmet {
            // The key is not the cause, and nobody should enter another one for a volume that may
            // be forged.
            return Err(failure);
        }
        failure.report();
        say!("{name}: the {what} did not open it.");
        match self.open_as(&there) {
            // Nobody could be asked: the failure is the one reported before.
            Err(nobody) if nobody.cause() == Cause::NoInput => Err(Failure::silent(failure.exit())),
            asked => asked,
        }
    }

    fn by_file(&self, file: &OsStr, there: &Entry, limit: Duration) -> Result<()> {
        let key = KeyFile::reach(file, limit, "key file")?;
        self.open_as(&Entry { key_file: Some(key.path().as_os_str().to_owned()), ..there.clone() })
    }

    /// Runs `open` with the entry's options and those of this command; before, a volume that waits for
    /// its first boot gets its own key.
    pub(super) fn open_as(&self, entry: &Entry) -> Result<()> {
        let device = Path::new(&entry.device);
        let opened = rekey::first_boot(entry, || self.opening(entry)).and_then(|known| {
            let open = self.opening(entry)?;
            match known {
                Some(passphrase) => open.knowing(passphrase).run(),
                None => open.run(),
            }
        });
        opened.map_err(|failure| explain::placed(failure, Some(device)).without_hint())
    }
}

fn without_dm_crypt(entry: &Entry) -> Failure {
    let message = "This kernel has no dm-crypt: the module dm-crypt (dm_crypt.ko) is neither built in nor loaded; \
                   \"keyway xray --initramfs IMAGE VOLUME\" tells what an image lacks.";
    let failure = Failure::new(Exit::Device, message);
    // Where a person typed this, and open finds the name.
    match is_in_crypttab(entry) && !is_first_process() {
        true => failure.hinting(format!(
            "\"keyway open {}\" opens it through another door.",
            entry.name.to_string_lossy()
        )),
        false => failure,
    }
}

/// The entry with its devices located and present, and without keys from elsewhere, which `open`
/// does not handle; and its header, as long as that is needed.
fn reached(entry: &Entry, limit: Duration) -> Result<(Entry, Option<KeyFile>)> {
    let name = entry.name.to_string_lossy();
    let device = find::reach(&entry.device, limit)
        .map_err(|why| Failure::new(Exit::Device, format!("{name}: {why}.")))?;
    let whole = whole_name(entry, &device);
    let mut there = Entry { name: whole, device: device.into(), key_file: None, ..entry.clone() };
    there.options.retain(|(option, _)| {
        if TOKENS.contains(&option.as_str()) {
            say!("{name}: {option}= is ignored: it is not implemented yet.");
        }
        option != "keyscript" && !TOKENS.contains(&option.as_str())
    });
    let Some((_, header)) = there.options.iter_mut().find(|(option, _)| option == "header") else {
        return Ok((there, None));
    };
    let file = KeyFile::reach(header.as_ref(), limit, "header")?;
    if file.mounted_nowhere() {
        find::reach(file.path().as_os_str(), limit)
            .map_err(|why| Failure::new(Exit::Device, format!("{name}: {why}.")))?;
    }
    *header = file.path().to_string_lossy().into_owned();
    Ok((there, Some(file)))
}

/// Options that name hardware tokens for the key; the user is asked instead.
const TOKENS: &[&str] = &["tpm2-device", "fido2-device", "pkcs11-uri"];
