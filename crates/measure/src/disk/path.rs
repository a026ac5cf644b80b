//! The paths to the same storage: plain, through Keyway, through the kernel's dm-crypt.

use super::check;
use super::cpu::Whose;
use super::workload::{Bound, Workload};
use crate::results::{By, Case, DiskCase, Outcome};
use keyway_crypto::{CipherSpec, Cpu, Secret, SectorSize};
use keyway_volume::{Layout, MappedSegment, Mapping, Storage, Volume};
use std::path::PathBuf;
use std::sync::Arc;

/// One path to the storage.
pub struct Path {
    /// Whose code does the encryption.
    pub by: By,
    /// "file", "loop", "brd" …
    pub medium: String,
    /// The encryption; `None` for a plain path.
    pub encryption: Option<Encryption>,
    /// dm-crypt's options, and anything else that distinguishes the path.
    pub flags: Vec<String>,
    /// What makes the requests.
    pub engine: Engine,
    /// The storage, or why it is not available.
    pub access: Result<Access, Outcome>,
}

/// How a path encrypts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encryption {
    /// "aes-xts-plain64".
    pub spec: String,
    /// Size of the volume key.
    pub key_bits: u32,
    /// Encryption sector size.
    pub sector_size: u32,
}

impl Encryption {
    /// The key. It protects no secrets.
    pub fn key(&self) -> Secret {
        check::key(self.key_bits)
    }
}

/// What makes the requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Engine {
    /// This program.
    BuiltIn,
    /// fio, on this device or file.
    Fio(PathBuf),
}

/// Storage that can be measured.
#[derive(Clone)]
pub struct Access {
    /// The storage as the path shows it.
    pub view: Arc<dyn Storage>,
    /// The storage below: the same as `view` if nothing is encrypted.
    pub below: Arc<dyn Storage>,
    /// Who does the work: this process and fio, or kernel threads too.
    pub cpu: Whose,
    /// What readers must know about all its rows.
    pub notes: Vec<String>,
}

impl Path {
    /// The case that describes a workload on this path.
    pub fn case(&self, workload: &Workload) -> Case {
        let sustained = (workload.bound == Bound::Sustained).then(|| SUSTAINED.to_owned());
        let mut flags: Vec<String> = self.flags.iter().cloned().chain(sustained).collect();
        flags.sort();
        let encryption = self.encryption.as_ref();
        let engine = if self.engine == Engine::BuiltIn { "keyway" } else { "fio" };
        Case::Disk(DiskCase {
            by: self.by.clone(),
            medium: self.medium.clone(),
            spec: encryption.map(|it| it.spec.clone()),
            key_bits: encryption.map(|it| it.key_bits),
            sector_size: encryption.map(|it| it.sector_size),
            pattern: workload.pattern,
            block: workload.block,
            depth: workload.depth,
            total: workload.total(),
            flags,
            engine: engine.to_owned(),
        })
    }
}

/// The flag of a long run.
pub(crate) const SUSTAINED: &str = "sustained";

/// Keyway's own path: the same volume that its front ends serve, without a header, starting at the
/// storage's first byte.
///
/// # Errors
/// [`Outcome::Impossible`] if this combination of cipher, key and sector size cannot exist.
pub fn keyway(
    below: Arc<dyn Storage>,
    encryption: &Encryption,
    region: u64,
) -> Result<Arc<dyn Storage>, Outcome> {
    let spec = CipherSpec::parse(&encryption.spec).map_err(Outcome::impossible)?;
    let sector_size = SectorSize::new(encryption.sector_size).map_err(Outcome::impossible)?;
    let mapping = Mapping::Crypt { spec, sector_size, iv_tweak: 0, iv_large_sectors: false };
    let segment = MappedSegment {
        plaintext_start: 0,
        length: Some(region),
        storage_offset: 0,
        mapping,
        second_key: false,
    };
    let layout = Layout::new(vec![segment]);
    let volume = Volume::new(below, &layout, &encryption.key(), Cpu::detect());
    volume.map(|volume| Arc::new(volume) as Arc<dyn Storage>).map_err(Outcome::impossible)
}

/// Whether `plain` is the same requests by the same engine without encryption.
pub(super) fn is_plain_of(plain: &DiskCase, case: &DiskCase) -> bool {
    let lasting = |case: &DiskCase| case.flags.iter().any(|flag| flag == SUSTAINED);
    plain.by == By::Plain
        && plain.medium == case.medium
        && plain.engine == case.engine
        && plain.pattern == case.pattern
        && (plain.block, plain.depth, plain.total) == (case.block, case.depth, case.total)
        && lasting(plain) == lasting(case)
}
