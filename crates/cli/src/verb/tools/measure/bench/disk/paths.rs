//! The ways to access the storage, which are measured in turn.
//!
//! The plain storage and Keyway's own path are measured with one engine, the built-in one, on the
//! same storage. The kernel's paths, plain device and dm-crypt alike, are measured by fio if it is
//! available.

use super::kernel::{self, Below, Mapping, Queues};
use super::target::{self, Target};
use keyway::storage::{Direct, File, Storage};
use keyway_measure::disk::cpu::Whose;
use keyway_measure::disk::{self, Access, Encryption, Engine, Path, Scratch};
use keyway_measure::results::{By, Outcome};
use std::io;
use std::sync::Arc;

/// All paths, and what they keep open.
pub(super) struct Paths {
    /// In the order of the report. Dropped before the mappings, because a mapping is removed only
    /// when nobody has it open.
    pub(super) all: Vec<Path>,
    /// Warnings that apply to the whole run.
    pub(super) warnings: Vec<String>,
    /// Whether data that was written can be read back.
    pub(super) keeps_data: bool,
    _mappings: Vec<Mapping>,
    _below: Option<Below>,
}

impl Paths {
    /// The ways to access the first `region` bytes.
    ///
    /// # Errors
    /// This process has lost its claim on the target.
    pub(super) fn over(
        scratch: &Scratch,
        target: &mut Target,
        region: u64,
        encryptions: &[Encryption],
        has_fio: bool,
    ) -> io::Result<Self> {
        let medium = target.device().map_or_else(|| "file".to_owned(), target::medium);
        let mut paths = Self {
            all: Vec::new(),
            warnings: Vec::new(),
            keeps_data: medium != "null_blk",
            _mappings: Vec::new(),
            _below: None,
        };
        if !paths.keeps_data {
            let warning = "null_blk keeps no data: writes were not checked, and these are not the figures of \
                           a disk.";
            paths.warnings.push(warning.into());
        }
        // fio is used only if it can bypass the page cache.
        let has_fio = has_fio && scratch.buffered_because().is_none();
        paths.own(scratch, &medium, region, encryptions, target.device().is_some());
        let kernel_medium = if target.device().is_some() { medium.clone() } else { "loop".to_owned() };
        let below = paths.below(scratch, target);
        match &below {
            Ok(below) => paths.plain_device(below, &kernel_medium, has_fio),
            Err(_) if has_fio => {
                let access = paths.all[0].access.clone();
                paths.push(By::Plain, &medium, None, Vec::new(), Engine::Fio(scratch.node()), access);
            }
            Err(_) => {}
        }
        for encryption in encryptions {
            for queues in [Queues { none: false }, Queues { none: true }] {
                let made = below.as_ref().map_err(Clone::clone);
                let made = made.and_then(|below| paths.mapped(below, encryption, queues, region));
                let (engine, access) = match made {
                    Ok((engine, access)) => (if has_fio { engine } else { Engine::BuiltIn }, Ok(access)),
                    Err(outcome) => (Engine::BuiltIn, Err(outcome)),
                };
                let it = Some(encryption.clone());
                paths.push(By::DmCrypt, &kernel_medium, it, queues.flags(), engine, access);
            }
        }
        if paths._mappings.is_empty() {
            target.hold()?;
        }
        paths._below = below.ok();
        Ok(paths)
    }

    /// Paths of the built-in engine: the storage itself, and volumes over it.
    fn own(
        &mut self,
        scratch: &Scratch,
        medium: &str,
        region: u64,
        encryptions: &[Encryption],
        device: bool,
    ) {
        let below = scratch.storage();
        let access = |view| Access { view, below: below.clone(), cpu: Whose::Own, notes: Vec::new() };
        let flags =
            || if scratch.buffered_because().is_some() { vec!["buffered".to_owned()] } else { Vec::new() };
        self.push(By::Plain, medium, None, flags(), Engine::BuiltIn, Ok(access(below.clone())));
        for it in encryptions {
            let view = disk::path::keyway(below.clone(), it, region);
            self.push(By::Keyway, medium, Some(it.clone()), flags(), Engine::BuiltIn, view.map(access));
        }
        if let Some(why) = scratch.buffered_because() {
            let what = if device { "the device" } else { "the file" };
            self.warnings.push(format!(
                "{what} was measured through the page cache, which was dropped before reads: {why}."
            ));
        }
    }

    /// The block device that mappings need.
    fn below(&mut self, scratch: &Scratch, target: &mut Target) -> Result<Below, Outcome> {
        // Without device-mapper, a loop device is not needed.
        let mapper = keyway_attach::dm::Mapper::open().map_err(|error| kernel::why(&error))?;
        if !mapper.has_target("crypt") {
            return Err(kernel::not_measured("this kernel has no dm-crypt (module dm_crypt)".to_owned()));
        }
        match target.device() {
            Some(device) => {
                let below = Below::device(device);
                target.release();
                below
            }
            None => {
                let below = Below::file(&scratch.node())?;
                if !below.is_direct() {
                    self.warnings.push("the loop device goes through the page cache of its file".into());
                }
                Ok(below)
            }
        }
    }

    /// The baseline for dm-crypt: the device below it.
    fn plain_device(&mut self, below: &Below, medium: &str, has_fio: bool) {
        // The built-in engine has already measured a device that is the target itself.
        if medium != "loop" && !has_fio {
            return;
        }
        let engine = if has_fio { Engine::Fio(below.path().to_owned()) } else { Engine::BuiltIn };
        let access = opened(below.path()).map(|view| machine_wide(view.clone(), view));
        self.push(By::Plain, medium, None, Vec::new(), engine, access);
    }

    fn mapped(
        &mut self,
        below: &Below,
        encryption: &Encryption,
        queues: Queues,
        region: u64,
    ) -> Result<(Engine, Access), Outcome> {
        let mapping = Mapping::new(below, encryption, queues, region)?;
        let view = opened(mapping.node())?;
        let engine = Engine::Fio(mapping.node().to_owned());
        let access = machine_wide(view, opened(below.path())?);
        self._mappings.push(mapping);
        Ok((engine, access))
    }

    fn push(
        &mut self,
        by: By,
        medium: &str,
        encryption: Option<Encryption>,
        flags: Vec<String>,
        engine: Engine,
        access: Result<Access, Outcome>,
    ) {
        self.all.push(Path { by, medium: medium.to_owned(), encryption, flags, engine, access });
    }
}

/// An access for which the kernel's threads do the work.
fn machine_wide(view: Arc<dyn Storage>, below: Arc<dyn Storage>) -> Access {
    Access { view, below, cpu: Whose::Machine, notes: Vec::new() }
}

/// A block device, bypassing its page cache.
fn opened(node: &std::path::Path) -> Result<Arc<dyn Storage>, Outcome> {
    let opened = File::open_rw(node).and_then(|file| Direct::new(Arc::new(file)));
    let failed = |error: io::Error| kernel::not_measured(format!("{}: {error}", node.display()));
    Ok(Arc::new(opened.map_err(failed)?))
}
