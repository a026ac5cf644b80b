//! `luksDump --json`: one object, with the same names in both versions for what means the same.

use crate::output::document::{self, document};
use keyway::parts::{Header, Luks};
use keyway_format::json::{Object, Value, parse};
use keyway_format::luks1::{self, SlotState};
use keyway_format::luks2::{BinaryHeader, Metadata};

/// The whole text.
pub(super) fn summary(luks: &Luks) -> String {
    let object = match luks.header() {
        Header::Luks1(header) => luks1_object(header),
        Header::Luks2 { binary, metadata } => luks2_object(binary, metadata),
    };
    document::text(object)
}

fn luks1_object(header: &luks1::Header) -> Object {
    let mut keyslots = Object::new();
    for (number, slot) in header.slots.iter().enumerate().filter(|(_, slot)| slot.state == SlotState::Enabled)
    {
        let fields = Object::new()
            .with("iterations", slot.iterations)
            .with("salt", hex(&slot.salt))
            .with("offset_sectors", number_value(slot.offset.0))
            .with("af_stripes", slot.stripes);
        keyslots.set(&number.to_string(), fields);
    }
    let digest = Object::new()
        .with("value", hex(&header.digest))
        .with("salt", hex(&header.digest_salt))
        .with("iterations", header.digest_iterations);
    document()
        .with("format", "luks1")
        .with("uuid", header.uuid.as_str())
        .with("cipher", header.cipher())
        .with("hash", header.hash_spec.as_str())
        .with("key_bits", header.key_bytes * 8)
        .with("payload_offset_sectors", number_value(header.payload_offset.0))
        .with("digest", digest)
        .with("keyslots", keyslots)
}

fn luks2_object(binary: &BinaryHeader, metadata: &Metadata) -> Object {
    document()
        .with("format", "luks2")
        .with("uuid", binary.uuid.as_str())
        .with("label", binary.label.as_str())
        .with("subsystem", binary.subsystem.as_str())
        .with("sequence_id", number_value(binary.sequence_id))
        .with("metadata_bytes", number_value(binary.size.bytes().0))
        // Cannot fail: the text was parsed before.
        .with("metadata", parse(&metadata.to_json()).unwrap_or(Value::Null))
}

fn number_value(number: u64) -> Value {
    Value::Number(number.to_string())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
