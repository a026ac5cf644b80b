//! The selected combinations, each with the code and the kernel's support for it.

use super::kernel::{Kernel, Presence};
use crate::output::failure::Result;
use keyway_crypto::spec::{Combination, Existing, space};
use keyway_crypto::{CipherSpec, Cpu, Secret, SectorCipher};
use std::collections::HashMap;

/// The selected combinations.
pub(super) struct Survey {
    pub(super) entries: Vec<Entry>,
    /// The hashes that essiv supports with some cipher.
    pub(super) hashes: Vec<String>,
    pub(super) kernel: Kernel,
}

/// A combination, and the code that runs it.
pub(super) struct Entry {
    pub(super) combination: Combination,
    /// The code that this build runs on this CPU.
    pub(super) code: Option<&'static str>,
    pub(super) kernel: Presence,
    /// The kernel's driver, if one is in use.
    pub(super) driver: Option<String>,
}

impl Survey {
    /// Selects the combinations that contain all parts of `filter`; ESSIV with one hash only,
    /// unless `all` is set or the filter names the hash.
    pub(super) fn take(filter: Option<&str>, all: bool, kernel: Kernel) -> Result<Self> {
        let mut chosen: Vec<Combination> =
            space().filter(|it| filter.is_none_or(|f| has_parts(&it.text, f))).collect();
        if let Some(exact) = chosen.iter().position(|it| filter == Some(&it.text)) {
            chosen = vec![chosen.swap_remove(exact)];
        } else if !all && !filter.is_some_and(|filter| filter.contains("essiv:")) {
            chosen.retain(|it| !it.iv.starts_with("essiv:") || it.iv == "essiv:sha256");
        }
        if let (Some(filter), true) = (filter, chosen.is_empty()) {
            chosen.push(written(filter)?);
        }
        let mut codes = HashMap::new();
        let entries = chosen.into_iter().map(|combination| {
            let existing = combination.outcome.as_ref().ok();
            let code = existing.and_then(|existing| {
                *codes
                    .entry((combination.cipher, combination.mode, combination.iv.is_empty()))
                    .or_insert_with(|| code(existing))
            });
            // An impossible combination has a reason instead.
            let (kernel, driver) =
                existing.map_or((Presence::Absent, None), |existing| kernel.algorithm(&existing.spec));
            let driver = driver.map(str::to_owned);
            Entry { combination, code, kernel, driver }
        });
        let entries = entries.collect();
        Ok(Self { entries, hashes: hashes(), kernel })
    }
}

impl Entry {
    /// The combination, if it is possible.
    pub(super) fn existing(&self) -> Option<&Existing> {
        self.combination.outcome.as_ref().ok()
    }

    /// The rule that forbids the combination, without the specification in front of it.
    pub(super) fn reason(&self) -> Option<String> {
        let reason = self.combination.outcome.as_ref().err()?.to_string();
        let front = format!("{}: ", self.combination.text);
        Some(reason.strip_prefix(&front).unwrap_or(&reason).to_owned())
    }
}

fn hashes() -> Vec<String> {
    let mut hashes: Vec<String> = Vec::new();
    for it in space().filter(|it| it.outcome.is_ok()) {
        if let Some(hash) = it.iv.strip_prefix("essiv:")
            && !hashes.iter().any(|known| known == hash)
        {
            hashes.push(hash.to_owned());
        }
    }
    hashes
}

/// Whether the parts of `filter` are adjacent in `text`: "xts", "aes-xts" and "essiv" are in
/// "aes-xts-essiv:sha256".
fn has_parts(text: &str, filter: &str) -> bool {
    let parts = |text: &str| format!("-{}-", text.replace([',', ':'], "-"));
    !filter.is_empty() && (parts(text).contains(&parts(filter)) || filter == text)
}

/// A specification outside the list of combinations: a capi: one, or one with another number of
/// keys. An unknown or impossible one fails with the reason.
fn written(text: &str) -> Result<Combination> {
    let spec = CipherSpec::parse(text).map_err(keyway::parts::Error::from)?;
    let one_key = spec.to_string().replacen(&format!(":{}-", spec.key_count()), "-", 1);
    let same = |it: &Combination| {
        it.outcome.as_ref().is_ok_and(|it| it.spec.means(&spec) || it.spec.to_string() == one_key)
    };
    let like = space().find(same);
    let (cipher, mode, iv) = match &like {
        Some(it) => (it.cipher, it.mode, it.iv.clone()),
        None => ("", "", String::new()),
    };
    Ok(Combination { text: text.to_owned(), cipher, mode, iv, outcome: Ok(Existing::of(spec)) })
}

/// The code that runs a combination on this machine, determined by setting a key.
fn code(existing: &Existing) -> Option<&'static str> {
    let (&bits, &sector_size) = (existing.key_bits.last()?, existing.sector_sizes.last()?);
    let mut key = Secret::zeroed(bits / 8);
    for (byte, value) in key.expose_mut().iter_mut().zip(1_u8..=255) {
        *byte = value;
    }
    SectorCipher::new(&existing.spec, &key, sector_size, Cpu::detect()).ok().map(|cipher| cipher.code())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stand_side_by_side() {
        for filter in ["aes", "xts", "aes-xts", "xts-essiv", "essiv:sha3-256", "aes-xts-essiv:sha3-256"] {
            assert!(has_parts("aes-xts-essiv:sha3-256", filter), "{filter}");
        }
        for filter in ["", "ae", "aes-essiv", "xts-plain", "sha3-25"] {
            assert!(!has_parts("aes-xts-essiv:sha3-256", filter), "{filter}");
        }
        assert!(has_parts("xchacha12,aes-adiantum-plain64", "aes-adiantum"));
    }
}
