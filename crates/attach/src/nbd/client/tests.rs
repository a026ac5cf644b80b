use super::*;

#[test]
fn holes_are_what_is_neither_stored_nor_anything_but_zeros() {
    let (hole, zero) = (u64::from(state::HOLE), u64::from(state::ZERO));
    let asked = 1000..2000;
    let extents = [(100, hole | zero), (100, 0), (100, zero), (100, hole), (100, hole | zero), (100, 0)];
    assert_eq!(first_data(&extents, &asked, 1000), Some(1100..1400));
    assert_eq!(first_data(&extents, &asked, 1250), Some(1250..1400));
    assert_eq!(first_data(&extents, &asked, 1400), Some(1500..1600));
    assert_eq!(described(&extents, &asked), 1600);
    assert_eq!(first_data(&[(5000, 0)], &asked, 1000), Some(1000..2000));
    assert_eq!(described(&[(u64::MAX, 0), (5, 0)], &asked), 2000);
    assert_eq!(first_data(&[(1000, hole | zero), (1000, 0)], &asked, 1000), None);
}
