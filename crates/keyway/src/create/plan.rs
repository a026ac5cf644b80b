//! Plans a new volume: its parameters, its secrets, and where its bytes go.

use super::Create;
use super::options::Additions;
use crate::{Error, ErrorKind, Key, Result, Version};
use keyway_crypto::{CipherSpec, Secret};
use keyway_volume::change::create::{self, Luks1Params, Luks2Params, Plan, plan_luks1, plan_luks2};
use keyway_volume::device::storage::Topology;
use keyway_volume::keyslot::kdf_cost::DEFAULT_HASH;
use keyway_volume::{Access, Locking, Luks, OsRandom, Random, SeededRandom, Storage};
use std::sync::Arc;

/// A volume of a known size that is not yet written.
pub(super) struct Planned<'a> {
    pub(super) plan: Plan,
    /// The length of its data, in whole sectors.
    pub(super) data_len: u64,
    volume_key: Secret,
    random: Box<dyn Random>,
    additions: &'a Additions,
}

impl Planned<'_> {
    /// The length of the storage that holds both header and data.
    pub(super) fn len(&self) -> Result<u64> {
        let len = self.plan.data_offset.checked_add(self.data_len);
        len.ok_or_else(|| Error::refused("no file can be that long"))
    }

    /// Its volume key.
    pub(super) fn volume_key(&self) -> Secret {
        Secret::copy_from(self.volume_key.expose())
    }

    /// Writes the header to empty storage, whose data is on `data_len` bytes of storage.
    pub(super) fn write_to_new(mut self, header: Arc<dyn Storage>, data_len: u64) -> Result<()> {
        self.plan.write_to_new(&*header)?;
        // A header that nobody else can see yet.
        let locking = Locking::Disabled;
        self.additions.put_on(header, locking, &self.volume_key, data_len, &mut *self.random)
    }
}

impl Additions {
    /// To a header that was just written.
    pub(super) fn put_on(
        &self,
        header: Arc<dyn Storage>,
        locking: Locking,
        volume_key: &Secret,
        data_len: u64,
        random: &mut dyn Random,
    ) -> Result<()> {
        if self.are_none() {
            return Ok(());
        }
        let mut luks = Luks::open_with(header, Access::Write, locking)?;
        self.put(&mut luks, volume_key, data_len, random)
    }
}

impl Create {
    /// The header of a volume of exactly this size.
    pub(super) fn plan(&self, size: u64, key: &Key) -> Result<Planned<'_>> {
        self.check()?;
        let (passphrase, mut random) = (key.read_new_passphrase(self.empty_passphrase)?, self.random());
        let (volume_key, detached) = (self.new_volume_key(&mut *random)?, self.header.is_some());
        let (plan, sector) = match self.version {
            Version::Luks1 => (
                plan_luks1(
                    &self.luks1_params(detached, Topology::default()),
                    None,
                    &volume_key,
                    &passphrase,
                    &mut *random,
                )?,
                512,
            ),
            Version::Luks2 => {
                let mut params = self.luks2_params(detached, detached.then_some(size), Topology::default());
                let fits_large = size.is_multiple_of(4096);
                let sector = *params.sector_size.get_or_insert(if fits_large { 4096 } else { 512 });
                (plan_luks2(&params, None, &volume_key, &passphrase, &mut *random)?, sector.into())
            }
        };
        let data_len = size.max(1).checked_next_multiple_of(sector);
        let data_len = data_len.ok_or_else(|| Error::refused("no file can be that long"))?;
        Ok(Planned { plan, data_len, volume_key, random, additions: &self.additions })
    }

    /// Refuses what cannot or should not be created, before anything is read or written.
    pub(super) fn check(&self) -> Result<()> {
        let spec = CipherSpec::parse(&self.cipher).map_err(keyway_volume::Error::from)?;
        if let (Some(why), false) = (spec.weakness_with(self.key_bits as usize / 8), self.weak_cipher) {
            let why = Error::refused(format!("the volume would be under {spec}{why}"));
            return Err(Error::because(ErrorKind::Policy { rule: "weak-cipher" }, why));
        }
        create::check_key_bits(&spec, self.key_bits, self.version.number())?;
        if let Some(bytes) = self.sector_size {
            create::check_sector_size(bytes, self.version.number())?;
        }
        self.additions.check(self.version)?;
        if self.secrets.seed.is_some() {
            create::check_reproducible(&spec)?;
            if self.kdf.is_measured() {
                return Err(Error::refused(
                    "a reproducible volume needs a fixed cost: a measured one differs each time",
                ));
            }
        }
        Ok(())
    }

    /// Where random values come from.
    pub(super) fn random(&self) -> Box<dyn Random> {
        match &self.secrets.seed {
            Some(seed) => Box::new(SeededRandom::new(seed)),
            None => Box::new(OsRandom),
        }
    }

    pub(super) fn new_volume_key(&self, random: &mut dyn Random) -> Result<Secret> {
        let Some(given) = &self.secrets.volume_key else {
            return Ok(create::random_volume_key(self.key_bits, random)?);
        };
        match given.len() * 8 == self.key_bits as usize {
            true => Ok(Secret::copy_from(given.expose())),
            false => {
                let (has, needs) = (given.len() * 8, self.key_bits);
                Err(Error::refused(format!("the volume key has {has} bits, the cipher needs {needs}")))
            }
        }
    }

    pub(super) fn luks1_params(&self, detached: bool, topology: Topology) -> Luks1Params {
        let Self { geometry, names, .. } = self;
        Luks1Params {
            cipher: self.cipher.clone(),
            key_bits: self.key_bits,
            hash: self.hash_name(),
            kdf: self.kdf.choice(),
            align_payload: geometry.alignment,
            payload_offset: geometry.data_offset,
            uuid: names.uuid.clone(),
            detached,
            keyslot: self.keyslot,
            topology,
            locking: self.locking,
        }
    }

    /// `data_len` is the length of the data device if the header is detached; the topology is the
    /// data device's.
    pub(super) fn luks2_params(
        &self,
        detached: bool,
        data_len: Option<u64>,
        topology: Topology,
    ) -> Luks2Params {
        let Self { geometry, names, keyslot_cipher, .. } = self;
        Luks2Params {
            cipher: self.cipher.clone(),
            key_bits: self.key_bits,
            hash: self.hash_name(),
            kdf: self.kdf.choice(),
            sector_size: self.sector_size,
            keyslot_cipher: keyslot_cipher.as_ref().map(|(cipher, _)| cipher.clone()),
            keyslot_key_bits: keyslot_cipher.as_ref().map(|(_, bits)| *bits),
            align_payload: geometry.alignment,
            data_offset: geometry.data_offset,
            metadata_size: geometry.metadata_size,
            keyslots_size: geometry.keyslots_size,
            label: names.label.clone(),
            subsystem: names.subsystem.clone(),
            uuid: names.uuid.clone(),
            detached,
            data_len,
            keyslot: self.keyslot,
            topology,
            locking: self.locking,
        }
    }

    fn hash_name(&self) -> String {
        self.hash.clone().unwrap_or_else(|| DEFAULT_HASH.to_owned())
    }
}
