//! What whoever starts the tests chooses for those that cut the power at random.

/// Whether `KEYWAY_SLOW` asks for the long run. Empty is not set, as for all other tests.
pub(crate) fn is_slow() -> bool {
    std::env::var_os("KEYWAY_SLOW").is_some_and(|value| !value.is_empty())
}

/// `KEYWAY_SEED`, which chooses another run.
///
/// # Panics
/// It is no number: a run that was to be repeated would be another one.
pub(crate) fn seed() -> u64 {
    let seed = std::env::var("KEYWAY_SEED").ok().filter(|seed| !seed.is_empty());
    seed.map_or(7, |seed| seed.parse().unwrap_or_else(|error| panic!("KEYWAY_SEED={seed}: {error}")))
}
