//! Turns the volumes named by `BARE_LUKS1` and `BARE_LUKS2` into constants: what their headers say
//! of the first keyslot and of the data, the keyslot's area, and the first sector of the data.

use keyway_format::{luks1, luks2};
use std::fmt::Write;
use std::path::PathBuf;
use std::{env, fs};

fn main() {
    println!("cargo:rustc-link-arg=-T{}/virt.ld", env!("CARGO_MANIFEST_DIR"));
    println!("cargo:rerun-if-changed=virt.ld");
    let volumes = [volume("BARE_LUKS1", of_luks1), volume("BARE_LUKS2", of_luks2)];
    let text = format!("pub(crate) const VOLUMES: [Volume; {}] = [{}];\n", volumes.len(), volumes.concat());
    fs::write(out("volumes.rs"), text).expect("the output directory takes a file");
}

/// The constant of the volume that the environment names.
fn volume(variable: &str, read: fn(&[u8]) -> Parts) -> String {
    println!("cargo:rerun-if-env-changed={variable}");
    let path = env::var(variable).unwrap_or_else(|_| panic!("{variable} names a volume"));
    println!("cargo:rerun-if-changed={path}");
    let image = fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let Parts { fields, area, sector } = read(&image);
    let mut text = format!("Volume {{ name: {:?}, {fields}", variable.trim_start_matches("BARE_"));
    for (field, (start, len)) in [("area", area), ("sector", sector)] {
        let file = out(&format!("{variable}.{field}"));
        fs::write(&file, &image[start..start + len]).expect("the output directory takes a file");
        write!(text, ", {field}: include_bytes!({:?})", file.display().to_string()).expect("a string grows");
    }
    text + " },"
}

/// What a header says: fields of `Volume` as text, and where (start,
/// length) area and first sector are.
struct Parts {
    fields: String,
    area: (usize, usize),
    sector: (usize, usize),
}

fn of_luks1(image: &[u8]) -> Parts {
    let header = luks1::Header::parse(&image[..1024]).expect("a LUKS1 header");
    let slot = &header.slots[0];
    assert_eq!(header.cipher(), "aes-xts-plain64");
    let hash = &header.hash_spec;
    let fields = format!(
        "kdf: Kdf::Pbkdf2 {{ hash: {hash:?}, iterations: {} }}, salt: &{:?}, area_key_len: {}, key_len: {}, \
         af_hash: {hash:?}, digest_hash: {hash:?}, digest_iterations: {}, digest_salt: &{:?}, digest: &{:?}, \
         sector_size: 512",
        slot.iterations,
        slot.salt,
        header.key_bytes,
        header.key_bytes,
        header.digest_iterations,
        header.digest_salt,
        header.digest,
    );
    let area = (512 * slot.offset.0 as usize, (slot.stripes * header.key_bytes) as usize);
    Parts { fields, area, sector: (512 * header.payload_offset.0 as usize, 512) }
}

fn of_luks2(image: &[u8]) -> Parts {
    let (header, json) =
        luks2::BinaryHeader::parse_copy(image, luks2::Copy::Primary).expect("a LUKS2 header");
    let metadata = luks2::Metadata::parse(json, header.size).expect("LUKS2 metadata");
    let keyslot = &metadata.keyslots[&0];
    let luks2::KeyslotKind::Luks2 { kdf, af_hash, area_cipher, area_key_size, .. } = &keyslot.kind else {
        panic!("a keyslot of type luks2")
    };
    let luks2::Kdf::Argon2id { time, memory_kib, lanes, salt } = kdf else { panic!("Argon2id") };
    let digest = metadata.digests.values().next().expect("a digest");
    let luks2::DigestKind::Pbkdf2 { hash, iterations, salt: digest_salt, value } = &digest.kind else {
        panic!("a digest of type pbkdf2")
    };
    let segment = &metadata.segments[&0];
    let luks2::SegmentKind::Crypt { encryption, sector_size, .. } = &segment.kind else { panic!("crypt") };
    assert_eq!([&area_cipher[..], encryption], ["aes-xts-plain64"; 2]);
    let fields = format!(
        "kdf: Kdf::Argon2id {{ time: {time}, memory_kib: {memory_kib}, lanes: {lanes} }}, salt: &{salt:?}, \
         area_key_len: {area_key_size}, key_len: {}, af_hash: {af_hash:?}, digest_hash: {hash:?}, \
         digest_iterations: {iterations}, digest_salt: &{digest_salt:?}, digest: &{value:?}, \
         sector_size: {sector_size}",
        keyslot.key_size,
    );
    let area = (keyslot.area.offset.0 as usize, 4000 * keyslot.key_size as usize);
    Parts { fields, area, sector: (segment.offset.0 as usize, *sector_size as usize) }
}

fn out(name: &str) -> PathBuf {
    PathBuf::from(env::var_os("OUT_DIR").expect("cargo names a directory")).join(name)
}
