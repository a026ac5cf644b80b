//! The facts about each keyslot.

use super::question::Question;
use crate::device;
use crate::say::failure::Result;
use crate::unlock::KeyOptions;
use keyway_boot::advice::{Advice, Candidate, advise};
use keyway_boot::attack::{self, Cost};
use keyway_boot::loader::grub::{Judgement, Loader, Verdict};
use keyway_boot::unlock_time::{Rates, Work};
use keyway_format::luks1::SlotState;
use keyway_format::luks2::{DigestKind, Kdf, KeyslotKind, Priority};
use keyway_volume::{Access, Header, Luks, UnlockOptions, UnlockTimes};
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
        let mut times = UnlockTimes::new(UnlockOptions::default().threads);
        let mut slots = keyslots(luks, &mut times);
        let judgement = match question.target.grub {
            Some(version) => {
                let header = &**luks.storage();
                let read = |bytes: &mut [u8], at: u64| header.read_at(bytes, at);
                let data_len = device::storage(&volume.device, Access::Probe)?.len();
                Some(Loader::new(version).judge_header(header.len(), &read, data_len))
            }
            None => None,
        };
        if let Some(judgement) = &judgement {
            let place =
                |number| judgement.slots.iter().position(|slot| slot.number == number).unwrap_or(usize::MAX);
            slots.sort_by_key(|slot| place(slot.number));
        }
        let works: Vec<Work> =
            slots.iter().flat_map(|slot| [slot.derive.clone(), slot.digest.clone()]).collect();
        let rates = question.target.rates(&works.iter().collect::<Vec<_>>(), &mut times);
        let mut waited = Some(0.0);
        for slot in &mut slots {
            slot.verdict =
                judgement.as_ref().and_then(|judgement| Some(judgement.slot(slot.number)?.verdict.clone()));
            slot.cost = attack::cost(&slot.derive, question.hardware, question.entropy, question.price);
            let tried = slot.works(judgement.as_ref());
            slot.alone =
                rates.total(tried.iter()).map(|seconds| seconds + rates.each_slot).filter(|_| slot.opens());
            slot.before = waited;
            if !tried.is_empty() {
                waited = waited.zip(rates.total(tried.iter())).map(|(a, b)| a + b + rates.each_slot);
            }
        }
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
            passport.advice = Some(passport.advised(question, &rates, within, judgement.as_ref()));
        }
        Ok(passport)
    }

    fn advised(
        &self,
        question: &Question,
        rates: &Rates,
        within: f64,
        judgement: Option<&Judgement>,
    ) -> Advised {
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
                    && (judgement.is_none()
                        || !slot.works(judgement).is_empty()
                        || slot.verdict.as_ref().is_some_and(Verdict::is_for_its_kdf)),
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

    /// The derivations that the target computes when it tries this keyslot.
    fn works(&self, judgement: Option<&Judgement>) -> Vec<Work> {
        match judgement {
            Some(judgement) => judgement.slot(self.number).map(|slot| slot.works.clone()).unwrap_or_default(),
            None if self.ignored => Vec::new(),
            None => vec![self.derive.clone(), self.digest.clone()],
        }
    }
}

fn keyslots(luks: &Luks, times: &mut UnlockTimes) -> Vec<Keyslot> {
    let mut found = Vec::new();
    match luks.header() {
        Header::Luks1(header) => {
            let hash = header.hash_spec.as_str();
            for (number, slot) in
                header.slots.iter().enumerate().filter(|(_, slot)| slot.state == SlotState::Enabled)
            {
                let kdf = Kdf::Pbkdf2 { hash: hash.into(), iterations: slot.iterations, salt: Vec::new() };
                let digest = Work::pbkdf2(hash, header.digest_iterations.into(), header.digest.len());
                found.push(Keyslot::new(
                    number as u64,
                    false,
                    &kdf,
                    header.key_bytes as usize,
                    digest,
                    times,
                ));
            }
        }
        Header::Luks2 { metadata, .. } => {
            for (&number, slot) in &metadata.keyslots {
                let KeyslotKind::Luks2 { kdf, area_key_size, .. } = &slot.kind else { continue };
                if metadata.is_unbound(number) {
                    continue;
                }
                let digest = metadata.digest_of_keyslot(number).and_then(|id| metadata.digests.get(&id));
                let digest = match digest.map(|digest| &digest.kind) {
                    Some(DigestKind::Pbkdf2 { hash, iterations, value, .. }) => {
                        Work::pbkdf2(hash, u64::from(*iterations), value.len())
                    }
                    _ => Work::pbkdf2("sha256", 0, 32),
                };
                let ignored = slot.priority == Priority::Ignore;
                found.push(Keyslot::new(number.into(), ignored, kdf, *area_key_size as usize, digest, times));
            }
            let prefers = |number: u64| metadata.keyslots[&(number as u32)].priority != Priority::Prefer;
            found.sort_by_key(|slot| prefers(slot.number));
        }
    }
    found
}

impl Keyslot {
    fn new(
        number: u64,
        ignored: bool,
        kdf: &Kdf,
        key_len: usize,
        digest: Work,
        times: &mut UnlockTimes,
    ) -> Self {
        let derive = match kdf {
            Kdf::Pbkdf2 { hash, iterations, .. } => Work::pbkdf2(hash, u64::from(*iterations), key_len),
            Kdf::Argon2i { time, memory_kib, lanes, .. } | Kdf::Argon2id { time, memory_kib, lanes, .. } => {
                Work::Argon2 {
                    time: (*time).into(),
                    memory_kib: (*memory_kib).into(),
                    lanes: (*lanes).into(),
                }
            }
        };
        let mut here = times.of_kdf(kdf, key_len).ok().map(|time| time.as_secs_f64());
        if let Work::Pbkdf2 { hash, iterations, .. } = &digest
            && let (Some(seconds), Ok(hash)) = (here, keyway_crypto::Hash::parse(hash))
        {
            let digest = times.of_pbkdf2(hash, *iterations as u32, 32);
            here = Some(seconds + digest.map_or(0.0, |time| time.as_secs_f64()));
        }
        let variant = kdf.type_name().to_owned();
        let (alone, before, verdict, cost) = (None, None, None, None);
        Self { number, ignored, derive, digest, variant, key_len, here, alone, before, verdict, cost }
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
