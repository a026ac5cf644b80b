//! Superblocks that mdadm wrote (crates/boot/tests/md), and what nobody's tools would write.

use super::superblock::{LENGTH, checksum};
use super::*;

mod fields;
mod missing;
mod verdict;

/// The superblocks of an array's members.
macro_rules! members {
    ($name:literal $($number:literal)*) => {
        &[$(include_bytes!(concat!("../../tests/md/", $name, "-", $number))),*]
    };
}

const MIRROR: &[&[u8]] = members!("mirror" 0 1);
const PARITY: &[&[u8]] = members!("parity" 0 1 2);
const OLD: &[&[u8]] = members!("old" 0 1);
const TEN: &[&[u8]] = members!("ten" 0 1 2 3 4);
const SIX: &[&[u8]] = members!("six" 0 1 2 3);
const STRIPES: &[&[u8]] = members!("stripes" 0 1);
const LINEAR: &[&[u8]] = members!("linear" 0 1);
const STALE: &[&[u8]] = members!("stale" 0 1);
const OLD_FIVE: &[&[u8]] = members!("oldfive" 0 1 2);
const APART: &[&[u8]] = members!("apart" 0 1);
const JOURNAL: &[&[u8]] = members!("journal" 0 1 2 3);
const REBUILDING: &[&[u8]] = members!("rebuilding" 0 1 2);

/// A device of this size with these bytes at the place of a version.
fn on_device(size: u64, version: Version, bytes: &[u8]) -> Result<Option<Superblock>, Error> {
    let place = version.place(size).unwrap();
    Superblock::find(size, &mut |offset, room| {
        if offset + room.len() as u64 > size {
            return false;
        }
        for (at, byte) in (offset..).zip(room) {
            let inside = at.checked_sub(place).and_then(|at| bytes.get(usize::try_from(at).ok()?));
            *byte = inside.copied().unwrap_or(0);
        }
        true
    })
}

/// In the place where it was written.
fn superblock(bytes: &[u8]) -> Superblock {
    let versions = [Version::V0, Version::V1End, Version::V1Start, Version::V1Behind];
    let sizes = [8 << 20, 24 << 20, 44 << 20, 48 << 20];
    let all = sizes.iter().flat_map(|size| versions.map(|version| on_device(*size, version, bytes)));
    all.flatten().flatten().next().unwrap()
}

/// Members on /dev/a, /dev/b and so on.
fn found(members: &[&[u8]]) -> Vec<Found> {
    let nodes = ('a'..).map(|letter| format!("/dev/{letter}"));
    let one = |(device, bytes): (String, &&[u8])| Found {
        device,
        disk: None,
        inside: false,
        superblock: superblock(bytes),
        refused: None,
    };
    nodes.zip(members).map(one).collect()
}

fn array(found: &[Found]) -> Array {
    let arrays = assemble(found);
    assert_eq!(arrays.len(), 1, "{arrays:?}");
    arrays.into_iter().next().unwrap()
}

/// The same with bytes changed, and the checksum right again.
fn changed(bytes: &[u8], at: usize, value: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + value.len()].copy_from_slice(value);
    let is_first = u32_at(&bytes, 4) == Some(1);
    let (own, length) = if is_first { (216, 256 + 2 * bytes[220] as usize) } else { (152, LENGTH) };
    let mut whole = bytes.clone();
    whole.resize(LENGTH, 0);
    let sum = checksum(&whole[..length], own);
    bytes[own..own + 4].copy_from_slice(&sum.to_le_bytes());
    bytes
}

#[test]
fn superblocks_of_every_version_are_read() {
    for (members, size, version, level, uuid, name, number) in [
        (MIRROR, 48, "1.2", "raid1", "6bee949e:ef9f5620:d78733c5:9285f88e", "server:root", None),
        (PARITY, 24, "1.2", "raid5", "95095d15:73da0a45:a74bed7b:968403e0", "server:0", Some(0)),
        (OLD, 44, "0.90", "raid1", "cc64ccae:02f32f91:01f9e43d:ac30fbff", "md5", Some(5)),
        (TEN, 8, "1.0", "raid10", "3011accf:44b63bbb:015f8cae:1b04c225", "server:ten", None),
        (SIX, 8, "1.1", "raid6", "12fec569:c5799b1d:f53d9043:955efd80", "server:1", Some(1)),
        (STRIPES, 8, "1.2", "raid0", "a986ebec:f738e30f:461fee6d:aeed2809", "any:stripes", None),
        (LINEAR, 8, "1.2", "linear", "5ff3466a:e2776857:a5e19a22:89dbff30", "any:joined", None),
        (OLD_FIVE, 8, "0.90", "raid5", "caebd267:60c7ae80:01f9e43d:ac30fbff", "md4", Some(4)),
    ] {
        let array = array(&found(members));
        let one = &array.newest;
        assert_eq!((one.version.text(), &*one.level.to_string()), (version, level), "{name}");
        assert_eq!((&*one.uuid.to_string(), &*array.shown()), (uuid, name));
        assert_eq!(array.number(), number, "{name}");
        assert_eq!(on_device(size << 20, one.version, members[0]).unwrap().unwrap().uuid, one.uuid);
        for byte in [8, 100, 200] {
            let mut odd = members[0].to_vec();
            odd[byte] ^= 1;
            assert_eq!(on_device(size << 20, one.version, &odd), Err(Error::Checksum), "{name}");
        }
    }
    let mirror = [
        "md/root",
        "disk/by-id/md-uuid-6bee949e:ef9f5620:d78733c5:9285f88e",
        "disk/by-id/md-name-server:root",
    ];
    assert_eq!(array(&found(MIRROR)).paths(), mirror.map(|path| format!("/dev/{path}")));
    let old = ["md5", "md/5", "disk/by-id/md-uuid-cc64ccae:02f32f91:01f9e43d:ac30fbff"];
    assert_eq!(array(&found(OLD)).paths(), old.map(|path| format!("/dev/{path}")));
    assert_eq!(array(&found(MIRROR)).link().as_deref(), Some("root"));
    assert_eq!(array(&found(OLD)).link().as_deref(), Some("5"));
    assert_eq!(Uuid::parse("6bee949e-ef9f-5620-d787-33c59285f88e"), Some(superblock(MIRROR[0]).uuid));
    assert_eq!((Uuid::parse("6bee949e"), Uuid::parse(&"é".repeat(16))), (None, None));
}

#[test]
fn a_superblock_of_another_place_is_of_another_device() {
    let (start, behind) = (Version::V1Start, Version::V1Behind);
    assert_eq!(on_device(48 << 20, start, MIRROR[0]), Ok(None));
    assert_eq!(on_device(8 << 20, behind, SIX[0]), Ok(None));
    // Four KiB more, as the disk of a partition that begins there.
    assert_eq!(on_device((8 << 20) + 4096, Version::V1End, TEN[0]), Ok(None));
    for size in [0, 511, 4096, 8192, 65_536, 131_071] {
        assert_eq!(Superblock::find(size, &mut |_, _| false), Ok(None));
        assert!(
            Superblock::find(size, &mut |_, room| {
                room.fill(0xff);
                true
            })
            .is_ok()
        );
    }
    // As its words are on a big-endian machine.
    let mut other = OLD[0].to_vec();
    other.resize(LENGTH, 0);
    other.chunks_exact_mut(4).for_each(<[u8]>::reverse);
    let why = on_device(44 << 20, Version::V0, &other).unwrap_err();
    assert_eq!(why.to_string(), "its md superblock is invalid: a machine with another byte order made it");
}

#[test]
fn what_runs_and_what_is_missing() {
    let state = |members: &[&[u8]], without: &[usize]| {
        let mut all = found(members);
        let mut number = 0;
        all.retain(|_| {
            number += 1;
            !without.contains(&(number - 1))
        });
        let array = array(&all);
        match array.state {
            State::Ready(None) => format!("{}", array.members.len()),
            State::Ready(Some(why)) => format!("{}, {why}", array.members.len()),
            State::Degraded(why) => format!("degraded: {why}"),
            State::Lacking(why) => format!("lacking: {why}"),
            State::Never(why) => format!("never: {why}"),
        }
    };
    for (members, without, said) in [
        (MIRROR, &[][..], "2"),
        (MIRROR, &[0], "degraded: member 0 of 0 to 1 is missing"),
        (PARITY, &[], "3"),
        (PARITY, &[2], "degraded: member 2 of 0 to 2 is missing"),
        (PARITY, &[0, 2], "lacking: members 0, 2 of 0 to 2 are missing"),
        (SIX, &[0, 3], "degraded: members 0, 3 of 0 to 3 are missing"),
        (SIX, &[0, 1, 3], "lacking: members 0, 1, 3 of 0 to 3 are missing"),
        (TEN, &[], "5"),
        (TEN, &[4], "4"),
        (TEN, &[0, 3], "degraded: members 0, 3 of 0 to 3 are missing"),
        (TEN, &[0, 1], "lacking: members 0, 1 of 0 to 3 are missing"),
        (STRIPES, &[], "2"),
        (STRIPES, &[1], "lacking: member 1 of 0 to 1 is missing"),
        (LINEAR, &[0], "lacking: member 0 of 0 to 1 is missing"),
        (OLD, &[1], "degraded: member 1 of 0 to 1 is missing"),
        (OLD_FIVE, &[2], "2, member 2 of 0 to 2 is missing"),
        (OLD_FIVE, &[], "2, member 2 of 0 to 2 is missing"),
        (STALE, &[], "1, member 1 of 0 to 1 is missing"),
        // The one that failed does not know it.
        (STALE, &[0], "degraded: member 0 of 0 to 1 is missing"),
        (APART, &[], "never: /dev/a and /dev/b each say that the other failed: they were used separately"),
        (APART, &[1], "1, member 1 of 0 to 1 is missing"),
        (JOURNAL, &[], "never: it has a journal of writes"),
        (REBUILDING, &[], "3"),
        (REBUILDING, &[2], "degraded: member 2 of 0 to 2 is missing"),
        (REBUILDING, &[1], "lacking: member 1 of 0 to 2 is missing"),
    ] {
        assert_eq!(state(members, without), said, "{without:?}");
    }
}

#[test]
fn members_that_do_not_count_are_named() {
    let mut all = found(STALE);
    let stale = array(&all);
    assert_eq!(stale.members, ["/dev/a"]);
    assert_eq!(stale.left_out, ["/dev/b failed, according to the newest superblock"]);
    // Members that missed writes, and one that missed a single write.
    all = found(PARITY);
    let events = |bytes: &[u8], events: u64| superblock(&changed(bytes, 200, &events.to_le_bytes()));
    all[0].superblock = events(PARITY[0], 9);
    all[1].superblock = events(PARITY[1], 8);
    let fresh = array(&all);
    assert_eq!(fresh.members, ["/dev/a", "/dev/b"]);
    assert_eq!(fresh.left_out, ["/dev/c is not fresh (0 events, the newest has 9)"]);
    assert_eq!(fresh.state, State::Degraded("member 2 of 0 to 2 is missing".into()));
    // Used apart, and one of them more.
    all = found(APART);
    all[1].superblock = events(APART[1], 9);
    let apart = array(&all);
    assert_eq!(apart.left_out, ["/dev/a says that /dev/b failed: they were used separately"]);
    assert_eq!(apart.state, State::Ready(Some("member 0 of 0 to 1 is missing".into())));
    // One that knows that it failed, and one that says it is of another shape.
    all = found(MIRROR);
    all.iter_mut().for_each(|one| one.superblock.roles[1] = Role::Gone);
    assert_eq!(array(&all).left_out, ["/dev/b failed, according to the newest superblock"]);
    all = found(MIRROR);
    all[1].superblock.members = 3;
    assert_eq!(array(&all).left_out, ["/dev/b has another level, layout or number of members"]);
    // A copy of a disk.
    all = found(&[MIRROR[0], MIRROR[1], MIRROR[1]]);
    assert_eq!(array(&all).state, State::Never("/dev/b and /dev/c are the same member".into()));
}

/// Whoever writes to the disk can copy what is on it, not into a volume.
#[test]
fn members_inside_and_outside_are_two_arrays() {
    let mut all = found(&[MIRROR[0], MIRROR[1], MIRROR[0], MIRROR[1]]);
    all.iter_mut().take(2).for_each(|one| one.inside = true);
    let arrays = assemble(&all);
    let members: Vec<_> = arrays.iter().map(|array| (array.inside, array.members.join(" "))).collect();
    assert_eq!(members, [(true, "/dev/a /dev/b".to_owned()), (false, "/dev/c /dev/d".to_owned())]);
    all.remove(1);
    let lacking = State::Degraded("member 1 of 0 to 1 is missing".into());
    assert_eq!(assemble(&all)[0].state, lacking, "none outside takes its place");
    // The disk whose last partition is the member.
    let mut all = found(&[OLD[0], OLD[0], OLD[1]]);
    all[1].disk = Some("/dev/a".to_owned());
    assert_eq!(array(&all).members, ["/dev/b", "/dev/c"]);
}

/// A forged spare, or one of another array: it takes nothing from the array.
#[test]
fn spares_of_another_shape_and_refused_members_are_left_out() {
    for (at, value) in [(72, 5u32), (76, 7), (88, 64), (92, 9)] {
        let odd = changed(TEN[4], at, &value.to_le_bytes());
        let array = array(&found(&[TEN[0], TEN[1], TEN[2], TEN[3], &odd]));
        assert_eq!(array.left_out, ["/dev/e has another level, layout or number of members"], "{at}");
        assert_eq!((array.members.len(), array.state), (4, State::Ready(None)));
    }
    let mut all = found(MIRROR);
    all[0].refused = Some("new_dev: busy".into());
    let one = array(&all);
    assert_eq!(
        (&one.members[..], &one.left_out[..]),
        (&["/dev/b".to_owned()][..], &[REFUSED.to_owned()][..])
    );
    assert_eq!(one.state, State::Degraded("member 0 of 0 to 1 is missing".into()));
    assert!(one.is_same(&array(&found(MIRROR))) && !one.is_same(&array(&found(OLD))));
    all[1].refused = all[0].refused.clone();
    assert_eq!(array(&all).state, State::Lacking("members 0, 1 of 0 to 1 are missing".into()));
    assert_eq!(array(&all).members, [""; 0]);
}

#[test]
fn a_superblock_within_a_partition_is_not_the_disks() {
    let (size, begin) = (48 << 20, 1 << 20);
    for (version, end, is_of_it) in [
        (Version::V1Start, size - (1 << 20), false),
        (Version::V1Behind, size - (1 << 20), false),
        (Version::V1End, size - (1 << 20), true),
        (Version::V1End, size, false),
        (Version::V0, size, false),
        (Version::V0, size - (64 << 10), true),
        (Version::V0, size - (64 << 10) + 512, false),
    ] {
        assert_eq!(
            is_of_disk(version, size, &[begin..begin * 2, begin * 2..end]),
            is_of_it,
            "{version:?} {end}"
        );
        assert!(is_of_disk(version, size, &[]));
    }
}

#[test]
fn of_two_superblocks_the_one_that_was_made_last_counts() {
    let size = 48 << 20;
    let (new, old) = (Version::V1Behind.place(size).unwrap(), Version::V0.place(size).unwrap());
    let both = |created: u32| {
        let old_one = changed(OLD[0], 24, &created.to_le_bytes());
        let at = |offset: u64| {
            [(new, MIRROR[0]), (old, &old_one[..])].into_iter().find(|(place, _)| *place == offset)
        };
        Superblock::find(size, &mut |offset, room| {
            room.fill(0);
            if let Some((_, bytes)) = at(offset) {
                let length = bytes.len().min(room.len());
                room[..length].copy_from_slice(&bytes[..length]);
            }
            true
        })
        .unwrap()
        .unwrap()
    };
    assert_eq!(both(1).version, Version::V1Behind);
    let same = u32::try_from(superblock(MIRROR[0]).created).unwrap();
    assert_eq!(both(same).version, Version::V1Behind, "of two that are as old, the newer version");
    assert_eq!(both(u32::MAX).version, Version::V0);
}

const REFUSED: &str = "/dev/a is refused by the kernel: new_dev: busy";

#[test]
fn what_needs_more_is_refused_by_name() {
    let feature = |bits: u32| {
        let all = [changed(MIRROR[0], 8, &bits.to_le_bytes()), MIRROR[1].to_vec()];
        array(&found(&[&all[0], &all[1]])).state
    };
    for (bits, why) in [
        (5, "it is being reshaped"),
        (0x101, "its bitmap is that of a cluster"),
        (0x200, "it has a journal of writes"),
        (0x8000, "it has features that are newer than this program"),
    ] {
        assert_eq!(feature(bits), State::Never(why.to_owned()));
    }
    let level = |level: i32| {
        let all = [0, 1].map(|member| changed(MIRROR[member], 72, &level.to_le_bytes()));
        array(&found(&[&all[0], &all[1]])).state
    };
    assert_eq!(level(-5), State::Never("Keyway does not assemble level -5".into()));
    assert_eq!(level(-4), State::Never("Keyway does not assemble level -4".into()));
    // Without a bitmap that tells where, parity that was being written cannot be trusted.
    let torn = [0, 1].map(|member| changed(PARITY[member], 208, &0u64.to_le_bytes()));
    assert_eq!(
        array(&found(&[&torn[0], &torn[1]])).state,
        State::Lacking(
            "member 2 of 0 to 2 is missing, and it was not stopped before: its parity may be wrong (mdadm --assemble --force)"
                .into()
        )
    );
    let reshaped = changed(OLD[0], 8, &91u32.to_le_bytes());
    assert_eq!(superblock(&reshaped).needs, Some("it is being reshaped"));
}

#[test]
fn hostile_superblocks_are_refused_in_a_sentence() {
    let why = |bytes: &[u8]| on_device(48 << 20, Version::V1Behind, bytes).unwrap_err().to_string();
    let refused = |what: &str| format!("its md superblock is invalid: {what}");
    for members in [0u32, 1921, u32::MAX] {
        assert_eq!(
            why(&changed(MIRROR[0], 92, &members.to_le_bytes())),
            refused("the number of members is impossible")
        );
    }
    let mut odd = MIRROR[0].to_vec();
    odd[220..224].fill(0xff);
    assert_eq!(why(&odd), refused("it has too many members"));
    // Layouts of copies, of which no array has the first two: the last one has no copies.
    let none = State::Never("its layout is impossible".into());
    for (layout, state) in [(0u32, &none), (0xffff, &none), (0x0101, &State::Ready(None))] {
        let all = [0, 1, 2, 3].map(|member| changed(TEN[member], 76, &layout.to_le_bytes()));
        let all: Vec<_> = all.iter().map(|bytes| &bytes[..]).collect();
        assert_eq!(array(&found(&all)).state, *state, "{layout:#x}");
    }
    for (name, link, shown) in [
        (&b"host:../../sda\0"[..], None, "host:../../sda"),
        (b"..\0", None, ".."),
        (b"a:\x1b[2J\0", None, "a:\\u{1b}[2J"),
        (b"a:b:c\0", Some("b:c"), "a:b:c"),
        (b"99999999999\0", Some("99999999999"), "99999999999"),
    ] {
        let all = [0, 1].map(|member| changed(MIRROR[member], 32, name));
        let array = array(&found(&[&all[0], &all[1]]));
        assert_eq!((array.link().as_deref(), &*array.shown(), array.number()), (link, shown, None));
    }
}
