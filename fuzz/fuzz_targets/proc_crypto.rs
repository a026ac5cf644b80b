//! Texts of /proc/crypto, which may be anybody's file: whatever they say,
//! the drivers have an order and somebody's choice.
#![no_main]

use keyway_kernel::{Algorithm, Registry, Running, User, Version, proc_crypto};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let drivers = proc_crypto::parse(text);
    let _ = Running::new(&drivers, []);
    let registry = Registry { version: Version::parse(text.lines().next().unwrap_or_default()), drivers };
    for driver in registry.drivers.iter().take(8) {
        assert!(driver.name.chars().count() <= 127 && !driver.driver.contains(char::is_control));
        let algorithm = Algorithm::parse(&driver.name);
        assert_eq!(Algorithm::parse(&algorithm.to_string()), algorithm);
        let order = registry.candidates(&algorithm);
        assert!(order.windows(2).all(|pair| pair[0].priority >= pair[1].priority));
        for user in [User::DmCrypt, User::Fscrypt] {
            let _ = registry.choice(user, &algorithm);
        }
    }
});
