//! GRUB's oracle over hostile headers, and the modules of a hostile image: a verdict whatever
//! the bytes, each keyslot once, and never a panic.
#![no_main]

use keyway_boot::loader::grub::{Disk, Loader, Version, installed};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let read = |offset: u64, len: usize| {
        let start = usize::try_from(offset).ok()?;
        bytes.get(start..start.checked_add(len)?).map(<[u8]>::to_vec)
    };
    for version in Version::ALL {
        let found = Loader::new(version).judge(&Disk::new(&read, 1 << 30));
        assert!(found.refused.is_none() || found.slots.iter().all(|slot| slot.works.is_empty()));
        for slot in &found.slots {
            assert!(found.slot(slot.number).is_some());
        }
    }
    installed::modules(bytes);
});
