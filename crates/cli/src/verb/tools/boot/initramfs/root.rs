//! The root's file system, which a new image mounts itself: what it is, and its modules.

use super::layers;
use crate::device::whole_file;
use crate::output::failure::{Exit, Failure, Result};
use keyway::devices;
use keyway_kernel::modules::{Found, Inventory, asked_by_file_system, cannot_mount_without};
use std::path::{Path, PathBuf};

/// What is known of the root's file system.
pub(super) enum Root {
    /// `--rootfstype`: these and no others.
    Said(Vec<String>),
    /// The one of the machine that the modules are taken from, and where that stands: beside the usual ones.
    Found { kind: String, source: String, device: Option<PathBuf> },
    /// Nothing: the usual ones.
    Unknown,
}

impl Root {
    /// As it is said, else as the directory with the modules tells: by what is mounted there, or by
    /// its fstab.
    pub(super) fn known(said: Option<&str>, directory: &Path) -> Self {
        let words = |list: &str| list.split(',').filter(|kind| is_name(kind)).map(str::to_owned).collect();
        let said: Vec<String> = said.map(words).unwrap_or_default();
        if !said.is_empty() {
            return Self::Said(said);
        }
        let fstab = directory.join("etc/fstab");
        let listed = || {
            let table = whole_file::read_text(&fstab, LARGEST_TABLE).unwrap_or_default();
            let kind = of_fstab(&table)?;
            Some(Self::Found { kind, source: format!("{} says so", fstab.display()), device: None })
        };
        let source = format!("as mounted on {}", directory.display());
        let found = |(kind, device)| Self::Found { kind, source, device: Some(device) };
        mounted(directory).map(found).or_else(listed).unwrap_or(Self::Unknown)
    }

    /// The device of this machine that it is on, if that is known.
    pub(super) fn device(&self) -> Option<&Path> {
        match self {
            Self::Found { device, .. } => device.as_deref(),
            Self::Said(_) | Self::Unknown => None,
        }
    }

    /// The modules that mount it, after what they ask of the crypto API.
    pub(super) fn modules(&self, inventory: &Inventory) -> Result<Vec<String>> {
        let mut names = Vec::new();
        match self {
            Self::Said(kinds) => {
                for kind in kinds {
                    names.extend(needed(inventory, kind, "--rootfstype")?);
                }
            }
            Self::Found { kind, source, device } => {
                device.as_deref().map_or(Ok(()), layers::check_root)?;
                names.extend(USUAL.iter().flat_map(|usual| of_kind(inventory, usual)));
                names.extend(needed(inventory, kind, source)?);
            }
            Self::Unknown => {
                say!(
                    "The root's file system is not known here: modules for {} go into the image; --rootfstype \
                     names another.",
                    USUAL.join(", ")
                );
                names.extend(USUAL.iter().flat_map(|usual| of_kind(inventory, usual)));
            }
        }
        Ok(names)
    }
}

/// The modules of a file system without which the image would not boot.
fn needed(inventory: &Inventory, kind: &str, source: &str) -> Result<Vec<String>> {
    layers::check_kind(kind)?;
    let lacks = |what: &str| {
        Err(Failure::new(
            Exit::Device,
            format!(
                "The modules of Linux {} lack {what} for the root's file system, {kind} ({source}): such an \
                 image would not boot.",
                inventory.release
            ),
        ))
    };
    match inventory.file_system(kind) {
        Found::Missing => lacks(kind),
        Found::Incomplete { module, without } => lacks(&format!("{without}, on which {module} depends,")),
        Found::BuiltIn(module) | Found::Module(module) => {
            let (needed, optional): (Vec<_>, Vec<_>) =
                inventory.unmet(&module).into_iter().partition(|(_, name)| cannot_mount_without(kind, name));
            if let Some((module, name)) = needed.first() {
                return lacks(&format!("{name}, which {module} asks for,"));
            }
            for (module, name) in optional {
                say!(
                    "WARNING: the modules of Linux {} lack {name}, which {module} asks for and can do without.",
                    inventory.release
                );
            }
            Ok(of_kind(inventory, kind))
        }
        Found::Loaded | Found::Unknown => Ok(of_kind(inventory, kind)),
    }
}

/// A file system's modules, if they are there. What is read-only comes with an overlay to be written to.
fn of_kind(inventory: &Inventory, kind: &str) -> Vec<String> {
    let asked = asked_by_file_system(kind).iter().flat_map(|name| inventory.implementations(name));
    let mut names: Vec<String> = asked.map(str::to_owned).collect();
    names.push(match inventory.file_system(kind) {
        Found::BuiltIn(module) | Found::Module(module) => module,
        _ => kind.to_owned(),
    });
    names.extend(READ_ONLY.contains(&kind).then(|| "overlay".to_owned()));
    names
}

/// The file system that is mounted here, and the device it is on (a pool of ZFS is none).
fn mounted(directory: &Path) -> Option<(String, PathBuf)> {
    let place = directory.canonicalize().ok()?;
    let mount = devices::mount_at(&place)?;
    let is_meant = mount.source.starts_with("/dev") || mount.kind == "zfs";
    is_meant.then_some((mount.kind, mount.source)).filter(|(kind, _)| is_name(kind))
}

/// The type of the root in a table of fstab(5), if it is on a device.
fn of_fstab(table: &str) -> Option<String> {
    let lines = table.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let root = lines.map(|line| line.split_ascii_whitespace().collect::<Vec<_>>()).find_map(|fields| {
        let is_device = |spec: &str| spec.starts_with("/dev/") || spec.contains('=');
        (fields.get(1) == Some(&"/") && is_device(fields[0])).then(|| fields.get(2).copied())?
    });
    root.filter(|kind| is_name(kind)).map(str::to_owned)
}

fn is_name(kind: &str) -> bool {
    !kind.is_empty()
        && kind != "auto"
        && kind.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// File systems of most roots.
const USUAL: &[&str] = &["ext4", "xfs", "btrfs"];
const READ_ONLY: &[&str] = &["squashfs", "erofs"];
const LARGEST_TABLE: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_the_roots_type() {
        for (table, kind) in [
            ("UUID=1 / f2fs defaults 0 1\n", Some("f2fs")),
            ("# / btrfs\n/dev/sda1 /boot ext2\n/dev/mapper/root\t/\txfs\tnoatime\n", Some("xfs")),
            ("LABEL=x / auto defaults\n", None),
            ("tmpfs / tmpfs defaults\n", None),
            ("UUID=1 /\n", None),
            ("UUID=1 / ../../x\n", None),
            ("", None),
        ] {
            assert_eq!(of_fstab(table).as_deref(), kind, "{table}");
        }
    }

    /// A soft dependency is optional, unless it is what the file system asks of the crypto API.
    #[test]
    fn what_cannot_be_missing_refuses_an_image() {
        let scratch = std::env::temp_dir().join(format!("keyway-soft-{}", std::process::id()));
        let release = scratch.join("lib/modules/6.1");
        std::fs::create_dir_all(&release).unwrap();
        for (name, content) in [
            ("modules.alias", &b"alias fs-f2fs f2fs\nalias crypto-xts xts\n"[..]),
            ("modules.builtin.modinfo", b"aes.alias=crypto-aes\0"),
            ("modules.builtin", b"kernel/crypto/aes.ko\n"),
            ("f2fs.ko", b""),
        ] {
            std::fs::write(release.join(name), content).unwrap();
        }
        for (soft, lacks) in [
            ("lz4", None),
            ("lz4 crc32", Some("lack crc32, which f2fs asks for, for the root's file system, f2fs (here)")),
            ("crypto-x", Some("lack crypto-x, which f2fs asks for,")),
            ("aes", None),
        ] {
            std::fs::write(release.join("modules.softdep"), format!("softdep f2fs pre: {soft}\n")).unwrap();
            let inventory = Inventory::of_release(&scratch, "6.1").unwrap();
            let why = needed(&inventory, "f2fs", "here").err().map(|why| why.message().to_owned());
            let is_as_said = why
                .as_ref()
                .zip(lacks)
                .map_or(why.is_none() && lacks.is_none(), |(why, lacks)| why.contains(lacks));
            assert!(is_as_said, "{soft}: {why:?}");
        }
        std::fs::remove_dir_all(&scratch).unwrap();
    }

    #[test]
    fn what_is_said_counts_alone() {
        let known = |said| match Root::known(said, Path::new("/nonexistent")) {
            Root::Said(kinds) => kinds.join(" "),
            Root::Found { kind, .. } => format!("found {kind}"),
            Root::Unknown => "unknown".to_owned(),
        };
        assert_eq!(known(Some("erofs,squashfs")), "erofs squashfs");
        assert_eq!(known(Some("auto")), "unknown");
        assert_eq!(known(None), "unknown");
    }
}
