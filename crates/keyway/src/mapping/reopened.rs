//! The volume of a mapping, unlocked again: what gives the kernel its key another time.

use super::{MapOptions, Mapping, Unchanged};
use crate::{Admitted, Error, Result, VolumeKey};
use keyway_attach::dm::crypt::{Features, Line};
use keyway_attach::dm::keyring;
use keyway_attach::dm::volume::KeyPlace;
use keyway_crypto::{CipherSpec, Secret};
use keyway_volume::{Layout, Luks, Mapping as Stored, Opened};
use std::fmt;

/// The volume of a mapping, unlocked again (feature `dm`): its header describes what is mapped, and its key is
/// verified. From [`Mapping::reopen`]; the key is wiped when it is dropped.
pub struct Reopened {
    pub(super) header: Luks,
    pub(super) volume_key: Secret,
    digest: u32,
}

impl Mapping {
    /// The LUKS volume that it was made from, with the key that [`Admitted::try_key`] has found there. The mapping has
    /// the device in use, and so it is admitted as one that is shared.
    ///
    /// ```no_run
    /// # use keyway::*;
    /// let mapping = Mapping::find("home")?;
    /// let admitted = Device::open("/dev/sda2")?.admit(&Unlock::new().shared())?;
    /// let key = admitted.try_key(&Key::passphrase("correct horse"))?;
    /// let volume = mapping.reopen(admitted, key)?;
    /// mapping.refresh(Some(&volume), &MapOptions::new().flag(MappingFlag::AllowDiscards))?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::WrongVolumeKey`](crate::ErrorKind::WrongVolumeKey) for a key that was found elsewhere;
    /// [`Unchanged::NoHeader`], [`Unchanged::OtherHeader`].
    pub fn reopen(&self, admitted: Admitted, key: VolumeKey) -> Result<Reopened> {
        match admitted.into_opened(key)? {
            Some(opened) => self.with_opened(opened),
            None => Err(Error::from(Unchanged::NoHeader).at(&self.name())),
        }
    }

    /// The same of a volume that the caller has unlocked.
    pub(super) fn with_opened(&self, opened: Opened) -> Result<Reopened> {
        if !self.was_made_from(opened.luks()) {
            return Err(Error::from(Unchanged::NoHeader).at(&self.name()));
        }
        let (_, line) = self.line(false)?;
        if !is_mapped(opened.layout(), &line) {
            return Err(Error::from(Unchanged::OtherHeader).at(&self.name()));
        }
        let digest = opened.digest();
        let (header, _, volume_key) = opened.into_parts();
        Ok(Reopened { header, volume_key, digest })
    }

    /// Whether it was made from a volume of this version and UUID.
    pub(super) fn was_made_from(&self, header: &Luks) -> bool {
        let version = format!("LUKS{}", header.version());
        self.kind() == Some(&version) && self.volume_uuid().is_some_and(|uuid| uuid == header.uuid())
    }
}

impl Reopened {
    /// Where cryptsetup would put the key.
    pub(super) fn place_key(&self, how: &MapOptions, features: &Features) -> Result<KeyPlace<'_>> {
        let luks2 = (self.header.version() == 2).then(|| (self.header.uuid(), self.digest));
        Ok(KeyPlace::find(!how.without_keyring, &self.volume_key, luks2, features)?)
    }

    /// Adds the key to the keyring, under the name that the mapping refers to.
    pub(super) fn hold_key(&self) -> Result<keyring::VolumeKey> {
        Ok(keyring::VolumeKey::add(self.header.uuid(), self.digest, &self.volume_key)?)
    }
}

#[cfg(feature = "parts")]
impl Mapping {
    /// As [`Mapping::reopen`], of a volume that the caller has unlocked. See there for an example.
    ///
    /// # Errors
    /// Those of [`Mapping::reopen`].
    pub fn reopen_with(&self, opened: Opened) -> Result<Reopened> {
        self.with_opened(opened)
    }

    /// Whether it was made from the volume with this header. See [`Mapping::reopen`] for an example.
    pub fn is_of(&self, header: &Luks) -> bool {
        self.was_made_from(header)
    }

    /// Whether it encrypts with this cipher and this key; `false` where the kernel has the key from its keyring. See
    /// [`Mapping::refresh`].
    ///
    /// # Errors
    /// [`Unchanged::Table`].
    pub fn encrypts_with(&self, cipher: &CipherSpec, key: &Secret) -> Result<bool> {
        use keyway_attach::dm::crypt::Key;
        let (_, line) = self.line(true)?;
        let is_key = match &line.key {
            Key::Bytes(mapped) => mapped.ct_eq(key.expose()),
            Key::Absent => cipher.is_null(),
            Key::InKeyring(_) => false,
        };
        Ok(is_key && CipherSpec::parse(&line.cipher).is_ok_and(|mapped| mapped.means(cipher)))
    }
}

#[cfg(feature = "parts")]
impl Reopened {
    /// Its header and its key. See [`Mapping::reopen`] for an example.
    pub fn into_header(self) -> (Luks, Secret) {
        (self.header, self.volume_key)
    }
}

impl fmt::Debug for Reopened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reopened").field("uuid", &self.header.uuid()).finish_non_exhaustive()
    }
}

/// Whether dm-crypt's table line maps this layout.
fn is_mapped(layout: &Layout, line: &Line) -> bool {
    let [segment] = &layout.segments[..] else { return false };
    let Stored::Crypt { spec, sector_size, iv_tweak, .. } = &segment.mapping else { return false };
    let cipher = CipherSpec::parse(&line.cipher).is_ok_and(|mapped| mapped.means(spec));
    let size = line.options.sector_size.unwrap_or(512) as usize;
    cipher
        && size == sector_size.bytes()
        && line.iv_offset == *iv_tweak
        && line.offset.checked_mul(512) == Some(segment.storage_offset)
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
        let line = Line::parse(b"aes-xts-plain64 00ff 0 8:1 32768 1 sector_size:4096").unwrap();
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
        let of_512 = Line::parse(b"aes-xts-plain64 00ff 0 8:1 32768").unwrap();
        assert!(is_mapped(&layout("aes-xts-plain64", 512, 0, 32768 * 512), &of_512));
        let beyond = Line::parse(b"aes-xts-plain64 00ff 0 8:1 36028797018996736").unwrap();
        assert!(!is_mapped(&layout("aes-xts-plain64", 512, 0, 0), &beyond));
    }
}
