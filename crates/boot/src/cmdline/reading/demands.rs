//! Demands in the words of any program: none of them is lost, wherever it is written.

use super::{Reading, Whose};
use crate::cmdline::What;
use crate::crypttab::{Entry, is_demand, options_of, writes_demand};

impl Reading {
    /// Says that a word does nothing, unless it has a demand in it: that one is refused.
    pub(in crate::cmdline) fn undone(&mut self, word: &str, why: &str) {
        match writes_demand(word) {
            true => self.line.unknown.push(word.to_owned()),
            false => self.line.undone.push(format!("{word}: {why}.")),
        }
    }

    /// Reads a list of options. Its demands are no part of it: no other list takes their place.
    pub(super) fn list(&mut self, word: String, whose: Whose, list: &str) {
        let (demands, options): (Vec<_>, Vec<_>) =
            options_of(list).into_iter().partition(|(name, _)| is_demand(name));
        if options.iter().any(|(name, value)| writes_demand(name) || writes_demand(value)) {
            // `11111111=x-keyway.require=sealed`: who is meant?
            self.line.unknown.push(word.clone());
        }
        let only_demands = !demands.is_empty() && options.is_empty();
        match &whose {
            Whose::All => self.line.demands.extend(demands),
            // A partition's UUID may be meant.
            Whose::Uuid(spec) | Whose::Device(spec) if !demands.is_empty() => {
                for device in [spec.clone(), spec.replacen("UUID=", "PARTUUID=", 1)] {
                    let (device, options) = (device.into(), demands.clone());
                    self.line.demanding.push(Entry { device, options, ..Entry::default() });
                }
            }
            _ => {}
        }
        self.give(word, whose, What::List(options));
        if let Some(given) = self.given.last_mut() {
            given.done = only_demands;
        }
    }

    /// `root_key=/k,x-keyway.require=sealed`: a demand was meant, and no file.
    pub(super) fn refuse_demands_for_keys(&mut self) {
        for volume in &mut self.volumes {
            let key = volume.entry.key_file.take_if(|key| writes_demand(&key.to_string_lossy()));
            self.line.unknown.extend(key.map(|key| key.to_string_lossy().into_owned()));
        }
    }
}
