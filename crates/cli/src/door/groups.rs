//! Options that go together: lists that the tables of several commands share.

use super::shared::*;
use super::table::Opt;

/// What unlocks a volume, and what key derivation may cost.
pub(crate) const UNLOCKING: &[&Opt] = &[
    &KEY_FILE,
    &KEYFILE_OFFSET,
    &KEYFILE_SIZE,
    &VOLUME_KEY_FILE,
    &KEY_SIZE,
    &KEY_SLOT,
    &HEADER,
    &TYPE,
    &MEMORY_BUDGET,
    &TIME_LIMIT,
    &TIMEOUT,
    &TRIES,
    &DISABLE_LOCKS,
];

/// What is demanded of a header, and what is taken of one that nobody means to have.
pub(crate) const ADMISSION: &[&Opt] = &[&REQUIRE, &SEAL_CONTEXT, &IGNORE_SEAL, &WEAK_CIPHER];

/// What is demanded of a header that is not opened: its key is given out, or gets another keyslot.
pub(crate) const DEMANDS: &[&Opt] = &[&REQUIRE, &SEAL_CONTEXT, &IGNORE_SEAL];

/// The same where nothing is ever written to the volume.
pub(crate) const ADMISSION_TO_READ: &[&Opt] =
    &[&REQUIRE, &SEAL_CONTEXT, &IGNORE_SEAL, &WEAK_CIPHER, &LINEAR_SEGMENTS];

/// What a plain volume is, where `--offset` has another meaning.
pub(crate) const PLAIN: &[&Opt] =
    &[&CIPHER, &HASH, &DEVICE_OFFSET, &SKIP, &SIZE, &DEVICE_SIZE, &SECTOR_SIZE, &IV_LARGE_SECTORS];

/// What brings the key of a volume that is open back.
pub(crate) const KEY_AGAIN: &[&Opt] = &[
    &KEY_FILE,
    &KEYFILE_OFFSET,
    &KEYFILE_SIZE,
    &VOLUME_KEY_FILE,
    &HEADER,
    &DISABLE_KEYRING,
    &TRIES,
    &TIMEOUT,
    &MEMORY_BUDGET,
    &TIME_LIMIT,
];

/// What a new LUKS volume is.
pub(crate) const NEW_VOLUME: &[&Opt] = &[
    &TYPE,
    &CIPHER,
    &KEY_SIZE,
    &HASH,
    &SECTOR_SIZE,
    &PBKDF,
    &ITER_TIME,
    &PBKDF_MEMORY,
    &PBKDF_PARALLEL,
    &PBKDF_FORCE_ITERATIONS,
    &OFFSET,
    &ALIGN_PAYLOAD,
    &LUKS2_METADATA_SIZE,
    &LUKS2_KEYSLOTS_SIZE,
    &KEYSLOT_CIPHER,
    &KEYSLOT_KEY_SIZE,
    &UUID,
    &LABEL,
    &SUBSYSTEM,
    &VERIFY_PASSPHRASE,
    &TIMEOUT,
];

/// How far it is.
pub(crate) const PROGRESS: &[&Opt] = &[&PROGRESS_FREQUENCY, &PROGRESS_JSON];
