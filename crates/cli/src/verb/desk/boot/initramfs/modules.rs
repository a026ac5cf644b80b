//! Which kernel modules go into the image: those that the volume's ciphers need, those
//! that reach its disk and the keyboard, for a whole image also those of its file system;
//! all of them unpacked, in the order of loading.

use super::options::*;
use crate::device::{self, explain};
use crate::door::{Args, shared};
use crate::say::failure::{Exit, Failure, Result};
use crate::verb::desk::boot::files::{Ingredients, unusable};
use crate::verb::desk::boot::options::KERNEL;
use keyway_boot::initramfs::Compression;
use keyway_crypto::CipherSpec;
use keyway_kernel::modules::{Found, Inventory};
use keyway_kernel::{Version, needs, needs_of_tags};
use keyway_volume::{Access, DataCiphers, Locking, Luks};
use std::path::{Path, PathBuf};

/// Which modules are asked for, and where they are.
pub(super) struct Modules {
    root: PathBuf,
    /// The kernel's release, where there are several.
    kernel: Option<String>,
    /// What is to be decrypted; the header says, when nothing else does.
    ciphers: Vec<String>,
    header: Option<PathBuf>,
    /// The volume, as it is called on the machine that boots.
    volume: Option<PathBuf>,
    locking: Locking,
    also: Vec<String>,
}

impl Modules {
    /// None for kernels that have all built in.
    pub(super) fn from_args(args: &Args) -> Option<Self> {
        let root = args.path(&MODULES).filter(|root| *root != Path::new("none"))?.to_owned();
        let also = args.text(&ALSO).into_iter().flat_map(|list| list.split(','));
        Some(Self {
            root,
            kernel: args.text(&KERNEL).map(str::to_owned),
            ciphers: args.texts(&CIPHER).into_iter().map(str::to_owned).collect(),
            header: args.path(&shared::HEADER).map(Path::to_owned),
            volume: args.path(&VOLUME).map(device::resolve),
            locking: device::locking(args),
            also: also.filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        })
    }

    /// Files by their names, in order.
    pub(super) fn gather(
        &self,
        from: &mut Ingredients,
        has_original: bool,
    ) -> Result<Vec<(String, Vec<u8>)>> {
        let inventory = self.inventory()?;
        let (specs, with_tags) = self.specs()?;
        let mut names = Vec::new();
        for spec in &specs {
            names.extend(of_spec(&inventory, spec)?);
        }
        if with_tags {
            names.extend(needs_of_tags().map(|need| need.name));
        }
        // Also before an /init of others, which loads its own only when the volume is open.
        names.extend(DRIVERS.iter().chain(KEY_FILES).map(|name| (*name).to_owned()));
        if !has_original {
            names.extend(ROOTS.iter().map(|name| (*name).to_owned()));
        }
        names.extend(inventory.implementations("crc32c").into_iter().map(str::to_owned));
        for name in &self.also {
            if inventory.module(name) == Found::Missing {
                return Err(lacks(&inventory, name, "--also"));
            }
            names.push(name.clone());
        }
        let ordered = inventory.in_order(names.iter().map(String::as_str));
        ordered
            .into_iter()
            .map(|(name, file)| Ok((format!("{name}.ko"), unpacked(Path::new(file), from)?)))
            .collect()
    }

    /// The modules of the kernel that was named, or of the only one.
    fn inventory(&self) -> Result<Inventory> {
        let root = &self.root;
        if let Some(release) = &self.kernel {
            let found = Inventory::of_release(root, release);
            return found.map_err(|why| unusable(root, &format!("lib/modules/{release}: {why}")));
        }
        let mut found = Inventory::of_root(root).map_err(|why| unusable(root, &why))?;
        if let [first, second, ..] = &found[..] {
            let why =
                format!("it has several kernels ({}, {}): --kernel names one", first.release, second.release);
            return Err(unusable(root, &why));
        }
        found.pop().ok_or_else(|| unusable(root, &"it has no kernel modules"))
    }

    /// What is to be decrypted: by the options, by the volume's header
    /// where it can be read here, or the default.
    fn specs(&self) -> Result<(Vec<CipherSpec>, bool)> {
        let mut ciphers = DataCiphers { specs: self.ciphers.clone(), with_tags: false };
        if ciphers.specs.is_empty() {
            if let Some(header) = &self.header {
                ciphers = self.ciphers_of(header)?;
            } else if let Some(volume) = self.volume.as_deref().filter(|path| path.exists()) {
                // The name is the other machine's: what has it here may be anything.
                match self.ciphers_of(volume) {
                    Ok(found) => ciphers = found,
                    Err(failure) => {
                        failure.report();
                        say!(
                            "That is this machine's: the modules are those for {DEFAULT}; --cipher names another."
                        );
                    }
                }
            }
        }
        if ciphers.specs.is_empty() {
            ciphers.specs.push(DEFAULT.to_owned());
        }
        let parse = |text: &String| {
            CipherSpec::parse(text).map_err(|why| Failure::new(Exit::Parameters, format!("{text}: {why}.")))
        };
        Ok((ciphers.specs.iter().map(parse).collect::<Result<_>>()?, ciphers.with_tags))
    }

    /// What a header names.
    fn ciphers_of(&self, path: &Path) -> Result<DataCiphers> {
        let storage = device::storage(path, Access::Probe)?;
        let luks = Luks::open_with(storage, Access::Probe, self.locking);
        let luks = luks.map_err(|why| explain::on_device(path, &why))?;
        Ok(luks.header().data_ciphers())
    }
}

/// What decrypts a specification.
fn of_spec(inventory: &Inventory, spec: &CipherSpec) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for need in needs(spec, Version::parse(&inventory.release)) {
        let found = need.find(inventory, None);
        if matches!(found, Found::Missing | Found::Incomplete { .. }) {
            return Err(lacks(inventory, &need.name, &need.why));
        }
        match need.is_module {
            true => names.push(need.name),
            // The machine's CPU is not this one: all that may be
            // faster there, and the portable code.
            false => {
                names.extend(inventory.implementations(&need.name).into_iter().map(str::to_owned));
                if let Found::Module(module) = found {
                    names.push(module);
                }
            }
        }
    }
    Ok(names)
}

fn lacks(inventory: &Inventory, name: &str, why: &str) -> Failure {
    let release = &inventory.release;
    Failure::new(Exit::Device, format!("The modules of Linux {release} lack {name} ({why})."))
}

/// A module as the kernel loads it without any help.
fn unpacked(path: &Path, from: &mut Ingredients) -> Result<Vec<u8>> {
    let file = from.read(path)?;
    match Compression::of(&file) {
        None => Ok(file),
        Some(compression) => compression.unpack_all(&file, LARGEST).map_err(|why| unusable(path, &why)),
    }
}

/// What luksFormat takes when it is not told.
const DEFAULT: &str = CipherSpec::DEFAULT;
/// What a disk and a keyboard may need; what a kernel has not, it has built in, or needs not.
const DRIVERS: &[&str] = &[
    "virtio_pci",
    "virtio_mmio",
    "virtio_blk",
    "virtio_scsi",
    "nvme",
    "ahci",
    "ata_piix",
    "sd_mod",
    "sr_mod",
    "xhci_pci",
    "ehci_pci",
    "uas",
    "usb_storage",
    "sdhci_pci",
    "sdhci_acpi",
    "mmc_block",
    "usbhid",
    "hid_generic",
    "atkbd",
    "i8042",
];
/// File systems of disks with key files; FAT mounts with the tables of its names alone.
const KEY_FILES: &[&str] = &["ext4", "vfat", "nls_cp437", "nls_ascii", "nls_iso8859_1", "nls_utf8"];
/// File systems of roots.
const ROOTS: &[&str] = &["xfs", "btrfs"];
/// Of a module with its debugging information; what is larger is refused.
const LARGEST: u64 = 256 << 20;
