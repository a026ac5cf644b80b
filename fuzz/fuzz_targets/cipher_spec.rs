//! Cipher specifications: one that is recognised prints to a text that means the same.
#![no_main]

use keyway_crypto::{CipherSpec, Cpu, Secret, SectorCipher, SectorSize};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(spec) = CipherSpec::parse(text) {
        let printed = spec.to_string();
        assert_eq!(CipherSpec::parse(&printed).as_ref(), Ok(&spec), "{text:?} prints {printed:?}");
        for bits in spec.key_bits() {
            assert_eq!(spec.check_key_bits(bits), Ok(()));
        }
        assert!(spec.check_key_bits(7).is_err());
        assert!(spec.sector_sizes().next() == Some(SectorSize::S512));
        // (Not the same text: an empty IV, which a mode without one
        // ignores, leaves no trace in two fields.)
        let (name, mode) = (spec.cipher_name(), spec.mode_name());
        let parts = CipherSpec::parse(&if mode.is_empty() { name.clone() } else { format!("{name}-{mode}") });
        assert!(parts.is_ok_and(|parts| parts.means(&spec)), "{text:?} has parts {name:?} and {mode:?}");
        run(text, &spec);
    }
});

/// What parses runs, under its smallest key, unless that is a long one of many keys.
fn run(text: &str, spec: &CipherSpec) {
    let Some(bits) = spec.key_bits().first().copied().filter(|bits| *bits <= 8192) else { return };
    let key = Secret::zeroed(bits / 8);
    let cipher = SectorCipher::new(spec, &key, SectorSize::S512, Cpu::detect()).expect(text);
    let mut sector = [0x5a; 512];
    cipher.encrypt(1, &mut sector);
    cipher.decrypt(1, &mut sector);
    assert_eq!(sector, [0x5a; 512], "{text:?}");
}
