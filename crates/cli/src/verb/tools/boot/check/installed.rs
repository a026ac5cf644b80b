//! The installed GRUB: the version comes from its own program, the files from the places where
//! distributions put them.

use crate::device::whole_file;
use crate::output::failure::{Exit, Failure, Result};
use keyway::Machine;
use keyway_boot::loader::grub::{Distribution, Loader, Version, installed};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What `--grub-version` names.
#[derive(Debug, Clone, Copy)]
pub(super) enum Named {
    Version(Version),
    Distribution(&'static Distribution),
}

/// What was found.
pub(super) struct Installed {
    pub(super) version: Version,
    /// Whose signed image it is, if one was named.
    pub(super) distribution: Option<&'static Distribution>,
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
    pub(super) fn find(root: &Path, named: Option<Named>) -> Result<Self> {
        let nowhere = "No installed GRUB was found; name the version with --grub-version.";
        let distribution = match named {
            Some(Named::Distribution(distribution)) => Some(distribution),
            _ => None,
        };
        let (version, from) = match named {
            Some(Named::Version(version)) => (version, "--grub-version".to_owned()),
            Some(Named::Distribution(it)) => (it.version, "--grub-version".to_owned()),
            None => ask(root).ok_or_else(|| Failure::new(Exit::Parameters, nowhere))?,
        };
        let installs_luks2 = if named.is_some() { version >= Version::V2_12 } else { installs_luks2(root) };
        // Its image is the one that the distribution signs, whatever is installed here.
        let image = if distribution.is_none() { image(root) } else { None };
        Ok(Self { version, distribution, from, image, mounts: mounts(root), installs_luks2 })
    }

    /// The rules that it follows.
    pub(super) fn loader(&self) -> Loader {
        self.distribution.map_or_else(|| Loader::new(self.version), Loader::of)
    }

    /// The same in the library's words.
    pub(super) fn machine(&self) -> Machine {
        let named = self.distribution.and_then(|it| Machine::find(it.name));
        named.unwrap_or_else(|| Machine::grub(self.version.into()))
    }

    /// "2.12", "2.12 of Ubuntu 24.04".
    pub(super) fn title(&self) -> String {
        match self.distribution {
            Some(it) => format!("{} of {}", self.version, it.title),
            None => self.version.to_string(),
        }
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
