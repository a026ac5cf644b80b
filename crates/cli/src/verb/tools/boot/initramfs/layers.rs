//! What our own image cannot bring up: refused or said when the image is made, with what helps.

use crate::device::found;
use crate::output::failure::{Exit, Failure, Result};
use keyway::devices::{self, Array, Layer};
use std::ffi::OsStr;
use std::path::Path;

/// Refuses a root that more than a mount is needed for; `device` is what is mounted.
pub(super) fn check_root(device: &Path) -> Result<()> {
    let (layers, shown) = (devices::layers(device), device.display());
    if let Some((layer, is_below)) = judged(&layers) {
        let helps = helps(is_below);
        return Err(refused(&format!(
            "The root, {shown}, is on {layer}, which an image with only keyway does not bring up. {helps}"
        )));
    }
    if let Some(why) = other(device, &layers) {
        return Err(refused(&format!("The root, {shown}, is on {why}. {}", helps(false))));
    }
    let named = [(Layer::Lvm, "a logical volume"), (Layer::Md, "an array of md RAID")];
    let found = named.iter().find(|(layer, _)| layers.contains(layer) && !layers.contains(&Layer::Crypt));
    if let Some((_, what)) = found {
        say!(
            "WARNING: The root, {shown}, is on {what} that is not within an encrypted volume: an image that \
             opens volumes does not start a system from there."
        );
    }
    Ok(())
}

/// Refuses file systems that need more than a module.
pub(super) fn check_kind(kind: &str) -> Result<()> {
    if let Some((_, what)) = HOLDERS.iter().find(|(known, _)| *known == kind) {
        let line = format!(
            "{kind} is not a file system, but marks a part of {what}: --rootfstype takes the root's \
                     file system."
        );
        return Err(refused(&line));
    }
    let Some((_, name)) = OTHERS.iter().find(|(known, _)| *known == kind) else { return Ok(()) };
    let helps = helps(false);
    Err(refused(&format!("The root is {name}, which an image with only keyway does not bring up. {helps}")))
}

/// Judges the volume to be unlocked, if it is a device of this machine: refused if the image is for
/// this machine, else said.
pub(super) fn check_volume(spec: &str, is_for_this_machine: bool) -> Result<()> {
    let Some(device) = found::find(OsStr::new(spec)) else { return Ok(()) };
    let layers = devices::layers(&device);
    let what = match layers.iter().find(|layer| !is_ours(layer)) {
        Some(layer) => {
            Some(format!("{layer}, which neither keyway nor anything before it at boot brings up"))
        }
        None => other(&device, &layers),
    };
    let Some(what) = what else { return Ok(()) };
    let line = format!("On this machine {spec} is on {what}. {}", helps(true));
    if is_for_this_machine {
        return Err(refused(&line));
    }
    say!("WARNING: {line}");
    Ok(())
}

/// The first layer that has to be brought up by somebody else, and whether that is before a volume is
/// opened.
fn judged(layers: &[Layer]) -> Option<(Layer, bool)> {
    let is_other = |layer: &Layer| !is_ours(layer);
    let crypt = layers.iter().position(|layer| *layer == Layer::Crypt);
    let below = crypt.and_then(|at| layers[at..].iter().copied().find(is_other));
    below.map(|layer| (layer, true)).or_else(|| Some((layers.iter().copied().find(is_other)?, false)))
}

/// Layers that "keyway unlock" brings up; of LVM's, linear and striped volumes, of md's, what the kernel assembles alone.
fn is_ours(layer: &Layer) -> bool {
    matches!(layer, Layer::Crypt | Layer::Lvm | Layer::Md)
}

/// What of these layers "keyway unlock" does not bring up all the same.
fn other(device: &Path, layers: &[Layer]) -> Option<String> {
    other_logical(device, layers).or_else(|| devices::arrays(device).iter().find_map(other_array))
}

/// What of an array needs more than the kernel.
fn other_array(array: &Array) -> Option<String> {
    let name = &array.name;
    // The container has the kind ("external:imsm"), its arrays the container's name ("external:/md127/0").
    match array.metadata.starts_with("external:") {
        true => Some(format!("the array {name} of a controller's BIOS")),
        false if array.has_journal => Some(format!("the array {name}, which has a journal of writes")),
        false if array.is_reshaped => Some(format!("the array {name}, which is being reshaped")),
        false if array.is_shared => Some(format!("the array {name}, which a cluster shares")),
        false if !PERSONALITIES.iter().any(|(level, _)| *level == array.level) => {
            Some(format!("the array {name} of the level {}", array.level))
        }
        false => None,
    }
}

/// The modules of the kernel for arrays that a device of this machine is on, and the array of each.
pub(super) fn personalities(device: &Path) -> Vec<(&'static str, String)> {
    let module = |array: Array| {
        let (_, module) = PERSONALITIES.iter().find(|(level, _)| *level == array.level)?;
        Some((*module, array.name))
    };
    devices::arrays(device).into_iter().filter_map(module).collect()
}

/// A logical volume below the device that is of another kind, as the kernel's tables tell; without the rights to see
/// them, that is said.
fn other_logical(device: &Path, layers: &[Layer]) -> Option<String> {
    if !layers.contains(&Layer::Lvm) {
        return None;
    }
    match devices::other_logical_volume(device) {
        Ok(other) => other.map(|(name, kind)| {
            format!(
                "the logical volume {name} of the kind {kind}: keyway brings up linear and striped ones, no snapshots, \
                 RAID, caches or thin volumes"
            )
        }),
        Err(why) => {
            say!(
                "WARNING: {} is on LVM, and keyway brings up only linear and striped volumes; which kind this \
                 is, is unknown here: {why}.",
                device.display()
            );
            None
        }
    }
}

fn helps(is_below: bool) -> &'static str {
    match is_below {
        false => {
            "Wrap the distribution's image, which does: \"keyway boot initramfs /boot/initrd.img -o initrd.keyway\" opens the \
             volume, and that image's own init goes on."
        }
        true => {
            "In the distribution's own image, \"keyway unlock\" works as a command once that is up: from a \
             hook or script that runs after those of lvm2, mdadm or multipath."
        }
    }
}

fn refused(line: &str) -> Failure {
    Failure::new(Exit::Parameters, line.to_owned())
}

/// What blkid calls it, and what it is a part of.
const HOLDERS: &[(&str, &str)] = &[("LVM2_member", "LVM"), ("linux_raid_member", "md RAID")];
/// Levels, and the modules that have them.
const PERSONALITIES: &[(&str, &str)] = &[
    ("linear", "linear"),
    ("raid0", "raid0"),
    ("raid1", "raid1"),
    ("raid4", "raid456"),
    ("raid5", "raid456"),
    ("raid6", "raid456"),
    ("raid10", "raid10"),
];
/// What blkid or mount call it, and its name.
const OTHERS: &[(&str, &str)] = &[
    ("zfs", "ZFS, whose pools its own tools import"),
    ("zfs_member", "ZFS, whose pools its own tools import"),
    ("bcache", "bcache"),
    ("nfs", "on a network"),
    ("nfs4", "on a network"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_else_has_to_bring_up() {
        for (layers, judgement) in [
            (&[][..], None),
            (&[Layer::Crypt], None),
            (&[Layer::Lvm, Layer::Crypt], None),
            (&[Layer::Crypt, Layer::Lvm], None),
            (&[Layer::Lvm, Layer::Multipath], Some((Layer::Multipath, false))),
            (&[Layer::Lvm, Layer::Crypt, Layer::Md], None),
            (&[Layer::Lvm, Layer::Crypt, Layer::Bcache], Some((Layer::Bcache, true))),
            (&[Layer::Md], None),
        ] {
            assert_eq!(judged(layers), judgement, "{layers:?}");
        }
    }

    #[test]
    fn arrays_that_the_kernel_does_not_assemble_alone_are_named() {
        let of_level = |level: &str, metadata: &str, has_journal, is_shared| {
            let (name, level) = ("md0".to_owned(), level.to_owned());
            other_array(&Array {
                name,
                level,
                metadata: metadata.to_owned(),
                has_journal,
                is_shared,
                is_reshaped: false,
            })
        };
        let array =
            |metadata: &str, has_journal, is_shared| of_level("raid5", metadata, has_journal, is_shared);
        assert_eq!(array("1.2", false, false), None);
        let of_bios = array("external:/md127/0", false, false);
        assert_eq!(of_bios.unwrap(), "the array md0 of a controller's BIOS");
        let array_of = |is_reshaped| Array {
            name: "md0".to_owned(),
            level: "raid5".to_owned(),
            metadata: "1.2".to_owned(),
            has_journal: false,
            is_shared: false,
            is_reshaped,
        };
        assert_eq!(other_array(&array_of(true)).unwrap(), "the array md0, which is being reshaped");
        let multipath = of_level("multipath", "1.2", false, false);
        assert_eq!(multipath.unwrap(), "the array md0 of the level multipath");
        assert_eq!(array("1.2", true, false).unwrap(), "the array md0, which has a journal of writes");
        assert_eq!(array("1.2", false, true).unwrap(), "the array md0, which a cluster shares");
    }

    #[test]
    fn what_needs_more_than_a_module_is_named() {
        let refused = |kind| check_kind(kind).unwrap_err().message().to_owned();
        assert!(
            refused("zfs")
                .starts_with("The root is ZFS, whose pools its own tools import, which an image with")
        );
        assert!(refused("bcache").contains("keyway boot initramfs /boot/initrd.img -o initrd.keyway"));
        assert!(
            refused("linux_raid_member")
                .starts_with("linux_raid_member is not a file system, but marks a part of md RAID")
        );
        assert!(
            refused("LVM2_member").starts_with("LVM2_member is not a file system, but marks a part of LVM")
        );
        assert!(check_kind("btrfs").is_ok());
        assert!(check_volume("/nonexistent", true).is_ok());
    }
}
