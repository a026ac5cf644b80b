//! Predictions in the types of the crate `keyway-boot`, for programs that reason about them:
//! feature `parts`.

use super::rates::Measured;
use super::{GrubVersion, Kind, Machine, PredictedKeyslot, Prediction};
use crate::{Device, Result};
use keyway_boot::loader::grub::{Judgement, Version};
use keyway_boot::unlock_time::{Rates, Wait, Work};
use keyway_volume::UnlockTimes;

impl From<Version> for GrubVersion {
    fn from(release: Version) -> Self {
        match release {
            Version::V2_06 => Self::V2_06,
            Version::V2_12 => Self::V2_12,
            Version::V2_14 => Self::V2_14,
        }
    }
}

impl Machine {
    /// How fast it computes these, and how many seconds passed for each that was computed while this machine was
    /// measured. `cpu` has the rates of its CPU under Linux, if it is another; samples of Argon2 take `most_kib` at
    /// most.
    ///
    /// ```
    /// # use keyway::Machine;
    /// use keyway_boot::unlock_time::Work;
    ///
    /// let stretching = Work::Stretching { rounds: 1 << 20 };
    /// let (rates, interference) = Machine::here().rates(std::slice::from_ref(&stretching), None, 1 << 10);
    /// assert!(rates.seconds(&stretching).unwrap().likely > 0.0 && interference >= 1.0);
    /// assert!(Machine::find("grub-2.12").unwrap().is_grub() && !Machine::here().is_grub());
    /// ```
    pub fn rates(&self, works: &[Work], cpu: Option<&Rates>, most_kib: u32) -> (Rates, f64) {
        let Measured { rates, interference } = self.0.rates(works.iter(), cpu, most_kib);
        (rates, interference)
    }

    /// Whether it is GRUB. See [`Machine::rates`] for an example.
    pub fn is_grub(&self) -> bool {
        matches!(self.0, Kind::Grub(_))
    }
}

impl Device {
    /// Predicts as [`Device::predict`], for a machine whose CPU derives keys at these rates under
    /// Linux.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// let pi4 = device.predict(&Machine::find("pi4").unwrap())?;
    /// assert!(pi4.judgement().is_none(), "GRUB does not open it there");
    /// let here = device.predict_on(&Machine::here(), pi4.rates())?;
    /// assert_eq!(here.keyslots()[0].time(), pi4.keyslots()[0].time());
    /// let watched = pi4.clone().at(pi4.rates().clone().times(0.5));
    /// assert!(watched.keyslots()[0].time() > pi4.keyslots()[0].time(), "half as fast");
    /// assert_eq!(watched.keyslots()[0].works().len(), 2, "the keyslot and its digest");
    /// assert_eq!(here.keyslots()[0].wait().before.unwrap().high, 0.0, "it is the only keyslot");
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Device::predict`].
    pub fn predict_on(&self, machine: &Machine, cpu: &Rates) -> Result<Prediction> {
        self.foretell(machine, Some(cpu), UnlockTimes::UNASKED_KIB)
    }

    /// Predicts as [`Device::predict`], with samples of Argon2 over as much memory as the caller
    /// trusts the header with, in KiB: the more of what a keyslot asks for, the narrower the range.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let argon2 = NewKdf::argon2id_forced(4, 64 << 10, 1);
    /// # let device = Create::luks2().kdf(argon2).in_memory(1 << 20, &key)?;
    /// let width = |most_kib| {
    ///     let time = device.predict_within(&Machine::here(), most_kib)?.keyslots()[0].wait().alone.unwrap();
    ///     Ok::<_, Error>(time.high / time.likely)
    /// };
    /// assert!(width(8 << 10)? > 1.5, "what lies beyond the sample may take longer");
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Device::predict`].
    pub fn predict_within(&self, machine: &Machine, most_kib: u32) -> Result<Prediction> {
        self.foretell(machine, None, most_kib)
    }
}

impl Prediction {
    /// GRUB's own judgement, where GRUB is the machine. See [`Device::predict_on`] for an example.
    pub fn judgement(&self) -> Option<&Judgement> {
        self.judgement.as_ref()
    }

    /// The same on a machine that derives keys at other rates: [`Prediction::rates`], corrected by what was
    /// seen there. See [`Device::predict_on`] for an example.
    #[must_use]
    pub fn at(self, rates: Rates) -> Self {
        let Self { keyslots, judgement, interference, .. } = self;
        let tried = keyslots.into_iter().map(|keyslot| keyslot.tried).collect();
        Self::of(judgement, tried, Measured { rates, interference })
    }

    /// The rates of which the times are made. See [`Device::predict_on`] for an example.
    pub fn rates(&self) -> &Rates {
        &self.rates
    }
}

impl PredictedKeyslot {
    /// What is computed when it is tried. See [`Device::predict_on`] for an example.
    pub fn works(&self) -> &[Work] {
        &self.tried.works
    }

    /// How long it takes, whether it opens then or not. See [`Device::predict_on`] for an example.
    pub fn wait(&self) -> Wait {
        self.wait
    }
}
