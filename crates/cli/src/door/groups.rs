//! Options that belong together: lists that the tables of several commands share.

use super::shared::*;
use super::table::Opt;

/// Options for unlocking a volume, and limits on key derivation.
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

/// Demands on a header, and exemptions for a header that few users would want.
pub(crate) const ADMISSION: &[&Opt] = &[&REQUIRE, &SEAL_CONTEXT, &IGNORE_SEAL, &WEAK_CIPHER];

/// Demands on a header that is not opened for use: its key is given out, or gets another keyslot.
pub(crate) const DEMANDS: &[&Opt] = &[&REQUIRE, &SEAL_CONTEXT, &IGNORE_SEAL];

/// [`ADMISSION`] for commands that never write to the volume.
pub(crate) const ADMISSION_TO_READ: &[&Opt] =
    &[&REQUIRE, &SEAL_CONTEXT, &IGNORE_SEAL, &WEAK_CIPHER, &LINEAR_SEGMENTS];

/// The parameters of a plain volume, for commands where `--offset` has another meaning.
pub(crate) const PLAIN: &[&Opt] =
    &[&CIPHER, &HASH, &DEVICE_OFFSET, &SKIP, &SIZE, &DEVICE_SIZE, &SECTOR_SIZE, &IV_LARGE_SECTORS];

/// Options for getting the key of an open volume again.
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

/// The parameters of a new LUKS volume.
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

/// How progress is shown.
pub(crate) const PROGRESS: &[&Opt] = &[&PROGRESS_FREQUENCY, &PROGRESS_JSON];
