//! What a server says about holes (NBD_REPLY_TYPE_BLOCK_STATUS, NetworkBlockDevice/nbd, doc/proto.md), so
//! that whoever goes from data to data gets on: a server may describe as little as it likes at a time, a
//! byte for each answer. Holes shorter than [`CRUMB`] count as data, which reads as the zeros that it is,
//! and so does what an answer leaves out of the first [`CRUMB`].

use crate::nbd::protocol::transmission::state;
use std::ops::Range;

/// What follows a place.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Data, at least [`CRUMB`] of it unless the requested range or a hole ends it.
    Data(Range<u64>),
    /// A hole up to this place, at least [`CRUMB`] away unless it ends the requested range.
    Hole {
        /// Where it ends.
        end: u64,
    },
}

/// The first data, or hole, at or after `from` within the requested range. `extents` are lengths and
/// states from the start of that range on.
pub(super) fn next(extents: &[(u64, u64)], asked: &Range<u64>, from: u64) -> Next {
    let mut described = asked.start;
    let mut data: Option<Range<u64>> = None;
    for (length, state) in extents {
        let start = described.max(from);
        described = described.saturating_add(*length).min(asked.end);
        if described <= start {
            continue;
        }
        let is_hole = state & HOLE == HOLE && (described - start >= CRUMB || described == asked.end);
        match &mut data {
            Some(run) if is_hole => return Next::Data(run.clone()),
            Some(run) => run.end = described,
            None if is_hole => {}
            None => data = Some(start..described),
        }
    }
    let least = asked.end.min(from.saturating_add(CRUMB));
    match data {
        Some(run) => Next::Data(run.start..run.end.max(least)),
        None if described < least => Next::Data(from..least),
        None => Next::Hole { end: described },
    }
}

/// Not stored, and reads as zeros.
const HOLE: u64 = (state::HOLE | state::ZERO) as u64;
/// The least that an answer brings.
const CRUMB: u64 = 4 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: u64 = 0;
    const K: u64 = 1 << 10;

    #[test]
    fn data_and_holes_are_what_the_server_says() {
        let asked = 0..1024 * K;
        assert_eq!(next(&[(1024 * K, DATA)], &asked, 512), Next::Data(512..1024 * K));
        assert_eq!(next(&[(1024 * K, HOLE)], &asked, 512), Next::Hole { end: 1024 * K });
        let mixed = [(128 * K, HOLE), (4 * K, DATA), (64 * K, HOLE), (100 * K, DATA)];
        assert_eq!(next(&mixed, &asked, 0), Next::Data(128 * K..132 * K));
        assert_eq!(next(&mixed, &asked, 132 * K), Next::Data(196 * K..296 * K));
        // Zeros that are stored are data, and so is a hole that reads as something.
        for state in [state::HOLE.into(), state::ZERO.into()] {
            assert_eq!(next(&[(1024 * K, state)], &asked, 0), Next::Data(asked.clone()));
        }
        // More than was asked for, and an end that is a short hole.
        assert_eq!(next(&[(u64::MAX, HOLE), (u64::MAX, DATA)], &asked, 0), Next::Hole { end: 1024 * K });
        assert_eq!(next(&[(1023 * K, DATA), (K, HOLE)], &asked, 0), Next::Data(0..1023 * K));
        assert_eq!(next(&[(1023 * K, DATA), (K, HOLE)], &asked, 1023 * K), Next::Hole { end: 1024 * K });
    }

    #[test]
    fn a_server_that_describes_crumbs_is_not_asked_about_each() {
        let asked = 512..1024 * K;
        for state in [DATA, HOLE] {
            assert_eq!(next(&[(1, state)], &asked, 600), Next::Data(600..600 + CRUMB));
            assert_eq!(next(&[(512, state)], &asked, 512), Next::Data(512..512 + CRUMB));
            assert_eq!(next(&[], &asked, 1023 * K), Next::Data(1023 * K..1024 * K));
        }
        let alternating: Vec<_> = (0..200).map(|n| (K, if n % 2 == 0 { HOLE } else { DATA })).collect();
        assert_eq!(next(&alternating, &(0..1024 * K), 0), Next::Data(0..200 * K));
        let after: Vec<_> = [(64 * K, HOLE)].into_iter().chain(alternating).collect();
        assert_eq!(next(&after, &(0..1024 * K), 0), Next::Data(64 * K..264 * K));
    }

    #[test]
    fn whoever_goes_from_data_to_data_gets_on() {
        let asked = 0..1024 * K;
        for extents in
            [vec![(1, HOLE)], vec![(1, DATA)], vec![(63 * K, HOLE), (1, DATA)], vec![(64 * K, HOLE)]]
        {
            for from in [0, 1, 63 * K, 64 * K, 512 * K] {
                let end = match next(&extents, &asked, from) {
                    Next::Data(data) => data.end,
                    Next::Hole { end } => end,
                };
                assert!(end >= from + CRUMB || end >= CRUMB && from == 0, "{extents:?} {from} {end}");
            }
        }
    }
}
