//! The paths to one and the same storage: plain, through Keyway, through the kernel's dm-crypt.

use super::check;
use super::cpu::Whose;
use super::workload::{Bound, Workload};
use crate::results::{By, Case, DiskCase, Outcome};
use keyway_crypto::{CipherSpec, Cpu, Secret, SectorSize};
use keyway_volume::{Layout, MappedSegment, Mapping, Storage, Volume};
use std::path::PathBuf;
use std::sync::Arc;

/// One way to the storage.
pub struct Path {
    /// Whose code encrypts.
    pub by: By,
    /// "file", "loop", "brd" …
    pub medium: String,
    /// How it encrypts; `None` when it does not.
    pub encryption: Option<Encryption>,
    /// dm-crypt's options, and what else sets it apart.
    pub flags: Vec<String>,
    /// What makes the requests.
    pub engine: Engine,
    /// The storage, or why it cannot be had.
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
    /// The key. Nothing that it encrypts is anybody's secret.
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
    /// What the path shows.
    pub view: Arc<dyn Storage>,
    /// What lies below: the view itself where nothing is encrypted.
    pub below: Arc<dyn Storage>,
    /// Where the work is done: by this process and fio, or by the kernel's threads too.
    pub cpu: Whose,
    /// What readers must know of all its rows.
    pub notes: Vec<String>,
}

impl Path {
    /// The case of a workload on this path.
    pub fn case(&self, workload: &Workload) -> Case {
        let mut flags = self.flags.clone();
        if workload.bound == Bound::Sustained {
            flags.push(SUSTAINED.into());
        }
        flags.sort();
        Case::Disk(DiskCase {
            by: self.by.clone(),
            medium: self.medium.clone(),
            spec: self.encryption.as_ref().map(|it| it.spec.clone()),
            key_bits: self.encryption.as_ref().map(|it| it.key_bits),
            sector_size: self.encryption.as_ref().map(|it| it.sector_size),
            pattern: workload.pattern,
            block: workload.block,
            depth: workload.depth,
            total: workload.total(),
            flags,
            engine: match self.engine {
                Engine::BuiltIn => "keyway".into(),
                Engine::Fio(_) => "fio".into(),
            },
        })
    }
}

/// The flag of a long run.
pub const SUSTAINED: &str = "sustained";

/// Keyway's own path: the same volume that its doors serve, without a
/// header, from the storage's first byte on.
///
/// # Errors
/// [`Outcome::Impossible`]: there is no such combination of cipher, key and sector size.
pub fn keyway(
    below: Arc<dyn Storage>,
    encryption: &Encryption,
    region: u64,
) -> Result<Arc<dyn Storage>, Outcome> {
    let spec = CipherSpec::parse(&encryption.spec).map_err(Outcome::impossible)?;
    let sector_size = SectorSize::new(encryption.sector_size).map_err(Outcome::impossible)?;
    let mapping = Mapping::Crypt { spec, sector_size, iv_tweak: 0, iv_large_sectors: false };
    let segment = MappedSegment { plaintext_start: 0, length: Some(region), storage_offset: 0, mapping };
    let layout = Layout { segments: vec![segment] };
    let volume = Volume::new(below, &layout, &encryption.key(), Cpu::detect());
    volume.map(|volume| Arc::new(volume) as Arc<dyn Storage>).map_err(Outcome::impossible)
}
