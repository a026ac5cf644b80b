//! Which headers the command line accepts: the terms it sets, and the warnings about a header that
//! is accepted only because of them.
//!
//! The library does the judging ([`keyway::trust`]). When called by cryptsetup's name,
//! the program accepts weak ciphers with a warning, because scripts written for cryptsetup use
//! them; it does not accept forged segments.

use crate::args::{Args, Opt, shared};
use crate::device::explain;
use crate::output::failure::{Exit, Failure, Result};
use crate::process::encoding::{Encoded, encoded};
use crate::unlock::policy::PolicyText;
use crate::unlock::seal_context::SealContext;
use keyway::parts::{Admitted, Luks, Opened, Terms};
use keyway::trust::{self, DataDevice, Exemption, Finding};
use keyway_crypto::{CipherSpec, Secret};
use std::path::Path;

/// Whether weak ciphers are accepted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WeakCiphers {
    /// They are.
    pub(crate) taken: bool,
    /// The user asked for it by option, so there is no warning.
    pub(crate) by_name: bool,
}

impl WeakCiphers {
    /// Accepted by the option, or when called by cryptsetup's name.
    pub(crate) fn from_args(args: &Args) -> Self {
        let by_name = args.given(&shared::WEAK_CIPHER);
        Self { taken: by_name || args.is_cryptsetup(), by_name }
    }
}

/// What the user accepts and demands.
#[derive(Debug, Clone, Default)]
pub(crate) struct Demands {
    /// In the library's terms.
    pub(crate) terms: Terms,
    weak_ciphers: WeakCiphers,
    /// Where `terms.seal_context` is from, in words.
    bound_by: String,
    /// What `terms.policies` were read from.
    policies: Vec<PolicyText>,
}

encoded!(WeakCiphers { taken, by_name });

impl Encoded for Demands {
    fn put(&self, to: &mut Vec<u8>) {
        let Self { terms, weak_ciphers, bound_by, policies } = self;
        weak_ciphers.put(to);
        terms.linear_segments.put(to);
        terms.ignore_seal.put(to);
        terms.seal_context.put(to);
        bound_by.put(to);
        policies.put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let weak_ciphers = WeakCiphers::take(from)?;
        let terms = Terms {
            weak_ciphers: weak_ciphers.taken,
            linear_segments: Encoded::take(from)?,
            ignore_seal: Encoded::take(from)?,
            seal_context: Encoded::take(from)?,
            policies: Vec::new(),
        };
        let bound_by = Encoded::take(from)?;
        let mut this = Self { terms, weak_ciphers, bound_by, policies: Vec::new() };
        let policies: Vec<PolicyText> = Encoded::take(from)?;
        policies.into_iter().try_for_each(|policy| this.require(policy)).ok()?;
        Some(this)
    }
}

impl Demands {
    /// For every command that opens a volume. Reads the policies.
    pub(crate) fn from_args(args: &Args) -> Result<Self> {
        let weak_ciphers = WeakCiphers::from_args(args);
        let terms = Terms {
            weak_ciphers: weak_ciphers.taken,
            linear_segments: args.given(&shared::LINEAR_SEGMENTS),
            ignore_seal: args.given(&shared::IGNORE_SEAL),
            seal_context: None,
            policies: Vec::new(),
        };
        let mut this = Self { terms, weak_ciphers, bound_by: String::new(), policies: Vec::new() };
        let context = SealContext::from_args(args)?;
        // Whoever ignores the seal by an option does so whatever the environment says.
        if !this.terms.ignore_seal || context.option.is_some() {
            let source = context.source();
            context.text.map_or(Ok(()), |context| this.bind_seal(&context, &source))?;
        }
        PolicyText::from_args(args)?.into_iter().try_for_each(|policy| this.require(policy))?;
        Ok(this)
    }

    /// Sets the string that the seal must be bound to, and where it is from. Demands accumulate, and no
    /// seal has two.
    pub(crate) fn bind_seal(&mut self, context: &str, source: &str) -> Result<()> {
        if self.terms.seal_context.as_deref().is_some_and(|other| other != context) {
            // The strings may be secret: who gave a file wanted nobody to see its content.
            let other = &self.bound_by;
            let message =
                format!("{other} and {source} demand different seal contexts: no volume meets both.");
            return Err(Failure::new(Exit::Unmet, message));
        }
        if self.terms.ignore_seal {
            let message = "--ignore-seal and --seal-context contradict each other.";
            return Err(Failure::new(Exit::Parameters, message));
        }
        self.terms.seal_context = Some(context.to_owned());
        source.clone_into(&mut self.bound_by);
        Ok(())
    }

    /// Adds a policy.
    pub(crate) fn require(&mut self, policy: PolicyText) -> Result<()> {
        self.terms.policies.push(policy.required()?);
        self.policies.push(policy);
        Ok(())
    }

    /// Sets whether weak ciphers are accepted.
    pub(crate) fn take_weak_ciphers(&mut self, weak: WeakCiphers) {
        self.terms.weak_ciphers = weak.taken;
        self.weak_ciphers = weak;
    }

    /// The first option that makes a demand.
    fn demand(&self) -> Option<&'static Opt> {
        match (&self.policies[..], &self.terms.seal_context) {
            ([_, ..], _) => Some(&shared::REQUIRE),
            ([], Some(_)) => Some(&shared::SEAL_CONTEXT),
            ([], None) => None,
        }
    }

    /// Refuses demands if the volume has no header that could meet them.
    pub(crate) fn refuse(&self, device: &Path) -> Result<()> {
        let Some(option) = self.demand() else { return Ok(()) };
        let (device, option, why) =
            (device.display(), option.long, "is a plain volume, which has no header to check");
        Err(Failure::new(Exit::Unmet, format!("Device {device}: --{option}: it {why}.")))
    }

    /// Whether the command line demands anything of the volume. If so, its data device is judged
    /// even when keys are only tried; without demands it is not, since the header may be a backup.
    pub(crate) fn is_demanded(&self) -> bool {
        self.demand().is_some()
    }

    /// Judges the header of the volume at `device`, before a passphrase is asked for.
    pub(crate) fn judge(&self, luks: Luks, device: &Path, data: Option<DataDevice>) -> Result<Admitted> {
        let admitted =
            Admitted::judge(luks, data, &self.terms).map_err(|e| explain::on_volume(device, &e))?;
        self.warn(device, admitted.tolerated());
        Ok(admitted)
    }

    /// Judges a header when keys are only tried.
    pub(crate) fn check(&self, luks: &Luks, device: &Path, data: Option<DataDevice>) -> Result<()> {
        let tolerated = trust::check(luks, data, &self.terms).map_err(|e| explain::judging(device, e))?;
        self.warn(device, &tolerated);
        Ok(())
    }

    /// Judges a header whose volume key is given out or gets another keyslot, before the key is
    /// asked for.
    pub(crate) fn check_header(&self, luks: &Luks, device: &Path) -> Result<()> {
        trust::check_header(luks, &self.terms).map_err(|e| explain::judging(device, e))
    }

    /// Judges the header together with a volume key that is only tried or kept; `data` is given if
    /// the device is to be judged too.
    pub(crate) fn check_key(
        &self,
        luks: &Luks,
        device: &Path,
        data: Option<DataDevice>,
        key: &Secret,
        digest: u32,
    ) -> Result<()> {
        trust::check_key(luks, data, &self.terms, key, digest).map_err(|e| explain::judging(device, e))
    }

    /// Warns of findings that no option has permitted.
    pub(crate) fn warn(&self, device: &Path, tolerated: &[Finding]) {
        let by_name = |finding: &&Finding| match finding.rule.exemption() {
            Some(Exemption::WeakCiphers) => self.weak_ciphers.by_name,
            Some(Exemption::LinearSegments) => self.terms.linear_segments,
            Some(Exemption::Vista) | None => false,
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

/// Continues with the volume key that `digest` has verified.
pub(crate) fn open(admitted: Admitted, device: &Path, volume_key: Secret, digest: u32) -> Result<Opened> {
    admitted.open(volume_key, digest).map_err(|e| explain::on_volume(device, &e))
}

/// Refuses to make a volume with a weak cipher.
pub(crate) fn check_new(weak: WeakCiphers, cipher: &CipherSpec, key_len: usize) -> Result<()> {
    let Some(why) = cipher.weakness_with(key_len) else { return Ok(()) };
    let option = shared::WEAK_CIPHER.long;
    let line = format!("The volume would use {cipher}{why}");
    if !weak.taken {
        let line = format!("{line}; --{option} makes it anyway.");
        return Err(Failure::new(Exit::Parameters, line));
    }
    if !weak.by_name {
        say!("WARNING: {line}. Its data will not be protected; keyway refuses it without --{option}.");
    }
    Ok(())
}

/// Warns that an edit has invalidated the seal.
pub(crate) fn warn_of_seal(luks: &Luks, device: &Path) {
    // The context string is not stored in the header; without it the new seal would have none.
    if let Err(broken) = trust::check_seal(luks, None) {
        let context = trust::seal_has_context(luks);
        let (device, context) = (device.display(), if context { "--seal-context STRING " } else { "" });
        say!(
            "WARNING: Device {device}: {broken}. It is refused now: \"keyway seal {context}{device}\" seals it again."
        );
    }
}

/// Warns of a header that does not match its seal, before it loses a key all the same.
pub(crate) fn warn_of_unmatched_seal(luks: &Luks, device: &Path) {
    if let Err(broken) = trust::check_seal(luks, None) {
        let device = device.display();
        say!("WARNING: Device {device}: {broken}; its header may be forged. The keyslot is removed anyway.");
    }
}
