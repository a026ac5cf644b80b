//! `open` and its old names: checks a passphrase; mapping comes later.

use super::absent::{self, NO_MAPPING};
use crate::args::{Alias, Args, Command, Example, Group, Kind, Operand, Opt, Topic, shared};
use crate::device::{self, Versions};
use crate::failure::{Exit, Failure, Result};
use crate::passphrase::Request;
use crate::{output, unlocking};
use keyway_volume::{Access, Header, Luks, UnlockOptions};

/// `keyway open`.
pub(crate) static COMMAND: Command = Command {
    name: "open",
    aliases: &[
        Alias { name: "luksOpen", device_type: Some("luks") },
        Alias { name: "create", device_type: Some("plain") },
        Alias { name: "plainOpen", device_type: Some("plain") },
        Alias { name: "loopaesOpen", device_type: Some("loopaes") },
        Alias { name: "tcryptOpen", device_type: Some("tcrypt") },
        Alias { name: "bitlkOpen", device_type: Some("bitlk") },
        Alias { name: "fvault2Open", device_type: Some("fvault2") },
        Alias { name: "refresh", device_type: None },
    ],
    group: Group::Cryptsetup(Topic::Volumes),
    operands: &[
        Operand { name: "DEVICE", required: true, help: "The volume." },
        Operand { name: "NAME", required: false, help: "The mapping's name." },
    ],
    about: "Check a passphrase (--test-passphrase); mapping comes later.",
    man: "With --test-passphrase the volume is unlocked and nothing else happens: exit status 0 says that the passphrase is \
          right, 2 that it is wrong. Keyslots are derived side by side, those with priority \"prefer\" first; those with \
          priority \"ignore\" only when --key-slot names them.\n\n\
          Mapping the volume to /dev/mapper needs root and the kernel's device mapper, and is not built yet.",
    options: &[
        &TEST_PASSPHRASE,
        &shared::KEY_FILE,
        &shared::KEYFILE_OFFSET,
        &shared::KEYFILE_SIZE,
        &shared::KEY_SLOT,
        &shared::UNBOUND,
        &shared::VOLUME_KEY_FILE,
        &shared::KEY_SIZE,
        &shared::HEADER,
        &shared::TYPE,
        &shared::TRIES,
        &shared::TIMEOUT,
        &shared::MEMORY_BUDGET,
        &shared::TIME_LIMIT,
        &shared::TOKEN_ID,
        &shared::TOKEN_ONLY,
        &shared::TOKEN_TYPE,
        &ALLOW_DISCARDS,
        &PERSISTENT,
        &REFRESH,
        &SHARED,
        &SKIP,
        &IV_LARGE_SECTORS,
        &SERIALIZE,
        &PERF_SAME_CPU,
        &PERF_SUBMIT,
        &PERF_NO_READ,
        &PERF_NO_WRITE,
        &LINK_VK,
        &shared::OFFSET,
        &shared::SECTOR_SIZE,
        &absent::SIZE,
        &absent::DEVICE_SIZE,
        &absent::TCRYPT_HIDDEN,
        &absent::TCRYPT_SYSTEM,
        &absent::TCRYPT_BACKUP,
        &absent::VERACRYPT_PIM,
        &absent::VERACRYPT_QUERY_PIM,
        &absent::DISABLE_VERACRYPT,
        &shared::VOLUME_KEY_KEYRING,
        &shared::EXTERNAL_TOKENS_PATH,
    ],
    examples: &[Example {
        line: "keyway open --test-passphrase disk.img",
        does: "Is this passphrase right?",
    }],
    run,
};

const fn mapping_flag(long: &'static str) -> Opt {
    Opt { long, short: None, value: "", kind: Kind::Flag, help: "For mappings.", man: "" }
}

static TEST_PASSPHRASE: Opt = Opt {
    long: "test-passphrase",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Only check the passphrase.",
    man: "",
};
static ALLOW_DISCARDS: Opt = mapping_flag("allow-discards");
static PERSISTENT: Opt = mapping_flag("persistent");
static REFRESH: Opt = mapping_flag("refresh");
static SHARED: Opt = mapping_flag("shared");
static IV_LARGE_SECTORS: Opt = mapping_flag("iv-large-sectors");
static SERIALIZE: Opt = mapping_flag("serialize-memory-hard-pbkdf");
static PERF_SAME_CPU: Opt = mapping_flag("perf-same_cpu_crypt");
static PERF_SUBMIT: Opt = mapping_flag("perf-submit_from_crypt_cpus");
static PERF_NO_READ: Opt = mapping_flag("perf-no_read_workqueue");
static PERF_NO_WRITE: Opt = mapping_flag("perf-no_write_workqueue");
static LINK_VK: Opt = Opt {
    long: "link-vk-to-keyring",
    short: None,
    value: "KEYRING",
    kind: Kind::Text,
    help: "For mappings.",
    man: "",
};
static SKIP: Opt = Opt {
    long: "skip",
    short: Some('p'),
    value: "SECTORS",
    kind: Kind::Number(u64::MAX),
    help: "For mappings.",
    man: "",
};

/// What only plain, loop-AES, TrueCrypt and VeraCrypt volumes have.
static OF_OTHER_FORMATS: &[&Opt] = &[
    &SHARED,
    &SKIP,
    &IV_LARGE_SECTORS,
    &shared::OFFSET,
    &shared::SECTOR_SIZE,
    &shared::VERACRYPT,
    &absent::TCRYPT_HIDDEN,
    &absent::TCRYPT_SYSTEM,
    &absent::TCRYPT_BACKUP,
    &absent::VERACRYPT_PIM,
    &absent::VERACRYPT_QUERY_PIM,
    &absent::DISABLE_VERACRYPT,
];

fn run(args: &Args) -> Result<()> {
    let refuse = |message: String| Err(Failure::new(Exit::Parameters, message));
    match args.device_type() {
        None | Some("luks" | "luks1" | "luks2") => {}
        Some(format @ ("plain" | "loopaes" | "tcrypt" | "bitlk" | "fvault2")) => {
            return refuse(format!("open: {format} volumes are not built yet; LUKS1 and LUKS2 are."));
        }
        Some(other) => return refuse(format!("Unrecognized metadata device type {other}.")),
    }
    let testing = args.given(&TEST_PASSPHRASE);
    if testing && args.given(&PERSISTENT) {
        return refuse("Option --persistent is not allowed with --test-passphrase.".to_owned());
    }
    if testing && args.given(&REFRESH) {
        return refuse("Options --refresh and --test-passphrase are mutually exclusive.".to_owned());
    }
    if let Some(option) = OF_OTHER_FORMATS.iter().find(|o| args.given(o)) {
        return refuse(format!(
            "--{} is not for LUKS volumes, and other formats are not built yet.",
            option.long
        ));
    }
    if !testing && args.given(&shared::UNBOUND) {
        return refuse("Option --unbound may not be used without --test-passphrase.".to_owned());
    }
    if !testing && args.operand(1).is_none() {
        return refuse("Command requires device and mapped name as arguments.".to_owned());
    }
    if !testing {
        let checking = "\"open --test-passphrase\" checks the passphrase";
        return refuse(format!("open: {NO_MAPPING}, and {checking}."));
    }
    test_passphrase(args)
}

fn test_passphrase(args: &Args) -> Result<()> {
    let device = device::header_path(args, 0)?;
    let luks = device::load(args, 0, Access::Read, Versions::from_args(args)?)?;
    if unlocking::given_volume_key(args, &luks)?.is_some() {
        return Ok(());
    }
    note_tokens(args, &luks)?;
    if args.given(&shared::TOKEN_ONLY) {
        let message = "No usable token is available: tokens are not used yet; leave --token-only out.";
        return Err(Failure::new(Exit::Parameters, message));
    }
    let options = UnlockOptions {
        keyslot: args.number32(&shared::KEY_SLOT),
        // A keyslot that is named may be unbound; the others only when asked for.
        unbound_too: args.given(&shared::UNBOUND) || args.given(&shared::KEY_SLOT),
        ..unlocking::options(args)
    };
    let request = Request::existing(args, unlocking::prompt_for(&device))?;
    unlocking::unlock(args, &luks, &request, &options).map(drop)
}

/// cryptsetup tries tokens before it asks, and says with `-v` when none is bound to a keyslot.
fn note_tokens(args: &Args, luks: &Luks) -> Result<()> {
    match luks.header() {
        Header::Luks2 { metadata, .. } if metadata.tokens.values().all(|t| t.keyslots.is_empty()) => {
            output::verbose(args, "No usable token is available.")
        }
        _ => Ok(()),
    }
}
