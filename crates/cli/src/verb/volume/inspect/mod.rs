//! `inspect`: a volume at a glance. `glance` adds this machine's times to the
//! facts, `warnings` says what deserves attention, `text` and `json` show.

mod audit;
mod glance;
mod json;
mod text;
mod warnings;

use crate::args::{self, Alias, Args, Command, Example, Group, Kind, Opt, Request, groups, shared};
use crate::device::{self, Target, Versions, explain, kind_hint};
use crate::output::failure::Result;
use crate::output::paint::Paint;
use crate::output::stdio;
use crate::unlock::KeyOptions;
use crate::unlock::admission::Demands;
use glance::Glance;
use keyway::Access;
use keyway::facts::{Concern, Facts};
use keyway::trust;

/// `keyway inspect`.
pub(crate) static COMMAND: Command = Command {
    name: "inspect",
    aliases: &[Alias { name: "status-of", device_type: None }],
    group: Group::First,
    operands: &[shared::operands::VOLUME],
    about: "Show what a volume is, at a glance.",
    man: "Format, cipher, place and size of the data, whether both header copies are sound, a reencryption \
          under way (what it does, its progress, which programs can resume it, and the command for it), and \
          every keyslot with its key derivation, its cost and the time that unlocking takes on this machine: \
          a short sample of each kind of key derivation is measured and multiplied by the cost. Whatever \
          memory a keyslot asks for, the sample takes 256 MiB at most. Problems are listed at the end; notes, \
          such as more data under one XTS key than IEEE 1619-2025 advises, are marked with a dot.\n\nNothing \
          is written and no lock is taken. No passphrase is needed, unless --verify asks for one to verify \
          the seal (keyway-seal(8)); a key file does the same. Colours are used on a terminal, unless \
          NO_COLOR is set.\n\nWith --require, each demand of the policy is shown with what the volume has, \
          and so is everything that only an explicit option would open; the exit code is 6 if a demand is not \
          met, or only the key could tell. The demands:\n\nformats = [\"luks1\", \"luks2\"]\n\nciphers = \
          [\"aes\"], or whole specifications: [\"aes-xts-plain64\"]\n\nmodes = [\"xts-plain64\"], or with any \
          IV: [\"xts\"]\n\nmin-key-bits = 512: of the volume key. XTS has two keys, and both \
          count.\n\nsector-sizes = [512, 4096]\n\nlinear-segments = false: every segment is \
          encrypted.\n\nallowed-flags = [\"allow-discards\"]: the activation flags that the header may set; \
          [] for none.\n\nallowed-tokens = [\"systemd-tpm2\"]: the types of its tokens; [] for none. A seal \
          is always allowed.\n\nuuid, label, subsystem = \"TEXT\"\n\nsize, min-size, max-size = \"10GiB\": of \
          the plaintext; a number is in bytes.\n\nmax-keyslots = 4\n\nkdfs = [\"argon2id\"]: what every \
          keyslot uses; min-pbkdf2-iterations = 1000000, min-argon2-memory = \"1GiB\" and min-argon2-passes = \
          4 are for the keyslots that use it.\n\nsealed = true: the header has a seal made with the volume \
          key, and matches it; seal-context = \"TEXT\": with this string.",
    options: &[
        &[&shared::JSON, &shared::REQUIRE, &VERIFY, &shared::SEAL_CONTEXT, &shared::SEAL_CONTEXT_FILE],
        groups::KEY_INPUT,
        groups::UNLOCKING,
        groups::PROMPT,
        groups::LIMITS,
    ],
    rules: &[],
    examples: &[
        Example { line: "keyway inspect disk.luks", does: "see what it is" },
        Example { line: "keyway inspect --json disk.luks | jq .keyslots", does: "the same for a script" },
        Example {
            line: "keyway inspect --verify --require fleet.toml disk.luks",
            does: "does it meet the policy? exit code 6 if not",
        },
    ],
    risks: &[],
    run: args::run::<Inspection>,
};

static VERIFY: Opt = Opt {
    long: "verify",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Ask for the passphrase, to verify the seal.",
    man: "",
};

struct Inspection {
    target: Target,
    versions: Versions,
    demands: Demands,
    /// Where the key comes from, if it was requested or given.
    key: Option<KeyOptions>,
    json: bool,
}

impl Request for Inspection {
    fn from_args(args: &Args) -> Result<Self> {
        let giving = [&VERIFY, &shared::KEY_FILE, &shared::PASSWORD_COMMAND, &shared::VOLUME_KEY_FILE];
        let wants_key = giving.into_iter().any(|option| args.given(option));
        Ok(Self {
            target: Target::from_args(args, 0)?,
            versions: Versions::from_args(args)?,
            demands: Demands::from_args(args)?,
            key: if wants_key { Some(KeyOptions::from_args(args)?) } else { None },
            json: args.given(&shared::JSON),
        })
    }

    fn run(self) -> Result<()> {
        let (device, terms) = (&self.target.device, &self.demands.terms);
        let luks = self.target.load(Access::Probe, self.versions);
        let luks = luks.map_err(|failure| kind_hint::say_what_it_is(failure, self.target.header_path()))?;
        let data = device::storage(device, Access::Probe)?;
        let key = self.key.as_ref().map(|key| key.volume_key(&luks, device)).transpose()?;
        let key = key.as_ref().map(|(key, _)| key);
        let on = self.target.data_device(&*data);
        let audit = trust::audit(terms, &luks, on, key);
        if let (false, Some(audit)) = (self.json, &audit) {
            audit::print(audit)?;
            return audit::conclude(audit, device);
        }
        let facts = Facts::of(&luks, data.len()).map_err(|e| explain::on_device(device, &e))?;
        let mut concerns = Concern::all(&facts, &luks, on);
        concerns.extend(Concern::cured_by_reencryption(&facts, &*data));
        let seal = trust::seal_state(&luks, data.len(), key, terms.seal_context.as_deref());
        let glance = Glance::measured(&self.target, facts, seal, concerns);
        if !self.json {
            return stdio::print(&text::show(&glance, Paint::for_stdout()));
        }
        stdio::print(&format!("{}\n", json::show(&glance, audit.as_ref().map(audit::json))))?;
        audit.map_or(Ok(()), |audit| audit::conclude(&audit, device))
    }
}
