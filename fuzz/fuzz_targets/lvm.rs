//! LVM: the first bytes of a device are looked at for a label, its metadata are read, and tables are made of them; a text alone
//! is read, too. What has a table lies within its devices.
#![no_main]

use keyway_boot::lvm::area::Budget;
use keyway_boot::lvm::{Found, Group, Label, SECTOR, area, assemble};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|device: &[u8]| {
    let mut read = |offset: u64, room: &mut [u8]| {
        let there = usize::try_from(offset).ok().and_then(|offset| device.get(offset..)?.get(..room.len()));
        there.map(|there| room.copy_from_slice(there)).is_some()
    };
    if let Ok(Some(label)) = Label::find(&device[..device.len().min(Label::START)]) {
        let mut budget = Budget::default();
        for place in label.areas {
            let _ = area::text(place, &mut budget, &mut read).map(|text| text.map(|text| tables(&text)));
        }
    }
    tables(device);
});

fn tables(text: &[u8]) {
    let Ok(group) = Group::parse(text) else { return };
    let found = group.physical.iter().enumerate().map(|(number, physical)| Found {
        device: format!("/dev/{number}"),
        size: 1 << 40,
        id: physical.id,
        inside: number % 2 == 0,
        // One has them for all, as a device without metadata is found by its UUID alone.
        groups: (number == 0).then(|| group.clone()).into_iter().collect(),
        wrong: (number == 1).then(|| "its checksum".to_owned()),
    });
    for group in assemble(&found.collect::<Vec<_>>()) {
        assert!(group.devices.len() <= 1024 && group.group.logical.len() <= 4096);
        for named in group.volumes() {
            let Ok((_, table)) = group.table(&named.volume) else { panic!("{named:?} has no table") };
            let mut next = 0;
            for piece in table {
                assert_eq!(piece.start, next);
                next += piece.length;
                let each = piece.length / piece.places.len() as u64;
                assert!(piece.places.iter().all(|(_, start)| (start + each) * SECTOR <= 1 << 40));
                assert_eq!(piece.stripe == 0, piece.places.len() == 1);
            }
        }
    }
}
