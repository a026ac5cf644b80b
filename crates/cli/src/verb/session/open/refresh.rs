//! `refresh`, or `open --refresh`: gives an open mapping other flags without closing it.

use super::flags::NOT_PERSISTENT;
use super::options::PERSISTENT;
use crate::args::risk::{Effect, Proof, risk};
use crate::args::shared::{self, ALLOW_DISCARDS};
use crate::args::{self, Args, Command, Example, Group, Offers, Operand, Request, Topic, groups};
use crate::device::explain;
use crate::mapping::{self, GivenFlags, Open, Reopening};
use crate::output::failure::{Exit, Failure, Result};
use crate::unlock::admission;
use crate::volume::kinds::plain::given::GivenPlain;
use keyway::parts::{Error, Luks};
use keyway::{Access, MapOptions, Mapping, Unchanged};
use keyway_attach::session::Session;
use keyway_crypto::Secret;
use keyway_volume::Rights;

/// `keyway refresh`.
pub(crate) static COMMAND: Command = Command {
    name: "refresh",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Volumes),
    operands: &[Operand {
        name: "NAME",
        required: true,
        help: "The mapping's name.",
        offers: Offers::OpenVolumes,
    }],
    about: "Change the flags of an open mapping.",
    man: "The mapping stays in use. It gets the flags of the command line and those stored in its LUKS2 header, \
          and no others. A LUKS volume's passphrase is asked for; a plain volume keeps its key, and \
          only if --cipher, --key-size or --hash is given, the passphrase is asked for and all of them must match the \
          mapping.\n\nA volume opened \
          with nbd, fuse or ublk needs no passphrase, and takes --allow-discards and --readonly; they apply to \
          connected clients from then on. A ublk device opened without --allow-discards cannot get it later.",
    options: &[
        &[&ALLOW_DISCARDS, &PERSISTENT, &shared::READONLY, &shared::KEY_SLOT],
        &[&shared::CIPHER, &shared::KEY_SIZE, &shared::HASH],
        groups::DM_CRYPT,
        groups::KEY_INPUT,
        groups::KEY_AGAIN,
        groups::PROMPT,
        groups::LIMITS,
        groups::ADMISSION,
    ],
    rules: super::rules::RULES,
    examples: &[Example {
        line: "keyway refresh --allow-discards --persistent home",
        does: "Pass TRIM on from now on.",
    }],
    risks: &[risk("NAME", Effect::Mounts, Proof::Mapping, "refresh -d KEY TARGET")],
    run: args::run::<Refresh>,
};

/// An open volume, and the flags to give it.
pub(super) struct Refresh {
    pub(super) name: String,
    pub(super) flags: GivenFlags,
    /// The header stores them.
    pub(super) persistent: bool,
    pub(super) read_only: bool,
    /// The key may be passed through the kernel's keyring.
    pub(super) keyring: bool,
    pub(super) reopening: Reopening,
    /// How a plain volume should be mapped.
    pub(super) plain: GivenPlain,
}

impl Request for Refresh {
    fn from_args(args: &Args) -> Result<Self> {
        Ok(Self {
            // As in cryptsetup: NAME alone, or DEVICE and NAME.
            name: mapping::name(args.operands().get(1).or(args.operands().first()))?,
            flags: GivenFlags::from_args(args),
            persistent: args.given(&PERSISTENT),
            read_only: args.given(&shared::READONLY),
            keyring: !args.given(&shared::DISABLE_KEYRING),
            reopening: Reopening::from_args(args)?,
            plain: GivenPlain::from_args(args),
        })
    }

    fn run(self) -> Result<()> {
        match mapping::find(&self.name)? {
            Some(Open::Kernel(found)) => self.refresh(&found),
            Some(Open::Session(session)) => self.refresh_session(&session),
            // cryptsetup asks the mapping for its type first, and finds none.
            None => Err(mapping::not_active(&self.name).in_cryptsetup(Exit::Parameters)),
        }
    }
}

impl Refresh {
    /// Refreshes a session. Its process has the key, so no passphrase is needed. Flags for the
    /// kernel's work queues have no effect on it, but can be stored in the header.
    fn refresh_session(&self, session: &Session) -> Result<()> {
        let facts = session.facts();
        if session.status().map_err(explain::session)?.suspended {
            return Err(mapping::suspended(&facts.name));
        }
        let access = if self.persistent { Access::Write } else { Access::Probe };
        let header = self.reopening.session_header(facts, access)?;
        let stored = header.as_ref().map(|(luks, _)| luks).filter(|_| !self.persistent);
        let rights = Rights { discards: self.flags.pass_discards(stored), read_only: self.read_only };
        session.set_rights(rights).map_err(explain::session)?;
        match header {
            Some((mut luks, path)) if self.persistent => {
                self.keep(&mut luks, None);
                admission::warn_of_seal(&luks, &path);
            }
            _ => {}
        }
        Ok(())
    }

    fn keep(&self, luks: &mut Luks, volume_key: Option<&Secret>) {
        if let Err(error) = self.flags.keep(luks, volume_key) {
            say!("{NOT_PERSISTENT}");
            if let Ok(error @ Error::Unmet(_)) = error.into_volume_error() {
                explain::plain(&error).report();
            }
        }
    }

    fn refresh(&self, found: &Mapping) -> Result<()> {
        let explained = |error| explain_mapping(found, &error);
        if !found.refresh_needs_key().map_err(explained)? {
            self.check_plain(found)?;
            return found.refresh(None, &self.how()).map_err(explained);
        }
        let access = if self.persistent { Access::Write } else { Access::Read };
        let (luks, path) = self.reopening.header_of(found, access)?;
        let volume = self.reopening.open_again(found, luks, &path)?;
        found.refresh(Some(&volume), &self.how()).map_err(explained)?;
        if self.persistent {
            let (mut luks, volume_key) = volume.into_header();
            self.keep(&mut luks, Some(&volume_key));
        }
        Ok(())
    }

    /// Refuses a plain volume whose cipher or key is not the one that the options describe. If they
    /// describe none, nothing is asked for.
    fn check_plain(&self, found: &Mapping) -> Result<()> {
        if !self.plain.describes_encryption() {
            return Ok(());
        }
        let described = self.plain.clone().options()?;
        described.warn_about_defaults(&self.reopening.key);
        let status = found.status().map_err(|error| explain_mapping(found, &error))?;
        let device = status.map(|status| status.device).unwrap_or_default();
        let wanted = described.volume_key(&self.reopening.key, &device, false)?;
        let is_same = found.encrypts_with(described.cipher(), &wanted);
        match is_same.map_err(|error| explain_mapping(found, &error))? {
            true => Ok(()),
            false => Err(mapping::refused(format!("Mismatching parameters on device {}.", found.name()))),
        }
    }

    /// The flags given and those of the header, which `--persistent` replaces.
    fn how(&self) -> MapOptions {
        let mut how = self.flags.onto(MapOptions::new());
        if self.persistent {
            how = how.without_stored_flags();
        }
        if self.read_only {
            how = how.read_only();
        }
        if self.keyring { how } else { how.without_keyring() }
    }
}

fn explain_mapping(found: &Mapping, error: &keyway::Error) -> Failure {
    match mapping::why(error) {
        Some(Unchanged::Kind(kind)) => {
            mapping::refused(format!("Refresh is not supported for device type {kind}"))
        }
        Some(Unchanged::Table) => {
            mapping::refused(format!("Device {} has a table that cannot be refreshed.", found.name()))
        }
        _ => mapping::explain(found.name(), error),
    }
}
