//! Metadata that anybody wrote to take a boot's memory or time, and what lvm2 itself writes that nothing here has a use for.

use super::*;
use std::fmt::Write;

/// A group of that many physical volumes, each of a million extents of one sector.
fn text(physical: usize, logical: &str) -> String {
    let mut volumes = String::new();
    for number in 0..physical {
        write!(volumes, "p{number}{{id=\"{number:032}\"pe_start=0 pe_count=1000000}}").unwrap();
    }
    format!(
        "contents=\"Text Format Volume Group\"version=1 g{{id=\"{0:032}\"seqno=1 extent_size=1 \
         physical_volumes{{{volumes}}}logical_volumes{{{logical}}}}}",
        0
    )
}

fn many(count: usize, one: impl Fn(usize) -> String) -> String {
    (0..count).map(one).collect()
}

fn parse(text: &str) -> Result<Group, String> {
    Group::parse(text.as_bytes()).map_err(|why| why.to_string())
}

/// What was found where only the first device has metadata.
fn found_for(group: &Group) -> Vec<Found> {
    let devices = group.physical.iter().enumerate().map(|(number, physical)| Found {
        device: format!("/dev/{number}"),
        size: 1 << 40,
        id: physical.id,
        inside: false,
        groups: (number == 0).then(|| group.clone()).into_iter().collect(),
        wrong: None,
    });
    devices.collect()
}

#[test]
fn more_than_a_group_may_have() {
    let part = |number| format!("l{number}{{id=\"{number:032}\"}}");
    let segment = |number| format!("segment{number}{{}}");
    let physical = |count| parse(&text(count, "")).map(|group| group.physical.len());
    let logical = |count| parse(&text(0, &many(count, part))).map(|group| group.logical.len());
    let segments = |count| {
        let one =
            format!("a{{id=\"{0:032}\"segment{{}}}}b{{id=\"{0:032}\"{1}}}", 0, many(count - 1, segment));
        parse(&text(0, &one)).map(|_| count)
    };
    let too_many = |what: &str| Err(format!("the group g has {what} at most are read"));
    assert_eq!(physical(1024), Ok(1024));
    assert_eq!(physical(1025), too_many("1025 physical volumes; 1024"));
    assert_eq!(logical(4096), Ok(4096));
    assert_eq!(logical(4097), too_many("4097 logical volumes; 4096"));
    assert_eq!(segments(65536), Ok(65536));
    assert_eq!(segments(65537), too_many("65537 segments; 65536"));
}

#[test]
fn more_than_a_text_may_have() {
    const MOST: usize = 1 << 19;
    // The list's own name is one of them.
    for (text, at) in [
        (format!("a=[{}]", "1,".repeat(MOST - 1)), None),
        (format!("a=[{}]", "1,".repeat(MOST)), Some(3 + 2 * (MOST - 1))),
        (many(MOST, |number| format!("{number:06}=1 ")), None),
        (many(MOST / 8, |number| format!("{number}{}{{{}", "{a".repeat(7), "}".repeat(8))), None),
        (many(MOST + 1, |number| format!("{number:06}=1 ")), Some(9 * MOST)),
    ] {
        let too_many = "more than 524288 names and values";
        let error = Section::parse(text.as_bytes()).err().map(|error| error.to_string());
        assert_eq!(error, at.map(|at| format!("{too_many} at byte {at} of the metadata")));
    }
}

/// Devices of anybody's cannot fill the memory of a boot, however many there are.
#[test]
fn more_than_all_devices_may_have() {
    let (mut budget, length) = (Budget::default(), text_of(ONE).unwrap().unwrap().len());
    let many = (32 << 20) / length;
    for _ in 0..many {
        assert!(text_within(ONE, &mut budget).unwrap().is_some());
    }
    let too_many = format!("{length} bytes of metadata; the limit for all devices together is 33554432");
    assert_eq!(text_within(ONE, &mut budget), Err(Error::Field(too_many)));
}

#[test]
fn a_group_with_as_much_as_it_may_have() {
    let logical = many(4096, |number| {
        let stripes =
            many(32, |stripe| format!("\"p{}\",{},", (number + stripe) % 1024, number / 32 * 32 + stripe));
        format!(
            "l{number}{{id=\"{number:032}\"status=[\"VISIBLE\"]segment1{{start_extent=0 extent_count=32 \
             type=\"striped\"stripe_count=32 stripe_size=1 stripes=[{stripes}]}}}}"
        )
    });
    let group = parse(&text(1024, &logical)).unwrap();
    let all = assemble(&found_for(&group));
    let names: Vec<_> = all[0].volumes().collect();
    assert_eq!(names.len(), 4096);
    for named in &names {
        let (volume, table) = all[0].table(&named.volume).unwrap();
        assert_eq!((&volume.name, table.len(), table[0].places.len()), (&named.volume, 1, 32));
        assert_eq!(all[0].outside(&table).len(), 32);
    }
}

/// Each of a group's devices has its metadata: these are kept once for the group, not once more for each device.
#[test]
fn a_group_keeps_its_metadata_once() {
    let group = parse(&text(100, "")).unwrap();
    let found = found_for(&group).into_iter().map(|one| Found { groups: vec![group.clone(); 2], ..one });
    let all = assemble(&found.collect::<Vec<_>>());
    let length = |what: &dyn fmt::Debug| format!("{what:?}").len();
    assert_eq!((all.len(), all[0].devices.iter().flatten().count()), (1, 100));
    assert!(length(&all) < 3 * length(&group), "{} of {}", length(&all), length(&group));
}

/// Of tens of thousands of stripes, a warning has to name each device once.
#[test]
fn devices_outside_are_named_once() {
    let stripes = many(1000, |number| format!("\"p0\",{number},"));
    let logical = format!(
        "l{{id=\"{0:032}\"status=[\"VISIBLE\"]segment1{{start_extent=0 extent_count=1000 \
         type=\"striped\"stripe_count=1000 stripe_size=1 stripes=[{stripes}]}}}}",
        0
    );
    let all = assemble(&found_for(&parse(&text(1, &logical)).unwrap()));
    let table = all[0].table("l").unwrap().1;
    assert_eq!((table[0].places.len(), all[0].outside(&table)), (1000, vec!["/dev/0"]));
}

#[test]
fn two_physical_volumes_of_one_uuid() {
    let text = text(1024, "").replace(&format!("{:032}\"pe", 1023), &format!("{:032}\"pe", 3));
    let id = Id::of_bytes(format!("{:032}", 3).as_bytes()).unwrap();
    assert_eq!(parse(&text), Err(format!("two physical volumes have the UUID {id}")));
}

#[test]
fn messages_do_not_repeat_a_whole_text() {
    let long = "\u{1b}x".repeat(100_000);
    let status = "status = [\"RESIZEABLE\", \"READ\", \"WRITE\"]";
    for (from, to) in [
        (status, format!("system_id = \"{long}\"")),
        (status, format!("lock_type = \"{long}\"")),
        ("type = \"striped\"", format!("type = \"{long}\"")),
        ("type = \"striped\"", format!("type = \"raid{long}\"")),
        ("my-vg {", format!("{long} {{")),
        ("root {", format!("{long} {{")),
        ("\"pv1\", 0", format!("\"{long}\", 0")),
        ("pv0 {", format!("{long} {{ }} pv0 {{")),
    ] {
        let why = match changed(from, &to) {
            Err(error) => error.to_string(),
            Ok(group) => {
                let one = Found { groups: vec![group], ..found("/dev/a", ONE, true) };
                let all = assemble(&[one, found("/dev/b", TWO, true)]);
                let mut tables = all[0].group.logical.iter().map(|one| all[0].table(&one.name));
                why(tables.find(|one| one.is_err()).unwrap())
            }
        };
        assert!(why.len() < 1000 && !why.contains('\u{1b}'), "{from}: {} bytes: {why:.200}", why.len());
    }
}

/// A physical volume may have no area for metadata (`pvcreate --pvmetadatacopies 0`), or damaged ones.
#[test]
fn a_physical_volume_without_metadata_is_found_by_its_uuid() {
    let [one, two] = [found("/dev/a", ONE, true), found("/dev/b", TWO, true)];
    let all = assemble(&[Found { groups: Vec::new(), ..one }, two]);
    let table = group(&all, "my-vg", false).unwrap().table("root").unwrap().1;
    assert_eq!(shown(&table), ["0 98304 striped 2 128 /dev/a 2048 /dev/b 2048"]);
}

/// What is on a device and does not count is named, where it is on the side of the metadata that do.
#[test]
fn older_and_damaged_metadata_are_passed_over_by_name() {
    let [one, two] = [found("/dev/a", ONE, true), found("/dev/b", TWO, true)];
    let seqno = one.groups[0].seqno;
    let newer = Group { seqno: seqno + 2, ..one.groups[0].clone() };
    let ahead = Found { groups: vec![newer.clone()], ..one.clone() };
    let passed_over = |found: &[Found]| {
        let all = assemble(found);
        let group = group(&all, "my-vg", true).unwrap();
        assert!(group.table("root").is_ok());
        (group.group.seqno, group.passed_over.clone())
    };
    let older = |device| {
        let newest = seqno + 2;
        format!(
            "the metadata of my-vg on {device} are outdated (seqno {seqno}, the newest have {newest}) and ignored"
        )
    };
    assert_eq!(passed_over(&[one.clone(), two.clone()]), (seqno, Vec::new()));
    assert_eq!(passed_over(&[ahead.clone(), two.clone()]), (seqno + 2, vec![older("/dev/b")]));
    assert_eq!(passed_over(&[two.clone(), ahead.clone()]), (seqno + 2, vec![older("/dev/b")]));
    // Two areas of one device, of which one was written.
    let half = Found { groups: vec![one.groups[0].clone(), newer], ..one.clone() };
    assert_eq!(passed_over(&[half, two.clone()]), (seqno + 2, vec![older("/dev/b")]));
    // What is outside is anybody's.
    let outside = Found { inside: false, ..two.clone() };
    assert_eq!(passed_over(&[ahead, outside]), (seqno + 2, Vec::new()));
    let damaged = Found { groups: Vec::new(), wrong: Some("it is odd".into()), ..two.clone() };
    let said = "metadata of my-vg on /dev/b are ignored: it is odd".to_owned();
    assert_eq!(passed_over(&[one.clone(), damaged.clone()]), (seqno, vec![said]));
    let others = Found { id: Id::of_bytes(&[b'z'; 32]).unwrap(), ..damaged };
    assert_eq!(passed_over(&[one, two, others]), (seqno, Vec::new()));
}

#[test]
fn values_that_nothing_has_a_use_for() {
    let group = changed("seqno = ", "tuned = [0.5, -1., .25, +2.0]\nshare = 0.5\nseqno = ").unwrap();
    assert_eq!(group, changed("seqno = ", "seqno = ").unwrap());
    for number in [".", "-.", "1.2.3", "1e5", "1.5x", "0x1.0", "--1.0"] {
        let error = changed("seqno = ", &format!("share = {number}\nseqno = ")).unwrap_err().to_string();
        assert!(error.starts_with("no value at byte "), "{number}: {error}");
    }
    let mut text = text_of(ONE).unwrap().unwrap();
    let host = text.windows(17).position(|part| part == b"creation_host = \"").unwrap();
    text[host + 17] = 0xe9;
    assert_eq!(Group::parse(&text), Ok(group));
}

#[test]
fn groups_and_volumes_with_names_of_fields() {
    for name in ["version", "description", "contents", "creation_time"] {
        assert_eq!(changed("my-vg {", &format!("{name} {{")).unwrap().name, name);
    }
    for (again, error) in [("version = 1 version = 1", true), ("g { } g { }", true), ("g = 1 g { }", false)] {
        assert_eq!(Section::parse(again.as_bytes()).is_err(), error, "{again}");
    }
}
