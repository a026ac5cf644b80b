//! The kernel modules that go into the image: those for the volume's ciphers, its disk and the
//! keyboard and, for a whole image, its file system; all unpacked, in loading order.

use super::options::*;
use super::root::Root;
use super::{firmware, layers};
use crate::args::{Args, shared};
use crate::device::{self, explain, found};
use crate::output::failure::{Exit, Failure, Result};
use crate::verb::tools::boot::files::{Ingredients, unusable};
use crate::verb::tools::boot::options::KERNEL;
use keyway::parts::Luks;
use keyway::{Access, Locking};
use keyway_crypto::CipherSpec;
use keyway_kernel::modules::{Found, Inventory};
use keyway_kernel::{Version, needs, needs_of_tags};
use keyway_volume::DataCiphers;
use std::path::{Path, PathBuf};

/// Which modules to take, and where they are.
pub(super) struct Modules {
    root: PathBuf,
    /// The kernel's release, if there are several.
    kernel: Option<String>,
    /// The ciphers to decrypt; if empty, the header's.
    ciphers: Vec<String>,
    header: Option<PathBuf>,
    /// The volume's name on the machine that boots.
    volume: Option<PathBuf>,
    /// In whatever spelling.
    volume_as_named: Option<String>,
    locking: Locking,
    also: Vec<String>,
    root_file_system: Root,
}

/// Modules by the names of their files, in loading order, and what they need.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) modules: Vec<(String, Vec<u8>)>,
    /// Firmware by the names that modules have for it.
    pub(super) firmware: Vec<(String, Vec<u8>)>,
}

impl Modules {
    /// `None` for kernels that have everything built in.
    pub(super) fn from_args(args: &Args) -> Option<Self> {
        let root = args.path(&MODULES).filter(|root| *root != Path::new("none"))?.to_owned();
        let also = args.text(&ALSO).into_iter().flat_map(|list| list.split(','));
        Some(Self {
            kernel: args.text(&KERNEL).map(str::to_owned),
            ciphers: args.texts(&CIPHER).into_iter().map(str::to_owned).collect(),
            header: args.path(&shared::HEADER).map(Path::to_owned),
            volume: args.path(&VOLUME).map(device::resolve),
            volume_as_named: args.text(&VOLUME).map(str::to_owned),
            locking: device::locking(args),
            also: also.filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            root_file_system: Root::known(args.text(&ROOTFSTYPE), &root),
            root,
        })
    }

    /// The module files and their firmware.
    pub(super) fn gather(&self, from: &mut Ingredients, has_original: bool) -> Result<Gathered> {
        let inventory = self.inventory()?;
        if let Some(volume) = &self.volume_as_named {
            layers::check_volume(volume, self.is_for_this_machine())?;
        }
        let names = self.names(&inventory, has_original)?;
        let ordered = inventory.in_order(names.iter().map(String::as_str));
        let files = ordered
            .into_iter()
            .map(|(name, file)| Ok((format!("{name}.ko"), from.unpacked(Path::new(file))?)));
        let modules = files.collect::<Result<Vec<_>>>()?;
        let firmware = firmware::gather(&modules, &self.root, &inventory.release, from)?;
        Ok(Gathered { modules, firmware })
    }

    fn is_for_this_machine(&self) -> bool {
        self.root.canonicalize().is_ok_and(|root| root == Path::new("/"))
    }

    /// What the image has to load, without dependencies.
    fn names(&self, inventory: &Inventory, has_original: bool) -> Result<Vec<String>> {
        let (specs, with_tags) = self.specs()?;
        let mut names = Vec::new();
        for spec in &specs {
            names.extend(of_spec(inventory, spec)?);
        }
        if with_tags {
            names.extend(needs_of_tags().map(|need| need.name));
        }
        // Needed even in front of another /init, which loads its own modules only after the volume
        // is open.
        names.extend(DRIVERS.iter().chain(KEY_FILES).map(|name| (*name).to_owned()));
        names.extend(inventory.implementations("crc32c").into_iter().map(str::to_owned));
        names.extend(self.of_arrays(inventory)?);
        if !has_original {
            names.extend(self.root_file_system.modules(inventory)?);
        }
        for name in &self.also {
            if inventory.module(name) == Found::Missing {
                return Err(lacks(inventory, name, "--also"));
            }
            names.push(name.clone());
        }
        Ok(names)
    }

    /// The modules for arrays of md RAID that the volume or the root is on, on this machine. Arrays are assembled before another
    /// /init has loaded its own.
    fn of_arrays(&self, inventory: &Inventory) -> Result<Vec<String>> {
        let volume = self.volume_as_named.as_ref().and_then(|spec| found::find(spec.as_ref()));
        let root = self.root_file_system.device().map(Path::to_owned);
        let mut names = Vec::new();
        for device in volume.iter().chain(&root) {
            for (module, array) in layers::personalities(device) {
                if inventory.module(module) == Found::Missing {
                    let on_it = format!("{} is on the array {array}", device.display());
                    let lacks = lacks(inventory, module, &on_it);
                    if self.is_for_this_machine() {
                        return Err(lacks);
                    }
                    // The name is for the machine that boots: on this machine it may be anything.
                    say!("WARNING: On this machine {on_it}. {}", lacks.message());
                    continue;
                }
                names.push(module.to_owned());
            }
        }
        Ok(names)
    }

    /// The modules of the named kernel, or of the only one.
    fn inventory(&self) -> Result<Inventory> {
        let root = &self.root;
        if let Some(release) = &self.kernel {
            let found = Inventory::of_release(root, release);
            return found.map_err(|why| unusable(root, &format!("lib/modules/{release}: {why}")));
        }
        let mut found = Inventory::of_root(root).map_err(|why| unusable(root, &why))?;
        if let [first, second, ..] = &found[..] {
            let why = format!(
                "it has several kernels ({}, {}): choose one with --kernel",
                first.release, second.release
            );
            return Err(unusable(root, &why));
        }
        found.pop().ok_or_else(|| unusable(root, &"it has no kernel modules"))
    }

    /// The ciphers to decrypt: from the options, from the volume's header if it can be read here,
    /// or the default.
    fn specs(&self) -> Result<(Vec<CipherSpec>, bool)> {
        let mut ciphers = DataCiphers { specs: self.ciphers.clone(), with_tags: false };
        if ciphers.specs.is_empty() {
            if let Some(header) = &self.header {
                ciphers = self.ciphers_of(header)?;
            } else if let Some(volume) = self.volume.as_deref().filter(|path| path.exists()) {
                // The name is for the machine that boots: on this machine it may be anything.
                match self.ciphers_of(volume) {
                    Ok(found) => ciphers = found,
                    Err(failure) => {
                        failure.report();
                        say!(
                            "That is a path of this machine's: modules are chosen for {DEFAULT}; --cipher names \
                            another cipher."
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

    /// The ciphers that a header names.
    fn ciphers_of(&self, path: &Path) -> Result<DataCiphers> {
        let storage = device::storage(path, Access::Probe)?;
        let luks = Luks::open_with(storage, Access::Probe, self.locking);
        let luks = luks.map_err(|why| explain::on_device(path, &why))?;
        Ok(luks.header().data_ciphers())
    }
}

/// The modules that decrypt a specification.
fn of_spec(inventory: &Inventory, spec: &CipherSpec) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for need in needs(spec, Version::parse(&inventory.release)) {
        let found = need.find(inventory, None);
        if matches!(found, Found::Missing | Found::Incomplete { .. }) {
            return Err(lacks(inventory, &need.name, &need.why));
        }
        match need.is_module {
            true => names.push(need.name),
            // The image is for a machine with another CPU: take all implementations that may be
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

/// luksFormat's default cipher.
const DEFAULT: &str = CipherSpec::DEFAULT;
/// Drivers that a disk or a keyboard may need; one that a kernel does not have as a module is built
/// in, or not needed.
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
/// File systems for disks with key files; FAT can only be mounted with its character set tables.
const KEY_FILES: &[&str] = &["ext4", "vfat", "nls_cp437", "nls_ascii", "nls_iso8859_1", "nls_utf8"];
