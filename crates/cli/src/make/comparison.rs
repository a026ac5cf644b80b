//! Compares a volume's plaintext with an image, and says what was compared.

use crate::device::input::Input;
use crate::make::new_volume;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::paint::printable_lines;
use crate::output::progress::{self, Progress};
use crate::output::size::human;
use crate::output::stdio;
use crate::output::transfer;
use keyway::parts::{Holes, Source};
use keyway::storage::Storage;
use keyway::stream::{self, Comparison, ImageHoles, Unneeded};
use std::io;
use std::path::Path;

/// Compares all that the image uses, and prints how much that was. A difference is a failure.
pub(crate) fn compare(
    image: &mut Input,
    holes: ImageHoles,
    volume: &dyn Storage,
    device: &Path,
    progress: Progress,
) -> Result<()> {
    let (name, len) = (image.to_string(), image.len());
    let unneeded = image.storage().map(|storage| new_volume::view(holes, storage, &name));
    let unneeded = unneeded.transpose()?.flatten();
    let used = unneeded.as_ref().map(Unneeded::used);
    let (source, kept) = match &used {
        Some(used) => (Source::Storage(used, 0..used.len()), Holes::Keep),
        None if holes == ImageHoles::All => (image.source(), Holes::Keep),
        None => (image.source(), Holes::Fill),
    };
    let compared =
        progress::watch(progress, device, len, |meter| stream::compare(source, kept, volume, meter));
    let compared = compared.map_err(|failure| match failure {
        stream::Failure::Write { at, source } => {
            transfer::failed(stream::Failure::Read { at, source }, &device.display(), &name)
        }
        failure => transfer::failed(failure, &name, &device.display()),
    })?;
    let padding = padding(volume, compared.length)
        .map_err(|e| Failure::new(Exit::Device, format!("Cannot read {}: {e}.", device.display())))?;
    let outcome = Outcome { compared, holes, volume: volume.len(), padding, device, name: &name };
    match outcome.difference() {
        Some(difference) => Err(Failure::new(Exit::Parameters, difference)),
        None => stdio::print(&printable_lines(&outcome.equal())),
    }
}

/// The zeros after an image of `length` bytes, up to the end of a sector; 0 if something else is
/// there.
fn padding(volume: &dyn Storage, length: u64) -> io::Result<u64> {
    let end = length.next_multiple_of(volume.unit()).min(volume.len());
    let mut rest = vec![0; end.saturating_sub(length) as usize];
    if !rest.is_empty() {
        volume.read_at(&mut rest, length)?;
    }
    Ok(if rest.iter().all(|byte| *byte == 0) { rest.len() as u64 } else { 0 })
}

/// "3 zero bytes".
pub(crate) fn zeros(bytes: u64) -> String {
    format!("{bytes} zero byte{}", if bytes == 1 { "" } else { "s" })
}

struct Outcome<'a> {
    compared: Comparison,
    holes: ImageHoles,
    /// The plaintext's length, and how many zeros in it fill the sector that the image ends in.
    volume: u64,
    padding: u64,
    device: &'a Path,
    name: &'a str,
}

impl Outcome<'_> {
    fn difference(&self) -> Option<String> {
        let difference = self.compared.difference?;
        let (device, name, length) = (self.device.display(), self.name, self.compared.length);
        Some(if difference.first == self.volume {
            format!("{device} is shorter than {name}: it has room for {} bytes of {length}.", self.volume)
        } else {
            let bytes = if difference.bytes == 1 { "byte" } else { "bytes" };
            format!(
                "{device} differs from {name} in {} {bytes}, the first at byte {}.",
                difference.bytes, difference.first
            )
        })
    }

    fn equal(&self) -> String {
        let Comparison { length, skipped, .. } = self.compared;
        let mut left_out = Vec::new();
        if skipped > 0 {
            let kind = if self.holes == ImageHoles::All { "in holes" } else { "free in its file system" };
            left_out.push(format!("{} {kind}", human(skipped)));
        }
        // A sector that the image ends in is no room of its own.
        let rest = self.volume.saturating_sub(length + self.padding);
        if rest > 0 {
            left_out.push(format!("{} after its end", human(rest)));
        }
        let left_out =
            if left_out.is_empty() { String::new() } else { format!("; left out: {}", left_out.join(", ")) };
        let padding = match self.padding {
            0 => String::new(),
            bytes => format!(", and {} after it", zeros(bytes)),
        };
        let compared = human(length - skipped);
        format!(
            "{} contains the content of {}: {compared} compared{padding}{left_out}.\n",
            self.device.display(),
            self.name
        )
    }
}
