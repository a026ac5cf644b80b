//! What each keyslot costs its owner and an attacker.

use super::advised::{Advised, Subject};
use super::question::{Question, Watched};
use crate::device;
use crate::output::cure;
use crate::output::failure::Result;
use crate::output::figures::seconds as time;
use crate::unlock::KeyOptions;
use keyway::facts::{self, Concern, Facts};
use keyway::kdf_cost::{self, UnlockTimes};
use keyway::parts::{Luks, UnlockOptions};
use keyway::{Access, FirstBoot, PredictedKeyslot, Prediction};
use keyway_boot::advice::{Candidate, Standing};
use keyway_boot::attack::{self, Cost};
use keyway_boot::loader::grub::{Finding, Verdict};
use keyway_boot::unlock_time::{Rates, Wait, Work};
use keyway_format::interval::Interval;
use keyway_format::luks2::Priority;
use std::time::Instant;

/// A volume's keyslots, from the point of view of their owner and of an attacker.
pub(super) struct Passport {
    pub(super) device: String,
    pub(super) format: u8,
    pub(super) target: String,
    /// The CPU there, and where its rates come from.
    pub(super) rates: String,
    /// How fast it derives keys.
    pub(super) target_rates: Rates,
    /// The memory there in KiB, if it is known.
    pub(super) memory_kib: Option<u64>,
    /// Seconds that passed for each that was computed while this machine was measured.
    pub(super) interference: f64,
    /// Why GRUB tries no keyslot.
    pub(super) refused: Option<Finding>,
    /// What GRUB ignores and the user should know.
    pub(super) notes: Vec<Finding>,
    /// What re-encryption of the volume would cure, in sentences.
    pub(super) cures: Vec<String>,
    /// It is marked to get a volume key of its own at its first boot.
    pub(super) awaits_first_boot: bool,
    /// GRUB modules that must be readable before the volume is open.
    pub(super) modules: Vec<&'static str>,
    pub(super) entropy: f64,
    pub(super) hardware: &'static str,
    pub(super) price: f64,
    pub(super) within: Option<f64>,
    /// In the order in which the target tries them.
    pub(super) slots: Vec<Keyslot>,
    /// The keyslot whose passphrase is the cheapest to search for.
    pub(super) weakest: Option<u64>,
    /// The result of a real derivation: the keyslot and the seconds it took.
    pub(super) checked: Option<(u64, f64)>,
    pub(super) advice: Option<Advised>,
}

pub(super) struct Keyslot {
    pub(super) number: u64,
    pub(super) ignored: bool,
    pub(super) derive: Work,
    pub(super) digest: Work,
    pub(super) variant: String,
    pub(super) key_len: usize,
    /// Seconds on this machine, for derivation and digest.
    pub(super) here: Option<Interval>,
    /// Whether the target derives its key when it tries all keyslots.
    tried: bool,
    /// Seconds on the target if this keyslot is tried first.
    pub(super) alone: Option<Interval>,
    /// Seconds that pass on the target before this keyslot is tried.
    pub(super) before: Option<Interval>,
    /// Seconds until cryptsetup has opened it, where the target is Linux.
    pub(super) by_cryptsetup: Option<Interval>,
    /// Whether the target has the memory that it needs; `None` if that is not known and matters.
    pub(super) fits: Option<bool>,
    /// What GRUB does with it.
    pub(super) verdict: Option<Verdict>,
    pub(super) cost: Option<Cost>,
}

impl Passport {
    /// `known` has the target's rates, if they were found before.
    pub(super) fn gather(
        volume: &device::Target,
        luks: &Luks,
        question: &Question,
        key: &KeyOptions,
        known: Option<&Rates>,
    ) -> Result<Self> {
        let data = device::storage(&volume.device, Access::Probe)?;
        let cures = Facts::of(luks, data.len())
            .map(|facts| Concern::cured_by_reencryption(&facts, &*data))
            .unwrap_or_default();
        let device = volume.over(data, luks.storage().clone(), false);
        let prediction = question.target.predict(&device)?;
        let prediction = match (known, question.watched) {
            (Some(rates), _) => prediction.at(rates.clone()),
            (None, Some(watched)) => scaled(prediction, watched)?,
            (None, None) => prediction,
        };
        let mut times = kdf_cost::unlock_times(Some(question.sample_kib));
        let slots = facts::keyslots_in_turn(luks.header());
        let slots = slots.iter().filter_map(|slot| Keyslot::new(slot, question, &prediction, &mut times));
        let mut slots: Vec<Keyslot> = slots.collect();
        let place = |slot: &Keyslot| {
            prediction.keyslots().iter().position(|predicted| u64::from(predicted.number()) == slot.number)
        };
        slots.sort_by_key(|slot| place(slot).unwrap_or(usize::MAX));
        wait_in_turn(&mut slots, &prediction);
        let by_cryptsetup = question.target.is_linux().then(|| prediction.rates().of_cryptsetup());
        if let Some(rates) = &by_cryptsetup {
            let works: Vec<Vec<Work>> = slots.iter().map(Keyslot::works).collect();
            let waits = rates.in_turn(works.iter().map(Vec::as_slice));
            for (slot, wait) in slots.iter_mut().zip(waits) {
                slot.by_cryptsetup = Wait::until_opened(&wait).filter(|_| slot.opens());
            }
        }
        let weakest = weakest(&slots);
        let mut passport = Self {
            device: volume.header_path().display().to_string(),
            format: luks.version(),
            target: question.target.title.clone(),
            rates: match question.watched {
                Some(Watched { seconds, .. }) => {
                    format!(
                        "{}; scaled to the {} that were measured there",
                        question.target.rates,
                        time(seconds)
                    )
                }
                None => question.target.rates.clone(),
            },
            target_rates: prediction.rates().clone(),
            memory_kib: question.target.memory_kib,
            interference: prediction.interference(),
            refused: prediction.judgement().and_then(|found| found.refused.clone()),
            notes: prediction.judgement().map(|found| found.notes.clone()).unwrap_or_default(),
            cures: cures.iter().filter_map(cure::sentence).collect(),
            awaits_first_boot: FirstBoot::of(luks.header()) == FirstBoot::Due,
            modules: prediction.modules().to_vec(),
            entropy: question.entropy,
            hardware: question.hardware.title,
            price: question.price,
            within: question.within,
            slots,
            weakest,
            checked: checked(luks, key)?,
            advice: None,
        };
        if let Some(within) = question.within {
            // Under Linux either program may open it: the advice holds for the slower one.
            let rates = by_cryptsetup.as_ref().unwrap_or(prediction.rates());
            let keyslots = passport.slots.iter().map(Keyslot::candidate).collect();
            let subject = Subject { device: &passport.device, format: passport.format, keyslots };
            passport.advice = Some(Advised::of(&subject, question, rates, within));
        }
        Ok(passport)
    }
}

impl Keyslot {
    /// The seconds until it has opened, by the program that advice holds for.
    pub(super) fn until_opened(&self) -> Option<Interval> {
        let by_target = self.before.zip(self.alone).map(|(before, alone)| before + alone);
        self.by_cryptsetup.or(by_target)
    }

    /// Whether the target opens the keyslot, however long that takes.
    fn opens(&self) -> bool {
        self.standing() == Standing::Opens
    }

    /// What the target makes of it.
    pub(super) fn standing(&self) -> Standing {
        match &self.verdict {
            _ if self.ignored => Standing::NotTried,
            Some(verdict) if verdict.is_for_its_kdf() => Standing::OpensWithAnotherKdf,
            Some(Verdict::Opens) | None if self.fits == Some(false) => Standing::OpensWithAnotherKdf,
            Some(Verdict::Opens) | None => Standing::Opens,
            Some(_) if self.tried => Standing::InVain,
            Some(_) => Standing::NotTried,
        }
    }

    /// As advice sees it.
    fn candidate(&self) -> Candidate {
        Candidate {
            number: self.number,
            derive: self.derive.clone(),
            digest: self.digest.clone(),
            key_len: self.key_len,
            standing: self.standing(),
        }
    }

    /// What is computed when it is tried.
    fn works(&self) -> Vec<Work> {
        match self.standing() {
            Standing::Opens | Standing::InVain => vec![self.derive.clone(), self.digest.clone()],
            Standing::OpensWithAnotherKdf | Standing::NotTried => Vec::new(),
        }
    }

    /// Of a keyslot that this build knows.
    fn new(
        known: &facts::Keyslot,
        question: &Question,
        prediction: &Prediction,
        times: &mut UnlockTimes,
    ) -> Option<Self> {
        let derivation = known.derivation.as_ref().ok()?;
        let (number, ignored) = (u64::from(known.number), known.priority == Priority::Ignore);
        let derive = Work::of_kdf(&derivation.kdf, derivation.len);
        let digest = known.digest.as_ref().map(|digest| Work::of_kdf(&digest.kdf, digest.len));
        let predicted = prediction.keyslots().iter().find(|predicted| predicted.number() == known.number);
        let judged = prediction.judgement().and_then(|judgement| match judgement.slot(number) {
            Some(slot) => Some(slot.verdict.clone()),
            // GRUB may see no keyslot at all.
            None => judgement.refused.clone().map(Verdict::Cannot),
        });
        let alone = predicted.and_then(|predicted| predicted.wait().alone);
        let here = match (&derive, alone) {
            // It was measured for the target: not again.
            (Work::Argon2 { .. }, Some(alone)) if question.target.is_linux() && !ignored => Some(alone),
            _ => times.of_keyslot(known),
        };
        Some(Self {
            number,
            ignored,
            digest: digest.unwrap_or_else(|| Work::pbkdf2("sha256", 0, 32)),
            variant: derivation.kdf.type_name().to_owned(),
            key_len: derivation.len,
            here,
            tried: predicted.is_some_and(PredictedKeyslot::is_tried),
            alone: None,
            before: None,
            by_cryptsetup: None,
            fits: fits(&derive, question.target.most_kib()),
            verdict: judged,
            cost: attack::cost(&derive, question.hardware, question.entropy, question.price),
            derive,
        })
    }
}

/// The prediction for a target on which a keyslot took as long as a watch showed.
fn scaled(prediction: Prediction, watched: Watched) -> Result<Prediction> {
    let opens = |keyslot: &&PredictedKeyslot| keyslot.time_in_turn().is_some();
    let of = |keyslot: &&PredictedKeyslot| watched.keyslot.is_none_or(|number| keyslot.number() == number);
    let found: Vec<&PredictedKeyslot> = prediction.keyslots().iter().filter(opens).filter(of).collect();
    let keyslot = match found[..] {
        [one] => one,
        [] => return Err(watched.refused("the target opens no such keyslot")),
        _ => {
            let numbers: Vec<String> = found.iter().map(|it| it.number().to_string()).collect();
            let which = format!("the target opens keyslots {}; name one, as 1=45s", numbers.join(", "));
            return Err(watched.refused(&which));
        }
    };
    let told = keyslot.wait().until_opened().map_or(watched.seconds, |time| time.likely);
    let computed = prediction.keyslots().iter().take_while(|it| it.number() != keyslot.number());
    let computed = computed.chain([keyslot]).flat_map(PredictedKeyslot::works);
    let rates = prediction.rates().measured(told, watched.seconds, computed);
    Ok(prediction.at(rates))
}

/// The waits on the target: a keyslot that has no room there fails at once.
fn wait_in_turn(slots: &mut [Keyslot], prediction: &Prediction) {
    let mut before = Some(Interval::default());
    for slot in slots {
        let predicted = prediction.keyslots().iter().find(|it| u64::from(it.number()) == slot.number);
        let alone = match slot.fits {
            Some(false) => Some(Interval::default()),
            _ => predicted.and_then(|predicted| predicted.wait().alone),
        };
        slot.alone = alone.filter(|_| slot.opens());
        slot.before = before;
        before = before.zip(alone).map(|(before, alone)| before + alone);
    }
}

/// Whether a derivation has the memory that it needs.
fn fits(derive: &Work, most_kib: Option<u64>) -> Option<bool> {
    match derive {
        Work::Argon2 { memory_kib, .. } if *memory_kib > SMALLEST_KIB => {
            most_kib.map(|most| *memory_kib <= most)
        }
        Work::Argon2 { memory_kib, .. } => Some(most_kib.is_none_or(|most| *memory_kib <= most)),
        Work::Pbkdf2 { .. } | Work::Stretching { .. } => Some(true),
    }
}

/// Every machine that is known by name has this for Argon2: three quarters of 1 GiB.
const SMALLEST_KIB: u64 = 768 << 10;

/// The keyslot whose passphrase is found first.
fn weakest(slots: &[Keyslot]) -> Option<u64> {
    let known = slots.iter().filter_map(|slot| Some((slot.number, slot.cost?.years)));
    known.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(number, _)| number)
}

/// Measures a real derivation, if a passphrase is given.
fn checked(luks: &Luks, key: &KeyOptions) -> Result<Option<(u64, f64)>> {
    if !key.passphrase.is_given() {
        return Ok(None);
    }
    let passphrase = key.passphrase.existing("Enter passphrase: ").read()?;
    let found = keyway::parts::unlock(luks, &passphrase, &key.of_keyslot())?;
    // Once more with that keyslot only: the first time, other keyslots were tried as well.
    let options = UnlockOptions { keyslot: Some(found.keyslot), ..key.limits() };
    let start = Instant::now();
    keyway::parts::unlock(luks, &passphrase, &options)?;
    Ok(Some((found.keyslot.into(), start.elapsed().as_secs_f64())))
}
