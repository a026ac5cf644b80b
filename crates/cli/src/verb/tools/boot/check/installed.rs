//! The installed GRUB: the version comes from its own program, the files from the places where
//! distributions put them.

use crate::device::whole_file;
use crate::output::failure::{Exit, Failure, Result};
use keyway_boot::loader::grub::{Version, installed};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What was found.
pub(super) struct Installed {
    pub(super) version: Version,
    /// Where the version comes from: "--grub-version", "grub-install --version".
    pub(super) from: String,
    /// The image and its modules, as far as they can be determined.
    pub(super) image: Option<(PathBuf, Vec<String>)>,
    /// UUIDs that its configuration mounts, each with the file that names it.
    pub(super) mounts: Vec<(PathBuf, String)>,
    /// Whether its installer supports LUKS2: some distributions added that to a version that does
    /// not have it upstream.
    pub(super) installs_luks2: bool,
}

impl Installed {
    /// The GRUB installed below `root`; its own version counts if `named` is `None`.
    pub(super) fn find(root: &Path, named: Option<Version>) -> Result<Self> {
        let nowhere = "No installed GRUB was found; name the version with --grub-version.";
        let (version, from) = match named {
            Some(version) => (version, "--grub-version".to_owned()),
            None => ask(root).ok_or_else(|| Failure::new(Exit::Parameters, nowhere))?,
        };
        let installs_luks2 = if named.is_some() { version >= Version::V2_12 } else { installs_luks2(root) };
        Ok(Self { version, from, image: image(root), mounts: mounts(root), installs_luks2 })
    }
}

/// The package's version below a root, or the version that grub-install reports.
fn ask(root: &Path) -> Option<(Version, String)> {
    let status = whole_file::read_text(&root.join("var/lib/dpkg/status"), LARGEST).unwrap_or_default();
    let packaged = ["grub-efi-amd64-bin", "grub-pc-bin", "grub-efi-arm64-bin", "grub2-common"]
        .into_iter()
        .find_map(|name| {
            let start = status.find(&format!("Package: {name}\n"))?;
            let entry = status[start..].split("\n\n").next()?;
            entry.contains("\nStatus: install ok installed").then_some(())?;
            let version = entry.lines().find_map(|line| line.strip_prefix("Version: "))?;
            Some((Version::parse(version)?, format!("package {name} {version}")))
        });
    if packaged.is_some() || root != Path::new("/") {
        return packaged;
    }
    ["grub-install", "grub2-install", "/usr/sbin/grub-install"].into_iter().find_map(|program| {
        let output = Command::new(program).arg("--version").output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Some((Version::parse(&text)?, format!("{program} --version")))
    })
}

/// The installer recognises an opened volume by the prefix of its mapping's UUID, which its
/// programs contain as a string.
fn installs_luks2(root: &Path) -> bool {
    let programs =
        ["usr/sbin/grub-probe", "usr/bin/grub-probe", "usr/sbin/grub2-probe", "usr/bin/grub2-probe"];
    let found = programs.iter().find_map(|program| whole_file::read(&root.join(program), LARGEST).ok());
    found.is_some_and(|program| program.windows(LUKS2.len()).any(|part| part == LUKS2))
}

fn image(root: &Path) -> Option<(PathBuf, Vec<String>)> {
    let mut places: Vec<PathBuf> = ["x86_64-efi/core.efi", "arm64-efi/core.efi", "i386-pc/core.img"]
        .iter()
        .flat_map(|name| ["boot/grub", "boot/grub2"].map(|directory| root.join(directory).join(name)))
        .collect();
    let vendors = fs::read_dir(root.join("boot/efi/EFI")).into_iter().flatten().flatten();
    places.extend(vendors.flat_map(|dir| ["grubx64.efi", "grubaa64.efi"].map(|name| dir.path().join(name))));
    places.into_iter().find_map(|path| {
        let modules = installed::modules(&whole_file::read(&path, LARGEST).ok()?);
        (!modules.is_empty()).then_some((path, modules))
    })
}

fn mounts(root: &Path) -> Vec<(PathBuf, String)> {
    let names = ["x86_64-efi/load.cfg", "i386-pc/load.cfg", "arm64-efi/load.cfg", "grub.cfg"];
    let mut found = Vec::new();
    for path in ["boot/grub", "boot/grub2"].iter().flat_map(|dir| names.map(|name| root.join(dir).join(name)))
    {
        let Ok(text) = whole_file::read_text(&path, LARGEST) else { continue };
        found.extend(
            installed::cryptomount_uuids(&text).into_iter().map(|uuid| (path.clone(), uuid.to_owned())),
        );
    }
    found
}

/// The size limit for GRUB's files and for dpkg's list of packages.
const LARGEST: u64 = 64 << 20;
const LUKS2: &[u8] = b"CRYPT-LUKS2-";
