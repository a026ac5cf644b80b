//! The root file system, for an image without another /init: mounted as the kernel's command line says.

use super::mounting::{c_string, mount_any};
use super::{Plan, find, lvm, md};
use crate::device::found;
use keyway::Mapping;
use keyway::devices::{self, BlockDevice};
use keyway::storage::File;
use keyway_attach::initramfs::Initramfs;
use keyway_boot::root::{RDONLY, Root};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_move, unmount};
use std::ffi::{CStr, OsStr};
use std::fs;
use std::path::Path;

/// The device that the kernel's command line names, else the first volume.
pub(super) fn device(wanted: &Root, plan: &Plan) -> Option<String> {
    let first =
        || Some(Mapping::path_of(&plan.entries.first()?.name.to_string_lossy()).display().to_string());
    wanted.device.clone().or_else(first)
}

/// How it is to be mounted, where that is not the usual: lines for a dry run.
pub(super) fn in_words(wanted: &Root) -> String {
    let mut text = String::new();
    if let Some(resume) = &wanted.resume {
        text += &format!("# resumes a system that was suspended to {}\n", resume.device);
    }
    if !wanted.kinds.is_empty() {
        text += &format!("# the root is {}\n", wanted.kinds.join(" or "));
    }
    if !wanted.options.data.is_empty() {
        text += &format!("# options of its file system: {}\n", wanted.options.data);
    }
    let flags = MountFlags::from_bits_retain(wanted.options.flags).difference(MountFlags::RDONLY);
    if !flags.is_empty() {
        text += &format!(
            "# its flags: {}\n",
            flags.iter_names().map(|(name, _)| name).collect::<Vec<_>>().join(" ")
        );
    }
    if wanted.overlay {
        text += "# writes go to memory\n";
    }
    text
}

/// Mounts it on `place`; a failure is told in words.
pub(super) fn mount_on(proof: &Initramfs, place: &str, wanted: &Root, plan: &Plan) -> Result<(), String> {
    let spec = device(wanted, plan).ok_or(NOTHING_TO_START)?;
    let found = find::reach(OsStr::new(&spec), plan.waits.needed, plan.below().of_system(plan.opens()));
    let node = found.map_err(|why| format!("root={why}"))?;
    lvm::refuse_unencrypted(&node, plan.opens()).map_err(|why| format!("root={spec}: {why}"))?;
    for why in &wanted.not_obeyed {
        say!("keyway: {why}.");
    }
    let _ = fs::create_dir_all(place);
    let data = Some(&wanted.options.data).filter(|data| !data.is_empty());
    let data = data.and_then(|data| c_string(data));
    let mut flags = MountFlags::from_bits_retain(wanted.options.flags);
    // What is below an overlay stays as it is.
    flags.set(MountFlags::from_bits_retain(RDONLY), flags.contains(MountFlags::RDONLY) || wanted.overlay);
    if wanted.kinds.is_empty() || wanted.kinds.iter().any(|kind| kind == BTRFS) {
        gather_btrfs(proof, &node);
    }
    let mounted = match &wanted.kinds[..] {
        [] => mount_any(&node, Path::new(place), flags, data.as_ref()),
        kinds => mount_first(&node, place, kinds, flags, data.as_deref()),
    };
    mounted.map_err(|why| format!("{} cannot be mounted: {why}{}", node.display(), instead(&node)))?;
    if wanted.overlay {
        cover(proof, place).map_err(|why| format!("the root cannot get an overlay in memory: {why}"))?;
    }
    Ok(())
}

/// What a root is that cannot be mounted, if that helps: the end of a sentence.
fn instead(node: &Path) -> &'static str {
    match found::has_luks(node) {
        Some(true) => ENCRYPTED,
        _ => [lvm::instead(node), md::instead(node)]
            .into_iter()
            .find(|text| !text.is_empty())
            .unwrap_or_default(),
    }
}

/// A root of btrfs may be over several devices, which udev would tell the kernel of.
fn gather_btrfs(proof: &Initramfs, root: &Path) {
    let holds = |node: &Path| {
        let found = File::open(node).and_then(|device| devices::file_system(&device));
        found.ok().flatten().is_some_and(|signature| signature.blkid == BTRFS)
    };
    if !holds(root) {
        return;
    }
    for device in devices::all().iter().map(BlockDevice::node).filter(|node| holds(node)) {
        if let Err(why) = proof.btrfs_part(device) {
            say!("keyway: {why}.");
        }
    }
}

/// Mounts with the first of these file systems that works.
fn mount_first(
    node: &Path,
    place: &str,
    kinds: &[String],
    flags: MountFlags,
    data: Option<&CStr>,
) -> Result<(), String> {
    let mut failures = Vec::new();
    for kind in kinds {
        match mount(node, place, kind, flags, data) {
            Ok(()) => return Ok(()),
            Err(Errno::NODEV) => {
                failures.push(format!("this kernel has no {kind}, and the image no module of it"))
            }
            Err(error) => failures.push(format!("as {kind}: {error}")),
        }
    }
    Err(failures.join("; "))
}

/// Puts an overlay over what is mounted on `place`: what is written goes to memory.
fn cover(_proof: &Initramfs, place: &str) -> Result<(), String> {
    let named = |what: &'static str| move |error: Errno| format!("{what}: {error}");
    fs::create_dir_all(MEMORY).map_err(|error| error.to_string())?;
    mount("overlay", MEMORY, "tmpfs", MountFlags::empty(), c"mode=0755").map_err(named("tmpfs"))?;
    let [upper, work, merged] = ["upper", "work", "root"].map(|name| format!("{MEMORY}/{name}"));
    for folder in [&upper, &work, &merged] {
        fs::create_dir(folder).map_err(|error| error.to_string())?;
    }
    let options = c_string(&format!("lowerdir={place},upperdir={upper},workdir={work}"));
    let covered = mount("overlay", &*merged, "overlay", MountFlags::empty(), options.as_deref());
    covered.map_err(|error| match error {
        Errno::NODEV => "this kernel has no overlay, and the image no module of it".to_owned(),
        error => error.to_string(),
    })?;
    // The overlay keeps what it consists of, mounted or not.
    unmount(place, UnmountFlags::DETACH).map_err(named("unmounting the lower file system"))?;
    mount_move(&*merged, place).map_err(named("moving the overlay"))?;
    let _ = unmount(MEMORY, UnmountFlags::DETACH);
    let _ = fs::remove_dir(MEMORY);
    Ok(())
}

pub(super) const NOTHING_TO_START: &str =
    "there is nothing to start: no /init in the image, no root= on the kernel's command line";
const ENCRYPTED: &str = "; it is a LUKS volume: rd.luks.name=UUID=NAME or keyway.device= opens it, and root=/dev/mapper/NAME is what it holds";
const BTRFS: &str = "btrfs";
const MEMORY: &str = "/run/keyway-overlay";
