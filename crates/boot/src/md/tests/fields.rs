//! Fields of superblocks at the limits of what they may say.

use super::*;

const SIZE: u64 = 44 << 20;

/// A member of version 0.90 with words changed from this one on.
fn old(word: usize, value: &[u8]) -> Result<Option<Superblock>, Error> {
    on_device(SIZE, Version::V0, &changed(OLD[0], 4 * word, value))
}

#[test]
fn words_of_version_0_90() {
    let read = |word, value: &[u8]| old(word, value).unwrap().unwrap();
    assert_eq!(read(39, &0x1_0000_0007_u64.to_le_bytes()).events, 0x1_0000_0007);
    assert!(read(33, &1u32.to_le_bytes()).is_clean && !read(33, &2u32.to_le_bytes()).is_clean);
    for (members, is_one) in [(0u32, false), (1, true), (27, true), (28, false), (29, false)] {
        let found = old(10, &members.to_le_bytes());
        assert_eq!(found.is_ok(), is_one, "{members}");
        assert!(is_one || found == Err(Error::Field("the number of members is impossible")));
    }
}

#[test]
fn roles_of_version_0_90() {
    for (state, role) in [
        (0u32, Role::Spare),
        (2, Role::Spare),
        (4, Role::Active(1)),
        (6, Role::Active(1)),
        (1, Role::Gone),
        (5, Role::Gone),
        (8, Role::Gone),
        (12, Role::Gone),
    ] {
        let found = old(128 + 32 + 4, &state.to_le_bytes()).unwrap().unwrap();
        assert_eq!(found.role_of(1), role, "{state}");
    }
}

#[test]
fn what_only_looks_like_version_0_90_is_none() {
    // In KiB: what is used ends where the superblock begins.
    let used = u32::try_from(Version::V0.place(SIZE).unwrap() >> 10).unwrap();
    assert!(old(8, &used.to_le_bytes()).unwrap().is_some());
    assert_eq!(old(8, &(used + 1).to_le_bytes()), Ok(None), "it is of a larger device");
    assert_eq!(old(1, &2u32.to_le_bytes()), Ok(None), "it is of another version");
    assert_eq!(on_device(SIZE, Version::V0, &0xa92b_4efc_u32.to_be_bytes()), Ok(None));
}

#[test]
fn as_many_members_as_fit_into_version_1() {
    let mut whole = MIRROR[0].to_vec();
    whole.resize(LENGTH, 0);
    [92, 220].iter().for_each(|at| whole[*at..at + 4].copy_from_slice(&1920u32.to_le_bytes()));
    let sum = checksum(&whole, 216);
    whole[216..220].copy_from_slice(&sum.to_le_bytes());
    let found = on_device(48 << 20, Version::V1Behind, &whole).unwrap().unwrap();
    assert_eq!((found.members, found.roles.len()), (1920, 1920));
}

#[test]
fn a_log_of_parity_is_on_one_device_or_on_several() {
    for (features, has_log) in [(0u32, false), (0x400, true), (0x800, true), (0x1000, false)] {
        let one = changed(MIRROR[0], 8, &features.to_le_bytes());
        assert_eq!(superblock(&one).has_log, has_log, "{features:#x}");
    }
}

#[test]
fn roles_of_version_1() {
    for (value, role) in [
        (1u16, Role::Active(1)),
        (0xff00, Role::Active(0xff00)),
        (0xff01, Role::Gone),
        (0xfffd, Role::Journal),
        (0xfffe, Role::Gone),
        (0xffff, Role::Spare),
    ] {
        let one = changed(MIRROR[0], 256 + 2, &value.to_le_bytes());
        assert_eq!(superblock(&one).role_of(1), role, "{value:#x}");
    }
}

#[test]
fn each_mark_of_a_reshape_is_one() {
    for features in [4u32, 32, 64] {
        let one = changed(MIRROR[0], 8, &features.to_le_bytes());
        assert_eq!(superblock(&one).needs, Some("it is being reshaped"), "{features}");
    }
}
