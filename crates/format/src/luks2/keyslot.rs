//! A keyslot object: how it is opened, and where its material is.

use super::area::Area;
use super::field::Node;
use crate::json::{Object, Value};
use crate::{Error, af, base64};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// A keyslot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keyslot {
    /// Length of the key that it holds, in bytes.
    pub key_size: u32,
    /// "priority"; normal when absent.
    pub priority: Priority,
    /// The place of its material.
    pub area: Area,
    /// How it is opened.
    pub kind: KeyslotKind,
}

/// How a keyslot is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyslotKind {
    /// Type "luks2": a KDF, an AF splitter and a cipher.
    Luks2 {
        /// Derives the area's key from the passphrase.
        kdf: Kdf,
        /// Hash of the AF splitter.
        af_hash: String,
        /// Stripes of the AF splitter, 4000.
        af_stripes: u32,
        /// Cipher of the area ("aes-xts-plain64"), over 512-byte sectors with IVs from 0.
        area_cipher: String,
        /// Length of that cipher's key, in bytes.
        area_key_size: u32,
    },
    /// Type "reencrypt" or any other, or "luks2" with a KDF that this build does not know:
    /// preserved, never opened.
    Other(String),
}

/// Order in which keyslots are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// Tried only when named (0).
    Ignore,
    /// Tried after the preferred ones (1).
    Normal,
    /// Tried first (2).
    Prefer,
}

/// A keyslot's KDF with its salt.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kdf {
    Pbkdf2 { hash: String, iterations: u32, salt: Vec<u8> },
    Argon2i { time: u32, memory_kib: u32, lanes: u32, salt: Vec<u8> },
    Argon2id { time: u32, memory_kib: u32, lanes: u32, salt: Vec<u8> },
}

impl Keyslot {
    pub(super) fn read(node: &Node<'_>) -> Result<Self, Error> {
        let area = Area::read(&node.object("area")?)?;
        let key_size = node.uint32("key_size")?;
        let kind = match node.string("type")? {
            "luks2" => KeyslotKind::read_luks2(node, key_size, area)?,
            other => KeyslotKind::Other(other.to_owned()),
        };
        Ok(Self { key_size, priority: Priority::read(node)?, area, kind })
    }

    /// The object, with its members in cryptsetup's order. `None` for a type that this build does
    /// not write.
    pub(super) fn to_json(&self) -> Option<Object> {
        let KeyslotKind::Luks2 { kdf, af_hash, af_stripes, area_cipher, area_key_size } = &self.kind else {
            return None;
        };
        let af = af_json(*af_stripes, af_hash);
        let area = Object::new()
            .with("type", "raw")
            .with("offset", self.area.offset.0.to_string())
            .with("size", self.area.size.0.to_string())
            .with("encryption", area_cipher.as_str())
            .with("key_size", *area_key_size);
        let mut keyslot = Object::new()
            .with("type", "luks2")
            .with("key_size", self.key_size)
            .with("af", af)
            .with("area", area)
            .with("kdf", kdf.to_json());
        self.priority.store(&mut keyslot);
        Some(keyslot)
    }
}

impl KeyslotKind {
    /// Whether the type is "luks2", with a known KDF or not.
    pub(super) fn is_luks2(&self) -> bool {
        match self {
            Self::Luks2 { .. } => true,
            Self::Other(name) => name == "luks2",
        }
    }

    fn read_luks2(node: &Node<'_>, key_size: u32, area: Area) -> Result<Self, Error> {
        let (af, raw) = (node.object("af")?, node.object("area")?);
        expect_type(&af, "luks1")?;
        expect_type(&raw, "raw")?;
        let af_stripes = af.uint32("stripes")?;
        if af_stripes != af::STRIPES {
            return Err(af.refuse("stripes", format!("{af_stripes} is not {}", af::STRIPES)));
        }
        if key_size == 0 {
            return Err(node.refuse("key_size", "is zero"));
        }
        let needs = Area::material_size(key_size);
        if area.size < needs {
            let why = format!("{} bytes, but a key of {key_size} bytes takes {}", area.size.0, needs.0);
            return Err(raw.refuse("size", why));
        }
        let (af_hash, area_cipher) = (af.name("hash")?, raw.name("encryption")?);
        let area_key_size = raw.positive("key_size")?;
        Ok(match Kdf::read(&node.object("kdf")?)? {
            Some(kdf) => Self::Luks2 { kdf, af_hash, af_stripes, area_cipher, area_key_size },
            None => Self::Other("luks2".to_owned()),
        })
    }
}

impl Kdf {
    /// `None` for a type that this build does not know.
    fn read(node: &Node<'_>) -> Result<Option<Self>, Error> {
        Ok(Some(match node.string("type")? {
            "pbkdf2" => Self::Pbkdf2 {
                hash: node.name("hash")?,
                iterations: node.positive("iterations")?,
                salt: node.salt("salt")?,
            },
            "argon2i" => {
                let (time, memory_kib, lanes) = argon2_costs(node)?;
                Self::Argon2i { time, memory_kib, lanes, salt: node.salt("salt")? }
            }
            "argon2id" => {
                let (time, memory_kib, lanes) = argon2_costs(node)?;
                Self::Argon2id { time, memory_kib, lanes, salt: node.salt("salt")? }
            }
            _ => return Ok(None),
        }))
    }

    /// "pbkdf2", "argon2i", "argon2id".
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Pbkdf2 { .. } => "pbkdf2",
            Self::Argon2i { .. } => "argon2i",
            Self::Argon2id { .. } => "argon2id",
        }
    }

    /// The object, with its members in cryptsetup's order.
    pub(super) fn to_json(&self) -> Object {
        let kdf = Object::new().with("type", self.type_name());
        let (kdf, salt) = match self {
            Self::Pbkdf2 { hash, iterations, salt } => {
                (kdf.with("hash", hash.as_str()).with("iterations", *iterations), salt)
            }
            Self::Argon2i { time, memory_kib, lanes, salt }
            | Self::Argon2id { time, memory_kib, lanes, salt } => {
                (kdf.with("time", *time).with("memory", *memory_kib).with("cpus", *lanes), salt)
            }
        };
        kdf.with("salt", base64::encode(salt))
    }
}

impl Priority {
    fn read(node: &Node<'_>) -> Result<Self, Error> {
        if !node.has("priority") {
            return Ok(Self::Normal);
        }
        match node.uint32("priority")? {
            0 => Ok(Self::Ignore),
            1 => Ok(Self::Normal),
            2 => Ok(Self::Prefer),
            other => Err(node.refuse("priority", format!("{other} is not 0, 1 or 2"))),
        }
    }

    /// Writes the priority as cryptsetup does: normal priority omits the member.
    pub(super) fn store(self, keyslot: &mut Object) {
        match self {
            Self::Normal => drop(keyslot.remove("priority")),
            Self::Ignore => keyslot.set("priority", 0),
            Self::Prefer => keyslot.set("priority", 2),
        }
    }
}

pub(super) fn af_json(stripes: u32, hash: &str) -> Value {
    Object::new().with("type", "luks1").with("stripes", stripes).with("hash", hash).into()
}

fn argon2_costs(node: &Node<'_>) -> Result<(u32, u32, u32), Error> {
    Ok((node.positive("time")?, node.positive("memory")?, node.positive("cpus")?))
}

fn expect_type(node: &Node<'_>, wanted: &str) -> Result<(), Error> {
    match node.string("type")? {
        found if found == wanted => Ok(()),
        found => Err(node.refuse("type", format!("\"{found}\" is not \"{wanted}\""))),
    }
}
