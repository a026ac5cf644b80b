//! What cryptsetup 2.6's fvault2Dump prints.

use super::Header;
use crate::kind::key_text::with_key;
use keyway_crypto::Secret;
use std::fmt::Write;

/// The header's text. `device` is what the user calls it.
pub fn header(header: &Header, device: &str) -> String {
    let logical = &header.logical;
    let mut text = String::new();
    let mut line = |line: std::fmt::Arguments<'_>| {
        let _ = writeln!(text, "{line}");
    };
    let offset = logical.extents.first().and_then(|extent| extent.at).unwrap_or_default();
    line(format_args!("Header information for FVAULT2 device {device}."));
    line(format_args!("Physical volume UUID: \t{}", header.physical.uuid));
    line(format_args!("Family UUID:          \t{}", logical.family));
    line(format_args!("Logical volume offset:\t{} [bytes]", offset.0));
    line(format_args!("Logical volume size:  \t{} [bytes]", logical.size.0));
    line(format_args!("Cipher:               \taes"));
    line(format_args!("Cipher mode:          \txts-plain64"));
    for user in &logical.users {
        let salt: String = user.salt.iter().map(|byte| format!("{byte:02x} ")).collect();
        line(format_args!("PBKDF2 iterations:    \t{}", user.iterations));
        line(format_args!("PBKDF2 salt:          \t{salt}"));
    }
    text
}

/// The same and the volume key, which makes it a secret.
pub fn with_volume_key(header: &Header, device: &str, volume_key: &Secret) -> Secret {
    let head = format!("{}Volume key:       \t", self::header(header, device));
    with_key(&head, volume_key, usize::MAX)
}
