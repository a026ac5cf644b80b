//! What the key derivation of a new keyslot is to cost, for programs that take it from an option of theirs (feature
//! `parts`): what is asked for, becomes a choice, is measured when a keyslot is made, and can be told of meanwhile.
//! [`NewKdf`](crate::NewKdf) is the same for everybody else.
//!
//! ```
//! use keyway::kdf_cost::{self, Cost, KdfRequest};
//! use keyway::{NewKdf, Version};
//!
//! let asked = KdfRequest { cost: Some(Cost::Forced(2_000_000)), ..KdfRequest::default() };
//! let choice = kdf_cost::choose(&asked, Version::Luks1, kdf_cost::DEFAULT_HASH)?;
//! assert_eq!(NewKdf::from(choice), NewKdf::pbkdf2(2_000_000));
//! assert!(kdf_cost::choose(&asked, Version::Luks1, "no hash").is_err());
//! # Ok::<(), keyway::Error>(())
//! ```

use crate::{Result, Version};
use keyway_crypto::Hash;
use keyway_crypto::kdf::{Argon2Cost, Argon2Variant};
use keyway_format::luks2::Kdf;
use keyway_volume::keyslot::{kdf_cost, kdf_rate};
use keyway_volume::{KdfChoice, UnlockOptions};
use std::time::Duration;

/// How a cost is chosen: a field of [`KdfRequest`] and of a choice.
pub use keyway_volume::Cost;
/// How long keyslots take to unlock on this machine: from [`unlock_times`].
pub use keyway_volume::UnlockTimes;
/// A cost that was measured: what [`Calibration`] ends with.
pub use keyway_volume::keyslot::kdf_cost::Calibrated;
/// What is told while a cost is measured: see [`announce`].
pub use keyway_volume::keyslot::kdf_cost::Calibration;
/// The functions that there are: a field of [`KdfRequest`].
pub use keyway_volume::keyslot::kdf_cost::KdfFunction;
/// What is asked for, for [`choose`].
pub use keyway_volume::keyslot::kdf_cost::KdfRequest;
/// Whose time a derivation is to take: a field of [`Cost`].
pub use keyway_volume::keyslot::kdf_cost::Opener;
/// A function with its cost: a field of [`Calibrated`].
pub use keyway_volume::keyslot::kdf_cost::SettledKdf;

/// The hash of headers and of PBKDF2, unless another one is asked for.
pub const DEFAULT_HASH: &str = kdf_cost::DEFAULT_HASH;
/// The time that a derivation is to take, unless another one is asked for.
pub const DEFAULT_TIME: Duration = kdf_cost::DEFAULT_TIME;
/// Argon2's memory in KiB, unless another one is asked for; half of the machine's at most.
pub const DEFAULT_MEMORY_KIB: u32 = kdf_cost::DEFAULT_MEMORY_KIB;
/// Argon2's lanes, unless others are asked for; as many as there are CPUs at most.
pub const DEFAULT_LANES: u32 = kdf_cost::DEFAULT_LANES;

/// The derivation of a new keyslot in a header of this version; `hash` is PBKDF2's. Nothing is measured yet. See
/// [`kdf_cost`](self) for an example.
///
/// # Errors
/// LUKS1 has PBKDF2 alone; costs that the formats do not allow.
pub fn choose(request: &KdfRequest, version: Version, hash: &str) -> Result<KdfChoice> {
    Ok(request.choice(version.number(), hash)?)
}

/// Calls `listener` from now on when a cost is measured, which takes seconds. The first listener stays.
///
/// ```
/// use keyway::kdf_cost::{self, Calibration};
///
/// kdf_cost::announce(|calibration| match calibration {
///     Calibration::Starts => println!("this takes a while"),
///     Calibration::Ends(_) => println!("done"),
/// });
/// ```
pub fn announce(listener: fn(Calibration<'_, '_>)) {
    kdf_cost::announce(listener);
}

/// How long keyslots take to unlock on this machine, where a sample of Argon2 may take so much memory: a header that
/// anybody can have written asks for any. `None` for what each look at a header may take.
///
/// ```
/// # use keyway::*;
/// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &Key::passphrase("correct horse"))?;
/// let facts = device.header()?.facts()?;
/// let time = kdf_cost::unlock_times(None).of_keyslot(&facts.keyslots[0]).unwrap();
/// assert!(time.likely < 1.0);
/// # Ok::<(), keyway::Error>(())
/// ```
pub fn unlock_times(most_kib: Option<u32>) -> UnlockTimes {
    UnlockTimes::new(UnlockOptions::default().threads).within(most_kib.unwrap_or(UnlockTimes::UNASKED_KIB))
}

/// The seconds that a derivation will take, for a program that asks before hours are spent: the time that is asked for, or
/// that of a forced cost, roughly measured. 0 for a forced cost that takes less than a minute on any machine; `None` if it
/// cannot be told.
///
/// ```
/// use keyway::kdf_cost::{self, Cost};
/// let choice = |cost| keyway::parts::KdfChoice::Pbkdf2 { hash: "sha256".into(), cost };
/// assert_eq!(kdf_cost::seconds_of(&choice(Cost::Forced(1000))), Some(0.0));
/// assert!(kdf_cost::seconds_of(&choice(Cost::Forced(u32::MAX))).unwrap() > 10.0);
/// ```
pub fn seconds_of(choice: &KdfChoice) -> Option<f64> {
    match choice {
        KdfChoice::Pbkdf2 { cost: Cost::Time(time, _), .. }
        | KdfChoice::Argon2 { cost: Cost::Time(time, _), .. } => Some(time.as_secs_f64()),
        KdfChoice::Pbkdf2 { hash, cost: Cost::Forced(iterations) } => match *iterations {
            ..QUICK_ITERATIONS => Some(0.0),
            iterations => measured(&Kdf::Pbkdf2 { hash: hash.clone(), iterations, salt: Vec::new() }),
        },
        KdfChoice::Argon2 { variant, memory_kib, lanes, cost: Cost::Forced(passes) } => {
            let (time, memory_kib, lanes, salt) = (*passes, *memory_kib, *lanes, Vec::new());
            match variant {
                _ if u64::from(memory_kib) * u64::from(time) < QUICK_KIB_PASSES => Some(0.0),
                Argon2Variant::Argon2i => measured(&Kdf::Argon2i { time, memory_kib, lanes, salt }),
                Argon2Variant::Argon2id => measured(&Kdf::Argon2id { time, memory_kib, lanes, salt }),
            }
        }
    }
}

fn measured(kdf: &Kdf) -> Option<f64> {
    let mut times = UnlockTimes::rough(UnlockOptions::default().threads);
    times.of_kdf(kdf, KEY_LEN).ok().map(|time| time.likely)
}

/// Argon2's cost that takes about `time` here, within these limits; and the time that it took.
///
/// # Errors
/// There is not so much memory. See [`seconds_of`] for an example of the other way round.
pub fn argon2_here(
    variant: Argon2Variant,
    memory_kib: u32,
    lanes: u32,
    time: Duration,
) -> Result<(Argon2Cost, Duration)> {
    Ok(kdf_cost::argon2_here(variant, memory_kib, lanes, time)?)
}

/// Iterations a second of PBKDF2 for a key of so many bytes, on one thread. See [`seconds_of`] for an example of costs.
///
/// # Errors
/// The hash cannot be used.
pub fn pbkdf2_rate(hash: Hash, key_len: usize) -> Result<f64> {
    Ok(kdf_rate::pbkdf2(hash, key_len)?)
}

/// Less takes less than a minute on any machine that runs this, and is not measured.
const QUICK_ITERATIONS: u32 = 1_500_000;
const QUICK_KIB_PASSES: u64 = 4 << 20;
/// AES-256 in XTS mode, the most usual key.
const KEY_LEN: usize = 64;
