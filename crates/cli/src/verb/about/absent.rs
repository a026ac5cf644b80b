//! cryptsetup's commands that this build lacks: each prints one line that says so and names what
//! works instead.

use crate::door::{self, Args, Command, Group, Kind, Offers, Operand, Opt, Request, shared};
use crate::say::failure::{Exit, Failure, Result};

const DEVICE: Operand =
    Operand { name: "DEVICE", required: true, help: "The encrypted device or file.", offers: Offers::Files };

const fn absent(
    name: &'static str,
    operands: &'static [Operand],
    about: &'static str,
    options: &'static [&'static [&'static Opt]],
) -> Command {
    Command {
        name,
        aliases: &[],
        group: Group::Absent,
        operands,
        about,
        man: "",
        options,
        examples: &[],
        run: door::run::<Absent>,
    }
}

pub(crate) static REENCRYPT: Command = absent(
    "reencrypt",
    &[Operand { name: "DEVICE", required: false, help: "The volume.", offers: Offers::Files }],
    "Change the volume key in place.",
    &[&[
        &ENCRYPT,
        &DECRYPT,
        &NEW,
        &INIT_ONLY,
        &RESUME_ONLY,
        &HOTZONE_SIZE,
        &REDUCE_DEVICE_SIZE,
        &RESILIENCE,
        &RESILIENCE_HASH,
        &KEEP_KEY,
        &BLOCK_SIZE,
        &USE_DIRECTIO,
        &USE_FSYNC,
        &WRITE_LOG,
        &FORCE_OFFLINE_REENCRYPT,
        &shared::DEVICE_SIZE,
        &shared::PROGRESS_JSON,
        &shared::KEY_SIZE,
        &shared::KEY_SLOT,
        &shared::ITER_TIME,
        &shared::PBKDF,
        &shared::PBKDF_FORCE_ITERATIONS,
        &shared::SECTOR_SIZE,
        &shared::OFFSET,
        &shared::ALIGN_PAYLOAD,
        &shared::LABEL,
        &shared::SUBSYSTEM,
        &shared::UUID,
        &shared::KEYSLOT_CIPHER,
        &shared::KEYSLOT_KEY_SIZE,
        &shared::LUKS2_METADATA_SIZE,
        &shared::LUKS2_KEYSLOTS_SIZE,
        &shared::USE_RANDOM,
        &shared::USE_URANDOM,
    ]],
);
pub(crate) static TCRYPT_DUMP: Command = absent(
    "tcryptDump",
    &[DEVICE],
    "Show a TrueCrypt or VeraCrypt header.",
    &[&[
        &TCRYPT_HIDDEN,
        &TCRYPT_SYSTEM,
        &TCRYPT_BACKUP,
        &VERACRYPT_PIM,
        &VERACRYPT_QUERY_PIM,
        &DISABLE_VERACRYPT,
        &DUMP_VOLUME_KEY,
    ]],
);
pub(crate) static BITLK_DUMP: Command =
    absent("bitlkDump", &[DEVICE], "Show a BitLocker header.", &[&[&DUMP_VOLUME_KEY]]);
pub(crate) static FVAULT2_DUMP: Command =
    absent("fvault2Dump", &[DEVICE], "Show a FileVault2 header.", &[&[&DUMP_VOLUME_KEY]]);
struct Absent {
    name: &'static str,
}

impl Request for Absent {
    fn from_args(args: &Args) -> Result<Self> {
        Ok(Self { name: args.command().name })
    }

    fn run(self) -> Result<()> {
        let why = match self.name {
            "reencrypt" => {
                "changing the volume key in place is not implemented yet; \"keyway copy\" makes a re-encrypted \
                copy"
            }
            _ => "this format is not implemented yet; LUKS1 and LUKS2 are",
        };
        Err(Failure::new(Exit::Parameters, format!("{}: {why}.", self.name)))
    }
}

const fn flag(long: &'static str, help: &'static str) -> Opt {
    Opt { long, short: None, value: "", kind: Kind::Flag, help, man: "" }
}

const fn option(long: &'static str, value: &'static str, kind: Kind, help: &'static str) -> Opt {
    Opt { long, short: None, value, kind, help, man: "" }
}

static ENCRYPT: Opt = flag("encrypt", "Encrypt a plain device in place.");
static NEW: Opt = Opt {
    long: "new",
    short: Some('N'),
    value: "",
    kind: Kind::Flag,
    help: "Old name of --encrypt.",
    man: "",
};
static DECRYPT: Opt = flag("decrypt", "Decrypt a volume in place.");
static INIT_ONLY: Opt = flag("init-only", "Prepare the header, move no data.");
static RESUME_ONLY: Opt = flag("resume-only", "Resume what was begun.");
static HOTZONE_SIZE: Opt = option("hotzone-size", "SIZE", Kind::Size, "Limit for the data in flight.");
static REDUCE_DEVICE_SIZE: Opt =
    option("reduce-device-size", "SIZE", Kind::Size, "Shrink the data to make room for the header.");
static RESILIENCE: Opt = option(
    "resilience",
    "MODE",
    Kind::Words(&["checksum", "journal", "none", "datashift"]),
    "How to survive a crash.",
);
static RESILIENCE_HASH: Opt =
    option("resilience-hash", "NAME", Kind::Words(&["sha256", "sha512", "sha1"]), "Hash of the checksums.");
static KEEP_KEY: Opt = flag("keep-key", "Change the header only.");
static BLOCK_SIZE: Opt = Opt {
    long: "block-size",
    short: Some('B'),
    value: "MIB",
    kind: Kind::Number(u32::MAX as u64),
    help: "Size of a step.",
    man: "",
};
static USE_DIRECTIO: Opt = flag("use-directio", "Bypass the page cache.");
static USE_FSYNC: Opt = flag("use-fsync", "Synchronise after each step.");
static WRITE_LOG: Opt = flag("write-log", "Log each step to a file.");
static FORCE_OFFLINE_REENCRYPT: Opt = flag("force-offline-reencrypt", "Do not look for a mapping.");
pub(crate) static TCRYPT_HIDDEN: Opt = flag("tcrypt-hidden", "The hidden volume.");
pub(crate) static TCRYPT_SYSTEM: Opt = flag("tcrypt-system", "A system disk.");
pub(crate) static TCRYPT_BACKUP: Opt = flag("tcrypt-backup", "The backup header.");
pub(crate) static VERACRYPT_PIM: Opt =
    option("veracrypt-pim", "N", Kind::Number(u32::MAX as u64), "VeraCrypt's iteration multiplier.");
pub(crate) static VERACRYPT_QUERY_PIM: Opt = flag("veracrypt-query-pim", "Ask for the multiplier.");
pub(crate) static DISABLE_VERACRYPT: Opt = flag("disable-veracrypt", "Try TrueCrypt's formats only.");
static DUMP_VOLUME_KEY: Opt = flag("dump-volume-key", "Show the volume key.");
