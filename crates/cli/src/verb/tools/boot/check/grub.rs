//! GRUB's verdict on a volume and on a passphrase.

use super::given::{Given, Way};
use super::installed::{Installed, Named};
use crate::device;
use crate::output::failure::Result;
use crate::verb::tools::cpu::Cpu;
use keyway::storage::Storage;
use keyway::{Access, Device, Locking};
use keyway_boot::loader::grub::typing;
use keyway_boot::loader::grub::{Finding, Judgement, Loader, Verdict};
use keyway_format::interval::Interval;
use std::path::{Path, PathBuf};

/// The prediction.
pub(super) struct Outcome {
    pub(super) device: String,
    pub(super) loader: Installed,
    pub(super) judgement: Judgement,
    /// Seconds until each keyslot has been opened, in the order of the verdict.
    pub(super) seconds: Vec<Option<Interval>>,
    /// The CPU of which the seconds are made, and where its rates come from.
    pub(super) rates: String,
    /// Seconds that passed for each that was computed while this machine was measured.
    pub(super) interference: f64,
    /// What happens to the passphrase when it is entered, if one was given.
    pub(super) typed: Vec<Finding>,
    /// The keyslot that the given passphrase opens; `Some(None)` if it opens none.
    pub(super) keyslot: Option<Option<u32>>,
    /// Problems in GRUB's configuration.
    pub(super) warnings: Vec<String>,
}

impl Outcome {
    /// Whether the volume opens: with the given passphrase, else with that of any keyslot.
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

/// A volume, and the GRUB that has to open it.
pub(super) struct Grub {
    /// The installed one if `None`.
    pub(super) named: Option<Named>,
    /// Where it is installed.
    pub(super) root: PathBuf,
    /// The CPU of its machine.
    pub(super) cpu: Cpu,
    pub(super) device: PathBuf,
    pub(super) header: Option<PathBuf>,
    pub(super) locking: Locking,
    pub(super) passphrase: Option<Given>,
}

impl Grub {
    /// Predicts the outcome.
    pub(super) fn judge(self) -> Result<Outcome> {
        let found = Installed::find(&self.root, self.named)?;
        let loader = found.loader();
        let data = device::storage(&self.device, Access::Probe)?;
        let header = match &self.header {
            Some(path) => device::storage(path, Access::Probe)?,
            None => data.clone(),
        };
        let device = Device::options().over(&self.device, data, header.clone());
        let prediction = self.cpu.predict(&found.machine(), &device)?;
        let seconds = prediction.keyslots().iter().map(|keyslot| keyslot.wait().until_opened()).collect();
        let mut judgement = prediction.judgement().expect("the machine is GRUB").clone();
        if found.installs_luks2 {
            judgement.forget_the_installer();
        }
        let (typed, keyslot) = match &self.passphrase {
            Some(given) => self.given(given, &loader)?,
            None => (Vec::new(), None),
        };
        let mut warnings = mounted(&found, &loader, &*header);
        if self.header.is_some() {
            warnings.extend(typing::detached(&loader).map(|finding| finding.because));
        }
        warnings.extend(lacking(&found, &judgement));
        let device = self.device.display().to_string();
        let rates = format!("{}, {}", self.cpu.name, self.cpu.source);
        let interference = prediction.interference();
        Ok(Outcome {
            device,
            loader: found,
            judgement,
            seconds,
            rates,
            interference,
            typed,
            keyslot,
            warnings,
        })
    }

    /// What happens to the passphrase, and which keyslot it opens.
    fn given(&self, given: &Given, loader: &Loader) -> Result<(Vec<Finding>, Option<Option<u32>>)> {
        let passphrase = given.source.read()?;
        let typed = match given.way {
            Way::KeyFile { size } => typing::key_file(size, loader),
            Way::Typed { layout } => typing::typed(passphrase.expose(), layout, loader),
        };
        let header = self.header.as_ref().unwrap_or(&self.device);
        Ok((typed, Some(given.keyslot(&passphrase, header, self.locking)?)))
    }
}

/// Errors in the configuration's cryptomount lines.
fn mounted(found: &Installed, loader: &Loader, header: &dyn Storage) -> Vec<String> {
    let plain = |text: &str| text.replace('-', "").to_ascii_lowercase();
    let mut uuid = [0; 40];
    // Both formats store the UUID at this offset.
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

/// Modules that are missing from the installed image.
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
