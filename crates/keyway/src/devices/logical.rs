//! Logical volumes of LVM's, linear and striped, mapped where its programs are not there (feature `dm`).

use crate::{Error, Result};
use keyway_attach::dm::{DeviceNumber, Flags, Mapper, Target, node, uuid};
use std::path::{Path, PathBuf};

/// A piece of a logical volume, in sectors of 512 bytes (feature `dm`): for [`map_logical_volume`].
#[derive(Debug, Clone, Copy)]
pub struct LogicalPiece<'a> {
    /// Where it begins in the volume.
    pub start: u64,
    /// Its length.
    pub length: u64,
    /// How much is on one device before the next one's turn, where there are several.
    pub stripe: u64,
    /// The devices, and where it begins on each.
    pub places: &'a [(String, u64)],
}

/// The node of the logical volume with this name and UUID of its mapping, if it is active. See [`map_logical_volume`] for
/// an example.
///
/// # Errors
/// Another mapping has that name; [`ErrorKind::PermissionDenied`](crate::ErrorKind::PermissionDenied) for users other than
/// root.
pub fn logical_volume(name: &str, uuid: &str) -> Result<Option<PathBuf>> {
    let node = node::path(name)?;
    match Mapper::open()?.status(name) {
        Ok(info) if info.uuid == uuid => Ok(Some(node)),
        Ok(_) => Err(Error::refused("another mapping has that name")),
        Err(_) => Ok(None),
    }
}

/// Maps a logical volume under this name, with the UUID by which LVM's programs take it over; its node.
///
/// ```no_run
/// use keyway::devices::{self, LogicalPiece};
/// # let uuid = "LVM-…";
/// if devices::logical_volume("group-root", uuid)?.is_none() {
///     let places = [("/dev/mapper/disk".to_owned(), 2048)];
///     let whole = LogicalPiece { start: 0, length: 1 << 21, stripe: 0, places: &places };
///     let node = devices::map_logical_volume("group-root", uuid, &[whole], false)?;
///     println!("{} is there", node.display());
/// }
/// # Ok::<(), keyway::Error>(())
/// ```
///
/// # Errors
/// The kernel's.
pub fn map_logical_volume(
    name: &str,
    uuid: &str,
    pieces: &[LogicalPiece<'_>],
    read_only: bool,
) -> Result<PathBuf> {
    let targets = pieces.iter().map(target).collect::<keyway_attach::Result<Vec<_>>>()?;
    let flags = Flags { read_only, ..Flags::default() };
    Mapper::open()?.create(name, uuid, &targets, flags)?;
    Ok(node::path(name)?)
}

/// Removes the mapping of a logical volume that nobody uses. See [`map_logical_volume`] for an example of one.
///
/// # Errors
/// It is not of LVM's; the kernel's.
pub fn unmap_logical_volume(name: &str) -> Result<()> {
    let mapper = Mapper::open()?;
    match uuid::is_lvm(&mapper.status(name)?.uuid) {
        true => Ok(mapper.remove(name, false)?),
        false => Err(Error::refused("another mapping has that name")),
    }
}

fn target(piece: &LogicalPiece<'_>) -> keyway_attach::Result<Target> {
    let number = |(device, sector): &(String, u64)| Ok((DeviceNumber::at(Path::new(device))?, *sector));
    let places = piece.places.iter().map(number).collect::<keyway_attach::Result<Vec<_>>>()?;
    Ok(match places[..] {
        [(device, sector)] => Target::linear(piece.start, piece.length, device, sector),
        _ => Target::striped(piece.start, piece.length, piece.stripe, &places),
    })
}
