//! The parameters of a storage run, as the results file stores them: a run that was stopped
//! continues with the same encryption, on the same bytes of the same target, with the same
//! requests.

use crate::output::failure::{Exit, Failure, Result};
use crate::verb::tools::measure::bench::files;
use keyway_crypto::{CipherSpec, SectorSize};
use keyway_measure::Results;
use keyway_measure::disk::{Encryption, Fio};
use keyway_measure::suite::DEFAULT;
use std::path::{self, Path, PathBuf};

/// The parameters of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    /// One cipher, at each sector size.
    pub(super) encryptions: Vec<Encryption>,
    /// As the user named it.
    pub(super) target: PathBuf,
    /// The number of bytes that were filled; `None` before anything was measured.
    pub(super) region: Option<u64>,
}

impl Asked {
    /// The parameters stored in a results file. The run must have begun on this machine with these
    /// parameters; `encryptions` and `target` are what the command line says of them.
    ///
    /// # Errors
    /// Those of the file, and parameters that differ.
    pub(super) fn resumed(
        path: &Path,
        encryptions: Option<&[Encryption]>,
        target: Option<&Path>,
    ) -> Result<(Results, Self)> {
        let results = files::read(path)?;
        let refuse = |why: String| Err(Failure::new(Exit::Parameters, format!("{}: {why}", path.display())));
        if results.settings.suite != SUITE {
            let shown = path.display();
            return refuse(format!(
                "this run did not measure storage; \"keyway bench --resume {shown}\" continues it."
            ));
        }
        files::begun_here(&results, path)?;
        let Some(asked) = Self::from_filters(&results.settings.filters) else {
            return refuse("its options are not those of bench disk: it cannot be resumed.".to_owned());
        };
        if encryptions.is_some_and(|chosen| chosen != asked.encryptions) {
            let options = asked.filters().join(" ");
            return refuse(files::other_options(&options));
        }
        if target.is_some_and(|target| absolute(target) != asked.target) {
            let began = asked.target.display();
            return refuse(format!("the run began on {began}; omit TARGET to resume there."));
        }
        let there = results.versions.get("fio");
        let here = there.and_then(|_| Fio::find()).map(|fio| fio.version);
        if there != here.as_ref() {
            let (there, here) = (there.map_or("none", |it| it), here.as_deref().unwrap_or("none"));
            return refuse(format!("the run began with another fio ({there}); here it is {here}."));
        }
        Ok((results, asked))
    }

    /// As texts of the form "--name=value".
    pub(super) fn filters(&self) -> Vec<String> {
        let mut filters = Vec::new();
        if let Some(it) = self.encryptions.first() {
            filters.extend([format!("--cipher={}", it.spec), format!("--key-size={}", it.key_bits)]);
        }
        filters.extend(self.encryptions.iter().map(|it| format!("--sector-size={}", it.sector_size)));
        filters.push(format!("--target={}", absolute(&self.target).display()));
        filters.extend(self.region.map(|bytes| format!("--region={bytes}")));
        filters
    }

    fn from_filters(filters: &[String]) -> Option<Self> {
        let of = |wanted: &'static str| {
            let parted = filters.iter().filter_map(|filter| filter.strip_prefix("--")?.split_once('='));
            parted.filter(move |(name, _)| *name == wanted).map(|(_, value)| value)
        };
        let (spec, key_bits) = (of("cipher").next()?, of("key-size").next()?.parse().ok()?);
        let encryption = |size: &str| {
            Some(Encryption { spec: spec.to_owned(), key_bits, sector_size: size.parse().ok()? })
        };
        Some(Self {
            encryptions: of("sector-size").map(encryption).collect::<Option<Vec<_>>>()?,
            target: PathBuf::from(of("target").next()?),
            region: of("region").next().map(str::parse).transpose().ok()?,
        })
    }
}

/// The suite name of storage runs.
pub(super) const SUITE: &str = "disk";

fn absolute(path: &Path) -> PathBuf {
    path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The encryptions to measure: one cipher, at each sector size that it supports.
pub(super) fn encryptions(
    spec: Option<&str>,
    key_bits: Option<u32>,
    sector_sizes: &[u32],
) -> Result<Vec<Encryption>> {
    let spec = spec.unwrap_or(DEFAULT.0);
    let wrong =
        |error: keyway_crypto::Error| Failure::new(Exit::Parameters, format!("Cipher {spec}: {error}."));
    let parsed = CipherSpec::named(spec).map_err(wrong)?.swap_remove(0);
    let spec = if CipherSpec::parse(spec).is_ok() { spec.to_owned() } else { parsed.to_string() };
    let key_bits = match key_bits {
        Some(bits) => bits,
        None if spec == DEFAULT.0 => DEFAULT.1,
        None => 256,
    };
    parsed.check_key_bits(key_bits as usize).map_err(wrong)?;
    let sizes = if sector_sizes.is_empty() { &[512, 4096] } else { sector_sizes };
    let mut all = Vec::new();
    for &sector_size in sizes {
        match SectorSize::new(sector_size).and_then(|size| parsed.check_sector_size(size)) {
            Ok(()) => all.push(Encryption { spec: spec.clone(), key_bits, sector_size }),
            // Of the usual sector sizes, only those that the cipher supports are used.
            Err(_) if sector_sizes.is_empty() => {}
            Err(error) => return Err(wrong(error)),
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_comes_back() {
        let encryption =
            |sector_size| Encryption { spec: "aes-xts-plain64".into(), key_bits: 512, sector_size };
        for region in [None, Some(12 << 20)] {
            let asked = Asked {
                encryptions: vec![encryption(512), encryption(4096)],
                target: "/mnt/a=b".into(),
                region,
            };
            assert_eq!(Asked::from_filters(&asked.filters()), Some(asked));
        }
        for wrong in ["--cipher=aes", "--suite=quick", "--region=much"] {
            assert_eq!(Asked::from_filters(&[wrong.to_owned()]), None);
        }
    }
}
