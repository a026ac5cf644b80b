//! What our own image cannot bring up: refused or said when the image is made, with what helps.

use crate::device::found;
use crate::output::failure::{Exit, Failure, Result};
use keyway_volume::device::layers::{Layer, below};
use std::ffi::OsStr;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// Refuses a root that more than a mount is needed for; `device` is what is mounted.
pub(super) fn check_root(device: &Path) -> Result<()> {
    match judged(&layers_of(device)) {
        None => Ok(()),
        Some((layer, is_below)) => {
            let (device, helps) = (device.display(), helps(is_below));
            Err(refused(&format!(
                "The root, {device}, is on {layer}, which an image of nothing but keyway does not bring up. {helps}"
            )))
        }
    }
}

/// Refuses file systems that need more than a module.
pub(super) fn check_kind(kind: &str) -> Result<()> {
    let Some((_, name)) = OTHERS.iter().find(|(known, _)| *known == kind) else { return Ok(()) };
    let helps = helps(false);
    Err(refused(&format!(
        "The root is {name}, which an image of nothing but keyway does not bring up. {helps}"
    )))
}

/// Judges the volume to be unlocked, if it is a device of this machine: refused if the image is for
/// this machine, else said.
pub(super) fn check_volume(spec: &str, is_for_this_machine: bool) -> Result<()> {
    let layers = found::find(OsStr::new(spec)).map(|device| layers_of(&device)).unwrap_or_default();
    let Some(layer) = layers.iter().find(|layer| **layer != Layer::Crypt) else { return Ok(()) };
    let line = format!(
        "On this machine {spec} is on {layer}, which keyway does not bring up, and nothing does before it at boot. {}",
        helps(true)
    );
    if is_for_this_machine {
        return Err(refused(&line));
    }
    say!("WARNING: {line}");
    Ok(())
}

/// The first layer that has to be brought up by somebody else, and whether that is before a volume is
/// opened.
fn judged(layers: &[Layer]) -> Option<(Layer, bool)> {
    let is_other = |layer: &Layer| *layer != Layer::Crypt;
    let crypt = layers.iter().position(|layer| *layer == Layer::Crypt);
    let below = crypt.and_then(|at| layers[at..].iter().copied().find(is_other));
    below.map(|layer| (layer, true)).or_else(|| Some((layers.iter().copied().find(is_other)?, false)))
}

fn helps(is_below: bool) -> &'static str {
    match is_below {
        false => {
            "Wrap the distribution's image, which does: \"keyway boot initramfs /boot/initrd.img -o initrd.keyway\" opens the \
             volume, and that image's own init goes on."
        }
        true => {
            "In the distribution's own image, \"keyway unlock\" works as a command once that is up: from a hook or \
             script behind those of lvm2, mdadm or multipath."
        }
    }
}

fn layers_of(device: &Path) -> Vec<Layer> {
    let found = std::fs::metadata(device).ok().filter(|found| found.file_type().is_block_device());
    found.map(|it| below((rustix::fs::major(it.rdev()), rustix::fs::minor(it.rdev())))).unwrap_or_default()
}

fn refused(line: &str) -> Failure {
    Failure::new(Exit::Parameters, line.to_owned())
}

/// What blkid or mount call it, and its name.
const OTHERS: &[(&str, &str)] = &[
    ("zfs", "ZFS, whose pools its own tools import"),
    ("zfs_member", "ZFS, whose pools its own tools import"),
    ("LVM2_member", "LVM"),
    ("linux_raid_member", "md RAID"),
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
            (&[Layer::Lvm, Layer::Crypt], Some((Layer::Lvm, false))),
            (&[Layer::Crypt, Layer::Lvm], Some((Layer::Lvm, true))),
            (&[Layer::Lvm, Layer::Crypt, Layer::Md], Some((Layer::Md, true))),
            (&[Layer::Md], Some((Layer::Md, false))),
        ] {
            assert_eq!(judged(layers), judgement, "{layers:?}");
        }
    }

    #[test]
    fn what_needs_more_than_a_module_is_named() {
        let refused = |kind| check_kind(kind).unwrap_err().message().to_owned();
        assert!(
            refused("zfs")
                .starts_with("The root is ZFS, whose pools its own tools import, which an image of")
        );
        assert!(refused("LVM2_member").contains("keyway boot initramfs /boot/initrd.img -o initrd.keyway"));
        assert!(check_kind("btrfs").is_ok());
        assert!(check_volume("/nonexistent", true).is_ok());
    }
}
