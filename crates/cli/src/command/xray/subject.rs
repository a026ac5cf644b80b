//! What to look at: a specification, or the ciphers in a volume's header.

use super::{ALL, INITRAMFS, KERNEL_VERSION, NO_MEASURE, PROC_CRYPTO, ROOT};
use crate::args::{Args, nearest, shared};
use crate::device::{self, Versions};
use crate::failure::{Exit, Failure, Result};
use keyway_crypto::CipherSpec;
use keyway_crypto::spec::space;
use keyway_format::luks2::SegmentKind;
use keyway_volume::{Access, Header};
use std::path::Path;

/// What was asked about.
pub(super) struct Subject {
    /// The volume, when one was named.
    pub(super) volume: Option<String>,
    /// Its ciphers, or the one that was named.
    pub(super) specs: Vec<CipherSpec>,
    /// Modules that the header needs beside dm-crypt, and what for.
    pub(super) also: Vec<(&'static str, &'static str)>,
}

impl Subject {
    /// From the command line.
    pub(super) fn find(args: &Args) -> Result<Self> {
        check(args)?;
        let named = args.operand(0);
        match (named, args.given(&shared::HEADER)) {
            (None, false) => {
                Ok(Self::of_spec(CipherSpec::parse(DEFAULT).map_err(keyway_volume::Error::from)?))
            }
            (Some(name), false) if !is_file(name) => Ok(Self::of_spec(spec(&name.to_string_lossy())?)),
            _ => Self::of_volume(args),
        }
    }

    fn of_spec(spec: CipherSpec) -> Self {
        Self { volume: None, specs: vec![spec], also: Vec::new() }
    }

    fn of_volume(args: &Args) -> Result<Self> {
        let path = device::header_path(args, 0)?;
        let luks = device::load(args, 0, Access::Probe, Versions::from_args(args)?)?;
        let mut found =
            Self { volume: Some(path.display().to_string()), specs: Vec::new(), also: Vec::new() };
        let (ciphers, with_tags) = ciphers(luks.header());
        if with_tags {
            found.also = INTEGRITY.to_vec();
        }
        for cipher in ciphers {
            let spec = CipherSpec::parse(&cipher).map_err(|why| {
                let volume = path.display();
                Failure::new(Exit::Parameters, format!("{volume}: the header names {cipher:?}: {why}."))
            })?;
            if !found.specs.contains(&spec) {
                found.specs.push(spec);
            }
        }
        match found.specs.is_empty() {
            true => Err(Failure::new(
                Exit::Parameters,
                format!("{}: the header has no encrypted data.", path.display()),
            )),
            false => Ok(found),
        }
    }
}

/// The ciphers that a header names for its data, and whether some of it has integrity tags.
pub(in crate::command) fn ciphers(header: &Header) -> (Vec<String>, bool) {
    let metadata = match header {
        Header::Luks1(header) => return (vec![header.cipher()], false),
        Header::Luks2 { metadata, .. } => metadata,
    };
    let (mut ciphers, mut with_tags) = (Vec::new(), false);
    for segment in metadata.segments.values().filter(|segment| !segment.is_backup()) {
        if let SegmentKind::Crypt { encryption, integrity, .. } = &segment.kind {
            ciphers.push(encryption.clone());
            with_tags |= integrity.is_some();
        }
    }
    (ciphers, with_tags)
}

/// Options that do not go together.
fn check(args: &Args) -> Result<()> {
    let elsewhere = args.given(&ROOT) || args.given(&INITRAMFS);
    let wrong = |what: &str| Err(Failure::new(Exit::Parameters, what.to_owned()));
    if elsewhere && (args.given(&PROC_CRYPTO) || args.given(&ALL) || args.given(&NO_MEASURE)) {
        return wrong(
            "--root and --initramfs look for modules and measure nothing: --proc-crypto, --all and --no-measure are for kernels that run.",
        );
    }
    if args.given(&KERNEL_VERSION) && !args.given(&PROC_CRYPTO) {
        return wrong(
            "--kernel-version is for --proc-crypto: the running kernel says itself which one it is.",
        );
    }
    if args.given(&ALL) && (args.given(&PROC_CRYPTO) || args.operand(0).is_some()) {
        return wrong(
            "--all checks every driver of the running kernel: it takes no cipher, no volume and no --proc-crypto.",
        );
    }
    Ok(())
}

/// A path, or the name of something that is there.
fn is_file(name: &Path) -> bool {
    let text = name.to_string_lossy();
    text.contains('/') || text.starts_with("UUID=") || device::exists(name)
}

/// A specification; a mistyped one is answered with the nearest that exists.
fn spec(text: &str) -> Result<CipherSpec> {
    CipherSpec::parse(text).map_err(|why| {
        let known: Vec<String> = space().filter(|it| it.outcome.is_ok()).map(|it| it.text).collect();
        let hint = match nearest(text, known.iter().map(String::as_str)) {
            Some(near) => format!(" Did you mean {near}?"),
            None => {
                " \"keyway ciphers\" lists what there is; a volume in this directory is ./NAME.".to_owned()
            }
        };
        Failure::new(Exit::Parameters, format!("{text} is no file, and as a cipher: {why}.{hint}"))
    })
}

/// cryptsetup's default.
const DEFAULT: &str = CipherSpec::DEFAULT;
/// What tags need.
pub(in crate::command) const INTEGRITY: &[(&str, &str)] =
    &[("dm_integrity", "the header asks for integrity tags"), ("authenc", "encryption with tags")];
