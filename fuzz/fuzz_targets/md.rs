//! md RAID: superblocks on a device of these bytes, and what arrays they make with the one that mdadm wrote beside them.
#![no_main]

use keyway_boot::md::{Found, State, Superblock, assemble};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let halves = data.split_at(data.len() / 2);
    let all = [data, halves.0, halves.1];
    let found = all.iter().enumerate().filter_map(|(number, device)| {
        let superblock = superblock(device)?;
        assert!(superblock.members > 0 && superblock.roles.len() <= 1920);
        let device = format!("/dev/{number}");
        Some(Found { device, disk: None, inside: number == 0, superblock, refused: None })
    });
    for array in assemble(&found.collect::<Vec<_>>()) {
        assert!(!array.shown().chars().any(char::is_control));
        assert!(array.link().is_none_or(|name| !name.contains('/') && ![".", ".."].contains(&&*name)));
        if let State::Ready(_) | State::Degraded(_) = array.state {
            assert!(!array.members.is_empty() && array.newest.needs.is_none());
        }
    }
});

fn superblock(device: &[u8]) -> Option<Superblock> {
    let mut read = |offset: u64, room: &mut [u8]| {
        let there = usize::try_from(offset).ok().and_then(|offset| device.get(offset..)?.get(..room.len()));
        there.map(|there| room.copy_from_slice(there)).is_some()
    };
    Superblock::find(device.len() as u64, &mut read).ok().flatten()
}
