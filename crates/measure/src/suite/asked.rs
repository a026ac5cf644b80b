//! The selection as texts of the form "--name=value": a results file stores them so that a run can
//! be resumed.

use super::{Asked, Suite};
use crate::results::Direction;

impl Asked {
    /// The options that choose cases.
    pub fn filters(&self) -> Vec<String> {
        let mut filters = Vec::new();
        let mut all = |name: &str, values: &mut dyn Iterator<Item = String>| {
            filters.extend(values.map(|value| format!("--{name}={value}")));
        };
        let numbers = |values: &[u32]| values.iter().map(u32::to_string).collect::<Vec<_>>().into_iter();
        all("suite", &mut self.suite.map(|suite| suite.name().to_owned()).into_iter());
        all("cipher", &mut self.ciphers.iter().cloned());
        all("key-size", &mut numbers(&self.key_bits));
        all("sector-size", &mut numbers(&self.sector_sizes));
        all("message", &mut numbers(&self.messages));
        all("direction", &mut self.directions.iter().map(ToString::to_string));
        all("threads", &mut numbers(&self.threads));
        all("pbkdf", &mut self.kdfs.iter().cloned());
        all("hash", &mut self.hashes.iter().cloned());
        all("pbkdf-memory", &mut self.memory_kib.iter().map(ToString::to_string));
        all("pbkdf-parallel", &mut self.lanes.iter().map(ToString::to_string));
        all("iter-time", &mut self.iter_time_ms.iter().map(ToString::to_string));
        all("compare", &mut self.compare.iter().cloned());
        filters
    }

    /// The inverse of [`Asked::filters`] on a machine with `cpus` CPUs; `None` for any other text.
    pub fn from_filters(filters: &[String], cpus: u32) -> Option<Self> {
        let mut asked = Self { cpus, ..Self::default() };
        for filter in filters {
            let (name, value) = filter.strip_prefix("--")?.split_once('=')?;
            let text = || value.to_owned();
            match name {
                "suite" => asked.suite = Some(Suite::find(value)?),
                "cipher" => asked.ciphers.push(text()),
                "key-size" => asked.key_bits.push(value.parse().ok()?),
                "sector-size" => asked.sector_sizes.push(value.parse().ok()?),
                "message" => asked.messages.push(value.parse().ok()?),
                "direction" => asked.directions.push(direction(value)?),
                "threads" => asked.threads.push(value.parse().ok()?),
                "pbkdf" => asked.kdfs.push(text()),
                "hash" => asked.hashes.push(text()),
                "pbkdf-memory" => asked.memory_kib = Some(value.parse().ok()?),
                "pbkdf-parallel" => asked.lanes = Some(value.parse().ok()?),
                "iter-time" => asked.iter_time_ms = Some(value.parse().ok()?),
                "compare" => asked.compare.push(text()),
                _ => return None,
            }
        }
        Some(asked)
    }
}

fn direction(name: &str) -> Option<Direction> {
    [Direction::Encrypt, Direction::Decrypt].into_iter().find(|direction| direction.to_string() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_comes_back() {
        let asked = Asked {
            suite: Some(Suite::Article),
            ciphers: vec!["aes-*".into(), "serpent=odd".into()],
            key_bits: vec![256, 512],
            sector_sizes: vec![512],
            messages: vec![4096],
            directions: vec![Direction::Decrypt],
            threads: vec![1, 2],
            kdfs: vec!["argon2id".into()],
            hashes: vec!["sha256".into()],
            memory_kib: Some(1024),
            lanes: Some(4),
            iter_time_ms: Some(2000),
            compare: vec!["openssl".into()],
            cpus: 2,
        };
        let filters = asked.filters();
        assert_eq!(filters[0], "--suite=article");
        let again = Asked::from_filters(&filters, 2).unwrap();
        assert_eq!(format!("{again:?}"), format!("{asked:?}"));
        for wrong in ["suite=article", "--suite", "--suite=none", "--threads=two", "--colour=red"] {
            assert!(Asked::from_filters(&[wrong.to_owned()], 2).is_none(), "{wrong}");
        }
    }
}
