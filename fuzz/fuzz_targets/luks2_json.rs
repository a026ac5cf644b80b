//! LUKS2 metadata: accepted text is written back to the byte; edits
//! leave either the old document or a valid new one.
//!
//! The input is the JSON text, a NUL, and bytes from which edits are made.
#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use keyway_format::json::{self, Object, Value};
use keyway_format::luks2::{HeaderSize, Metadata, Priority};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
enum Edit {
    CopyKeyslot { from: u8, to: u8, digest: u8 },
    RemoveKeyslot(u8),
    ReplaceKeyslot { from: u8, to: u8 },
    SetPriority(u8, u8),
    CopyKeyslotWithDigest { from: u8, to: u8, digest: u8 },
    AddToken(u8, Vec<u8>),
    AddKeyringToken(u8, String, Vec<u8>),
    RemoveToken(u8),
    AssignToken(u8, u8),
    UnassignToken(u8, u8),
    SetFlags(Vec<String>),
}

fuzz_target!(|input: &[u8]| {
    let end = input.iter().position(|&byte| byte == 0).unwrap_or(input.len());
    let (text, edits) = input.split_at(end);
    if let Ok(value) = json::parse(text) {
        assert_eq!(json::parse(value.to_compact().as_bytes()).as_ref(), Ok(&value));
        assert_eq!(json::parse(value.to_pretty().as_bytes()), Ok(value));
    }
    if let Ok(value) = json::parse_as_json_c(text) {
        assert_eq!(
            json::parse(value.to_compact().as_bytes()),
            Ok(value),
            "what json-c's dialect says is JSON"
        );
    }
    let Ok(mut metadata) = Metadata::parse(text, HeaderSize::ALL[0]) else { return };
    assert_eq!(metadata.to_json(), text);
    let mut edits = Unstructured::new(edits.get(1..).unwrap_or_default());
    for _ in 0..8 {
        let Ok(edit) = edits.arbitrary::<Edit>() else { return };
        let before = metadata.clone();
        if apply(&mut metadata, edit).unwrap_or(false) {
            assert_eq!(Metadata::parse(&metadata.to_json(), HeaderSize::ALL[0]).as_ref(), Ok(&metadata));
        } else {
            assert_eq!(metadata, before, "a refused edit changes nothing");
        }
    }
});

/// `None` when what should be copied does not exist, `Some(false)` when the edit was refused.
fn apply(metadata: &mut Metadata, edit: Edit) -> Option<bool> {
    let strings = |list: &[String]| list.to_vec();
    let result = match edit {
        Edit::CopyKeyslot { from, to, digest } => {
            let mut keyslot = metadata.keyslots.get(&from.into())?.clone();
            keyslot.area = metadata.free_area(keyslot.key_size).ok()?;
            metadata.add_keyslot(to.into(), &keyslot, digest.into())
        }
        Edit::RemoveKeyslot(id) => metadata.remove_keyslot(id.into()),
        Edit::ReplaceKeyslot { from, to } => {
            let keyslot = metadata.keyslots.get(&from.into())?.clone();
            metadata.replace_keyslot(to.into(), &keyslot)
        }
        Edit::SetPriority(id, priority) => {
            let priorities = [Priority::Ignore, Priority::Normal, Priority::Prefer];
            metadata.set_priority(id.into(), priorities[priority as usize % 3])
        }
        Edit::CopyKeyslotWithDigest { from, to, digest } => {
            let mut keyslot = metadata.keyslots.get(&from.into())?.clone();
            keyslot.area = metadata.free_area(keyslot.key_size).ok()?;
            let copied = metadata.digests.get(&metadata.digest_of_keyslot(from.into())?)?.clone();
            metadata.add_keyslot_with_digest(to.into(), &keyslot, digest.into(), &copied)
        }
        Edit::AddToken(id, json) => metadata.add_token(id.into(), &json),
        Edit::AddKeyringToken(id, description, keyslots) => {
            let keyslots: Vec<Value> = keyslots.iter().map(|id| Value::from(id.to_string())).collect();
            let token = Object::new()
                .with("type", "luks2-keyring")
                .with("keyslots", keyslots)
                .with("key_description", description);
            metadata.add_token(id.into(), Value::from(token).to_compact().as_bytes())
        }
        Edit::RemoveToken(id) => metadata.remove_token(id.into()),
        Edit::AssignToken(token, keyslot) => metadata.assign_token(token.into(), keyslot.into()),
        Edit::UnassignToken(token, keyslot) => metadata.unassign_token(token.into(), keyslot.into()),
        Edit::SetFlags(flags) => {
            let flags = strings(&flags);
            metadata.set_flags(&flags.iter().map(String::as_str).collect::<Vec<_>>())
        }
    };
    Some(result.is_ok())
}
