//! Creates LUKS1 volumes, with cryptsetup's geometry.

use super::{Plan, Room, check_key_bits, check_offset, name_and_mode};
use crate::device::storage::Topology;
use crate::error::shared;
use crate::header::luks::Header;
use crate::header::luks1_disk;
use crate::keyslot::area_cipher::Areas;
use crate::keyslot::digest::digest_value;
use crate::keyslot::kdf_cost;
use crate::keyslot::kdf_cost::DEFAULT_HASH;
use crate::keyslot::material::Keyslot;
use crate::random::{parse_uuid, random_bytes, random_uuid};
use crate::{Cost, KdfChoice, Locking, Luks, Random, Refusal, Result, Storage};
use keyway_crypto::{CipherSpec, Hash, Secret, Stop};
use keyway_format::luks1::{self, NewHeader, Payload, SLOTS};
use keyway_format::{Bytes, Sectors};
use std::sync::Arc;

/// The parameters of a new LUKS1 volume. Defaults are cryptsetup's.
#[derive(Debug, Clone)]
pub struct Luks1Params {
    /// "aes-xts-plain64".
    pub cipher: String,
    /// Volume key length in bits.
    pub key_bits: u32,
    /// Hash of PBKDF2, AF splitter and digest.
    pub hash: String,
    /// Cost of the first keyslot (PBKDF2 only; its hash is `hash`).
    pub kdf: KdfChoice,
    /// Payload alignment in 512-byte sectors (`--align-payload`).
    pub align_payload: Option<u64>,
    /// Payload offset in 512-byte sectors (`--offset`); takes precedence over alignment.
    pub payload_offset: Option<u64>,
    /// UUID; random when absent.
    pub uuid: Option<String>,
    /// The header is on separate storage.
    pub detached: bool,
    /// Keyslot of the first passphrase (0 when absent).
    pub keyslot: Option<u32>,
    /// What the device says of itself.
    pub topology: Topology,
    /// How the storage is locked while it is written.
    pub locking: Locking,
}

impl Default for Luks1Params {
    fn default() -> Self {
        Self {
            cipher: CipherSpec::DEFAULT.into(),
            key_bits: CipherSpec::DEFAULT_KEY_BITS,
            hash: DEFAULT_HASH.into(),
            kdf: KdfChoice::Pbkdf2 { hash: DEFAULT_HASH.into(), cost: Cost::default() },
            align_payload: None,
            payload_offset: None,
            uuid: None,
            detached: false,
            keyslot: None,
            topology: Topology::default(),
            locking: Locking::default(),
        }
    }
}

/// Plans a LUKS1 header with one keyslot. `storage_len` is the limit when the storage exists
/// already.
pub fn plan_luks1(
    params: &Luks1Params,
    storage_len: Option<u64>,
    volume_key: &Secret,
    passphrase: &Secret,
    rng: &mut dyn Random,
) -> Result<Plan> {
    plan_in(params, storage_len.into(), volume_key, passphrase, rng)
}

/// Plans a LUKS1 header for `storage`, which may be a file that grows to hold it.
pub fn plan_luks1_on(
    storage: &dyn Storage,
    params: &Luks1Params,
    volume_key: &Secret,
    passphrase: &Secret,
    rng: &mut dyn Random,
) -> Result<Plan> {
    plan_in(params, Room::of(storage), volume_key, passphrase, rng)
}

/// Creates a LUKS1 volume on `storage`: old signatures are wiped, the header is written last.
pub fn create_luks1(
    storage: Arc<dyn Storage>,
    params: &Luks1Params,
    volume_key: &Secret,
    passphrase: &Secret,
    rng: &mut dyn Random,
) -> Result<Luks> {
    let plan = plan_luks1_on(&*storage, params, volume_key, passphrase, rng)?;
    plan.write(storage, params.detached, params.locking, rng)
}

fn plan_in(
    params: &Luks1Params,
    room: Room,
    volume_key: &Secret,
    passphrase: &Secret,
    rng: &mut dyn Random,
) -> Result<Plan> {
    let slot = check(params, volume_key)?;
    let hash = Hash::parse(&params.hash)?;
    let kdf = params.kdf.with_hash(&params.hash)?;
    // The layout is fixed, and refused where it does not fit, before seconds are spent on the KDF.
    let uuid = params.uuid.as_deref().map_or_else(|| random_uuid(rng), parse_uuid)?;
    let draft = new_header(params, &uuid, [0; 20], [0; 32], 1)?;
    let data_offset = draft.payload_offset.0 * 512;
    room.check(params.detached, data_offset)?;

    let iterations = match kdf.settle(volume_key.len())? {
        kdf_cost::SettledKdf::Pbkdf2 { iterations, .. } => iterations,
        kdf_cost::SettledKdf::Argon2 { .. } => {
            return Err(Refusal::OnlyLuks2.because("LUKS1 supports only PBKDF2."));
        }
    };
    let digest_salt: [u8; 32] = random_bytes(rng)?;
    let digest_iterations = kdf.digest_iterations(hash, volume_key.len())?;
    let value = digest_value(hash, volume_key, &digest_salt, digest_iterations, 20)?;
    let mut digest = [0; 20];
    digest.copy_from_slice(&value);
    let mut header = new_header(params, &uuid, digest, digest_salt, digest_iterations)?;
    header.enable_slot(slot, iterations, random_bytes(rng)?)?;
    plan(header, slot, data_offset, volume_key, passphrase, rng)
}

/// Refuses impossible parameters, by name; returns the first keyslot's number.
fn check(params: &Luks1Params, volume_key: &Secret) -> Result<usize> {
    check_offset(params.payload_offset)?;
    let cipher = CipherSpec::parse(&params.cipher)?;
    check_key_bits(&cipher, params.key_bits, 1)?;
    if volume_key.len() * 8 != params.key_bits as usize {
        return Err(shared::key_length(volume_key.len() * 8, params.key_bits));
    }
    if Hash::parse(&params.hash)?.output_len() < 20 {
        return Err(shared::unsupported_hash(&params.hash));
    }
    params.kdf.with_hash(&params.hash)?.check()?;
    match params.keyslot.unwrap_or(0) as usize {
        slot if slot < SLOTS => Ok(slot),
        slot => Err(Refusal::KeyslotNumber
            .because(format!("Keyslot {slot} does not exist in LUKS1 (0 to {}).", SLOTS - 1))),
    }
}

fn new_header(
    params: &Luks1Params,
    uuid: &str,
    digest: [u8; 20],
    digest_salt: [u8; 32],
    digest_iterations: u32,
) -> Result<luks1::Header> {
    let (cipher_name, cipher_mode) = name_and_mode(&params.cipher);
    let payload = match (params.payload_offset, params.align_payload, params.detached) {
        (Some(sectors), _, _) | (None, Some(sectors), true) if sectors > 0 => Payload::At(Sectors(sectors)),
        (_, _, true) => Payload::Detached,
        (_, Some(sectors), false) if sectors > 0 => {
            Payload::Aligned { unit: Sectors(sectors), offset: Sectors(0) }
        }
        (_, _, false) => {
            let Topology { alignment, alignment_offset, .. } = params.topology;
            Payload::Aligned { unit: Bytes(alignment).sectors(), offset: Bytes(alignment_offset).sectors() }
        }
    };
    Ok(luks1::Header::new(&NewHeader {
        cipher_name,
        cipher_mode,
        hash_spec: &params.hash,
        key_bytes: params.key_bits / 8,
        payload,
        uuid,
        digest,
        digest_salt,
        digest_iterations,
    })?)
}

fn plan(
    header: luks1::Header,
    slot: usize,
    data_offset: u64,
    volume_key: &Secret,
    passphrase: &Secret,
    rng: &mut dyn Random,
) -> Result<Plan> {
    // LUKS1 has one cipher for both data and keyslots: a user who accepts a weak one accepts it for
    // both.
    let cipher = header.cipher();
    let own = Areas::StrongOr { cipher: &cipher, key_len: header.key_bytes as usize };
    let keyslot = Keyslot::of_luks1(&header, slot as u32, own)?;
    let derived = keyslot.derive(passphrase, 1, &Stop::new())?;
    let material = keyslot.seal(&derived, volume_key, rng)?;
    let bytes = header.to_bytes();
    let magic = luks1::MAGIC.len();
    // Without its magic the header is not valid, so the magic is written last.
    let writes = vec![
        (keyslot.area_offset, material),
        (magic as u64, bytes[magic..].to_vec()),
        (0, bytes[..magic].to_vec()),
    ];
    // Whole pages, as cryptsetup wipes them and as a backup stores them.
    let len = luks1_disk::material_len(&header).next_multiple_of(PAGE);
    let areas = header.slots.iter().map(|slot| slot.offset.0 * 512..slot.offset.0 * 512 + len).collect();
    let header_end = luks1_disk::areas_end(&header).next_multiple_of(PAGE);
    Ok(Plan { header: Header::Luks1(header), data_offset, header_end, writes, areas })
}

const PAGE: u64 = 4096;
