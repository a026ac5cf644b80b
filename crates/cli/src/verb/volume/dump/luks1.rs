//! A LUKS1 header as cryptsetup prints it.

use super::hex_lines;
use crate::output::paint::printable;
use keyway_format::luks1::{Header, SlotState};
use std::fmt::Write;
use std::path::Path;

/// The whole text.
pub(super) fn dump(header: &Header, path: &Path) -> String {
    let mut text = format!("LUKS header information for {}\n\n", path.display());
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<15}\t{value}");
    };
    line("Version:", "1");
    line("Cipher name:", &header.cipher_name);
    line("Cipher mode:", &header.cipher_mode);
    line("Hash spec:", &header.hash_spec);
    line("Payload offset:", &header.payload_offset.0.to_string());
    line("MK bits:", &(header.key_bytes * 8).to_string());
    line("MK digest:", &one_line(&header.digest));
    line("MK salt:", &hex_lines(&header.digest_salt, "               \t"));
    line("MK iterations:", &header.digest_iterations.to_string());
    line("UUID:", &printable(&header.uuid));
    text.push('\n');
    for (number, slot) in header.slots.iter().enumerate() {
        if slot.state != SlotState::Enabled {
            let _ = writeln!(text, "Key Slot {number}: DISABLED");
            continue;
        }
        let _ = writeln!(text, "Key Slot {number}: ENABLED");
        let _ = writeln!(text, "\tIterations:         \t{}", slot.iterations);
        let _ =
            writeln!(text, "\tSalt:               \t{}", hex_lines(&slot.salt, "\t                      \t"));
        let _ = writeln!(text, "\tKey material offset:\t{}", slot.offset.0);
        let _ = writeln!(text, "\tAF stripes:            \t{}", slot.stripes);
    }
    text
}

/// Twenty bytes on a line of their own.
fn one_line(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x} ")).collect()
}
