//! Which options a command takes besides those in its own table: what cryptsetup takes there,
//! whether the command has a use for it or not.
//!
//! cryptsetup checks every option against a list of actions (src/cryptsetup_args.h); an option
//! without such a list is taken by all of them.

use super::*;
use crate::args::table::{Command, Group};

/// Options that every command of cryptsetup's takes.
pub(crate) static CRYPTSETUP_EVERYWHERE: &[&Opt] = &[
    &KEY_FILE,
    &KEYFILE_OFFSET,
    &KEYFILE_SIZE,
    &NEW_KEYFILE_OFFSET,
    &NEW_KEYFILE_SIZE,
    &VOLUME_KEY_FILE,
    &MASTER_KEY_FILE,
    &VOLUME_KEY_KEYRING,
    &VERIFY_PASSPHRASE,
    &TIMEOUT,
    &TRIES,
    &FORCE_PASSWORD,
    &HEADER,
    &TYPE,
    &CIPHER,
    &HASH,
    &PBKDF_MEMORY,
    &PBKDF_PARALLEL,
    &MEMORY_BUDGET,
    &TIME_LIMIT,
    &TOKEN_ID,
    &TOKEN_ONLY,
    &TOKEN_TYPE,
    &JSON_FILE,
    &HEADER_BACKUP_FILE,
    &DISABLE_LOCKS,
    &DISABLE_KEYRING,
    &DISABLE_EXTERNAL_TOKENS,
    &READONLY,
    &PROGRESS_FREQUENCY,
    &ACTIVE_NAME,
];

/// Options that every command of cryptsetup's takes although only one or two use them.
static BY_OVERSIGHT: &[&Opt] = &[
    &DUMP_JSON,
    &DUMP_VOLUME_KEY,
    &DUMP_MASTER_KEY,
    &PERF_SAME_CPU,
    &PERF_SUBMIT,
    &PERF_NO_READ,
    &PERF_NO_WRITE,
    &PERF_HIGH_PRIORITY,
    &INTEGRITY_KEY_SIZE,
    &INTEGRITY_LEGACY_PADDING,
    &INTEGRITY_NO_JOURNAL,
    &VERACRYPT,
    &ENCRYPT,
    &DECRYPT,
    &NEW,
    &INIT_ONLY,
    &RESUME_ONLY,
    &REDUCE_DEVICE_SIZE,
    &RESILIENCE,
    &RESILIENCE_HASH,
    &BLOCK_SIZE,
    &USE_DIRECTIO,
    &USE_FSYNC,
    &WRITE_LOG,
];

/// Options that a command takes in order to refuse them by name when it runs, or that have no
/// effect here.
fn of_command(name: &str) -> [&'static [&'static Opt]; 2] {
    match name {
        "open" => [OF_OPEN, &[]],
        // Another name of cryptsetup's for `open --refresh`.
        "refresh" => [OF_TYPES_THAT_ARE_NOT_REFRESHED, OF_OPEN],
        "luksFormat" => [OF_FORMAT, &[]],
        "luksAddKey" | "luksDump" | "luksResume" | "resize" | "token" => [PLUGINS, &[]],
        "erase" => [OF_ERASE, &[]],
        _ => [&[]; 2],
    }
}

static OF_OPEN: &[&Opt] = &[
    &EXTERNAL_TOKENS_PATH,
    &KEY_DESCRIPTION,
    &TEST_PASSPHRASE,
    &SHARED,
    &UNBOUND,
    &KEY_SIZE,
    &SERIALIZE,
    &SKIP,
    &OFFSET,
    &SIZE,
    &DEVICE_SIZE,
    &SECTOR_SIZE,
    &IV_LARGE_SECTORS,
    &LINK_VK,
];

static OF_TYPES_THAT_ARE_NOT_REFRESHED: &[&Opt] = &[
    &TCRYPT_HIDDEN,
    &TCRYPT_SYSTEM,
    &TCRYPT_BACKUP,
    &VERACRYPT_PIM,
    &VERACRYPT_QUERY_PIM,
    &DISABLE_VERACRYPT,
];

static PLUGINS: &[&Opt] = &[&EXTERNAL_TOKENS_PATH];
static OF_ERASE: &[&Opt] = &[&HW_OPAL_FACTORY_RESET];
static OF_FORMAT: &[&Opt] = &[
    &INTEGRITY,
    &INTEGRITY_INLINE,
    &INTEGRITY_NO_WIPE,
    &HW_OPAL,
    &HW_OPAL_ONLY,
    &DISABLE_BLKID,
    &DISABLE_SUM,
];

impl Command {
    /// The command's own options, and those that every command of its group accepts.
    pub(crate) fn all_options(&self) -> impl Iterator<Item = &'static Opt> + Clone + use<> {
        let own = self.own_options();
        let listed = own.clone();
        let more = self.accepted().chain(EVERYWHERE.iter().copied());
        own.chain(more.filter(move |o| !listed.clone().any(|mine| mine.long == o.long)))
    }

    /// The options that it accepts in addition to its own and [`EVERYWHERE`].
    pub(crate) fn accepted(&self) -> impl Iterator<Item = &'static Opt> + Clone + use<> {
        let lists: [&'static [&'static Opt]; 4] = match self.group {
            Group::Cryptsetup(_) => {
                let [own, more] = of_command(self.name);
                [CRYPTSETUP_EVERYWHERE, BY_OVERSIGHT, own, more]
            }
            Group::First
            | Group::Rootless
            | Group::Also
            | Group::Containers
            | Group::Boot
            | Group::Itself
            | Group::Hidden => [&[]; 4],
        };
        lists.into_iter().flatten().copied()
    }
}
