//! GRUB's verdict on a volume, and on a passphrase.

use super::installed::Installed;
use super::{AS_KEY_FILE, KEYBOARD, show};
use crate::device;
use crate::door::{Args, shared};
use crate::say::failure::{Exit, Failure, Result};
use crate::say::output;
use crate::unlock::KeyOptions;
use keyway_boot::loader::grub::{Disk, Finding, Judgement, Loader, Verdict, typing};
use keyway_boot::unlock_time::{Place, Rates, Work, Yardstick};
use keyway_crypto::{Hash, Secret};
use keyway_format::luks2::Kdf;
use keyway_volume::{Access, Luks, Storage, UnlockOptions, UnlockTimes};
use std::path::Path;

/// Everything that is known beforehand.
pub(super) struct Outcome {
    pub(super) device: String,
    pub(super) loader: Installed,
    pub(super) judgement: Judgement,
    /// Seconds until each keyslot has opened, in the judgement's order.
    pub(super) seconds: Vec<Option<f64>>,
    /// What the passphrase suffers on its way, when one was given.
    pub(super) typed: Vec<Finding>,
    /// The keyslot that the given passphrase opens; `Some(None)` when it opens none.
    pub(super) keyslot: Option<Option<u32>>,
    /// What GRUB's configuration does not have right.
    pub(super) warnings: Vec<String>,
}

impl Outcome {
    /// Whether the volume opens: by the passphrase that was given, else by some keyslot's.
    pub(super) fn opens(&self) -> bool {
        let judged =
            |number: u64| self.judgement.slot(number).is_some_and(|slot| slot.verdict == Verdict::Opens);
        let some = self.judgement.slots.iter().any(|slot| slot.verdict == Verdict::Opens);
        match self.keyslot {
            None => some,
            Some(None) => false,
            Some(Some(number)) => judged(number.into()) && self.typed.is_empty(),
        }
    }
}

pub(super) fn run(args: &Args) -> Result<()> {
    let loader_found = Installed::find(args)?;
    let loader = Loader::new(loader_found.version);
    let device_path = args.operand(1).map(device::resolve).unwrap_or_default();
    let data = device::storage(&device_path, Access::Probe)?;
    let detached = args.given(&shared::HEADER);
    let header = match args.path(&shared::HEADER) {
        Some(path) => device::storage(path, Access::Probe)?,
        None => data.clone(),
    };
    let mut judgement = judge(&*header, &loader, data.len());
    if loader_found.installs_luks2 {
        judgement.notes.retain(|note| note.rule.id != "install-luks2");
    }
    let (typed, keyslot) = given(args, &loader)?;
    let rates = rates(&judgement, &loader);
    let seconds = judgement.slots.iter().map(|slot| {
        let works = judgement.works_until(slot.number);
        rates.total(works.iter().copied()).map(|sum| sum + rates.each_slot * works.len() as f64 / 2.0)
    });
    let seconds = seconds.collect();
    let mut warnings = mounted(&loader_found, &loader, &*header);
    if detached {
        warnings.extend(typing::detached(&loader).map(|finding| finding.because));
    }
    warnings.extend(lacking(&loader_found, &judgement));
    let outcome = Outcome {
        device: device_path.display().to_string(),
        loader: loader_found,
        judgement,
        seconds,
        typed,
        keyslot,
        warnings,
    };
    output::print(&show::show(&outcome, args.given(&shared::JSON)))?;
    match outcome.opens() {
        true => Ok(()),
        false => Err(Failure::silent(Exit::Parameters)),
    }
}

/// What GRUB makes of a header; `data_len` is the length of the device with the data.
pub(in crate::verb) fn judge(header: &dyn Storage, loader: &Loader, data_len: u64) -> Judgement {
    let read = |offset: u64, len: usize| {
        offset.checked_add(len as u64).filter(|end| *end <= header.len())?;
        let mut bytes = vec![0; len];
        header.read_at(&mut bytes, offset).ok().map(|()| bytes)
    };
    loader.judge(&Disk::new(&read, data_len))
}

/// What becomes of the passphrase, and which keyslot is its own.
fn given(args: &Args, loader: &Loader) -> Result<(Vec<Finding>, Option<Option<u32>>)> {
    let layout = match args.text(&KEYBOARD) {
        None => None,
        Some(name) => Some(typing::Layout::find(name).ok_or_else(|| {
            let names: Vec<&str> = typing::Layout::all().map(|layout| layout.name).collect();
            Failure::new(Exit::Parameters, format!("--keyboard {name}: there are {}.", names.join(", ")))
        })?),
    };
    if !args.given(&shared::KEY_FILE) {
        return match layout.is_some() || args.given(&AS_KEY_FILE) {
            true => Err(Failure::new(
                Exit::Parameters,
                "--keyboard and --as-key-file are about a passphrase: name it with --key-file (- is standard input).",
            )),
            false => Ok((Vec::new(), None)),
        };
    }
    let passphrase = KeyOptions::from_args(args)?.passphrase.existing("Enter passphrase: ").read()?;
    let typed = match args.given(&AS_KEY_FILE) {
        true => typing::key_file(args.number(&shared::KEYFILE_SIZE), loader),
        false => typing::typed(passphrase.expose(), layout, loader),
    };
    Ok((typed, Some(keyslot(args, &passphrase)?)))
}

fn keyslot(args: &Args, passphrase: &Secret) -> Result<Option<u32>> {
    let path =
        args.path(&shared::HEADER).or_else(|| args.operand(1)).map(device::resolve).unwrap_or_default();
    let luks = Luks::open_with(device::storage(&path, Access::Probe)?, Access::Probe, device::locking(args))
        .map_err(|error| device::explain::on_device(&path, &error))?;
    let options =
        UnlockOptions { keyslot: args.number32(&shared::KEY_SLOT), ..KeyOptions::from_args(args)?.limits() };
    // Requirements that nobody knows are no hindrance to GRUB, but to this.
    match keyway_volume::unlock(&luks, passphrase, &options) {
        Ok(unlocked) => Ok(Some(unlocked.keyslot)),
        Err(keyway_volume::Error::WrongPassphrase | keyway_volume::Error::NoUsableKeyslot) => Ok(None),
        Err(error) => Err(device::explain::on_device(&path, &error)),
    }
}

/// GRUB's rates in firmware on a CPU like this one.
fn rates(judgement: &Judgement, loader: &Loader) -> Rates {
    let mut times = UnlockTimes::new(1);
    // The best of three: other programs' work is no part of this CPU's rate.
    let once = |_| {
        UnlockTimes::new(1)
            .of_pbkdf2(Hash::Sha512, SAMPLE, 64)
            .map_or(0.0, |time| f64::from(SAMPLE) / time.as_secs_f64())
    };
    let sha512 = (0..3).map(once).fold(0.0, f64::max);
    let works = judgement.slots.iter().flat_map(|slot| &slot.works);
    let argon2 = works.filter_map(|work| match work {
        Work::Argon2 { time, memory_kib, .. } => {
            let (passes, kib) = (*time as u32, *memory_kib as u32);
            let kdf = Kdf::Argon2id { time: passes, memory_kib: kib, lanes: 1, salt: Vec::new() };
            Some(f64::from(passes) * f64::from(kib) / times.of_kdf(&kdf, 64).ok()?.as_secs_f64().max(1e-9))
        }
        Work::Pbkdf2 { .. } => None,
    });
    let argon2_one_lane = argon2.reduce(f64::min);
    Yardstick { sha512, argon2_one_lane }.grub(loader.version, Place::Firmware)
}

/// What the configuration's cryptomount lines have wrong.
fn mounted(found: &Installed, loader: &Loader, header: &dyn Storage) -> Vec<String> {
    let plain = |text: &str| text.replace('-', "").to_ascii_lowercase();
    let mut uuid = [0; 40];
    // Both formats have it there.
    if found.mounts.is_empty() || header.read_at(&mut uuid, 168).is_err() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&uuid).trim_end_matches('\0').to_owned();
    let mut warnings = Vec::new();
    if !found.mounts.iter().any(|(_, mounted)| plain(mounted) == plain(&text)) {
        let (path, _) = &found.mounts[0];
        warnings.push(format!(
            "{} mounts other volumes: no cryptomount line there has the UUID {text}",
            path.display()
        ));
    }
    for (path, mounted) in &found.mounts {
        let finding = typing::cryptomount_uuid(mounted, loader).map(|finding| finding.because);
        warnings.extend(finding.map(|why| format!("{}: {why}", path.display())));
    }
    warnings
}

/// Modules that the installed image lacks.
fn lacking(found: &Installed, judgement: &Judgement) -> Vec<String> {
    let Some((path, modules)) = &found.image else { return Vec::new() };
    let absent: Vec<&str> = judgement
        .modules
        .iter()
        .copied()
        .filter(|module| !modules.iter().any(|known| known == module))
        .collect();
    match absent.is_empty() {
        true => Vec::new(),
        false => vec![format!("{} lacks {}", Path::display(path), absent.join(", "))],
    }
}

const SAMPLE: u32 = 100_000;
