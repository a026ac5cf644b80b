//! Which headers the command line opens: its terms, and what is said
//! of a header that is opened on them only.
//!
//! The judgement itself is the library's ([`keyway_volume::admission`]). Called by
//! cryptsetup's name, weak ciphers are taken with a warning, as scripts that were
//! written for it use them; forged segments are not.

use crate::device::explain;
use crate::door::{Args, shared};
use crate::say::failure::{Exit, Failure, Result};
use crate::unlock::policy;
use keyway_crypto::{CipherSpec, Secret};
use keyway_volume::admission::{self, Exemption, Finding};
use keyway_volume::seal::Seal;
use keyway_volume::{Admitted, DataDevice, Luks, Opened, Terms};
use std::path::Path;

/// Whether ciphers are taken that protect little.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WeakCiphers {
    /// They are.
    pub(crate) taken: bool,
    /// And that was said, with nothing more to be said of it.
    pub(crate) by_name: bool,
}

impl WeakCiphers {
    /// By the option, or by cryptsetup's name.
    pub(crate) fn from_args(args: &Args) -> Self {
        let by_name = args.given(&shared::WEAK_CIPHER);
        Self { taken: by_name || args.is_cryptsetup(), by_name }
    }
}

/// What the user takes and demands.
#[derive(Debug, Clone)]
pub(crate) struct Demands {
    /// In the library's words.
    pub(crate) terms: Terms,
    weak_ciphers: WeakCiphers,
    /// The first option that demands something.
    demand: Option<&'static str>,
}

impl Demands {
    /// Of every command that opens a volume. Policies are read.
    pub(crate) fn from_args(args: &Args) -> Result<Self> {
        if args.given(&shared::IGNORE_SEAL) && args.given(&shared::SEAL_CONTEXT) {
            return Err(Failure::new(
                Exit::Parameters,
                "--ignore-seal and --seal-context contradict each other.",
            ));
        }
        let weak_ciphers = WeakCiphers::from_args(args);
        let terms = Terms {
            weak_ciphers: weak_ciphers.taken,
            linear_segments: args.given(&shared::LINEAR_SEGMENTS),
            ignore_seal: args.given(&shared::IGNORE_SEAL),
            seal_context: args.text(&shared::SEAL_CONTEXT).map(str::to_owned),
            policies: policy::required(args)?,
        };
        let demand = [&shared::REQUIRE, &shared::SEAL_CONTEXT].into_iter().find(|option| args.given(option));
        Ok(Self { terms, weak_ciphers, demand: demand.map(|option| option.long) })
    }

    /// Refuses demands on a volume that has no header to meet them.
    pub(crate) fn refuse(&self, device: &Path) -> Result<()> {
        let Some(option) = self.demand else { return Ok(()) };
        let (device, why) = (device.display(), "has no header, as a plain volume, that could meet it");
        Err(Failure::new(Exit::Unmet, format!("Device {device}: --{option}: it {why}.")))
    }

    /// Whether something is demanded of the volume: its data device is then judged too where only
    /// keys are tried, which else may be those of a header's backup.
    pub(crate) fn is_demanded(&self) -> bool {
        self.demand.is_some()
    }

    /// Judges the header of the volume at `device`: before a passphrase is asked for.
    pub(crate) fn judge(&self, luks: Luks, device: &Path, data: Option<DataDevice>) -> Result<Admitted> {
        let admitted =
            Admitted::judge(luks, data, &self.terms).map_err(|e| explain::on_volume(device, &e))?;
        self.warn(device, admitted.tolerated());
        Ok(admitted)
    }

    /// Judges a header whose keys are only tried.
    pub(crate) fn check(&self, luks: &Luks, device: &Path, data: Option<DataDevice>) -> Result<()> {
        let tolerated =
            admission::check(luks, data, &self.terms).map_err(|e| explain::on_volume(device, &e))?;
        self.warn(device, &tolerated);
        Ok(())
    }

    /// Judges a header whose key is given out or gets another keyslot, before that is asked for.
    pub(crate) fn check_header(&self, luks: &Luks, device: &Path) -> Result<()> {
        admission::check_header(luks, &self.terms).map_err(|e| explain::on_volume(device, &e))
    }

    /// Judges the header with a key that is only tried or kept; `data` where the device is to be judged
    /// too.
    pub(crate) fn check_key(
        &self,
        luks: &Luks,
        device: &Path,
        data: Option<DataDevice>,
        key: &Secret,
        digest: u32,
    ) -> Result<()> {
        let data_len = data.map(|data| data.len);
        admission::check_key(luks, data_len, &self.terms, key, digest)
            .map_err(|e| explain::on_volume(device, &e))
    }

    /// Says what nobody has allowed by name.
    fn warn(&self, device: &Path, tolerated: &[Finding]) {
        let by_name = |finding: &&Finding| match finding.rule.exemption() {
            Some(Exemption::WeakCiphers) => self.weak_ciphers.by_name,
            Some(Exemption::LinearSegments) => self.terms.linear_segments,
            None => false,
        };
        for finding in tolerated.iter().filter(|finding| !by_name(finding)) {
            say!(
                "WARNING: Device {}: {finding}. Its data is not protected; keyway refuses it without --{}.",
                device.display(),
                shared::WEAK_CIPHER.long
            );
        }
    }
}

/// Goes on with the volume key that `digest` has verified.
pub(crate) fn open(admitted: Admitted, device: &Path, volume_key: Secret, digest: u32) -> Result<Opened> {
    admitted.open(volume_key, digest).map_err(|e| explain::on_volume(device, &e))
}

/// Refuses to make a volume that protects little.
pub(crate) fn check_new(weak: WeakCiphers, cipher: &CipherSpec, key_len: usize) -> Result<()> {
    let Some(why) = admission::weakness(cipher, key_len) else { return Ok(()) };
    let option = shared::WEAK_CIPHER.long;
    let line = format!("The volume would be under {cipher}{why}");
    if !weak.taken {
        let line = format!("{line}; --{option} makes it all the same.");
        return Err(Failure::new(Exit::Parameters, line));
    }
    if !weak.by_name {
        say!("WARNING: {line}. Its data will not be protected; keyway refuses it without --{option}.");
    }
    Ok(())
}

/// Says that an edit made the seal one of another header.
pub(crate) fn warn_of_seal(luks: &Luks, device: &Path) {
    let seal = Seal::of(luks.header());
    // The string itself is not in the header; without it the new seal would have none.
    let context = seal.as_ref().is_ok_and(|seal| seal.as_ref().is_some_and(Seal::has_context));
    let held = seal.and_then(|seal| seal.map_or(Ok(()), |s| s.compare(luks.header(), None)));
    if let Err(broken) = held {
        let (device, context) = (device.display(), if context { "--seal-context STRING " } else { "" });
        say!(
            "WARNING: Device {device}: {broken}. It is refused now: \"keyway seal {context}{device}\" seals it anew."
        );
    }
}
