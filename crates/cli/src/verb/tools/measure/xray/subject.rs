//! What to examine: a specification, or the ciphers in a volume's header.

use crate::args::did_you_mean;
use crate::device::{self, Target, Versions};
use crate::output::failure::{Exit, Failure, Result};
use keyway::Access;
use keyway_crypto::CipherSpec;
use keyway_crypto::spec::space;
use keyway_kernel::{Need, needs_of_tags};
use std::path::Path;

/// What to examine.
pub(super) struct Subject {
    /// The volume, if one was named.
    pub(super) volume: Option<String>,
    /// Its ciphers, or the one that was named.
    pub(super) specs: Vec<CipherSpec>,
    /// What the header needs besides dm-crypt.
    pub(super) also: Vec<Need>,
}

/// What the command line names.
pub(super) enum Asked {
    Ciphers(Vec<CipherSpec>),
    Volume(Target, Versions),
}

impl Asked {
    /// cryptsetup's default.
    pub(super) fn default_cipher() -> Result<Self> {
        let spec = CipherSpec::parse("aes-xts-plain64").map_err(keyway::parts::Error::from)?;
        Ok(Self::Ciphers(vec![spec]))
    }

    /// A specification or a short name ("adiantum"); for a mistyped one, the error suggests the closest that exists.
    pub(super) fn cipher(text: &str) -> Result<Self> {
        CipherSpec::named(text).map(Self::Ciphers).map_err(|why| {
            let known: Vec<String> = space().filter(|it| it.outcome.is_ok()).map(|it| it.text).collect();
            let hint = did_you_mean(text, known.iter().map(String::as_str), str::to_owned);
            let hint = hint.unwrap_or_else(|| {
                "\"keyway ciphers\" lists what is available; a volume in this directory is ./NAME.".to_owned()
            });
            Failure::new(Exit::Parameters, format!("{text} is not a file, and as a cipher: {why}; {hint}"))
        })
    }
}

impl Subject {
    /// Reads the header of a volume.
    pub(super) fn find(asked: Asked) -> Result<Self> {
        match asked {
            Asked::Ciphers(specs) => Ok(Self { volume: None, specs, also: Vec::new() }),
            Asked::Volume(target, versions) => Self::of_volume(&target, versions),
        }
    }

    fn of_volume(target: &Target, versions: Versions) -> Result<Self> {
        let wrong = |what: String| {
            let volume = target.header_path().display();
            Failure::new(Exit::Parameters, format!("{volume}: the header {what}."))
        };
        let ciphers = target.load(Access::Probe, versions)?.header().data_ciphers();
        let volume = Some(target.header_path().display().to_string());
        let also = if ciphers.with_tags { needs_of_tags().into() } else { Vec::new() };
        let mut specs = Vec::new();
        for cipher in ciphers.specs {
            let spec = CipherSpec::parse(&cipher).map_err(|why| wrong(format!("names {cipher:?}: {why}")))?;
            if !specs.contains(&spec) {
                specs.push(spec);
            }
        }
        match specs.is_empty() {
            true => Err(wrong("has no encrypted data".to_owned())),
            false => Ok(Self { volume, specs, also }),
        }
    }
}

/// Whether the name is a path or that of an existing file.
pub(super) fn is_file(name: &Path) -> bool {
    let text = name.to_string_lossy();
    text.contains('/') || text.contains("UUID=") || text.contains("LABEL=") || device::exists(name)
}
