//! `luksAddKey`: another passphrase for a volume.

use crate::device::Versions;
use crate::door::{Args, Command, Example, Group, Kind, Operand, Opt, Topic, groups, shared};
use crate::say::failure::{Exit, Failure, Result};
use crate::say::output;
use crate::unlock::passphrase::PassphraseSource;
use crate::unlock::{admission, passphrase};
use crate::verb::key::keyslot;
use crate::{device, unlock};
use keyway_crypto::Secret;
use keyway_volume::edit::{AddKey, add_key, add_unbound_key};
use keyway_volume::{Access, Header, Luks, OsRandom, Random, UnlockOptions};
use std::path::Path;

/// `keyway luksAddKey`.
pub(crate) static COMMAND: Command = Command {
    name: "luksAddKey",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Passphrases),
    operands: &[
        Operand { name: "DEVICE", required: true, help: "The volume." },
        Operand { name: "NEW-KEY-FILE", required: false, help: "The new passphrase, in a file." },
    ],
    about: "Add a passphrase.",
    man: "An existing passphrase (or the volume key) is needed to add another. The new keyslot is the first free one, unless \
          --new-key-slot names it. --key-slot names the keyslot of the existing passphrase when --new-key-slot is given \
          too, else that of the new one.\n\n\
          With --unbound (LUKS2) the keyslot holds a random key of --key-size bits, or the one in --volume-key-file, that \
          opens no data.",
    options: &[
        &[
            &shared::KEY_FILE,
            &shared::KEYFILE_OFFSET,
            &shared::KEYFILE_SIZE,
            &shared::NEW_KEYFILE,
            &shared::NEW_KEYFILE_OFFSET,
            &shared::NEW_KEYFILE_SIZE,
            &shared::KEY_SLOT,
            &NEW_KEY_SLOT,
            &shared::VOLUME_KEY_FILE,
            &shared::PBKDF,
            &shared::ITER_TIME,
            &shared::PBKDF_MEMORY,
            &shared::PBKDF_PARALLEL,
            &shared::PBKDF_FORCE_ITERATIONS,
            &shared::HASH,
            &shared::KEYSLOT_CIPHER,
            &shared::KEYSLOT_KEY_SIZE,
            &shared::UNBOUND,
            &shared::KEY_SIZE,
            &shared::HEADER,
            &shared::TYPE,
            &shared::VERIFY_PASSPHRASE,
            &shared::TIMEOUT,
            &shared::WEAK_CIPHER,
            &shared::MEMORY_BUDGET,
            &shared::TIME_LIMIT,
            &NEW_TOKEN_ID,
            &shared::EXTERNAL_TOKENS_PATH,
            &shared::VOLUME_KEY_KEYRING,
        ],
        groups::DEMANDS,
    ],
    examples: &[
        Example {
            line: "keyway luksAddKey disk.img",
            does: "Asks for an existing passphrase, then for the new one twice.",
        },
        Example {
            line: "keyway luksAddKey disk.img -S 1 --pbkdf-force-iterations 200000",
            does: "Keyslot 1, with a cost that a boot loader can bear.",
        },
    ],
    run,
};

static NEW_KEY_SLOT: Opt = Opt {
    long: "new-key-slot",
    short: None,
    value: "N",
    kind: Kind::Number(i32::MAX as u64),
    help: "Put the new passphrase here.",
    man: "",
};
static NEW_TOKEN_ID: Opt = Opt {
    long: "new-token-id",
    short: None,
    value: "N",
    kind: Kind::Number(i32::MAX as u64),
    help: "Refused: tokens hold no passphrases here.",
    man: "",
};

/// They choose a token that opens the volume instead of a passphrase.
static FOR_TOKENS: &[&Opt] = &[&shared::TOKEN_ID, &shared::TOKEN_ONLY, &shared::TOKEN_TYPE];

fn run(args: &Args) -> Result<()> {
    if args.given(&NEW_TOKEN_ID) {
        return Err(Failure::new(Exit::Parameters, "--new-token-id is not built yet; name a new key file."));
    }
    if let Some(option) = FOR_TOKENS.iter().find(|o| args.given(o)) {
        let message = format!("--{}: luksAddKey does not open by tokens yet; name a key file.", option.long);
        return Err(Failure::new(Exit::Parameters, message));
    }
    if args.given(&shared::UNBOUND) {
        return run_unbound(args);
    }
    let device = device::header_path(args, 0)?;
    let mut luks = device::load(args, 0, Access::Write, Versions::from_args(args)?)?;
    admission::check_header(args, &luks, &device)?;
    let (existing_slot, new_slot) = slots(args)?;
    let options = AddKey { keyslot: new_slot, ..keyslot::options(args, &luks)? };
    keyslot::check_free(&luks, options.keyslot)?;
    let (volume_key, new) = keys(args, &luks, &device, existing_slot)?;
    let slot = add_key(&mut luks, &volume_key, &new, &options, &mut OsRandom)?;
    output::verbose(args.manner(), &format!("Key slot {slot} created."))
}

/// Which keyslot is opened and which is written. Alone, `--key-slot` names the new one.
fn slots(args: &Args) -> Result<(Option<u32>, Option<u32>)> {
    let (old, new) = (args.number32(&shared::KEY_SLOT), args.number32(&NEW_KEY_SLOT));
    if old.is_some() && new.is_none() {
        if !args.manner().batch_mode {
            output::print("WARNING: The --key-slot parameter is used for new keyslot number.\n")?;
        }
        return Ok((None, old));
    }
    Ok((old, new))
}

/// The volume key, then the new passphrase.
fn keys(args: &Args, luks: &Luks, device: &Path, existing_slot: Option<u32>) -> Result<(Secret, Secret)> {
    let new_key_file = new_key_file(args);
    let new = PassphraseSource::replacement(args, "Enter new passphrase for key slot: ", new_key_file)?;
    if let Some((key, digest)) = unlock::given_volume_key(args, luks)? {
        admission::check_key(args, luks, device, None, &key, digest)?;
        return Ok((key, new.read()?));
    }
    let existing = PassphraseSource::existing(args, "Enter any existing passphrase: ")?;
    let options = UnlockOptions { keyslot: existing_slot, ..unlock::options(args) };
    output::debug(args.manner(), &format!("Unlocking {} to add a key.", device.display()))?;
    luks.check_requirements()?;
    let unlocked = keyway_volume::unlock(luks, &existing.read()?, &options)?;
    admission::check_key(args, luks, device, None, &unlocked.volume_key, unlocked.digest)?;
    // With a key file nobody waits for news between the two
    // passphrases, and cryptsetup says nothing.
    if args.path(&shared::KEY_FILE).is_none_or(|path| path == Path::new("-")) {
        unlock::note_unlocked(args, unlocked.keyslot)?;
    }
    Ok((unlocked.volume_key, new.read()?))
}

fn run_unbound(args: &Args) -> Result<()> {
    let bits = match args.number32(&shared::KEY_SIZE) {
        Some(bits) if bits > 0 && bits % 8 == 0 => bits,
        Some(_) => return Err(Failure::new(Exit::Parameters, "Key size must be a multiple of 8 bits.")),
        None => return Err(Failure::new(Exit::Parameters, "Key size is required with --unbound option.")),
    };
    let mut luks = device::load(args, 0, Access::Write, Versions::Two)?;
    let keyslot = args.number32(&NEW_KEY_SLOT).or(args.number32(&shared::KEY_SLOT));
    let options = AddKey { keyslot, ..keyslot::options(args, &luks)? };
    keyslot::check_free(&luks, options.keyslot)?;
    if let Header::Luks2 { metadata, .. } = luks.header() {
        // Before a key of any size is drawn, or a passphrase asked for.
        let no_room = |error| Failure::new(Exit::Parameters, format!("No space for new keyslot: {error}."));
        metadata.free_area(bits / 8).map_err(no_room)?;
    }
    let key = match unlock::volume_key_file(args) {
        Some(file) => passphrase::volume_key(file, bits as usize / 8)?,
        None => {
            let mut key = Secret::zeroed(bits as usize / 8);
            OsRandom.fill(key.expose_mut())?;
            key
        }
    };
    let request =
        PassphraseSource::replacement(args, "Enter new passphrase for key slot: ", new_key_file(args))?;
    let slot = add_unbound_key(&mut luks, &key, &request.read()?, &options, &mut OsRandom)?;
    output::verbose(args.manner(), &format!("Key slot {slot} created."))
}

/// The second operand, or `--new-keyfile`.
fn new_key_file(args: &Args) -> Option<&Path> {
    args.path(&shared::NEW_KEYFILE).or_else(|| args.operand(1))
}
