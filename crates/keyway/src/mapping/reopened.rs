//! The volume of a mapping, unlocked again: what gives the kernel its key another time.

use super::{MapOptions, Mapping, Unchanged};
use crate::{Admitted, Result, VolumeKey};
use keyway_attach::dm::crypt::{Features, Line};
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
    layout: Layout,
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
            None => Err(self.stays(Unchanged::NoHeader)),
        }
    }

    /// The same of a volume that the caller has unlocked.
    pub(super) fn with_opened(&self, opened: Opened) -> Result<Reopened> {
        if !self.was_made_from(opened.luks()) {
            return Err(self.stays(Unchanged::NoHeader));
        }
        let (_, line) = self.line(false)?;
        let volume = Reopened::of(opened);
        volume.check_is_of(self, &line)?;
        Ok(volume)
    }

    /// Whether it was made from a volume of this version and UUID.
    pub(super) fn was_made_from(&self, header: &Luks) -> bool {
        let version = format!("LUKS{}", header.version());
        self.kind() == Some(&version) && self.volume_uuid().is_some_and(|uuid| uuid == header.uuid())
    }
}

impl Reopened {
    fn of(opened: Opened) -> Self {
        let digest = opened.digest();
        let (header, layout, volume_key) = opened.into_parts();
        Self { header, volume_key, digest, layout }
    }

    /// Refuses another mapping's: its key would turn this one's data into noise. The line is the one to be replaced.
    pub(super) fn check_is_of(&self, mapping: &Mapping, line: &Line) -> Result<()> {
        match (mapping.was_made_from(&self.header), is_mapped(&self.layout, line)) {
            (true, true) => Ok(()),
            (false, _) => Err(mapping.stays(Unchanged::NoHeader)),
            (true, false) => Err(mapping.stays(Unchanged::OtherHeader)),
        }
    }

    /// Where cryptsetup would put the key.
    pub(super) fn place_key(&self, how: &MapOptions, features: &Features) -> Result<KeyPlace<'_>> {
        let luks2 = (self.header.version() == 2).then(|| (self.header.uuid(), self.digest));
        Ok(KeyPlace::find(!how.without_keyring, &self.volume_key, luks2, features)?)
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
    use crate::mapping::tests::{mapping, why};
    use crate::{Create, Key, NewKdf, Unlock};
    use keyway_crypto::SectorSize;
    use keyway_volume::MappedSegment;

    fn layout(cipher: &str, bytes: u32, iv_tweak: u64, storage_offset: u64) -> Layout {
        let (spec, sector_size) = (CipherSpec::parse(cipher).unwrap(), SectorSize::new(bytes).unwrap());
        let mapping = Stored::Crypt { spec, sector_size, iv_tweak, iv_large_sectors: false };
        let segment =
            MappedSegment { plaintext_start: 0, length: None, storage_offset, mapping, second_key: false };
        Layout::new(vec![segment])
    }

    /// A new volume, unlocked, and the UUID of its mapping.
    fn unlocked() -> (Reopened, String) {
        let key = Key::passphrase("key");
        let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(20 << 20, &key).unwrap();
        let admitted = device.admit(&Unlock::new()).unwrap();
        let found = admitted.try_key(&key).unwrap();
        let volume = Reopened::of(admitted.into_opened(found).unwrap().unwrap());
        let digits = volume.header.uuid().replace('-', "");
        (volume, format!("CRYPT-LUKS2-{digits}-home"))
    }

    #[test]
    fn the_volume_of_another_mapping_is_refused() {
        let ((ours, uuid), (theirs, _)) = (unlocked(), unlocked());
        let Stored::Crypt { spec, sector_size, .. } = &ours.layout.segments[0].mapping else { panic!() };
        let options = format!("1 sector_size:{}", sector_size.bytes());
        let line = |offset: u64| {
            let offset = ours.layout.segments[0].storage_offset / 512 + offset;
            Line::parse(format!("{spec} 00ff 0 8:1 {offset} {options}").as_bytes()).unwrap()
        };
        let home = mapping(&uuid);
        ours.check_is_of(&home, &line(0)).unwrap();
        let refused = |volume: &Reopened, mapping: &Mapping, line: &Line| {
            let error = volume.check_is_of(mapping, line).unwrap_err();
            why(&error).to_string()
        };
        assert_eq!(refused(&theirs, &home, &line(0)), Unchanged::NoHeader.to_string());
        assert_eq!(refused(&ours, &home, &line(8)), Unchanged::OtherHeader.to_string());
        for other in [uuid.replace("LUKS2", "LUKS1"), "CRYPT-PLAIN-home".into(), String::new()] {
            assert_eq!(refused(&ours, &mapping(&other), &line(0)), Unchanged::NoHeader.to_string());
        }
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
