//! DNS: whatever a server sends to a question is an answer to it or
//! none, and holds no more than one answer can.
#![no_main]

use keyway_resolve::message::{Answer, Kind, answer, question};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|message: &[u8]| {
    for kind in [Kind::A, Kind::Aaaa] {
        let question = question(0x1234, "store.example", kind);
        let _ = answer(&question, message);
        // The same bytes behind a header and a question that fit, so that records are reached.
        let (flags, records) = message.split_at(message.len().min(3));
        let mut fitting = question.clone();
        fitting[2] = 0x81;
        fitting[3..3 + flags.len().min(1)].copy_from_slice(&flags[..flags.len().min(1)]);
        fitting[6..6 + flags.len().saturating_sub(1)].copy_from_slice(flags.get(1..).unwrap_or_default());
        fitting.extend_from_slice(records);
        if let Some(Answer::Addresses(addresses)) = answer(&question, &fitting) {
            assert!(addresses.len() <= 64);
            assert!(addresses.iter().all(|address| address.is_ipv4() == (kind == Kind::A)));
        }
    }
});
