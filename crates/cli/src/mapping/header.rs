//! The header of a mapped volume: at the start of its device, or where `--header` says.

use super::{Mapping, device_path};
use crate::args::{Args, shared};
use crate::device::{self, explain};
use crate::output::failure::{Exit, Failure, Result};
use crate::unlock::KeyOptions;
use crate::unlock::admission::{self, Demands};
use crate::volume::kinds::plain;
use keyway::{Access, Locking};
use keyway_attach::dm::crypt;
use keyway_attach::session::Facts;
use keyway_crypto::{CipherSpec, Secret};
use keyway_volume::{Layout, Luks, Mapping as Stored, Opened};
use std::path::{Path, PathBuf};

/// How to get the header and the key of an open volume again.
#[derive(Debug, Clone)]
pub(crate) struct Reopening {
    /// `--header`.
    pub(crate) header: Option<PathBuf>,
    /// Whether the header is locked.
    pub(crate) locking: Locking,
    /// Where the key comes from.
    pub(crate) key: KeyOptions,
    /// The demands that the header must meet.
    pub(crate) demands: Demands,
    /// `--hash`, for a plain volume.
    pub(crate) hash: Option<String>,
}

impl Reopening {
    pub(crate) fn from_args(args: &Args) -> Result<Self> {
        Ok(Self {
            header: args.path(&shared::HEADER).map(device::resolve),
            locking: device::locking(args),
            key: KeyOptions::from_args(args)?,
            demands: Demands::from_args(args)?,
            hash: args.text(&shared::HASH).map(str::to_owned),
        })
    }

    /// Where the header of the mapping should be.
    pub(crate) fn header_path(&self, mapping: &Mapping, line: &crypt::Line) -> Option<PathBuf> {
        self.header.clone().or_else(|| device_path(&mapping.mapper, line.device))
    }

    /// The LUKS header that the mapping was made from; `None` if the volume is not LUKS, or its
    /// header is elsewhere.
    pub(crate) fn luks(&self, mapping: &Mapping, line: &crypt::Line, access: Access) -> Result<Option<Luks>> {
        let Some((kind @ ("LUKS1" | "LUKS2"), uuid)) = mapping.kind() else { return Ok(None) };
        let Some(path) = self.header_path(mapping, line) else { return Ok(None) };
        let Ok(storage) = device::storage(&path, access) else { return Ok(None) };
        let luks = match Luks::open_with(storage, access, self.locking) {
            Ok(luks) => luks,
            Err(keyway_volume::Error::Format(_)) => return Ok(None),
            Err(error) => return Err(explain::on_device(&path, &error)),
        };
        let is_same =
            format!("LUKS{}", luks.version()) == kind && uuid.is_some_and(|uuid| uuid == luks.uuid());
        Ok(is_same.then_some(luks))
    }

    /// Judges the header of the volume mapped by `line`, and asks for a passphrase until one opens
    /// it. Messages show the path `shown`.
    pub(crate) fn open_again(&self, luks: Luks, line: &crypt::Line, shown: &Path) -> Result<Opened> {
        let opened = self.open_header(luks, shown)?;
        if !is_mapped(opened.layout(), line) {
            let message = format!(
                "The header on {} is not the one that was opened: its data has another cipher or offset.",
                shown.display()
            );
            return Err(Failure::new(Exit::Parameters, message));
        }
        Ok(opened)
    }

    fn open_header(&self, luks: Luks, shown: &Path) -> Result<Opened> {
        luks.check_requirements().map_err(|e| explain::on_device(shown, &e))?;
        let admitted = self.demands.judge(luks, shown, None)?;
        let (volume_key, digest) = self.key.volume_key(admitted.luks(), shown)?;
        admission::open(admitted, shown, volume_key, digest)
    }

    /// The volume key of a session's volume, from its passphrase.
    pub(crate) fn take_session_key(&self, facts: &Facts) -> Result<Secret> {
        match self.session_header(facts, Access::Read)? {
            Some((luks, path)) => self.open_header(luks, &path).map(|opened| opened.into_parts().2),
            None if facts.format != "PLAIN" => {
                let message =
                    format!("The key of {}, a {} volume, cannot be found again.", facts.name, facts.format);
                Err(Failure::new(Exit::Parameters, message))
            }
            None => {
                let (device, hash) = (Path::new(&facts.device), self.hash.as_deref());
                plain::key_again(&self.key, device, facts.key_bits, &facts.hash, hash)
            }
        }
    }

    /// The header of a session's volume, and its path; a plain volume has none.
    pub(crate) fn session_header(&self, facts: &Facts, access: Access) -> Result<Option<(Luks, PathBuf)>> {
        if !facts.format.starts_with("LUKS") {
            return Ok(None);
        }
        let path = if facts.header.is_empty() { &facts.device } else { &facts.header };
        let path = self.header.clone().unwrap_or_else(|| PathBuf::from(path));
        let luks = Luks::open_with(device::storage(&path, access)?, access, self.locking);
        let luks = luks.map_err(|e| explain::on_device(&path, &e))?;
        if luks.uuid() != facts.uuid {
            return Err(no_header(&facts.name));
        }
        Ok(Some((luks, path)))
    }
}

/// Whether dm-crypt's table line maps this layout.
fn is_mapped(layout: &Layout, line: &crypt::Line) -> bool {
    let [segment] = &layout.segments[..] else { return false };
    let Stored::Crypt { spec, sector_size, iv_tweak, .. } = &segment.mapping else { return false };
    let cipher = CipherSpec::parse(&line.cipher).is_ok_and(|mapped| mapped.means(spec));
    let size = line.options.sector_size.unwrap_or(512) as usize;
    cipher
        && size == sector_size.bytes()
        && line.iv_offset == *iv_tweak
        && line.offset.checked_mul(512) == Some(segment.storage_offset)
}

/// cryptsetup's message for a mapping that is not LUKS, or whose header is elsewhere.
pub(crate) fn no_header(name: &str) -> Failure {
    let message = format!("{name} is not active LUKS device name or header is missing.");
    Failure::new(Exit::Parameters, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyway_crypto::SectorSize;
    use keyway_volume::MappedSegment;

    fn layout(cipher: &str, bytes: u32, iv_tweak: u64, storage_offset: u64) -> Layout {
        let (spec, sector_size) = (CipherSpec::parse(cipher).unwrap(), SectorSize::new(bytes).unwrap());
        let mapping = Stored::Crypt { spec, sector_size, iv_tweak, iv_large_sectors: false };
        let segment =
            MappedSegment { plaintext_start: 0, length: None, storage_offset, mapping, second_key: false };
        Layout::new(vec![segment])
    }

    #[test]
    fn a_header_that_describes_other_data_than_is_mapped_is_noticed() {
        let line = crypt::Line::parse(b"aes-xts-plain64 00ff 0 8:1 32768 1 sector_size:4096").unwrap();
        let as_mapped = layout("aes-xts-plain64", 4096, 0, 32768 * 512);
        assert!(is_mapped(&as_mapped, &line));
        assert!(is_mapped(&layout("capi:xts(aes)-plain64", 4096, 0, 32768 * 512), &line));
        for other in [
            layout("cipher_null-ecb", 4096, 0, 32768 * 512),
            layout("aes-xts-plain", 4096, 0, 32768 * 512),
            layout("aes-xts-plain64", 512, 0, 32768 * 512),
            layout("aes-xts-plain64", 4096, 8, 32768 * 512),
            layout("aes-xts-plain64", 4096, 0, 32768 * 512 + 512),
            layout("aes-xts-plain64", 4096, 0, 0),
            Layout::new(Vec::new()),
            Layout::new([as_mapped.segments.clone(), as_mapped.segments.clone()].concat()),
            Layout::new(vec![MappedSegment { mapping: Stored::Linear, ..as_mapped.segments[0].clone() }]),
        ] {
            assert!(!is_mapped(&other, &line), "{other:?}");
        }
        let of_512 = crypt::Line::parse(b"aes-xts-plain64 00ff 0 8:1 32768").unwrap();
        assert!(is_mapped(&layout("aes-xts-plain64", 512, 0, 32768 * 512), &of_512));
        let beyond = crypt::Line::parse(b"aes-xts-plain64 00ff 0 8:1 36028797018996736").unwrap();
        assert!(!is_mapped(&layout("aes-xts-plain64", 512, 0, 0), &beyond));
    }
}
