//! A re-encryption that LUKS2 metadata describes: what is read of it is written so that it reads the
//! same.
//!
//! The input is the JSON text.
#![no_main]

use keyway_format::luks2::{HeaderSize, Metadata};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let Ok(metadata) = Metadata::parse(text, HeaderSize::ALL[0]) else { return };
    let Ok(Some(what)) = metadata.reencryption() else { return };
    let Ok(state) = what.state(&metadata) else { return };
    let pieces = what.pieces(&state);
    let mut written = metadata.clone();
    // Numbers of objects may be written in ways that no edit writes them in: such an edit is refused.
    if written.set_reencryption_state(&what, &state).is_err() {
        assert_eq!(written, metadata, "a refused edit changes nothing");
        return;
    }
    let again = Metadata::parse(&written.to_json(), HeaderSize::ALL[0]).expect("an edit's result is valid");
    let read = again.reencryption().expect("it is sound").expect("it is under way");
    assert_eq!(read, what);
    let state = read.state(&again).expect("its segments are those of a state");
    assert_eq!(read.pieces(&state), pieces);
});
