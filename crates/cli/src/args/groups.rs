//! Options that belong together, each list named once: a command is a list of groups, and its own
//! few options.

use super::option::Opt;
use super::shared::*;

/// Where an existing passphrase comes from.
pub(crate) const KEY_INPUT: &[&Opt] = &[&KEY_FILE, &KEYFILE_OFFSET, &KEYFILE_SIZE, &PASSWORD_COMMAND];

/// Which part of a key file the new passphrase is.
pub(crate) const NEW_KEY_INPUT: &[&Opt] = &[&NEW_KEYFILE_OFFSET, &NEW_KEYFILE_SIZE];

/// How a passphrase is asked for.
pub(crate) const PROMPT: &[&Opt] = &[&TRIES, &TIMEOUT];

/// What key derivation may cost.
pub(crate) const LIMITS: &[&Opt] = &[&MEMORY_BUDGET, &TIME_LIMIT];

/// Which volume is unlocked with which key; [`KEY_INPUT`], [`PROMPT`] and [`LIMITS`] go with it.
pub(crate) const UNLOCKING: &[&Opt] =
    &[&VOLUME_KEY_FILE, &KEY_SIZE, &KEY_SLOT, &HEADER, &TYPE, &DISABLE_LOCKS];

/// The volume whose keyslots are edited or shown.
pub(crate) const KEYSLOT_EDIT: &[&Opt] = &[&HEADER, &TYPE, &TIMEOUT, &WEAK_CIPHER];

/// The key derivation of a new keyslot, and its cost.
pub(crate) const KDF: &[&Opt] =
    &[&PBKDF, &ITER_TIME, &ITER_TIME_FOR, &PBKDF_MEMORY, &PBKDF_PARALLEL, &PBKDF_FORCE_ITERATIONS];

/// The hash and the encryption of a new keyslot.
pub(crate) const KEYSLOT: &[&Opt] = &[&HASH, &KEYSLOT_CIPHER, &KEYSLOT_KEY_SIZE];

/// dm-crypt's flags for performance.
pub(crate) const DM_CRYPT: &[&Opt] =
    &[&PERF_SAME_CPU, &PERF_SUBMIT, &PERF_NO_READ, &PERF_NO_WRITE, &PERF_HIGH_PRIORITY];

/// Which tokens open a volume.
pub(crate) const TOKENS: &[&Opt] = &[&TOKEN_ID, &TOKEN_ONLY, &TOKEN_TYPE];

/// Demands on a header, and exemptions for a header that few users would want.
pub(crate) const ADMISSION: &[&Opt] =
    &[&REQUIRE, &SEAL_CONTEXT, &SEAL_CONTEXT_FILE, &IGNORE_SEAL, &WEAK_CIPHER];

/// Demands on a header that is not opened for use: its key is given out, or gets another keyslot.
pub(crate) const DEMANDS: &[&Opt] = &[&REQUIRE, &SEAL_CONTEXT, &SEAL_CONTEXT_FILE, &IGNORE_SEAL];

/// [`ADMISSION`] for commands that never write to the volume.
pub(crate) const ADMISSION_TO_READ: &[&Opt] =
    &[&REQUIRE, &SEAL_CONTEXT, &SEAL_CONTEXT_FILE, &IGNORE_SEAL, &WEAK_CIPHER, &LINEAR_SEGMENTS];

/// A plain volume's encryption, and its size and IVs.
pub(crate) const PLAIN_DATA: &[&Opt] =
    &[&CIPHER, &HASH, &SKIP, &SIZE, &DEVICE_SIZE, &SECTOR_SIZE, &IV_LARGE_SECTORS];

/// What keeps a hidden volume from harm while the outer one is written to.
pub(crate) const PROTECTION: &[&Opt] = &[&PROTECT_HIDDEN, &PROTECTION_KEY_FILE, &PROTECTION_PIM];

/// Which header of a TrueCrypt or VeraCrypt volume, and what is tried on it.
pub(crate) const TCRYPT: &[&Opt] = &[
    &TCRYPT_HIDDEN,
    &TCRYPT_SYSTEM,
    &TCRYPT_BACKUP,
    &VERACRYPT,
    &VERACRYPT_PIM,
    &VERACRYPT_QUERY_PIM,
    &DISABLE_VERACRYPT,
];

/// What a BitLocker volume may ask of its user.
pub(crate) const BITLK: &[&Opt] = &[&ALLOW_VISTA];

/// The key of a volume that is open already; [`KEY_INPUT`], [`PROMPT`] and [`LIMITS`] go with it.
pub(crate) const KEY_AGAIN: &[&Opt] = &[&VOLUME_KEY_FILE, &HEADER, &DISABLE_KEYRING];

/// The parameters of a new LUKS volume; [`KDF`] and [`KEYSLOT`] go with it.
pub(crate) const NEW_VOLUME: &[&Opt] = &[
    &TYPE,
    &CIPHER,
    &KEY_SIZE,
    &SECTOR_SIZE,
    &OFFSET,
    &ALIGN_PAYLOAD,
    &LUKS2_METADATA_SIZE,
    &LUKS2_KEYSLOTS_SIZE,
    &UUID,
    &LABEL,
    &SUBSYSTEM,
    &ALLOW_EMPTY_PASSPHRASE,
    &VERIFY_PASSPHRASE,
    &TIMEOUT,
];

/// How progress is shown.
pub(crate) const PROGRESS: &[&Opt] = &[&PROGRESS_FREQUENCY, &PROGRESS_JSON];
