//! Which kernel modules go into the image: those that the volume's ciphers need, those
//! that reach its disk and the keyboard, for a whole image also those of its file system;
//! all of them unpacked, in the order of loading.

use super::super::files::Ingredients;
use super::options::*;
use crate::args::{Args, shared};
use crate::command::boot::options::KERNEL;
use crate::command::xray::subject::{INTEGRITY, ciphers};
use crate::device;
use crate::failure::{Exit, Failure, Result};
use keyway_boot::initramfs::Compression;
use keyway_crypto::CipherSpec;
use keyway_kernel::modules::{Found, Inventory};
use keyway_kernel::{Version, needs};
use keyway_volume::{Access, Luks};
use std::path::Path;

/// Files by their names, in order.
pub(super) fn gather(
    args: &Args,
    from: &mut Ingredients,
    has_original: bool,
) -> Result<Vec<(String, Vec<u8>)>> {
    let root = match args.path(&MODULES) {
        Some(root) if root != Path::new("none") => root,
        _ => return Ok(Vec::new()),
    };
    let inventory = inventory(args, root)?;
    let (specs, with_tags) = specs(args)?;
    let mut names = Vec::new();
    for spec in &specs {
        for need in needs(spec, Version::parse(&inventory.release)) {
            let found = need.find(&inventory, None);
            if matches!(found, Found::Missing | Found::Incomplete { .. }) {
                return Err(lacks(&inventory, &need.name, &need.why));
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
    }
    if with_tags {
        names.extend(INTEGRITY.iter().map(|(name, _)| (*name).to_owned()));
    }
    // Also before an /init of others, which loads its own only when the volume is open.
    names.extend(DRIVERS.iter().chain(KEY_FILES).map(|name| (*name).to_owned()));
    if !has_original {
        names.extend(ROOTS.iter().map(|name| (*name).to_owned()));
    }
    names.extend(inventory.implementations("crc32c").into_iter().map(str::to_owned));
    for name in args.text(&ALSO).into_iter().flat_map(|list| list.split(',')).filter(|name| !name.is_empty())
    {
        if inventory.module(name) == Found::Missing {
            return Err(lacks(&inventory, name, "--also"));
        }
        names.push(name.to_owned());
    }
    let ordered = inventory.in_order(names.iter().map(String::as_str));
    ordered
        .into_iter()
        .map(|(name, file)| Ok((format!("{name}.ko"), unpacked(Path::new(file), from)?)))
        .collect()
}

fn lacks(inventory: &Inventory, name: &str, why: &str) -> Failure {
    let release = &inventory.release;
    Failure::new(Exit::Device, format!("The modules of Linux {release} lack {name} ({why})."))
}

/// The modules of the kernel that was named, or of the only one.
fn inventory(args: &Args, root: &Path) -> Result<Inventory> {
    let unusable =
        |why: &dyn std::fmt::Display| Failure::new(Exit::Device, format!("{}: {why}.", root.display()));
    if let Some(release) = args.text(&KERNEL) {
        let found = Inventory::of_release(root, release);
        return found.map_err(|why| unusable(&format!("lib/modules/{release}: {why}")));
    }
    let mut found = Inventory::of_root(root).map_err(|why| unusable(&why))?;
    if let [first, second, ..] = &found[..] {
        let why =
            format!("it has several kernels ({}, {}): --kernel names one", first.release, second.release);
        return Err(unusable(&why));
    }
    found.pop().ok_or_else(|| unusable(&"it has no kernel modules"))
}

/// What is to be decrypted: by the options, by the volume's header
/// where it can be read here, or the default.
fn specs(args: &Args) -> Result<(Vec<CipherSpec>, bool)> {
    let mut texts: Vec<String> = args.texts(&CIPHER).into_iter().map(str::to_owned).collect();
    let mut with_tags = false;
    if texts.is_empty() {
        if let Some(header) = args.path(&shared::HEADER) {
            (texts, with_tags) = ciphers_of(args, header)?;
        } else if let Some(volume) = args.path(&VOLUME).map(device::resolve).filter(|path| path.exists()) {
            // The name is the other machine's: what has it here may be anything.
            match ciphers_of(args, &volume) {
                Ok(found) => (texts, with_tags) = found,
                Err(failure) => {
                    failure.report();
                    say!(
                        "That is this machine's: the modules are those for {DEFAULT}; --cipher names another."
                    );
                }
            }
        }
    }
    if texts.is_empty() {
        texts.push(DEFAULT.to_owned());
    }
    let parse = |text: &String| {
        CipherSpec::parse(text).map_err(|why| Failure::new(Exit::Parameters, format!("{text}: {why}.")))
    };
    Ok((texts.iter().map(parse).collect::<Result<_>>()?, with_tags))
}

/// What a header names, and whether sectors have tags.
fn ciphers_of(args: &Args, path: &Path) -> Result<(Vec<String>, bool)> {
    let storage = device::storage(path, Access::Probe)?;
    let luks = Luks::open_with(storage, Access::Probe, device::locking(args));
    let luks = luks.map_err(|why| crate::hint::on_device(path, &why))?;
    Ok(ciphers(luks.header()))
}

/// A module as the kernel loads it without any help.
fn unpacked(path: &Path, from: &mut Ingredients) -> Result<Vec<u8>> {
    let file = from.read(path)?;
    match Compression::of(&file) {
        None => Ok(file),
        Some(compression) => compression
            .unpack_all(&file, LARGEST)
            .map_err(|why| Failure::new(Exit::Device, format!("{}: {why}.", path.display()))),
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
