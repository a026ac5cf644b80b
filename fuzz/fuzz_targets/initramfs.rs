//! Initramfs images: archives one behind the other, plain and packed. Whatever they
//! hold, reading ends with an inventory or a reason.
#![no_main]

use keyway_boot::initramfs::cpio::Archive;
use keyway_kernel::modules::Inventory;
use libfuzzer_sys::fuzz_target;
use std::io::Read;

fuzz_target!(|image: &[u8]| {
    let mut archive = Archive::new(image);
    while let Ok(Some(entry)) = archive.next_entry() {
        let mut content = Vec::new();
        if archive.read_to_end(&mut content).is_ok() {
            assert_eq!(content.len() as u64, entry.size);
        }
        assert!(!entry.name.contains('\0') && !entry.name.starts_with('/'));
    }
    if let Ok(inventory) = Inventory::of_image(image) {
        let _ = (inventory.module("dm-crypt"), inventory.algorithm("xts"), inventory.implementations("aes"));
        let order = inventory.in_order(["btrfs"]);
        assert!(order.len() <= inventory.len());
        let _ = (inventory.file_system("btrfs"), inventory.unmet("btrfs"));
    }
});
