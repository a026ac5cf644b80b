//! cryptsetup's commands that this build lacks: each prints one line that says so and names what
//! works instead.

use crate::door::{self, Args, Command, Group, Offers, Operand, Opt, Request, shared};
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
        &shared::ENCRYPT,
        &shared::DECRYPT,
        &shared::NEW,
        &shared::INIT_ONLY,
        &shared::RESUME_ONLY,
        &shared::HOTZONE_SIZE,
        &shared::REDUCE_DEVICE_SIZE,
        &shared::RESILIENCE,
        &shared::RESILIENCE_HASH,
        &shared::KEEP_KEY,
        &shared::BLOCK_SIZE,
        &shared::USE_DIRECTIO,
        &shared::USE_FSYNC,
        &shared::WRITE_LOG,
        &shared::FORCE_OFFLINE_REENCRYPT,
        &shared::FORCE_NO_KEYSLOTS,
        &shared::NEW_KEY_SIZE,
        &shared::NEW_VOLUME_KEY_FILE,
        &shared::NEW_VOLUME_KEY_KEYRING,
        &shared::KEY_DESCRIPTION,
        &shared::DISABLE_BLKID,
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
        &shared::TCRYPT_HIDDEN,
        &shared::TCRYPT_SYSTEM,
        &shared::TCRYPT_BACKUP,
        &shared::VERACRYPT_PIM,
        &shared::VERACRYPT_QUERY_PIM,
        &shared::DISABLE_VERACRYPT,
    ]],
);
pub(crate) static BITLK_DUMP: Command = absent("bitlkDump", &[DEVICE], "Show a BitLocker header.", &[]);
pub(crate) static FVAULT2_DUMP: Command = absent("fvault2Dump", &[DEVICE], "Show a FileVault2 header.", &[]);

struct Absent {
    name: &'static str,
}

impl Request for Absent {
    fn from_args(args: &Args) -> Result<Self> {
        Ok(Self { name: args.command().name })
    }

    fn run(self) -> Result<()> {
        let Some(format) = self.name.strip_suffix("Dump") else {
            let line = "reencrypt: changing the volume key in place is not implemented yet; \"keyway copy\" makes a \
                        re-encrypted copy.";
            return Err(Failure::new(Exit::Parameters, line));
        };
        let line = format!("{}: {}", self.name, another_format(format).unwrap_or_default());
        Err(Failure::new(Exit::Parameters, line))
    }
}

/// What is said of a format of cryptsetup's or its sisters' that this program does not read: that,
/// and which program does.
pub(crate) fn another_format(kind: &str) -> Option<String> {
    let (format, programs) = match kind {
        "tcrypt" => ("TrueCrypt and VeraCrypt volumes", "cryptsetup and VeraCrypt open them"),
        "bitlk" => ("BitLocker volumes", "cryptsetup and dislocker open them"),
        "fvault2" => ("FileVault2 volumes", "cryptsetup opens them"),
        "loopaes" => ("loop-AES volumes", "cryptsetup opens them"),
        "verity" => ("dm-verity devices", "veritysetup opens them"),
        "integrity" => ("dm-integrity devices", "integritysetup opens them"),
        _ => return None,
    };
    Some(format!(
        "{format} (type {kind}) are not implemented yet: {programs}. Keyway opens LUKS and plain volumes."
    ))
}
