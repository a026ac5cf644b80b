//! `refresh`, or `open --refresh`: gives an open mapping other flags without closing it.

use super::options::PERSISTENT;
use crate::args::risk::{Effect, Proof, risk};
use crate::args::shared::{self, ALLOW_DISCARDS};
use crate::args::{self, Args, Command, Example, Group, Offers, Operand, Request, Topic, groups};
use crate::device::explain;
use crate::mapping::{self, GivenFlags, Mapping, Open, Reopening};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::sentence;
use crate::unlock::admission;
use crate::volume::kinds::plain::given::GivenPlain;
use keyway::Access;
use keyway_attach::dm::crypt::{Key, Line, Options};
use keyway_attach::dm::{self, Target};
use keyway_attach::session::Session;
use keyway_crypto::{CipherSpec, Secret};
use keyway_volume::{Error, Luks, Rights};

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
        let mut options = Options::default();
        self.flags.apply(&mut options);
        if let (Some((luks, _)), false) = (&header, self.persistent) {
            options.set_stored(luks);
        }
        let rights = Rights { discards: options.allow_discards, read_only: self.read_only };
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
            say!("Device activated but cannot make flags persistent.");
            if let Error::Unmet(_) = &error {
                explain::plain(&error).report();
            }
        }
    }

    fn refresh(&self, found: &Mapping) -> Result<()> {
        found.refuse_suspended()?;
        let kind = found.kind().map(|(kind, _)| kind.to_owned()).unwrap_or_default();
        if !["LUKS1", "LUKS2", "PLAIN"].contains(&kind.as_str()) {
            return Err(refused(format!("Refresh is not supported for device type {kind}")));
        }
        let is_plain = kind == "PLAIN";
        let (target, line) = found.line(is_plain)?.ok_or_else(|| {
            refused(format!("Device {} has a table that cannot be refreshed.", found.name()))
        })?;
        if is_plain {
            self.check_plain(found, &line)?;
            let key = line.key;
            return self.replace(found, &target, Line { key, ..self.line(found, None, &target)? });
        }
        self.refresh_luks(found, &target, &line)
    }

    /// Refuses a plain volume whose cipher or key is not the one that the options describe. If they
    /// describe none, nothing is asked for.
    fn check_plain(&self, found: &Mapping, line: &Line) -> Result<()> {
        if !self.plain.describes_encryption() {
            return Ok(());
        }
        let described = self.plain.clone().options()?;
        described.warn_about_defaults(&self.reopening.key);
        let device = mapping::device_path(&found.mapper, line.device).unwrap_or_default();
        let wanted = described.volume_key(&self.reopening.key, &device, false)?;
        let is_key = match &line.key {
            Key::Bytes(mapped) => mapped.ct_eq(wanted.expose()),
            Key::Absent => described.cipher().is_null(),
            Key::InKeyring(_) => false,
        };
        let is_cipher = CipherSpec::parse(&line.cipher).is_ok_and(|mapped| mapped.means(described.cipher()));
        match is_key && is_cipher {
            true => Ok(()),
            false => Err(refused(format!("Mismatching parameters on device {}.", found.name()))),
        }
    }

    fn refresh_luks(&self, found: &Mapping, target: &Target, line: &Line) -> Result<()> {
        let access = if self.persistent { Access::Write } else { Access::Read };
        let luks = self.reopening.luks(found, line, access)?;
        let luks = luks.ok_or_else(|| mapping::no_header(found.name()))?;
        let shown = self.reopening.header_path(found, line).unwrap_or_default();
        let opened = self.reopening.open_again(luks, line, &shown)?;
        let digest = opened.digest();
        let (mut luks, _, volume_key) = opened.into_parts();
        let features = mapping::features(&found.mapper)?;
        let luks2 = (luks.version() == 2).then(|| (luks.uuid(), digest));
        let place = mapping::place_key(self.keyring, &volume_key, luks2, &features)?;
        let key = if matches!(line.key, Key::Absent) { Key::Absent } else { place.key() };
        self.replace(found, target, Line { key, ..self.line(found, Some(&luks), target)? })?;
        if self.persistent {
            self.keep(&mut luks, Some(&volume_key));
        }
        Ok(())
    }

    /// The current table line, with the given flags and the header's in place of its own;
    /// `--persistent` replaces the header's.
    fn line(&self, found: &Mapping, luks: Option<&Luks>, target: &Target) -> Result<Line> {
        let line = target.as_crypt().map_err(|e| sentence::attaching(&e))?;
        let mut flags = Options::default();
        self.flags.apply(&mut flags);
        if let (Some(luks), false) = (luks, self.persistent) {
            flags.set_stored(luks);
        }
        flags.drop_unknown(&mapping::features(&found.mapper)?);
        Ok(line.with_flags(&flags))
    }

    fn replace(&self, found: &Mapping, target: &Target, line: Line) -> Result<()> {
        let read_only = found.info.read_only || self.read_only;
        let table = [Target::crypt(target.start, target.length, &line)];
        found.replace_table(&table, dm::Flags { read_only, ..dm::Flags::default() })
    }
}

fn refused(line: String) -> Failure {
    Failure::new(Exit::Parameters, line)
}
