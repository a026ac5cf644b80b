//! What each keyslot costs its owner and an attacker.

use super::question::Question;
use crate::device;
use crate::say::failure::Result;
use crate::unlock::KeyOptions;
use keyway::{PredictedKeyslot, Prediction};
use keyway_boot::advice::{Advice, Candidate, advise};
use keyway_boot::attack::{self, Cost};
use keyway_boot::loader::grub::Verdict;
use keyway_boot::unlock_time::{Rates, Work};
use keyway_format::luks2::Priority;
use keyway_volume::{Access, Luks, UnlockOptions, UnlockTimes, facts};
use std::time::Instant;

/// A volume's keyslots, from the point of view of their owner and of an attacker.
pub(super) struct Passport {
    pub(super) device: String,
    pub(super) format: u8,
    pub(super) target: String,
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
    pub(super) here: Option<f64>,
    /// Whether the target derives its key when it tries all keyslots.
    tried: bool,
    /// Seconds on the target if this keyslot is tried first.
    pub(super) alone: Option<f64>,
    /// Seconds that pass on the target before this keyslot is tried.
    pub(super) before: Option<f64>,
    /// What GRUB does with it.
    pub(super) verdict: Option<Verdict>,
    pub(super) cost: Option<Cost>,
}

/// The advised change.
pub(super) struct Advised {
    pub(super) advice: Advice,
    /// The factor by which the change makes searching this keyslot cheaper.
    pub(super) cheaper: Option<f64>,
    pub(super) commands: Vec<String>,
}

impl Passport {
    pub(super) fn gather(
        volume: &device::Target,
        luks: &Luks,
        question: &Question,
        key: &KeyOptions,
    ) -> Result<Self> {
        let data = device::storage(&volume.device, Access::Probe)?;
        let prediction = question.target.predict(&volume.over(data, luks.storage().clone(), false))?;
        let mut times = UnlockTimes::new(UnlockOptions::default().threads);
        let slots = facts::keyslots_in_turn(luks.header());
        let slots = slots.iter().filter_map(|slot| Keyslot::new(slot, question, &prediction, &mut times));
        let mut slots: Vec<_> = slots.collect();
        let place = |slot: &Keyslot| {
            prediction.keyslots().iter().position(|predicted| u64::from(predicted.number()) == slot.number)
        };
        slots.sort_by_key(|slot| place(slot).unwrap_or(usize::MAX));
        let weakest = weakest(&slots);
        let mut passport = Self {
            device: volume.header_path().display().to_string(),
            format: luks.version(),
            target: question.target.title.clone(),
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
            passport.advice = Some(passport.advised(question, prediction.rates(), within));
        }
        Ok(passport)
    }

    fn advised(&self, question: &Question, rates: &Rates, within: f64) -> Advised {
        let candidates: Vec<Candidate> = self
            .slots
            .iter()
            .map(|slot| Candidate {
                number: slot.number,
                derive: slot.derive.clone(),
                digest: slot.digest.clone(),
                key_len: slot.key_len,
                opens: slot.opens(),
                tried: !slot.ignored
                    && (slot.tried || slot.verdict.as_ref().is_some_and(Verdict::is_for_its_kdf)),
            })
            .collect();
        // LUKS1 has one hash for everything; SHA-512 makes a 64-byte key in one block, and is the
        // hash that is least suited to graphics cards.
        let hash = match (&self.slots.first().map(|slot| &slot.digest), self.format) {
            (Some(Work::Pbkdf2 { hash, .. }), 1) => hash.as_str(),
            _ => "sha512",
        };
        let advice =
            advise(&candidates, question.keyslot.map(u64::from), rates, within, hash, self.format == 2);
        let (mut commands, mut cheaper) = (Vec::new(), None);
        if let Advice::Recost { slot, hash, iterations, skip, .. } = &advice {
            let device = quoted(&self.device);
            let new = self.slots.iter().find(|known| known.number == *slot);
            cheaper = new.and_then(|known| {
                let after = attack::guesses_per_second(
                    &Work::pbkdf2(hash, *iterations, known.key_len),
                    question.hardware,
                )?;
                Some(after / attack::guesses_per_second(&known.derive, question.hardware)?)
            });
            commands.push(format!(
                "keyway luksHeaderBackup {device} --header-backup-file {}",
                quoted(&question.backup_name(&self.device))
            ));
            commands.push(match self.format {
                1 => format!("keyway luksChangeKey {device} --key-slot {slot} --pbkdf-force-iterations {iterations}"),
                _ => format!(
                    "keyway luksConvertKey {device} --key-slot {slot} --pbkdf pbkdf2 --hash {hash} --pbkdf-force-iterations {iterations}"
                ),
            });
            for number in skip {
                commands.push(format!("keyway config {device} --key-slot {number} --priority ignore"));
            }
        }
        Advised { advice, cheaper, commands }
    }
}

impl Keyslot {
    /// Whether the target opens the keyslot, however long that takes.
    fn opens(&self) -> bool {
        !self.ignored && self.verdict.as_ref().is_none_or(|verdict| *verdict == Verdict::Opens)
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
        let wait = predicted.map(PredictedKeyslot::wait);
        let mut slot = Self {
            number,
            ignored,
            digest: digest.unwrap_or_else(|| Work::pbkdf2("sha256", 0, 32)),
            variant: derivation.kdf.type_name().to_owned(),
            key_len: derivation.len,
            here: times.of_keyslot(known).map(|time| time.as_secs_f64()),
            tried: predicted.is_some_and(PredictedKeyslot::is_tried),
            alone: None,
            before: wait.and_then(|wait| wait.before),
            verdict: judged,
            cost: attack::cost(&derive, question.hardware, question.entropy, question.price),
            derive,
        };
        slot.alone = wait.and_then(|wait| wait.alone).filter(|_| slot.opens());
        Some(slot)
    }
}

/// The keyslot whose passphrase is found first.
fn weakest(slots: &[Keyslot]) -> Option<u64> {
    let known = slots.iter().filter_map(|slot| Some((slot.number, slot.cost?.years)));
    known.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(number, _)| number)
}

/// Measures a real derivation, if a passphrase is given.
fn checked(luks: &Luks, key: &KeyOptions) -> Result<Option<(u64, f64)>> {
    if key.passphrase.key_file.is_none() {
        return Ok(None);
    }
    let passphrase = key.passphrase.existing("Enter passphrase: ").read()?;
    let found = keyway_volume::unlock(luks, &passphrase, &key.of_keyslot())?;
    // Once more with that keyslot only: the first time, other keyslots were tried as well.
    let options = UnlockOptions { keyslot: Some(found.keyslot), ..key.limits() };
    let start = Instant::now();
    keyway_volume::unlock(luks, &passphrase, &options)?;
    Ok(Some((found.keyslot.into(), start.elapsed().as_secs_f64())))
}

/// Quoted for a shell.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,@%=".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}
