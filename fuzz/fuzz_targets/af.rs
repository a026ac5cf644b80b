//! The AF splitter: what was split merges to the key; lengths that do not go together are refused.
#![no_main]

use keyway_crypto::{Hash, Secret};
use keyway_format::af;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, Vec<u8>, u8, Vec<u8>)| {
    let (hash, key, stripes, random) = input;
    let (hash, stripes) = (Hash::ALL[hash as usize % Hash::ALL.len()], u32::from(stripes));
    // Any bytes as material: only the lengths decide.
    let merged = af::merge(&random, key.len(), stripes, hash);
    assert_eq!(merged.is_ok(), stripes > 0 && random.len() == key.len() * stripes as usize);

    let mut material: Vec<u8> = random.iter().copied().cycle().take(key.len() * stripes as usize).collect();
    material.resize(key.len() * stripes as usize, 0);
    let key = Secret::copy_from(&key);
    if af::split(&key, stripes, hash, &mut material).is_ok() {
        let merged = af::merge(&material, key.len(), stripes, hash).unwrap();
        assert!(merged.ct_eq(key.expose()));
    } else {
        assert_eq!(stripes, 0);
    }
});
