//! The partitions of an image, where one of them is meant: `disk.img#2`, `nbd://host/disk#2`.

use crate::device::location::url;
use crate::device::storage;
use crate::output::failure::{Exit, Failure};
use crate::output::shell;
use crate::output::size::human;
use keyway::devices::{self, Partition, Partitions};
use keyway::storage::{File, NoPartition, PartitionName, Storage};
use keyway::{Access, SignatureKind as Kind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The failure for a partition that is not there, with those that are.
pub(super) fn missing(path: &Path, missing: &NoPartition) -> Failure {
    let line = format!("Device {} does not exist: {missing}.", path.display());
    let failure = Failure::new(Exit::Device, line);
    match instead_of(&missing.image) {
        Some(listed) => failure.hinting(listed),
        None => failure,
    }
}

/// What to name instead of an image with partitions; `None` if it has none.
pub(super) fn instead_of(image: &Path) -> Option<String> {
    let disk = whole(image)?;
    let disk = &*disk;
    let table = devices::partitions(disk).ok().flatten().filter(|table| !table.all.is_empty())?;
    let is_volume = |it: &&Partition| {
        it.content(disk).is_ok_and(|found| found.is_some_and(|it| it.kind == Kind::Encrypted))
    };
    let first = table.all.iter().find(is_volume).or_else(|| table.all.first())?;
    let device = shell::word(&name(image, first).to_string_lossy());
    let mut text = format!("Its partitions ({}); \"keyway inspect {device}\" shows one:", table.scheme);
    let rows: Vec<_> = table.all.iter().map(|it| row(image, it, &table, disk)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (names, sizes) = (width(0), width(1));
    for [name, size, rest] in &rows {
        text.push_str(&format!("\n  {name:<names$}  {size:>sizes$}  {rest}"));
    }
    Some(text)
}

/// The image itself, or what is behind its URL; `None` for a partition.
fn whole(image: &Path) -> Option<Arc<dyn Storage>> {
    match url(image) {
        Some(address) if PartitionName::of_url(address).is_some() => None,
        Some(_) => storage(image, Access::Probe).ok(),
        None if PartitionName::of(image).is_some() => None,
        None => Some(Arc::new(File::open(image).ok()?)),
    }
}

fn row(image: &Path, partition: &Partition, table: &Partitions, disk: &dyn Storage) -> [String; 3] {
    let bytes = &partition.bytes;
    let content = match partition.content(disk) {
        Ok(found) => found.map_or("nothing known", |signature| signature.name),
        Err(_) => "unreadable",
    };
    let rest = format!("from sector {}, {}: {content}", bytes.start / table.sector, partition.purpose);
    [name(image, partition).display().to_string(), human(bytes.end - bytes.start), rest]
}

/// What the partition is called: the kernel's device for it, where there is one.
fn name(image: &Path, partition: &Partition) -> PathBuf {
    let named = PartitionName { image: image.to_owned(), number: partition.number };
    devices::partition(image, partition.number).unwrap_or_else(|| named.at(image))
}
