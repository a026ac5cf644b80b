//! A LUKS2 keyslot with its digest and segment, collected as by luks2_get_keyslot in disk/luks2.c:
//! in the order of the text, and any unreadable digest or segment on the way makes the keyslot
//! unusable.

use crate::unlock_time::Work;
use keyway_format::json::{Object, Value};

/// Everything that GRUB reads from the metadata for one keyslot.
#[derive(Debug, Clone)]
pub(super) struct Parsed {
    pub(super) priority: i64,
    pub(super) key_len: usize,
    pub(super) area_key: usize,
    pub(super) area_cipher: String,
    pub(super) af_hash: String,
    pub(super) salt: String,
    pub(super) kdf: Kdf,
    pub(super) digest_hash: String,
    pub(super) digest_iterations: u64,
    pub(super) digest_len: usize,
    pub(super) digest: String,
    pub(super) digest_salt: String,
    pub(super) segment_cipher: String,
    pub(super) segment_offset: u64,
    pub(super) sector_size: u32,
    pub(super) iv_tweak: u64,
    pub(super) integrity: Option<String>,
}

#[derive(Debug, Clone)]
pub(super) enum Kdf {
    Pbkdf2 { hash: String, iterations: u64 },
    Argon2 { variant: String, time: u64, memory_kib: u64, lanes: u64 },
}

impl Kdf {
    pub(super) fn work(&self, key_len: usize) -> Work {
        match self {
            Self::Pbkdf2 { hash, iterations } => Work::pbkdf2(hash, *iterations, key_len),
            Self::Argon2 { time, memory_kib, lanes, .. } => {
                Work::Argon2 { time: *time, memory_kib: *memory_kib, lanes: *lanes }
            }
        }
    }
}

impl Parsed {
    pub(super) fn digest_work(&self) -> Work {
        Work::pbkdf2(&self.digest_hash, self.digest_iterations, self.digest_len)
    }
}

/// The keyslot, or the rest of a sentence about the problem.
pub(super) fn parse(root: &Object, number: u64, slot: &Value) -> Result<Parsed, String> {
    let missing = || "lacks fields of a keyslot".to_owned();
    let slot = slot.as_object().ok_or_else(missing)?;
    let kind = text(slot, "type").ok_or_else(missing)?;
    if kind != "luks2" {
        return Err(format!("is of type \"{kind}\""));
    }
    let object = |name| slot.get(name).and_then(Value::as_object).ok_or_else(missing);
    let (area, af, kdf) = (object("area")?, object("af")?, object("kdf")?);
    let digest = digest_of(root, number)?;
    let segment = segment_of(root, digest)?;
    let of_kdf = read_kdf(kdf)?;
    let decoded = |text: &str| text.trim_end_matches('=').len() * 3 / 4;
    let digest_text = text(digest, "digest").ok_or_else(missing)?;
    let integrity = segment.get("integrity").and_then(Value::as_object);
    Ok(Parsed {
        priority: slot.get("priority").and_then(whole).map_or(1, |n| n as i64),
        key_len: size(slot, "key_size").ok_or_else(missing)?,
        area_key: size(area, "key_size").ok_or_else(missing)?,
        area_cipher: text(area, "encryption").ok_or_else(missing)?,
        af_hash: text(af, "hash").ok_or_else(missing)?,
        salt: text(kdf, "salt").ok_or_else(missing)?,
        kdf: of_kdf,
        digest_hash: text(digest, "hash").ok_or_else(missing)?,
        digest_iterations: digest.get("iterations").and_then(whole).ok_or_else(missing)?,
        digest_len: decoded(&digest_text),
        digest: digest_text,
        digest_salt: text(digest, "salt").ok_or_else(missing)?,
        segment_cipher: text(segment, "encryption").ok_or_else(missing)?,
        segment_offset: segment.get("offset").and_then(whole).ok_or_else(missing)?,
        sector_size: segment.get("sector_size").and_then(whole).ok_or_else(missing)? as u32,
        iv_tweak: segment.get("iv_tweak").and_then(whole).unwrap_or(0),
        integrity: integrity.map(|integrity| text(integrity, "type").unwrap_or_default()),
    })
}

fn read_kdf(kdf: &Object) -> Result<Kdf, String> {
    let missing = || "lacks parameters of its key derivation".to_owned();
    let number = |name| kdf.get(name).and_then(whole).ok_or_else(missing);
    match text(kdf, "type").as_deref() {
        Some("pbkdf2") => Ok(Kdf::Pbkdf2 {
            hash: text(kdf, "hash").ok_or_else(missing)?,
            iterations: number("iterations")?,
        }),
        Some(variant @ ("argon2i" | "argon2id")) => Ok(Kdf::Argon2 {
            variant: variant.to_owned(),
            time: number("time")?,
            memory_kib: number("memory")?,
            lanes: number("cpus")?,
        }),
        Some(other) => Err(format!("derives its key with \"{other}\"")),
        None => Err(missing()),
    }
}

fn digest_of(root: &Object, keyslot: u64) -> Result<&Object, String> {
    let digests = root.get("digests").and_then(Value::as_object);
    for (name, digest) in digests.into_iter().flat_map(Object::iter) {
        let digest =
            digest.as_object().ok_or_else(|| format!("belongs to digest {name}, which it cannot read"))?;
        match text(digest, "type").as_deref() {
            Some("pbkdf2") => {}
            _ => return Err(format!("belongs to digest {name}, which it cannot read")),
        }
        if members(digest, "keyslots").any(|number| number == keyslot) {
            return Ok(digest);
        }
    }
    Err("has no digest".to_owned())
}

fn segment_of<'a>(root: &'a Object, digest: &Object) -> Result<&'a Object, String> {
    let segments = root.get("segments").and_then(Value::as_object);
    for (name, segment) in segments.into_iter().flat_map(Object::iter) {
        let segment = segment.as_object().ok_or("has no segment")?;
        let kind = text(segment, "type").unwrap_or_default();
        if kind != "crypt" {
            return Err(format!("belongs to a segment of type \"{kind}\""));
        }
        if members(digest, "segments").any(|number| Some(number) == name.parse().ok()) {
            return Ok(segment);
        }
    }
    Err("holds a key to no data (unbound)".to_owned())
}

fn members<'a>(object: &'a Object, name: &str) -> impl Iterator<Item = u64> + 'a {
    object.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(whole)
}

fn text(object: &Object, name: &str) -> Option<String> {
    object.get(name).and_then(Value::as_str).map(str::to_owned)
}

/// GRUB also reads numbers from strings.
fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::Number(text) | Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

fn size(object: &Object, name: &str) -> Option<usize> {
    usize::try_from(object.get(name).and_then(whole)?).ok()
}
