//! Creates LUKS2 volumes, with cryptsetup's geometry: by default, copies of 16 KiB, and 16 MiB for
//! the whole header.

use super::{Plan, Room, check_key_bits, check_offset, name_and_mode};
use crate::change::edit::NewKeyslot;
use crate::device::storage::Topology;
use crate::error::shared;
use crate::error::{unaligned, unaligned_start};
use crate::header::luks::Header;
use crate::keyslot::area_cipher;
use crate::keyslot::digest::digest_value;
use crate::keyslot::kdf_cost::DEFAULT_HASH;
use crate::random::{parse_uuid, random_bytes, random_uuid};
use crate::{KdfChoice, Locking, Luks, Random, Refusal, Result, Storage};
use keyway_crypto::{CipherSpec, Hash, Secret, SectorSize, Stop};
use keyway_format::Bytes;
use keyway_format::luks2::{
    BinaryHeader, Copy, Digest, DigestKind, HeaderSize, MAX_KEYSLOTS_SIZE, MAX_OBJECTS, Metadata,
    NewMetadata, Segment, SegmentKind, SegmentSize,
};
use std::sync::Arc;

/// The parameters of a new LUKS2 volume. Defaults are cryptsetup's.
#[derive(Debug, Clone)]
pub struct Luks2Params {
    /// "aes-xts-plain64".
    pub cipher: String,
    /// Volume key length in bits.
    pub key_bits: u32,
    /// Hash of AF splitter and digest.
    pub hash: String,
    /// KDF of the first keyslot.
    pub kdf: KdfChoice,
    /// Encryption sector size in bytes; when absent the one that suits the data's device, or 512
    /// where data offset or device length are not multiples of that.
    pub sector_size: Option<u32>,
    /// Cipher of the keyslot area, if it differs from the segment's.
    pub keyslot_cipher: Option<String>,
    /// Key length of the keyslot area's cipher in bits.
    pub keyslot_key_bits: Option<u32>,
    /// Payload alignment in 512-byte sectors (`--align-payload`).
    pub align_payload: Option<u64>,
    /// Data offset in 512-byte sectors (`--offset`); takes precedence over alignment.
    pub data_offset: Option<u64>,
    /// Size of each metadata copy in bytes (`--luks2-metadata-size`).
    pub metadata_size: Option<u64>,
    /// Size of the keyslots area in bytes (`--luks2-keyslots-size`).
    pub keyslots_size: Option<u64>,
    /// Label, at most 47 bytes.
    pub label: Option<String>,
    /// Subsystem label, at most 47 bytes.
    pub subsystem: Option<String>,
    /// UUID; random when absent.
    pub uuid: Option<String>,
    /// The header is on separate storage; the data starts at offset 0 unless `data_offset` says
    /// otherwise.
    pub detached: bool,
    /// Length in bytes of the data device when it is not the header's storage.
    pub data_len: Option<u64>,
    /// Keyslot of the first passphrase (0 when absent).
    pub keyslot: Option<u32>,
    /// What the data's device says of itself.
    pub topology: Topology,
    /// How the storage is locked while it is written.
    pub locking: Locking,
}

impl Default for Luks2Params {
    fn default() -> Self {
        Self {
            cipher: CipherSpec::DEFAULT.into(),
            key_bits: CipherSpec::DEFAULT_KEY_BITS,
            hash: DEFAULT_HASH.into(),
            kdf: KdfChoice::default(),
            sector_size: None,
            keyslot_cipher: None,
            keyslot_key_bits: None,
            align_payload: None,
            data_offset: None,
            metadata_size: None,
            keyslots_size: None,
            label: None,
            subsystem: None,
            uuid: None,
            detached: false,
            data_len: None,
            keyslot: None,
            topology: Topology::default(),
            locking: Locking::default(),
        }
    }
}

/// Plans a LUKS2 header with one keyslot. `storage_len` is the limit when the storage exists
/// already.
pub fn plan_luks2(
    params: &Luks2Params,
    storage_len: Option<u64>,
    volume_key: &Secret,
    passphrase: &Secret,
    rng: &mut dyn Random,
) -> Result<Plan> {
    plan_in(params, storage_len.into(), volume_key, passphrase, rng)
}

/// Plans a LUKS2 header for `storage`, which may be a file that grows to hold it.
pub fn plan_luks2_on(
    storage: &dyn Storage,
    params: &Luks2Params,
    volume_key: &Secret,
    passphrase: &Secret,
    rng: &mut dyn Random,
) -> Result<Plan> {
    let room = match Room::of(storage) {
        // As in cryptsetup, a detached header's file whose file system is full stays as long as it is.
        Room::Growing(len) if params.detached && !storage.can_hold(DEFAULT_HEADER_SIZE) => Room::Fixed(len),
        room => room,
    };
    plan_in(params, room, volume_key, passphrase, rng)
}

/// Creates a LUKS2 volume on `storage`: old signatures are wiped, the header is written last.
pub fn create_luks2(
    storage: Arc<dyn Storage>,
    params: &Luks2Params,
    volume_key: &Secret,
    passphrase: &Secret,
    rng: &mut dyn Random,
) -> Result<Luks> {
    let plan = plan_luks2_on(&*storage, params, volume_key, passphrase, rng)?;
    plan.write(storage, params.detached, params.locking, rng)
}

fn plan_in(
    params: &Luks2Params,
    room: Room,
    volume_key: &Secret,
    passphrase: &Secret,
    rng: &mut dyn Random,
) -> Result<Plan> {
    check(params, volume_key)?;
    let geometry = Geometry::new(params, room)?;
    room.check(params.detached, geometry.data_offset)?;
    let data_len = if params.detached { params.data_len } else { room.len() };
    let sector_size = geometry.sector_size(params, data_len)?;
    let binary = new_binary(params, geometry.header_size, rng)?;

    let hash = Hash::parse(&params.hash)?;
    let digest = new_digest(hash, volume_key, &params.kdf, rng)?;
    let segment = Segment {
        offset: Bytes(geometry.data_offset),
        size: SegmentSize::Dynamic,
        flags: Vec::new(),
        kind: SegmentKind::Crypt {
            iv_tweak: 0,
            encryption: full_name(&params.cipher),
            sector_size,
            integrity: None,
        },
    };
    let mut metadata = Metadata::new(&NewMetadata {
        header_size: geometry.header_size,
        keyslots_size: Bytes(geometry.keyslots_size),
        segment: &segment,
        digest: &digest,
    })?;
    let (area_cipher, area_key_bytes) = area_encryption(params);
    let slot = params.keyslot.unwrap_or(0);
    let area = metadata.free_area(volume_key.len() as u32)?;
    let (description, keyslot) = NewKeyslot {
        number: slot,
        key_len: volume_key.len(),
        area,
        kdf: &params.kdf,
        af_hash: hash,
        area_cipher: &area_cipher,
        area_key_bytes,
    }
    .settle(rng)?;
    let derived = keyslot.derive(passphrase, crate::keyslot::kdf_cost::online_cpus(), &Stop::new())?;
    let material = keyslot.seal(&derived, volume_key, rng)?;
    metadata.add_keyslot(slot, &description, 0)?;
    plan(binary, metadata, geometry.data_offset, (area.offset.0, material), rng)
}

/// The cipher of the keyslot's area, and its key length in bytes: as requested, or the default for
/// the data's cipher.
fn area_encryption(params: &Luks2Params) -> (String, u32) {
    let (cipher, key_bytes) = match &params.keyslot_cipher {
        Some(cipher) => (cipher.clone(), params.key_bits / 8),
        None => area_cipher::default_for(&full_name(&params.cipher), params.key_bits / 8),
    };
    (cipher, params.keyslot_key_bits.map_or(key_bytes, |bits| bits / 8))
}

/// A PBKDF2 digest of `key`, at the cost that `kdf` asks for.
pub(crate) fn new_digest(hash: Hash, key: &Secret, kdf: &KdfChoice, rng: &mut dyn Random) -> Result<Digest> {
    let salt: [u8; 32] = random_bytes(rng)?;
    let iterations = kdf.digest_iterations(hash, key.len())?;
    let value = digest_value(hash, key, &salt, iterations, hash.output_len())?;
    let kind = DigestKind::Pbkdf2 { hash: hash.name().into(), iterations, salt: salt.to_vec(), value };
    Ok(Digest { keyslots: Vec::new(), segments: Vec::new(), kind })
}

/// Refuses impossible parameters, by name, before anything is measured or written.
fn check(params: &Luks2Params, volume_key: &Secret) -> Result<()> {
    let refuse = |kind: Refusal, why: String| Err(kind.because(why));
    let spec = CipherSpec::parse(&params.cipher)?;
    check_key_bits(&spec, params.key_bits, 2)?;
    if volume_key.len() * 8 != params.key_bits as usize {
        return Err(shared::key_length(volume_key.len() * 8, params.key_bits));
    }
    let (area_cipher, area_key_bytes) = area_encryption(params);
    let area_spec = CipherSpec::parse(&area_cipher)?;
    area_spec.check_key_bits(8 * area_key_bytes as usize)?;
    area_spec.check_sector_size(SectorSize::S512)?;
    if Hash::parse(&params.hash)?.output_len() < 20 {
        return Err(shared::unsupported_hash(&params.hash));
    }
    params.kdf.check()?;
    if let Some(bytes) = params.sector_size {
        spec.check_sector_size(SectorSize::new(bytes)?)?;
    }
    match params.keyslot {
        Some(slot) if slot >= MAX_OBJECTS => refuse(
            Refusal::KeyslotNumber,
            format!("Keyslot {slot} does not exist in LUKS2 (0 to {}).", MAX_OBJECTS - 1),
        ),
        _ => Ok(()),
    }
}

/// Sizes and offsets, in bytes.
struct Geometry {
    header_size: HeaderSize,
    keyslots_size: u64,
    data_offset: u64,
}

impl Geometry {
    fn new(params: &Luks2Params, place: Room) -> Result<Self> {
        let refuse = |why: &str| Refusal::Geometry.because(why);
        let header_size = HeaderSize::new(params.metadata_size.unwrap_or(16 << 10)).ok_or_else(|| {
            refuse("Requested LUKS2 metadata size is not one of the nine legal sizes, 16 KiB to 4 MiB.")
        })?;
        let start = header_size.keyslots_start().0;
        let asked = params.keyslots_size.unwrap_or(0);
        if !asked.is_multiple_of(4096) || asked > MAX_KEYSLOTS_SIZE.0 {
            return Err(refuse(
                "Requested LUKS2 keyslots size is not a multiple of 4096 bytes up to 128 MiB.",
            ));
        }
        let align = params.align_payload.filter(|&sectors| sectors > 0);
        let fixed = params.data_offset.filter(|&sectors| sectors > 0);
        let fixed = if params.detached { fixed.or(align) } else { fixed };
        let sectors_to_bytes =
            |sectors: u64| sectors.checked_mul(512).ok_or_else(|| refuse("Requested data offset overflows."));
        let fixed = fixed.map(sectors_to_bytes).transpose()?;
        if fixed.is_some_and(|offset| offset < start) {
            return Err(refuse("Requested data offset is too small."));
        }
        // Only an explicit offset is checked: an alignment may place the data at any sector.
        check_offset(params.data_offset)?;
        let room = fixed.map(|offset| (offset - start) / 4096 * 4096);
        let mut keyslots_size = match (asked, room) {
            (0, Some(room)) if room > 0 => room.min(MAX_KEYSLOTS_SIZE.0),
            (0, _) => match place {
                Room::Fixed(len) if params.detached && (start + 4096..DEFAULT_HEADER_SIZE).contains(&len) => {
                    (len - start) / 4096 * 4096
                }
                _ => DEFAULT_HEADER_SIZE - start,
            },
            (asked, _) => asked,
        };
        keyslots_size = keyslots_size.min(room.unwrap_or(u64::MAX));
        let data_offset = match fixed {
            Some(offset) => offset,
            None if params.detached => 0,
            None => {
                let end = start + keyslots_size;
                let aligned = match align {
                    Some(sectors) => end.checked_next_multiple_of(sectors_to_bytes(sectors)?),
                    None => end
                        .checked_next_multiple_of(params.topology.alignment)
                        .and_then(|end| end.checked_add(params.topology.alignment_offset)),
                };
                aligned.ok_or_else(|| refuse("Requested data alignment overflows."))?
            }
        };
        Ok(Self { header_size, keyslots_size, data_offset })
    }

    /// The requested sector size, or the device's if the data's offset and length are multiples of
    /// it and the cipher takes it.
    fn sector_size(&self, params: &Luks2Params, data_len: Option<u64>) -> Result<u32> {
        let misfit = |size: u32| {
            let data_len = data_len.map_or(0, |len| len.saturating_sub(self.data_offset));
            !self.data_offset.is_multiple_of(size.into()) || !data_len.is_multiple_of(size.into())
        };
        match params.sector_size {
            // The data begins where its header says, and has what is left of the device.
            Some(size) if !self.data_offset.is_multiple_of(size.into()) => {
                Err(unaligned_start(self.data_offset, size.into()))
            }
            Some(size) if misfit(size) => {
                let data_len = data_len.map_or(0, |len| len.saturating_sub(self.data_offset));
                Err(unaligned(data_len, size.into()))
            }
            Some(size) => Ok(size),
            None => {
                let (own, spec) = (params.topology.sector_size, CipherSpec::parse(&params.cipher)?);
                let is_fit = !misfit(own) && spec.check_sector_size(SectorSize::new(own)?).is_ok();
                Ok(if is_fit { own } else { 512 })
            }
        }
    }
}

fn new_binary(params: &Luks2Params, size: HeaderSize, rng: &mut dyn Random) -> Result<BinaryHeader> {
    let uuid = params.uuid.as_deref().map_or_else(|| random_uuid(rng), parse_uuid)?;
    let mut binary = BinaryHeader::new(size, &uuid, random_bytes(rng)?)?;
    binary.set_label(params.label.as_deref().unwrap_or(""))?;
    binary.set_subsystem(params.subsystem.as_deref().unwrap_or(""))?;
    Ok(binary)
}

fn plan(
    binary: BinaryHeader,
    metadata: Metadata,
    data_offset: u64,
    material: (u64, Vec<u8>),
    rng: &mut dyn Random,
) -> Result<Plan> {
    let json = metadata.to_json();
    let secondary = binary.as_copy(Copy::Secondary, random_bytes(rng)?);
    let size = binary.size.bytes().0;
    let writes = vec![material, (size, secondary.copy_to_bytes(&json)?), (0, binary.copy_to_bytes(&json)?)];
    let header_end = metadata.header_and_keyslots_size().0;
    let areas = std::iter::once(2 * size..header_end).collect();
    Ok(Plan { header: Header::Luks2 { binary, metadata }, data_offset, header_end, writes, areas })
}

/// The specification with its mode.
fn full_name(cipher: &str) -> String {
    match name_and_mode(cipher) {
        (name, "") => name.into(),
        (name, mode) => format!("{name}-{mode}"),
    }
}

/// Size of header copies and keyslots area together, by default.
const DEFAULT_HEADER_SIZE: u64 = 16 << 20;
