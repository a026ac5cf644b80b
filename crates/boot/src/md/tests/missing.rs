//! Members that are missing or not filled: what an array says of them.

use super::*;

#[test]
fn of_many_members_that_are_missing_the_first_are_named() {
    for (members, said) in [
        (9, "members 1, 2, 3, 4, 5, 6, 7, 8 of 0 to 8 are missing"),
        (10, "members 1, 2, 3, 4, 5, 6, 7, 8 … of 0 to 9 are missing"),
    ] {
        let mut all = found(&MIRROR[..1]);
        (all[0].superblock.members, all[0].superblock.roles) =
            (members, (0..members).map(Role::Active).collect());
        assert_eq!(array(&all).state, State::Degraded(said.to_owned()));
    }
}

/// All are there, and too few of them are whole.
#[test]
fn members_that_are_not_filled_do_not_carry_an_array() {
    let mut all = found(PARITY);
    all.iter_mut().take(2).for_each(|one| one.superblock.is_filling = true);
    assert_eq!(array(&all).state, State::Lacking("the rebuild of its members is unfinished".into()));
}

/// Both copies of the second half of the stripes, and not only those of the first.
#[test]
fn every_stripe_needs_a_copy() {
    let state = array(&found(&[TEN[0], TEN[1]])).state;
    assert_eq!(state, State::Lacking("members 2, 3 of 0 to 3 are missing".into()));
}

/// Where there is no parity, none can be wrong.
#[test]
fn a_mirror_that_was_not_stopped_needs_no_force() {
    let mut all = found(&MIRROR[..1]);
    all[0].superblock.is_clean = false;
    assert_eq!(array(&all).state, State::Degraded("member 1 of 0 to 1 is missing".into()));
}
