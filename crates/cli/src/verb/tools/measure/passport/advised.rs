//! The advice on a volume: what to change, the commands for it, and what it does to the search for
//! the passphrase.

use super::question::Question;
use crate::output::shell;
use keyway_boot::advice::{Advice, Candidate, Change, Goal, advise, too_slow};
use keyway_boot::attack::{self, Cost};
use keyway_boot::unlock_time::{Rates, Work};
use keyway_format::interval::{Interval, Within};

/// The advised change.
pub(super) struct Advised {
    pub(super) advice: Advice,
    /// The cost of the search before and after, where the keyslot gets another cost.
    pub(super) search: [Option<Cost>; 2],
    /// The seconds with the recommended cost, where the new one is below it.
    pub(super) at_least: Option<Interval>,
    /// How the time that the advice is based on relates to the limit.
    pub(super) certainty: Within,
    /// Keyslots that open, but not in time.
    pub(super) too_slow: Vec<(u64, Interval)>,
    pub(super) commands: Vec<String>,
}

/// The volume that is advised on.
pub(super) struct Subject<'a> {
    pub(super) device: &'a str,
    /// LUKS1 or LUKS2.
    pub(super) format: u8,
    /// In the order in which the target tries them.
    pub(super) keyslots: Vec<Candidate>,
}

impl Advised {
    pub(super) fn of(subject: &Subject<'_>, question: &Question, rates: &Rates, within: f64) -> Self {
        let candidates = &subject.keyslots;
        let goal = Goal {
            rates,
            within,
            wanted: question.keyslot.map(u64::from),
            format: subject.format,
            memory_kib: question.target.most_kib(),
        };
        let advice = advise(candidates, &goal);
        let too_slow = too_slow(candidates, &goal);
        let as_it_is = |number: u64| too_slow.iter().find(|(slow, _)| *slow == number);
        let (mut search, mut commands, mut certainty) = ([None, None], Vec::new(), Within::Surely);
        let mut at_least = None;
        match &advice {
            Advice::Nothing { seconds, .. } => certainty = seconds.within(within),
            Advice::Impossible { .. } => {}
            Advice::Change(change) => {
                let now = candidates.iter().find(|known| known.number == change.slot);
                let cost = |work: Option<&Work>| {
                    attack::cost(work?, question.hardware, question.entropy, question.price)
                };
                search = [cost(now.map(|now| &now.derive)), cost(change.cost.as_ref())];
                at_least = change.at_least(rates);
                // What opens in time perhaps already, or afterwards perhaps not.
                let before = as_it_is(change.slot).map(|(_, seconds)| seconds.within(within));
                certainty = before.filter(|it| it.is_uncertain()).unwrap_or(change.seconds.within(within));
                commands = subject.commands(change, &question.backup_name(subject.device));
            }
        }
        Self { advice, search, at_least, certainty, too_slow, commands }
    }

    /// The factor by which the change makes the search cheaper.
    pub(super) fn cheaper(&self) -> Option<f64> {
        let [before, after] = self.search;
        Some(after?.guesses_per_second / before?.guesses_per_second)
    }
}

impl Subject<'_> {
    /// The lines to type for a change.
    fn commands(&self, change: &Change, backup: &str) -> Vec<String> {
        let (device, slot) = (shell::word(self.device), change.slot);
        let mut lines =
            vec![format!("keyway luksHeaderBackup {device} --header-backup-file {}", shell::word(backup))];
        match &change.cost {
            Some(Work::Pbkdf2 { iterations, .. }) if self.format == 1 => lines.push(format!(
                "keyway luksChangeKey {device} --key-slot {slot} --pbkdf-force-iterations {iterations}"
            )),
            Some(Work::Pbkdf2 { hash, iterations, .. }) => lines.push(format!(
                "keyway luksConvertKey {device} --key-slot {slot} --pbkdf pbkdf2 --hash {hash} --pbkdf-force-iterations \
                 {iterations}"
            )),
            Some(Work::Argon2 { time, memory_kib, lanes }) => lines.push(format!(
                "keyway luksConvertKey {device} --key-slot {slot} --pbkdf argon2id --pbkdf-memory {memory_kib} \
                 --pbkdf-parallel {lanes} --pbkdf-force-iterations {time}"
            )),
            // No keyslot has it.
            Some(Work::Stretching { .. }) | None => {}
        }
        let skip = change.skip.iter();
        lines.extend(skip.map(|it| format!("keyway config {device} --key-slot {it} --priority ignore")));
        lines
    }
}
