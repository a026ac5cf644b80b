//! Our own words.

use super::{NO_TIME, Reading, is_yes};
use crate::crypttab::{Entry, REQUIRE, is_demand, list_of, options_of};
use std::time::Duration;

impl Reading {
    pub(in crate::cmdline) fn own_device(&mut self, value: &str) {
        self.own.device = value.into();
    }

    pub(in crate::cmdline) fn own_name(&mut self, value: &str) {
        self.own.name = value.into();
    }

    pub(in crate::cmdline) fn own_key(&mut self, value: &str) {
        self.own.key_file = Some(value.into());
    }

    pub(in crate::cmdline) fn own_header(&mut self, value: &str) {
        self.own.options.push(("header".into(), value.into()));
    }

    pub(in crate::cmdline) fn own_options(&mut self, value: &str) {
        self.own.options.extend(options_of(value));
    }

    pub(in crate::cmdline) fn own_wait(&mut self, value: &str) {
        match value.parse() {
            Ok(seconds) => self.line.wait = Some(Duration::from_secs(seconds)),
            Err(_) => self.undone(&format!("keyway.wait={value}"), NO_TIME),
        }
    }

    pub(in crate::cmdline) fn own_shell(&mut self, value: &str) {
        self.line.shell = is_yes(value);
    }

    pub(in crate::cmdline) fn own_cache(&mut self, value: &str) {
        self.line.forgets = !is_yes(value);
    }

    pub(in crate::cmdline) fn own_require(&mut self, value: &str) {
        self.line.demands.push((REQUIRE.to_owned(), value.to_owned()));
    }

    pub(in crate::cmdline) fn own_rekey(&mut self, value: &str) {
        self.line.rekey = Some(value.to_owned());
    }

    pub(super) fn finish_own(&mut self) {
        let mut own = std::mem::take(&mut self.own);
        if own.device.is_empty() {
            return self.own_for_nobody(own);
        }
        if own.name.is_empty() {
            own.name = "root".into();
        }
        self.add(own, false);
    }

    /// What is demanded holds for all; the rest is for a device that is not named.
    fn own_for_nobody(&mut self, own: Entry) {
        let (demands, options): (Vec<_>, Vec<_>) =
            own.options.into_iter().partition(|(name, _)| is_demand(name));
        self.line.demands.extend(demands);
        let name = Some(own.name).filter(|name| !name.is_empty());
        let (headers, options): (Vec<_>, Vec<_>) =
            options.into_iter().partition(|(name, _)| name == "header");
        let words = [("keyway.name", name), ("keyway.key", own.key_file)];
        let mut words: Vec<_> = words
            .into_iter()
            .filter_map(|(word, value)| Some(format!("{word}={}", value?.to_string_lossy())))
            .collect();
        words.extend(headers.into_iter().map(|(_, header)| format!("keyway.header={header}")));
        if !options.is_empty() {
            words.push(format!("keyway.options={}", list_of(&options)));
        }
        for word in words {
            self.undone(&word, "it needs a keyway.device=");
        }
    }
}
