//! Every way to re-encrypt, undisturbed and with the power cut anywhere.

use super::*;

/// Every case, undisturbed.
#[test]
fn it_ends_with_the_same_data() {
    for case in cases() {
        let rng = &mut seeded(1);
        let start = case.start(rng);
        let disks = Disks::new(start.images.clone());
        case.begin(&disks, rng).unwrap_or_else(|e| panic!("{case:?}: {e}"));
        assert!(!case.check(&disks.images(), &start, &format!("{case:?}")), "it has not begun");
        case.resume(&disks, rng).unwrap_or_else(|e| panic!("{case:?}: {e}"));
        assert!(case.check(&disks.images(), &start, &format!("{case:?}")), "{case:?} has not ended");
    }
}

/// Power cuts at random events, three in a row at most: what is there afterwards is gone on with, and
/// not a sector may be lost. KEYWAY_SEED chooses another run, KEYWAY_SLOW=1 the long one.
#[test]
fn no_power_cut_loses_a_sector() {
    let seed = seed();
    let wanted = if is_slow() { 50_000 } else { 2_500 };
    let cases = cases();
    let share = wanted / cases.len() + 1;
    let next = std::sync::atomic::AtomicUsize::new(0);
    let states = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, std::sync::atomic::Ordering::SeqCst)) {
                    let counted = cut(case, &case.start(&mut seeded(seed)), share, seed);
                    states.fetch_add(counted, std::sync::atomic::Ordering::SeqCst);
                }
            });
        }
    });
    let states = states.into_inner();
    assert!(states >= wanted, "{states}");
    println!(
        "{states} power cuts in {} ways of re-encryption, 0 sectors lost (KEYWAY_SEED={seed})",
        cases.len()
    );
}

/// What protects the hot zone with checksums, and the headers, are next to nothing beside the data.
#[test]
fn checksums_cost_next_to_nothing() {
    let len = 192 << 20;
    let case = Case {
        kind: Kind::Key { detached: true },
        resilience: "checksum",
        sectors: (4096, 4096),
        zone: Some(12 << 20),
        data_len: len,
        block: 4096,
        skip: None,
    };
    let rng = &mut seeded(2);
    let start = case.start(rng);
    let disks = Disks::new(start.images.clone());
    case.begin(&disks, rng).unwrap();
    let before = disks.bytes_written();
    case.resume(&disks, rng).unwrap();
    let written = disks.bytes_written() - before;
    println!(
        "bytes written ÷ bytes of data, checksum, 4096-byte sectors: {:.4}",
        written as f64 / len as f64
    );
    assert!(written as f64 <= 1.02 * len as f64, "{written} bytes for {len}");
}

/// Cuts one case at `share` places; returns the number of states that were gone on from.
pub(crate) fn cut(case: &Case, start: &Start, share: usize, seed: u64) -> usize {
    let rng = &mut seeded(seed);
    let disks = Disks::new(start.images.clone());
    case.begin(&disks, rng).unwrap();
    let begun = disks.events();
    case.resume(&disks, rng).unwrap();
    let events = disks.events();
    // A checksum tells whole blocks from each other; anything else may be torn anywhere.
    let unit = match case.resilience {
        "checksum" if !case.kind.moves_whole() => case.block as usize,
        _ => 64,
    };
    let mut states = 0;
    while states < share {
        let at = rng.below(events + 1);
        let mut images = disks.cut(&start.images, at, unit, &mut |limit| rng.below(limit));
        let mut context =
            format!("{case:?}, seed {seed}, cut after {at} of {events} events ({begun} to begin)");
        for again in 0..4 {
            states += 1;
            if case.check(&images, start, &context) {
                break;
            }
            let before = images.clone();
            let disks = Disks::new(images);
            // A volume that is as it was is begun again; it may have got as far as the moved data.
            let fuse = if again < 3 { Some(rng.below(events)) } else { None };
            if let Some(fuse) = fuse {
                disks.break_after(fuse);
                context += &format!(", then after {fuse}");
            }
            let result = match is_under_way(&before[0]) {
                true => case.resume(&disks, rng),
                false => case.begin(&disks, rng).and_then(|()| case.resume(&disks, rng)),
            };
            let broke = fuse.is_some_and(|fuse| disks.events() >= fuse);
            match result {
                Ok(()) => {}
                Err(_) if broke => {}
                Err(error) => panic!("{context}: {error}"),
            }
            let at = disks.events();
            images = disks.cut(&before, at, unit, &mut |limit| if broke { rng.below(limit) } else { 1 });
        }
        assert!(case.check(&images, start, &context), "{context}: it does not end");
    }
    states
}
