//! The key derivation that the command line asks for, by cryptsetup's rules.

use crate::args::{Args, shared};
use crate::make::calibration::Data;
use crate::make::slow_kdf::SlowKdf;
use crate::output::failure::{Exit, Failure, Result};
use keyway::Version;
use keyway::kdf_cost::{self, Cost, DEFAULT_TIME, KdfFunction, KdfRequest, Opener};
use keyway::parts::{Error, KdfChoice, Refusal};
use keyway_boot::loader::grub::{Distribution, Loader, Planned};
use std::thread;
use std::time::Duration;

/// `--pbkdf` and its companions.
#[derive(Debug, Clone)]
pub(crate) struct KdfOptions {
    request: KdfRequest,
    slow_kdf: SlowKdf,
    /// Whose signed GRUB `--iter-time-for` names.
    distribution: Option<&'static Distribution>,
    /// `--pbkdf-memory` and `--pbkdf-parallel` as they were typed.
    typed: Typed,
}

/// What may differ from what is used.
#[derive(Debug, Clone, Copy)]
struct Typed {
    memory_kib: Option<u32>,
    lanes: Option<u32>,
}

impl KdfOptions {
    /// For every command that makes keyslots.
    pub(crate) fn from_args(args: &Args) -> Result<Self> {
        let function = args.text(&shared::PBKDF).map(KdfFunction::parse).transpose()?;
        let (memory_kib, lanes) =
            (args.number32(&shared::PBKDF_MEMORY), args.number32(&shared::PBKDF_PARALLEL));
        let typed = Typed { memory_kib, lanes };
        // cryptsetup takes 0 for an option that is not given. (More than four lanes it used to lower
        // without a word, and refuses since 2.8.1.)
        let [memory_kib, lanes] = [memory_kib, lanes].map(|typed| typed.filter(|number| *number > 0));
        let slow_kdf = SlowKdf::from_args(args, function.is_some());
        let request = KdfRequest { function, cost: cost(args)?, memory_kib, lanes };
        let distribution = args.text(&shared::ITER_TIME_FOR).and_then(Distribution::find);
        Ok(Self { request, slow_kdf, distribution, typed })
    }

    /// Whether anything was said of it.
    pub(crate) fn is_given(&self) -> bool {
        let KdfRequest { function, cost, memory_kib, lanes } = &self.request;
        function.is_some() || cost.is_some() || memory_kib.is_some() || lanes.is_some()
    }

    /// The KDF of the first keyslot in a new LUKS header of `version`. `hash` is used for PBKDF2.
    pub(crate) fn choice(&self, version: u8, hash: &str) -> Result<KdfChoice> {
        self.choice_or(version, hash, "use --type luks2")
    }

    /// `way` leads to LUKS2.
    fn choice_or(&self, version: u8, hash: &str, way: &str) -> Result<KdfChoice> {
        let version = if version == 1 { Version::Luks1 } else { Version::Luks2 };
        kdf_cost::choose(&self.request, version, hash).map_err(|error| match error.into_volume_error() {
            Ok(Error::Refused { kind: Refusal::OnlyLuks2, why }) => {
                Failure::new(Exit::Parameters, format!("{why}: omit --pbkdf, or {way}."))
            }
            Ok(error) => error.into(),
            Err(error) => error.into(),
        })
    }

    /// The same for a keyslot that is made now, on data of this kind if that is known: if its derivation
    /// takes more than a minute, that is said and asked for.
    pub(crate) fn agreed(&self, version: u8, hash: &str, data: Option<Data>) -> Result<KdfChoice> {
        let choice = self.choice_or(version, hash, "convert the volume first (convert --type luks2)")?;
        self.check_image(version, hash, &choice, data.as_ref())?;
        self.slow_kdf.agree(&choice)?;
        if self.slow_kdf.is_heard() {
            self.typed.differing(&choice).iter().for_each(|line| say!("{line}"));
        }
        self.slow_kdf.announce(self.request.cost.is_some(), data);
        Ok(choice)
    }

    /// Refuses what the signed image that `--iter-time-for` names would not open.
    fn check_image(&self, version: u8, hash: &str, choice: &KdfChoice, data: Option<&Data>) -> Result<()> {
        let Some(image) = self.distribution else { return Ok(()) };
        let argon2 = matches!(choice, KdfChoice::Argon2 { .. });
        let data = data.map(|data| (data.cipher.as_str(), data.key_len));
        let Some(why) = Loader::of(image).refuses(&Planned { format: version, hash, argon2, data }) else {
            return Ok(());
        };
        let (name, title) = (image.name, image.title);
        let message = format!("--iter-time-for {name}: {title}'s GRUB does not open such a volume: {why}.");
        Err(Failure::new(Exit::Parameters, message))
    }

    /// The same with a cost that is not measured: the forced one, or a fixed default.
    pub(crate) fn reproducible(&self, version: u8) -> Result<Self> {
        let request = self.request.reproducible(version).map_err(|_| {
            let message = "--iter-time measures, and measurements differ: with --reproducible, give the cost \
                           with --pbkdf-force-iterations.";
            Failure::new(Exit::Parameters, message)
        })?;
        Ok(Self { request, ..self.clone() })
    }
}

impl Typed {
    /// What is used in place of what was typed, a line each.
    fn differing(self, choice: &KdfChoice) -> Vec<String> {
        let KdfChoice::Argon2 { memory_kib, lanes, cost, .. } = choice else { return Vec::new() };
        let mut lines = Vec::new();
        if self.memory_kib == Some(0) {
            let most = if matches!(cost, Cost::Time(..)) { "at most " } else { "" };
            lines.push(format!("--pbkdf-memory 0: the default is used, {most}{memory_kib} kilobytes."));
        }
        let used = match cost {
            Cost::Forced(_) => *lanes,
            Cost::Time(..) => thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32).min(*lanes),
        };
        let threads =
            if used == 1 { "1 thread is used".to_owned() } else { format!("{used} threads are used") };
        match self.lanes {
            Some(0) => lines.push(format!("--pbkdf-parallel 0: {threads}, the default.")),
            Some(typed) if typed > used => {
                lines.push(format!("--pbkdf-parallel {typed}: {threads}, as many as this machine has CPUs."));
            }
            _ => {}
        }
        lines
    }
}

/// `--pbkdf-force-iterations`, or `--iter-time` and `--iter-time-for`.
pub(crate) fn cost(args: &Args) -> Result<Option<Cost>> {
    let (forced, time) = (args.number32(&shared::PBKDF_FORCE_ITERATIONS), args.number(&shared::ITER_TIME));
    let refuse = |why: String| Err(Failure::new(Exit::Parameters, why));
    let opener = match args.text(&shared::ITER_TIME_FOR) {
        Some(name) => match Opener::find(name) {
            None => {
                let names: Vec<&str> = Opener::names().collect();
                return refuse(format!("--iter-time-for {name}: there are {}.", names.join(", ")));
            }
            found => found,
        },
        None => None,
    };
    match (forced, time) {
        (Some(iterations), _) => Ok(Some(Cost::Forced(iterations))),
        (None, None) if opener.is_none() => Ok(None),
        (None, time) => {
            let time = time.filter(|time| *time > 0).map_or(DEFAULT_TIME, Duration::from_millis);
            Ok(Some(Cost::Time(time, opener.unwrap_or_default())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Kind;
    use keyway_crypto::kdf::Argon2Variant;

    #[test]
    fn what_shells_offer_is_known() {
        let Kind::Words(offered) = shared::ITER_TIME_FOR.kind else { panic!("words") };
        assert!(Opener::names().eq(offered.iter().copied()));
    }

    #[test]
    fn what_is_used_in_place_of_what_was_typed_is_said() {
        let choice = |cost| KdfChoice::Argon2 {
            variant: Argon2Variant::Argon2id,
            memory_kib: 1 << 20,
            lanes: 4,
            cost,
        };
        let lines = |memory_kib, lanes, cost| Typed { memory_kib, lanes }.differing(&choice(cost));
        let forced = Cost::Forced(4);
        assert_eq!(
            lines(Some(0), Some(0), forced),
            [
                "--pbkdf-memory 0: the default is used, 1048576 kilobytes.",
                "--pbkdf-parallel 0: 4 threads are used, the default."
            ]
        );
        let nothing: [&str; 0] = [];
        assert_eq!(lines(Some(64), Some(4), forced), nothing);
        assert_eq!(lines(None, None, Cost::default()), nothing);
        let pbkdf2 = KdfChoice::Pbkdf2 { hash: "sha256".into(), cost: forced };
        assert_eq!(Typed { memory_kib: Some(0), lanes: Some(0) }.differing(&pbkdf2), nothing);
    }
}
