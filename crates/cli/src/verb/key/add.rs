//! `luksAddKey`: adds a passphrase to a volume.

use crate::args::risk::{Effect, Proof, risk};
use crate::args::rule::Rule;
use crate::args::{self, Args, Command, Example, Group, Kind, Opt, Request, Topic, groups, shared};
use crate::device::{Target, Versions};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::stdio;
use crate::unlock::admission::Demands;
use crate::unlock::{self, KeyOptions, tokens};
use crate::verb::key::keyslot::{self, KeyslotOptions};
use std::path::PathBuf;

use keyway::parts::UnlockOptions;
use keyway::{Access, Header, Key, NewKeyslot, VolumeKey};
use keyway_crypto::Secret;
use keyway_volume::{OsRandom, Random};
use std::path::Path;

/// `keyway luksAddKey`.
pub(crate) static COMMAND: Command = Command {
    name: "luksAddKey",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Passphrases),
    operands: &[shared::operands::DEVICE, shared::operands::NEW_KEY_FILE],
    about: "Add a passphrase.",
    man: "An existing passphrase (or the volume key) is needed to add another. The new keyslot is the first free one, unless \
          --new-key-slot names it. --key-slot names the keyslot of the existing passphrase when --new-key-slot is given \
          too, else that of the new one.\n\n\
          With --unbound (LUKS2) the keyslot holds a random key of --key-size bits, or the one in --volume-key-file, that \
          opens no data.\n\nWith --token-id, --token-type or --token-only the volume is unlocked with a token instead of \
          an existing passphrase; --new-token-id takes the new passphrase from a token.",
    options: &[
        groups::KEY_INPUT,
        &[&shared::NEW_KEYFILE],
        groups::NEW_KEY_INPUT,
        &[&shared::KEY_DESCRIPTION, &shared::NEW_KEY_DESCRIPTION],
        &[&shared::KEY_SLOT, &NEW_KEY_SLOT, &shared::VOLUME_KEY_FILE, &shared::VOLUME_KEY_KEYRING],
        groups::KDF,
        groups::KEYSLOT,
        &[&shared::UNBOUND, &shared::KEY_SIZE, &shared::VERIFY_PASSPHRASE, &shared::ALLOW_EMPTY_PASSPHRASE],
        groups::KEYSLOT_EDIT,
        groups::LIMITS,
        groups::TOKENS,
        &[&NEW_TOKEN_ID],
        groups::DEMANDS,
    ],
    rules: &[Rule::line(
        |a| a.given(&shared::UNBOUND) && a.numbers(&shared::KEY_SIZE).all(|bits| bits == 0),
        "Key size is required with --unbound option.",
    )],
    examples: &[
        Example {
            line: "keyway luksAddKey disk.img",
            does: "Asks for an existing passphrase, then for the new one twice.",
        },
        Example {
            line: "keyway luksAddKey disk.img -S 1 --pbkdf pbkdf2 --pbkdf-force-iterations 200000",
            does: "Keyslot 1, with a cost that suits a boot loader.",
        },
    ],
    risks: &[risk("DEVICE", Effect::Edits, Proof::Header, "luksAddKey -q -d KEY TARGET KEY")],
    run: args::run::<AddKey>,
};

static NEW_KEY_SLOT: Opt = Opt {
    long: "new-key-slot",
    short: None,
    value: "N",
    kind: Kind::Number(i32::MAX as u64),
    help: "Keyslot for the new passphrase.",
    man: "",
};
static NEW_TOKEN_ID: Opt = Opt {
    long: "new-token-id",
    short: None,
    value: "N",
    kind: Kind::Numbers(i32::MAX as u64, shared::KEYSLOTS),
    help: "New passphrase from this token.",
    man: "The passphrase is the key in the kernel's keyring that the token, of type luks2-keyring, names. The new \
          keyslot is assigned to the token, so that the token opens the volume.",
};

/// Options that choose a token which opens the volume instead of a passphrase.
static FOR_TOKENS: &[&Opt] = &[&shared::TOKEN_ID, &shared::TOKEN_ONLY, &shared::TOKEN_TYPE];

struct AddKey {
    target: Target,
    key: KeyOptions,
    /// The volume is unlocked with a token.
    by_token: bool,
    /// The token that the new passphrase comes from.
    new_token: Option<u32>,
    new_key_file: Option<PathBuf>,
    keyslot: KeyslotOptions,
    what: What,
}

/// What the new keyslot holds.
enum What {
    /// The volume key.
    Bound {
        versions: Versions,
        demands: Demands,
        /// The keyslot to unlock with.
        existing: Option<u32>,
        /// The number of the new keyslot.
        new: Option<u32>,
    },
    /// An unbound key of `bits` bits, in the keyslot `new`.
    Unbound { bits: u32, new: Option<u32> },
}

impl Request for AddKey {
    fn from_args(args: &Args) -> Result<Self> {
        Ok(Self {
            what: What::from_args(args)?,
            target: Target::from_args(args, 0)?,
            key: KeyOptions::from_args(args)?,
            by_token: FOR_TOKENS.iter().any(|option| args.given(option)),
            new_token: args.number32(&NEW_TOKEN_ID),
            new_key_file: args.path(&shared::NEW_KEYFILE).or_else(|| args.operand(1)).map(Path::to_owned),
            keyslot: KeyslotOptions::from_args(args)?,
        })
    }

    fn run(self) -> Result<()> {
        let slot = match &self.what {
            What::Bound { versions, demands, existing, new } => {
                self.add_bound(*versions, demands, *existing, *new)?
            }
            What::Unbound { bits, new } => self.add_unbound(*bits, *new)?,
        };
        keyslot::note_created(self.target.manner, slot)
    }
}

impl What {
    fn from_args(args: &Args) -> Result<Self> {
        let (old, new) = (args.number32(&shared::KEY_SLOT), args.number32(&NEW_KEY_SLOT));
        if args.given(&shared::UNBOUND) {
            return Ok(Self::Unbound { bits: unbound_bits(args)?, new: new.or(old) });
        }
        let (versions, demands) = (Versions::from_args(args)?, Demands::from_args(args)?);
        // On its own, --key-slot names the new keyslot.
        let (existing, new) = if new.is_none() { (None, old) } else { (old, new) };
        Ok(Self::Bound { versions, demands, existing, new })
    }
}

fn unbound_bits(args: &Args) -> Result<u32> {
    match args.number32(&shared::KEY_SIZE) {
        Some(bits) if bits > 0 && bits % 8 == 0 => Ok(bits),
        Some(_) => Err(Failure::new(Exit::Parameters, "Key size must be a multiple of 8 bits.")),
        None => Err(Failure::new(Exit::Parameters, "Key size is required with --unbound option.")),
    }
}

impl AddKey {
    fn add_bound(
        &self,
        versions: Versions,
        demands: &Demands,
        existing: Option<u32>,
        new: Option<u32>,
    ) -> Result<u32> {
        let mut key = self.key.clone();
        key.keyslot = existing;
        let mut header = self.target.header(Access::Write, versions, &key.terms_to_edit(demands))?;
        header.check()?;
        if existing.is_none() && self.key.keyslot.is_some() && !self.target.manner.batch_mode {
            stdio::print("WARNING: The --key-slot parameter is used for new keyslot number.\n")?;
        }
        let options = self.new_keyslot(&header, new)?;
        let existing = self.existing_key(&header, existing)?;
        let new = match self.new_token {
            Some(token) => Key::Passphrase(tokens::passphrase_of(&header, token)?),
            None => self.new_passphrase()?,
        };
        let slot = header.add_key_with(&existing, &new, &options)?;
        self.new_token.map_or(Ok(()), |token| header.assign_token(token, slot))?;
        Ok(slot)
    }

    /// What the volume is unlocked with.
    fn existing_key(&self, header: &Header, keyslot: Option<u32>) -> Result<VolumeKey> {
        let (key, manner) = (&self.key, self.target.manner);
        if let Some(key) = key.given_key(header)? {
            return Ok(key);
        }
        if self.by_token {
            let options = UnlockOptions { keyslot, ..key.limits() };
            let unlocked = tokens::unlock_only(key, header.luks(), &options)?;
            return Ok(header.try_key(&Key::VolumeKey(unlocked.volume_key))?);
        }
        let source = key.passphrase.existing("Enter any existing passphrase: ");
        let device = self.target.header_path().display();
        stdio::debug(manner, &format!("Unlocking {device} to add a key."))?;
        let found = header.try_key(&source.read_key()?)?;
        // With a key file, nobody waits for a message between the two passphrases, and cryptsetup
        // prints none.
        if source.uses_stdin() {
            unlock::note_found(manner, &found)?;
        }
        Ok(found)
    }

    /// The new keyslot's properties; a number that cannot be had is refused.
    fn new_keyslot(&self, header: &Header, number: Option<u32>) -> Result<NewKeyslot> {
        let options = self.keyslot.for_header(header)?;
        keyslot::check_free(header, number)?;
        Ok(number.map_or(options.clone(), |number| options.number(number)))
    }

    fn add_unbound(&self, bits: u32, new: Option<u32>) -> Result<u32> {
        let mut header =
            self.target.header(Access::Write, Versions::Two, &self.key.terms_without_demands())?;
        header.luks().check_seal()?;
        let options = self.new_keyslot(&header, new)?;
        if let keyway::parts::Header::Luks2 { metadata, .. } = header.luks().header() {
            // Before a key of any size is generated, or a passphrase asked for.
            let no_room =
                |error| Failure::new(Exit::Parameters, format!("No space for new keyslot: {error}."));
            metadata.free_area(bits / 8).map_err(no_room)?;
        }
        let key = match &self.key.volume_key {
            Some(given) => given.read(bits as usize / 8)?,
            None => {
                let mut key = Secret::zeroed(bits as usize / 8);
                OsRandom.fill(key.expose_mut())?;
                key
            }
        };
        Ok(header.add_unbound_key(&key, &self.new_passphrase()?, &options)?)
    }

    fn new_passphrase(&self) -> Result<Key> {
        let prompt = "Enter new passphrase for key slot: ";
        self.key.passphrase.replacement(prompt, self.new_key_file.as_deref(), NEW_KEYFILE).read_key()
    }
}

/// How the new passphrase is given where nobody can be asked.
const NEW_KEYFILE: &str =
    "Give the new passphrase in a file, with --new-keyfile FILE or as the operand after DEVICE.";
