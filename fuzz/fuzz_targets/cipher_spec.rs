//! Cipher specifications: one that is recognised prints to a text that means the same.
#![no_main]

use keyway_crypto::CipherSpec;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(spec) = CipherSpec::recognise(text) {
        let printed = spec.to_string();
        assert_eq!(CipherSpec::recognise(&printed).as_ref(), Ok(&spec), "{text:?} prints {printed:?}");
        for bits in spec.key_bits() {
            assert_eq!(spec.check_key_bits(bits), Ok(()));
        }
        assert!(spec.check_key_bits(7).is_err());
    }
    if let Ok(spec) = CipherSpec::parse(text) {
        let (name, mode) = (spec.cipher_name(), spec.mode_name());
        assert_eq!(
            CipherSpec::from_parts(&name, &mode),
            Ok(spec),
            "{text:?} has parts {name:?} and {mode:?}"
        );
    }
});
