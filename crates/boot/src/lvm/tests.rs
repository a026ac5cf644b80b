//! lvm2's own metadata (crates/boot/tests/lvm), and what nobody's tools would write.

use super::area::Budget;
use super::assembly::group;
use super::label::Area;
use super::text::Section;
use super::*;

mod limits;

const ONE: &[u8] = include_bytes!("../../tests/lvm/one");
const TWO: &[u8] = include_bytes!("../../tests/lvm/two");
const WRAPPED: &[u8] = include_bytes!("../../tests/lvm/wrapped");
const KINDS: &str = include_str!("../../tests/lvm/kinds.text");

fn text_of(device: &[u8]) -> Result<Option<Vec<u8>>, Error> {
    text_within(device, &mut Budget::default())
}

fn text_within(device: &[u8], budget: &mut Budget) -> Result<Option<Vec<u8>>, Error> {
    let label = Label::find(&device[..Label::START])?.unwrap();
    area::text(label.areas[0], budget, &mut |offset, room| {
        let there = device.get(offset as usize..).and_then(|rest| rest.get(..room.len()));
        there.is_some_and(|there| {
            room.copy_from_slice(there);
            true
        })
    })
}

fn found(device: &str, head: &[u8], inside: bool) -> Found {
    let id = Label::find(head).unwrap().unwrap().id;
    let groups = vec![Group::parse(&text_of(head).unwrap().unwrap()).unwrap()];
    Found { device: device.into(), size: 40 << 20, id, inside, groups, wrong: None }
}

fn both() -> Vec<Found> {
    vec![found("/dev/a", ONE, true), found("/dev/b", TWO, true)]
}

/// A row as `dmsetup table` prints it, with paths.
fn shown(table: &[Piece]) -> Vec<String> {
    let row = |piece: &Piece| {
        let places: Vec<_> =
            piece.places.iter().map(|(device, sector)| format!("{device} {sector}")).collect();
        let kind = match piece.stripe {
            0 => "linear".to_owned(),
            stripe => format!("striped {} {stripe}", places.len()),
        };
        format!("{} {} {kind} {}", piece.start, piece.length, places.join(" "))
    };
    table.iter().map(row).collect()
}

fn why(of: Result<(&Logical, Vec<Piece>), Why>) -> String {
    match of.unwrap_err() {
        Why::Yet(why) => format!("yet: {why}"),
        Why::Never(why) => why,
    }
}

/// The group of lvm2's, with something replaced.
fn changed(from: &str, to: &str) -> Result<Group, Error> {
    let text = String::from_utf8(text_of(ONE).unwrap().unwrap()).unwrap();
    assert!(text.contains(from), "{from} is not in\n{text}");
    Group::parse(text.replacen(from, to, 1).as_bytes())
}

#[test]
fn tables_are_lvm2s() {
    let all = assemble(&both());
    let group = group(&all, "my-vg", false).unwrap();
    assert_eq!(group.group.physical.len(), 2);
    for (name, table) in [
        ("root", &["0 98304 striped 2 128 /dev/a 2048 /dev/b 2048"][..]),
        ("swap", &["0 20480 linear /dev/b 51200"]),
        ("data-1", &["0 8192 linear /dev/a 51200", "8192 8192 linear /dev/a 61440"]),
    ] {
        let (volume, found) = group.table(name).unwrap();
        assert_eq!(shown(&found), table, "{name}");
        let uuid = group.mapping_uuid(volume);
        assert_eq!((uuid.len(), uuid.starts_with("LVM-")), (68, true), "{uuid}");
    }
    assert_eq!(why(group.table("home")), "the volume group my-vg has no volume home");
    let names: Vec<_> = group.volumes().map(|named| named.mapped()).collect();
    assert_eq!(names, ["my--vg-data--1", "my--vg-root", "my--vg-swap"]);
}

#[test]
fn a_text_that_goes_on_at_the_start_of_its_area() {
    let group = Group::parse(&text_of(WRAPPED).unwrap().unwrap()).unwrap();
    assert_eq!((&*group.name, group.seqno, group.logical.len()), ("small", 15, 5));
    // One letter of the part that is behind the header.
    let mut damaged = WRAPPED.to_vec();
    damaged[4096 + 512 + 20] ^= 1;
    assert_eq!(text_of(&damaged), Err(Error::Checksum("the metadata")));
}

#[test]
fn every_other_kind_is_refused_by_its_name() {
    let mut group = Group::parse(KINDS.as_bytes()).unwrap();
    group.physical.clear();
    let all = Assembled { group, inside: true, devices: Vec::new(), passed_over: Vec::new() };
    for (name, kind) in [
        ("origin", "has snapshots"),
        ("snap", "is a snapshot"),
        ("snapshot0", "is a snapshot"),
        ("raid", "is of the kind RAID (raid1)"),
        ("integrity", "is of the kind RAID (raid1)"),
        ("integrity_rimage_0", "is of the kind integrity"),
        ("mirror", "is mirrored"),
        ("pool", "is thinly provisioned"),
        ("thin", "is thinly provisioned"),
        ("cached", "is cached"),
        ("fast_cpool", "is cached"),
        ("slow", "is cached for writing"),
        ("pool_tdata", "is a part of another volume"),
        ("skipped", "is marked not to be activated (lvchange --setactivationskip n removes the mark)"),
    ] {
        let said =
            format!("the logical volume kinds/{name} {kind}; keyway activates linear and striped ones");
        assert_eq!(why(all.table(name)), said);
    }
    let visible: Vec<_> = all.visible().map(|named| named.volume).collect();
    for (name, is_named) in
        [("plain", true), ("thin", true), ("pool", true), ("pool_tdata", false), ("raid", true)]
    {
        assert_eq!(visible.iter().any(|one| one == name), is_named, "{name}");
    }
    let is_writable = |name| all.group.volume(name).unwrap().writable;
    assert!(is_writable("plain") && !is_writable("readonly"));
    let active = all.group.logical.iter().filter(|volume| volume.segments.is_ok());
    assert_eq!(active.map(|volume| &*volume.name).collect::<Vec<_>>(), ["plain", "readonly"]);
}

#[test]
fn groups_that_lvm2_leaves_alone() {
    let status = "status = [\"RESIZEABLE\", \"READ\", \"WRITE\"]";
    for (to, hindrance) in [
        (
            format!("{status}\nsystem_id = \"server\""),
            "belongs to the system \"server\" alone (its system_id)",
        ),
        ("status = [\"EXPORTED\", \"READ\"]".to_owned(), "is exported: vgimport imports it"),
        ("status = [\"CLUSTERED\"]".to_owned(), "belongs to a cluster"),
        (format!("{status}\nlock_type = \"sanlock\""), "is shared by machines (lock_type \"sanlock\")"),
    ] {
        let group = changed(status, &to).unwrap();
        let all = assemble(&[Found { groups: vec![group], ..found("/dev/a", ONE, true) }]);
        assert_eq!(why(all[0].table("root")), format!("the volume group my-vg {hindrance}"));
    }
    let group = changed(status, &format!("{status}\nsystem_id = \"\"\nlock_type = \"none\"")).unwrap();
    assert_eq!(group.hindrance, None);
}

#[test]
fn a_device_that_is_not_there_or_there_twice() {
    let table = |found: &[Found], volume: &str| {
        let all = assemble(found);
        all[0].table(volume).map(|(_, table)| shown(&table)).map_err(|why| match why {
            Why::Yet(why) => format!("yet: {why}"),
            Why::Never(why) => why,
        })
    };
    let [one, two] = [found("/dev/a", ONE, true), found("/dev/b", TWO, true)];
    let lacks = format!("yet: the volume group my-vg lacks its physical volume {}", two.id);
    assert_eq!(table(std::slice::from_ref(&one), "root"), Err(lacks));
    assert!(table(std::slice::from_ref(&one), "data-1").is_ok(), "it is whole");
    let twice = [one.clone(), two.clone(), Found { device: "/dev/c".into(), ..two.clone() }];
    let said = format!("the physical volume {} of my-vg appears twice, as /dev/b and /dev/c", two.id);
    assert_eq!(table(&twice, "root"), Err(said));
    let short = [Found { size: 20 << 20, ..one.clone() }, two];
    let said = "the logical volume my-vg/root goes beyond the end of /dev/a";
    assert_eq!(table(&short, "root"), Err(said.to_owned()));
    let missing = changed("flags = []\ndev_size", "flags = [\"MISSING\"]\ndev_size").unwrap();
    let marked = [Found { groups: vec![missing], ..one }, found("/dev/b", TWO, false)];
    assert!(table(&marked, "root").unwrap_err().contains("has marked the physical volume"));
}

/// Whoever can write to the disk writes metadata with a higher number, or of the same name, or copies of physical volumes.
#[test]
fn metadata_outside_do_not_replace_those_inside() {
    let forged = changed("seqno = ", "seqno = 99").unwrap();
    let outside = Found {
        inside: false,
        device: "/dev/x".into(),
        groups: vec![forged.clone()],
        ..found("/dev/x", ONE, false)
    };
    let mut all = both();
    all.push(outside.clone());
    let assembled = assemble(&all);
    assert_eq!(assembled.len(), 1);
    assert!(assembled[0].inside && assembled[0].group.seqno < 99);
    assert_eq!(
        shown(&assembled[0].table("root").unwrap().1),
        ["0 98304 striped 2 128 /dev/a 2048 /dev/b 2048"]
    );

    // Another group of that name, which counts only where there is no other.
    let other = Group { id: Id::of_bytes(&[b'x'; 32]).unwrap(), ..forged };
    let outside = Found { groups: vec![other.clone()], ..outside };
    all[2] = outside.clone();
    let assembled = assemble(&all);
    assert_eq!(assembled.len(), 2);
    for look_outside in [true, false] {
        assert!(group(&assembled, "my-vg", look_outside).unwrap().inside);
    }
    // It gets no devices inside, though it lists them.
    let forged = assembled.iter().find(|one| !one.inside).unwrap();
    assert!(matches!(forged.table("root"), Err(Why::Yet(_))));
    let alone = assemble(&[outside]);
    assert!(matches!(group(&alone, "my-vg", false), Err(Why::Yet(_))));
    assert!(group(&alone, "my-vg", true).is_ok());

    // Two on one side are an error that names both.
    all[2] =
        Found { inside: true, groups: vec![other], id: Id::of_bytes(&[b'y'; 32]).unwrap(), ..all[2].clone() };
    let Err(Why::Never(why)) = group(&assemble(&all), "my-vg", true).map(drop) else {
        panic!("one was chosen")
    };
    assert!(why.starts_with("two volume groups are named my-vg: ") && why.contains("xxxxxx-xxxx"), "{why}");
}

#[test]
fn what_is_partly_outside_is_said() {
    let all = assemble(&[found("/dev/a", ONE, true), found("/dev/b", TWO, false)]);
    let table = all[0].table("root").unwrap().1;
    assert_eq!(all[0].outside(&table), ["/dev/b"]);
    assert!(all[0].outside(&all[0].table("data-1").unwrap().1).is_empty());
}

#[test]
fn labels_that_cannot_be() {
    assert_eq!(Label::find(&[0; Label::START]), Ok(None));
    let start = &ONE[..Label::START];
    let with = |at: usize, byte: u8, sums: bool| {
        let mut start = start.to_vec();
        start[512 + at] = byte;
        if sums {
            let sum = checksum(FIRST, &start[512 + 20..1024]);
            start[512 + 16..512 + 20].copy_from_slice(&sum.to_le_bytes());
        }
        Label::find(&start)
    };
    assert_eq!(with(40, b'?', false), Err(Error::Checksum("the label")));
    assert_eq!(with(8, 2, false), Err(Error::Field("the label names a sector other than its own".into())));
    for (at, byte) in [(20, 0xff), (21, 0xff), (23, 0xff), (40, b'/')] {
        assert_eq!(with(at, byte, true), Err(Error::Field("the label is cut off".into())), "{at}");
    }
    // Lists of areas that do not end.
    let mut endless = start.to_vec();
    endless[512 + 72..1024].fill(1);
    let sum = checksum(FIRST, &endless[512 + 20..1024]);
    endless[512 + 16..512 + 20].copy_from_slice(&sum.to_le_bytes());
    assert_eq!(Label::find(&endless), Err(Error::Field("the label is cut off".into())));
}

#[test]
fn areas_that_cannot_be() {
    let with = |changes: &[(usize, u64)]| {
        let mut device = ONE.to_vec();
        for (at, value) in changes {
            device[4096 + at..4096 + at + 8].copy_from_slice(&value.to_le_bytes());
        }
        let sum = checksum(FIRST, &device[4096 + 4..4096 + 512]);
        device[4096..4100].copy_from_slice(&sum.to_le_bytes());
        text_of(&device)
    };
    assert!(matches!(with(&[]), Ok(Some(_))));
    assert_eq!(with(&[(40, 0)]), Ok(None), "a physical volume without a group");
    for changes in
        [&[(40, 511)][..], &[(40, u64::MAX)], &[(48, u64::MAX)], &[(32, 0)], &[(32, u64::MAX)], &[(24, 512)]]
    {
        assert!(matches!(with(changes), Err(Error::Field(_))), "{changes:?}");
    }
    let wide = (32, 64 << 20);
    let too_long = Error::Field("4194305 bytes of metadata; the limit is 4194304".into());
    assert_eq!(with(&[(48, (4 << 20) + 1), wide]), Err(too_long));
    assert!(matches!(with(&[(48, 4 << 20), wide]), Err(Error::Unreadable(_))));
    assert_eq!(with(&[(48, 1000)]), Err(Error::Checksum("the metadata")));
    assert!(matches!(with(&[(40, 900_000)]), Err(Error::Unreadable(_))));
    let area = Area { offset: u64::MAX, size: u64::MAX };
    assert_eq!(area::text(area, &mut Budget::default(), &mut |_, _| false), Err(Error::Unreadable(u64::MAX)));
}

#[test]
fn segments_that_cannot_be() {
    for (from, to, wrong) in [
        ("extent_count = 48", "extent_count = 49", "has an impossible segment"),
        ("extent_count = 48", "extent_count = 0", "has an impossible segment"),
        ("extent_count = 48", "extent_count = 9223372036854775806", "has an impossible segment"),
        ("stripe_size = 128", "stripe_size = 0", "has an impossible segment"),
        ("stripe_size = 128", "stripe_size = 100000", "has an impossible segment"),
        ("start_extent = 0", "start_extent = 1", "has gaps"),
        ("start_extent = 0", "start_extent = -1", "has an impossible segment"),
        ("stripe_count = 2", "stripe_count = 3", "without its stripes"),
        ("\"pv1\", 0", "\"pv1\"", "without its stripes"),
        ("\"pv1\", 0", "\"pv7\", 0", "no physical volume \"pv7\""),
        ("\"pv1\", 0", "\"pv1\", 20", "has an impossible segment"),
        ("\"pv1\", 0", "\"pv1\", 9223372036854775807", "has an impossible segment"),
        ("\"pv1\", 0", "\"pv1\", 2", "is in use twice"),
        ("\"pv1\", 0", "\"pv0\", 0", "is in use twice"),
        ("extent_size = 2048", "extent_size = 0", "no extent size"),
        (
            "extent_size = 2048",
            "extent_size = 9223372036854775807",
            "the physical volume \"pv0\" has impossible values",
        ),
        (
            "pe_start = 2048",
            "pe_start = 9223372036854775807",
            "the physical volume \"pv0\" has impossible values",
        ),
        ("my-vg {", "../vg {", "is not a valid name for a group"),
        ("root {", "../root {", "is not a valid name for a volume"),
        ("version = 1", "version = 2", "have an unknown version"),
        ("my-vg {", "other { } my-vg {", "describe no group, or several"),
    ] {
        let error = changed(from, to).unwrap_err().to_string();
        assert!(error.contains(wrong), "{from} as {to}: {error}");
    }
    let on_another = changed("\"pv1\", 24", "\"swap\", 24").unwrap();
    let why = on_another.volume("swap").unwrap().segments.clone().unwrap_err();
    assert_eq!(why, "lies on another volume, as during a pvmove");
}

#[test]
fn texts_that_cannot_be() {
    let deep = "a {".repeat(1_000_000);
    let long = format!("a = \"{}", "x".repeat(1_000_000));
    for (text, what) in [
        (&*deep, "sections nested too deep at byte 26"),
        (&long, "an unterminated string at byte 4"),
        ("a = \"\\", "an unterminated string"),
        ("a = [1, 2", "no value at byte 9"),
        ("a = [[1]]", "no name at byte 5"),
        ("a = 1 a = 2", "a name that is given twice at byte 11"),
        ("a { b = 1", "an unclosed section"),
        ("a }", "a name without a value"),
        ("}", "a closing bracket without an opening one"),
        ("a = 99999999999999999999", "no value at byte 4"),
        ("= 1", "no name at byte 0"),
    ] {
        let error = Section::parse(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
    let read = Section::parse(b"# x\na = \"q\\\"\\\\\" # y\nb=['c',-4,]d{}\0\0").unwrap();
    assert_eq!(read.text("a"), Some("q\"\\"));
    assert!(read.has("b", "c") && read.section("d").is_some());
    assert_eq!(read.number("b"), None);
}

#[test]
fn ids_read_as_they_are_written() {
    let text = "oUK8ta-qLsT-Yvun-NGkQ-vhzH-BBv2-Q21SmD";
    assert_eq!(Id::parse(text).unwrap().to_string(), text);
    assert_eq!(Id::parse("oUK8ta"), None);
}
