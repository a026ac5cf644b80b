//! What becomes of arrays while a device is sought.

use super::*;

#[test]
fn which_arrays_start_and_which_are_waited_for() {
    let start = |lacks: Option<&str>| Verdict::Starts(lacks.map(str::to_owned));
    let waits = || Verdict::Waits("is not there: member 1 of 0 to 1 is missing".into());
    let missing = Some("member 1 of 0 to 1 is missing");
    let inside_too = |members: &[&[u8]], inside| {
        let mut all = found(members);
        all.iter_mut().for_each(|one| one.inside = inside);
        array(&all)
    };
    let not_inside =
        Verdict::LeftAlone("is outside the encrypted volumes, and the system starts only from inside them");
    for (members, inside, inside_only, is_late, verdict) in [
        (MIRROR, false, false, false, start(None)),
        (MIRROR, false, true, true, not_inside),
        (MIRROR, true, true, false, start(None)),
        (&MIRROR[..1], false, false, false, waits()),
        (&MIRROR[..1], false, false, true, start(missing)),
        // Its other member may be within a volume that is opened later.
        (&MIRROR[..1], true, false, true, waits()),
        (&MIRROR[..1], true, true, true, start(missing)),
        (STALE, false, false, false, start(missing)),
        (
            JOURNAL,
            false,
            false,
            true,
            Verdict::Never("cannot be assembled: it has a journal of writes".into()),
        ),
    ] {
        let wanted = Wanted { only: None, inside_only, is_late };
        assert_eq!(wanted.judge(&inside_too(members, inside)), verdict, "{inside} {inside_only} {is_late}");
    }
    let (mirror, old) = (array(&found(MIRROR)), array(&found(OLD)));
    let only = [old.newest.uuid];
    let wanted = |only| Wanted { only, inside_only: false, is_late: false };
    let not_named = Verdict::LeftAlone("is not named by any rd.md.uuid=");
    assert_eq!(wanted(Some(&only)).judge(&mirror), not_named);
    assert_eq!(wanted(Some(&only)).judge(&old), start(None));
    assert_eq!(wanted(Some(&[])).judge(&old), not_named, "all names were mistyped");
    // Why one waits, with what was not taken.
    let mut all = found(MIRROR);
    all[0].refused = Some("new_dev: busy".into());
    let why = "is not there: member 0 of 0 to 1 is missing (/dev/a is refused by the kernel: new_dev: busy)";
    assert_eq!(wanted(None).judge(&array(&all)), Verdict::Waits(why.into()));
}

#[test]
fn nothing_is_never_there_because_of_an_array_of_the_same_name() {
    let wanted = |is_late| Wanted { only: None, inside_only: false, is_late };
    let (apart, late) = (array(&found(APART)), wanted(true));
    let path = &*apart.paths()[0];
    let why = late.never(std::slice::from_ref(&apart), path).unwrap();
    assert!(why.ends_with("each say that the other failed: they were used separately"), "{why}");
    assert_eq!(wanted(false).never(std::slice::from_ref(&apart), path), None, "devices come and go");
    assert_eq!(late.never(std::slice::from_ref(&apart), "/dev/md/other"), None);
    let mut other = array(&found(&MIRROR[..1]));
    other.newest.name.clone_from(&apart.newest.name);
    assert_eq!(late.never(&[apart.clone(), other.clone()], path), None);
    // What is beside an array within volumes waits for it.
    assert!(!late.awaits_inside(&[other.clone(), apart.clone()], None));
    other.inside = true;
    assert!(late.awaits_inside(&[other.clone()], None) && late.awaits_inside(&[other.clone()], Some(path)));
    assert!(!late.awaits_inside(&[other.clone()], Some("/dev/sda2")));
    other.state = State::Ready(None);
    assert!(!late.awaits_inside(&[other], None));
}
