//! `open` and its old names: opens a volume through a front end, the kernel's or one of Keyway's own.

mod backend;
mod conflicts;
pub(crate) mod crypttab;
mod flags;
mod front_end;
mod kernel;
mod next_step;
mod options;
mod refresh;
mod rules;
mod test_passphrase;

pub(super) use front_end::OwnFrontEnd;
pub(crate) use refresh::COMMAND as REFRESH_COMMAND;

use crate::args::risk::{Effect, Proof, risk};
use crate::args::shared::{self, ALLOW_DISCARDS, LINK_VK, SERIALIZE, TEST_PASSPHRASE};
use crate::args::{Alias, Args, Command, Example, Group, Offers, Operand, Opt, Request, Topic, groups};
use crate::device::Inputs;
use crate::device::{Target, Versions, explain, sessions};
use crate::mapping::{self, GivenFlags, KeyLink, Reopening};
use crate::output::failure::{Exit, Failure, Result};
use crate::session;
use crate::unlock::KeyOptions;
use crate::unlock::admission::Demands;
use crate::unlock::passphrase::Known;
use crate::volume::kinds::Given;
use crate::volume::{self, Opening, Sharing};
use backend::Backend;
use conflicts::Kind;
use flags::PersistentFlags;
use kernel::KernelMapping;
use keyway::{Locking, Mapping};
use keyway_boot::crypttab::Entry;
use options::{BACKEND, PERSISTENT};
use refresh::Refresh;
use rules::RULES;
use std::ffi::OsString;
use std::path::PathBuf;
use test_passphrase::TestPassphrase;

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
    ],
    group: Group::Cryptsetup(Topic::Volumes),
    operands: &[
        Operand {
            name: "DEVICE",
            required: true,
            help: "The volume, or a name from /etc/crypttab.",
            offers: Offers::Volumes,
        },
        Operand {
            name: "NAME",
            required: false,
            help: "Name of the volume while it is open.",
            offers: Offers::Nothing,
        },
    ],
    about: "Open a volume under a name: in the kernel, or without root.",
    man: "As root, if the kernel has dm-crypt, the volume becomes /dev/mapper/NAME exactly as cryptsetup makes it, and \
          nothing is printed; either program shows, resizes and closes the other's mappings. Otherwise a background \
          process of the user's holds the key and serves the plaintext, as a file through FUSE or on a socket through \
          NBD, and the command prints where it is and how to use it. The process survives the terminal; \"keyway list\" \
          shows it, \"keyway close NAME\" ends it. --backend chooses.\n\nFor the kernel, a file gets a loop device, \
          which is removed with the mapping. A second writer of the same volume is refused. A LUKS2 volume's key goes \
          through the kernel keyring, as with cryptsetup. A chain of TrueCrypt's or VeraCrypt's ciphers is a mapping \
          for each: NAME, and below it NAME_1 and NAME_2. Volumes with integrity protection are refused.\n\nIf the only \
          operand is a name in /etc/crypttab, device, key file and options come from there; the command line takes \
          precedence. A name that /etc/crypttab gives to another device causes a warning. The demands of its entries \
          (x-keyway.require=, x-keyway.seal-context=, x-keyway.seal-context-file=) apply to every volume that an entry \
          describes, by its name or by its device, however the command line writes it and whoever opens it. If the \
          table cannot be read, root opens nothing; other users get a warning.\n\nWith --test-passphrase the volume is \
          unlocked and nothing else happens, except that --link-vk-to-keyring leaves its key in that keyring: exit code \
          0 means that the passphrase is right, 2 that it is wrong.\n\nA LUKS2 token of type luks2-keyring is tried \
          before a key file and before any prompt: its passphrase is the key of type \"user\" that it names in the \
          kernel keyring. Tokens of other types are skipped. Keyslots are derived in parallel, those with priority \
          \"prefer\" first; those with priority \"ignore\" only if --key-slot names them.",
    options: &[
        &[
            &BACKEND,
            &TEST_PASSPHRASE,
            &shared::READONLY,
            &shared::SHARED,
            &shared::DIRECT_IO,
            &ALLOW_DISCARDS,
            &PERSISTENT,
            &shared::REFRESH,
            &shared::KEY_SLOT,
            &shared::UNBOUND,
            &shared::VOLUME_KEY_FILE,
            &shared::KEY_SIZE,
            &shared::HEADER,
            &shared::TYPE,
            &SERIALIZE,
            &shared::DISABLE_KEYRING,
            &LINK_VK,
            &shared::VOLUME_KEY_KEYRING,
            &shared::KEY_DESCRIPTION,
        ],
        groups::KEY_INPUT,
        groups::TOKENS,
        groups::PROMPT,
        groups::LIMITS,
        groups::DM_CRYPT,
        groups::ADMISSION,
        &[&shared::OFFSET],
        groups::PLAIN_DATA,
        groups::TCRYPT,
        groups::BITLK,
        groups::PROTECTION,
    ],
    rules: RULES,
    examples: &[
        Example { line: "keyway open disk.img home", does: "Open it in the best way this machine offers." },
        Example { line: "keyway open --backend nbd disk.img home", does: "A socket for QEMU or libguestfs." },
        Example { line: "keyway open --test-passphrase disk.img", does: "Is this passphrase right?" },
    ],
    risks: &[risk(
        "DEVICE",
        Effect::Mounts,
        Proof::Claim,
        "open --type plain -c aes-xts-plain64 -s 512 -d KEY --backend nbd TARGET keyway-attempt",
    )],
    run: crate::args::run::<Open>,
};

/// What to open, and how. Options are as given: a crypttab entry fills in those that are left out.
#[derive(Debug)]
pub(crate) struct Open {
    target: Target,
    /// The name to open it under.
    name: Option<OsString>,
    /// `--type`, or the type that the command's old name implies.
    kind: Option<String>,
    backend: Option<Backend>,
    /// Options of volumes without a LUKS header.
    given: Given,
    key: KeyOptions,
    demands: Demands,
    sharing: Sharing,
    /// The page cache is bypassed.
    direct: bool,
    read_only: bool,
    flags: GivenFlags,
    persistent: bool,
    /// The key may be passed through the kernel's keyring.
    keyring: bool,
    /// `--link-vk-to-keyring`.
    link: Option<KeyLink>,
    /// The volume is open already and gets these flags.
    refresh: bool,
    /// Only the key is tried.
    test_passphrase: bool,
    unbound: bool,
    /// The caller expects a mapping: the program was called as cryptsetup.
    expects_mapping: bool,
}

impl Request for Open {
    fn from_args(args: &Args) -> Result<Self> {
        let mut this = Self {
            name: args.operands().get(1).cloned(),
            kind: args.device_type().map(str::to_owned),
            backend: Backend::from_args(args)?,
            given: Given::from_args(args),
            sharing: Sharing::from_args(args),
            direct: args.given(&shared::DIRECT_IO),
            read_only: args.given(&shared::READONLY),
            flags: GivenFlags::from_args(args),
            persistent: args.given(&PERSISTENT),
            keyring: !args.given(&shared::DISABLE_KEYRING),
            link: KeyLink::from_args(args)?,
            refresh: args.given(&shared::REFRESH),
            test_passphrase: args.given(&TEST_PASSPHRASE),
            unbound: args.given(&shared::UNBOUND),
            expects_mapping: args.is_cryptsetup() && !args.given(&BACKEND),
            ..Self::of(Target::from_args(args, 0)?, KeyOptions::from_args(args)?, Demands::from_args(args)?)
        };
        crypttab::look_up(&mut this, &|option| args.given(option))?;
        Ok(this)
    }

    fn run(self) -> Result<()> {
        let place = self.target.header_path().to_owned();
        self.dispatch().map_err(|failure| explain::placed(failure, Some(&place)))
    }
}

impl Open {
    /// A volume of which only the location, the key options and the demands are given.
    fn of(target: Target, key: KeyOptions, demands: Demands) -> Self {
        Self {
            target,
            name: None,
            kind: None,
            backend: None,
            given: Given::default(),
            key,
            demands,
            sharing: Sharing::default(),
            direct: false,
            read_only: false,
            flags: GivenFlags::default(),
            persistent: false,
            keyring: true,
            link: None,
            refresh: false,
            test_passphrase: false,
            unbound: false,
            expects_mapping: false,
        }
    }

    /// A volume that an entry names, opened through the kernel's front end. For options that `is_given`
    /// names, the values in `key` and `demands` are kept.
    pub(crate) fn of_entry(
        entry: &Entry,
        key: KeyOptions,
        demands: Demands,
        is_given: &dyn Fn(&Opt) -> bool,
    ) -> Result<Self> {
        let (locking, manner) = (Locking::default(), key.manner);
        let target =
            Target { device: PathBuf::new(), header: None, locking, manner, inputs: Inputs::default() };
        let mut this = Self { backend: Some(Backend::Kernel), ..Self::of(target, key, demands) };
        crypttab::complete(&mut this, entry, None, is_given)?;
        Ok(this)
    }

    /// The LUKS2 volume that the same line makes of its device: cipher, sectors, offset and size are of the making.
    pub(crate) fn of_new_volume(args: &Args) -> Result<Self> {
        Ok(Self { given: Given::default(), ..Self::from_args(args)? })
    }

    /// Where the volume is, what kind it is and where its key comes from; `None` where it has no header.
    pub(crate) fn opening_of_luks(self) -> Result<Option<Opening>> {
        match Kind::named(self.kind.as_deref())? {
            Kind::Other(_) => Ok(None),
            kind => self.into_opening(kind).map(Some),
        }
    }

    /// The same request, whose passphrase was read before: it is not asked for again. For the kernel's front end only:
    /// no other process is told.
    pub(crate) fn knowing(mut self, passphrase: impl Into<Known>) -> Self {
        self.key.passphrase.known = Some(passphrase.into());
        self
    }

    /// Where the kernel maps it, if it does.
    pub(crate) fn mapping(&self) -> Option<PathBuf> {
        let name = self.name.as_ref().filter(|_| self.backend() == Backend::Kernel)?;
        Some(Mapping::path_of(name.to_str()?))
    }

    /// Refuses a name that is taken, options that exclude each other, and a mapping that the kernel cannot make,
    /// before anything is written that is to be opened.
    pub(crate) fn check_place(&self) -> Result<()> {
        conflicts::check(self, Kind::named(self.kind.as_deref())?)?;
        let name = mapping::name(self.name.as_ref())?;
        if self.backend() == Backend::Kernel {
            kernel::check(&name, self.expects_mapping)?;
        }
        refuse_taken(&name)
    }

    /// Whether the volume is to be opened for reading only.
    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// How many times the key is asked for.
    pub(crate) fn tries(&self) -> u64 {
        self.key.tries
    }

    /// Called as cryptsetup, the kernel's unless another is named: a script would go on with
    /// /dev/mapper/NAME, and write beside it what was to be encrypted.
    fn backend(&self) -> Backend {
        match self.backend {
            Some(named) => named,
            None if self.expects_mapping => Backend::Kernel,
            None => Backend::usual(&self.target.device),
        }
    }

    fn dispatch(self) -> Result<()> {
        if self.refresh {
            return self.into_refresh()?.run();
        }
        let kind = Kind::named(self.kind.as_deref())?;
        conflicts::check(&self, kind)?;
        match kind {
            Kind::Luks(versions) if self.test_passphrase => self.into_test(versions).run(),
            Kind::Other(_) if self.test_passphrase => self.into_opening(kind)?.test(),
            _ => self.open(kind),
        }
    }

    fn open(self, kind: Kind) -> Result<()> {
        let name = mapping::name(self.name.as_ref())?;
        let backend = self.backend();
        if backend != Backend::Kernel && self.link.is_some() {
            let message = "--link-vk-to-keyring needs --backend kernel.";
            return Err(Failure::new(Exit::Parameters, message));
        }
        let (read_only, keyring, link) = (self.read_only, self.keyring, self.link.clone());
        let (expects_mapping, is_quiet) = (self.expects_mapping, self.target.manner.batch_mode);
        let flags = PersistentFlags { given: self.flags.clone(), kept: self.persistent };
        let opening = self.into_opening(kind)?;
        if flags.given.passes_discards() && !read_only {
            opening.warn_of_discards();
        }
        if backend == Backend::Kernel {
            return KernelMapping { name, opening, flags, read_only, keyring, link, expects_mapping }.open();
        }
        refuse_taken(&name)?;
        session::start(&OwnFrontEnd {
            name: name.clone(),
            backend,
            opening,
            flags,
            read_only,
            is_told: expects_mapping,
        })?;
        // Only now is it true.
        if expects_mapping {
            say!(
                "WARNING: {name} is open through {backend}, as the environment says: there is no /dev/mapper/{name}; \
                 \"status {name}\" shows where it is."
            );
        } else if !is_quiet {
            next_step::print(&name)?;
        }
        Ok(())
    }

    fn into_opening(self, kind: Kind) -> Result<Opening> {
        let kind = match kind {
            Kind::Luks(versions) => volume::Kind::Luks(versions),
            Kind::Other(row) => {
                let described = row.describe(&self.given, |option| self.has(option));
                volume::Kind::Other(described?)
            }
        };
        let Self { target, key, demands, sharing, direct, .. } = self;
        Ok(Opening { target, kind, key, demands, sharing, direct, stdin_holds_data: false, edits: false })
    }

    /// Whether one of the options is there that volumes with keyslots have.
    fn has(&self, option: &Opt) -> bool {
        let given = [
            (&shared::HEADER, self.target.header.is_some()),
            (&shared::KEY_SLOT, self.key.keyslot.is_some()),
            (&shared::UNBOUND, self.unbound),
            (&shared::VOLUME_KEY_FILE, self.key.volume_key.is_some()),
        ];
        given.iter().any(|(known, is_given)| *is_given && known.long == option.long)
    }

    fn into_test(self, versions: Versions) -> TestPassphrase {
        let Self { target, key, demands, unbound, link, .. } = self;
        TestPassphrase { target, versions, key, demands, unbound, link }
    }

    /// Turns the request into a refresh; the last operand names the open volume.
    fn into_refresh(self) -> Result<Refresh> {
        let Self { target, key, demands, flags, persistent, read_only, keyring, .. } = self;
        let name = self.name.unwrap_or_else(|| target.device.into_os_string());
        let Target { header, locking, .. } = target;
        let reopening = Reopening { header, locking, key, demands, hash: self.given.plain.hash.clone() };
        let (name, plain) = (mapping::name(Some(&name))?, self.given.plain);
        Ok(Refresh { name, flags, persistent, read_only, keyring, reopening, plain })
    }
}

/// Refuses a name that is taken, by a mapping or by a session.
fn refuse_taken(name: &str) -> Result<()> {
    if name.contains('/') {
        let message = format!("Cannot use device {name}, name is invalid or still in use.");
        return Err(Failure::new(Exit::Parameters, message));
    }
    let taken = mapping::find_mapping(name)?.is_some() || sessions::registry().find(name).is_some();
    match taken {
        true => Err(Failure::new(Exit::Busy, format!("Device {name} already exists."))),
        false => Ok(()),
    }
}
