//! Options that do not go together, refused in cryptsetup's words before anything is opened.

use super::backend::Backend;
use super::options::{PERSISTENT, REFRESH, TEST_PASSPHRASE};
use crate::door::{Args, Opt, shared};
use crate::say::failure::{Exit, Failure, Result};
use crate::verb::about::absent;

/// What kind of volume is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// LUKS, of one version or either.
    Luks,
    /// dm-crypt without a header.
    Plain,
}

impl Kind {
    /// From `--type` or the command's old name.
    pub(super) fn from_args(args: &Args) -> Result<Self> {
        match args.device_type().map(str::to_ascii_lowercase).as_deref() {
            None | Some("luks" | "luks1" | "luks2") => Ok(Self::Luks),
            Some("plain") => Ok(Self::Plain),
            Some(format @ ("loopaes" | "tcrypt" | "bitlk" | "fvault2")) => {
                refuse(format!("open: {format} volumes are not built yet; LUKS and plain volumes are."))
            }
            Some(other) => refuse(format!("Unrecognized metadata device type {other}.")),
        }
    }
}

/// Refuses two things to be done at once.
pub(super) fn check_task(args: &Args) -> Result<()> {
    let testing = args.given(&TEST_PASSPHRASE);
    if testing && args.given(&PERSISTENT) {
        return refuse("Option --persistent is not allowed with --test-passphrase.");
    }
    if testing && args.given(&REFRESH) {
        return refuse("Options --refresh and --test-passphrase are mutually exclusive.");
    }
    Ok(())
}

/// Refuses what cannot be meant together.
pub(super) fn check(args: &Args, kind: Kind) -> Result<()> {
    let testing = args.given(&TEST_PASSPHRASE);
    if let Some((_, line)) = OF_OTHER_FORMATS.iter().find(|(option, _)| args.given(option)) {
        return refuse(*line);
    }
    match kind {
        Kind::Luks => check_luks(args)?,
        Kind::Plain if testing => {
            return refuse(
                "Option --test-passphrase is allowed only for open of LUKS, TCRYPT, BITLK and FVAULT2 devices.",
            );
        }
        Kind::Plain if args.given(&shared::UNBOUND) => {
            return refuse("Option --unbound is allowed only for open of luks device.");
        }
        Kind::Plain => {}
    }
    if args.given(&shared::IV_LARGE_SECTORS) && !has_large_sectors(args, kind) {
        return refuse(
            "Large IV sectors option is supported only for opening plain type device with sector size larger than 512 \
             bytes.",
        );
    }
    check_size(args)?;
    match args.operand(1) {
        None if !testing => refuse("Command requires device and mapped name as arguments."),
        _ => Ok(()),
    }
}

/// Refuses sizes that cannot be meant.
pub(crate) fn check_size(args: &Args) -> Result<()> {
    let bytes = args.number(&shared::DEVICE_SIZE);
    if bytes.is_some() && args.given(&shared::SIZE) {
        return refuse("Options --device-size and --size cannot be combined.");
    }
    if bytes.is_some_and(|bytes| bytes % 512 != 0) {
        return refuse("Device size must be multiple of 512 bytes sector.");
    }
    Ok(())
}

fn check_luks(args: &Args) -> Result<()> {
    if let Some((_, line)) = NOT_OF_LUKS.iter().find(|(option, _)| args.given(option)) {
        return refuse(*line);
    }
    if args.given(&shared::UNBOUND) && !args.given(&TEST_PASSPHRASE) {
        return refuse("Option --unbound cannot be used without --test-passphrase.");
    }
    if args.given(&shared::SHARED) && Backend::choose(args) == Backend::Kernel {
        return refuse("Option --shared is allowed only for open of plain device.");
    }
    Ok(())
}

fn has_large_sectors(args: &Args, kind: Kind) -> bool {
    kind == Kind::Plain && args.number(&shared::SECTOR_SIZE).is_some_and(|bytes| bytes > 512)
}

fn refuse<T>(message: impl Into<String>) -> Result<T> {
    Err(Failure::new(Exit::Parameters, message))
}

/// What a LUKS header says by itself.
static NOT_OF_LUKS: &[(&Opt, &str)] = &[
    (&shared::SKIP, "Option --skip is supported only for open of plain and loopaes devices."),
    (&shared::OFFSET, "Option --offset with open action is only supported for plain and loopaes devices."),
    (&shared::SECTOR_SIZE, "Sector size option with open action is supported only for plain devices."),
];

const TCRYPT: &str =
    "Option --tcrypt-hidden, --tcrypt-system or --tcrypt-backup is supported only for TCRYPT device.";
const VERACRYPT: &str = "Option --veracrypt or --disable-veracrypt is supported only for TCRYPT device type.";

/// What only TrueCrypt and VeraCrypt volumes have.
static OF_OTHER_FORMATS: &[(&Opt, &str)] = &[
    (&absent::TCRYPT_HIDDEN, TCRYPT),
    (&absent::TCRYPT_SYSTEM, TCRYPT),
    (&absent::TCRYPT_BACKUP, TCRYPT),
    (&shared::VERACRYPT, VERACRYPT),
    (&absent::DISABLE_VERACRYPT, VERACRYPT),
    (&absent::VERACRYPT_PIM, "Option --veracrypt-pim is supported only for VeraCrypt compatible devices."),
    (
        &absent::VERACRYPT_QUERY_PIM,
        "Option --veracrypt-query-pim is supported only for VeraCrypt compatible devices.",
    ),
];
