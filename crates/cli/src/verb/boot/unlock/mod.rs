//! `unlock`: opens the volumes that the kernel's command line, /etc/crypttab or the image itself
//! names. In an initramfs the kernel runs it as process 1; elsewhere an /init script or an
//! administrator runs it.

mod erase;
mod find;
mod init;
mod key_file;
mod keyboard;
mod lvm;
mod md;
mod modules;
mod mounting;
mod options;
mod rekey;
mod resume;
mod root;
mod script;
mod stopped;
#[cfg(test)]
mod tests;
mod typed;
mod volume;

pub(crate) use init::is_first_process;

use self::find::Below;
use self::lvm::Lvm;
use self::md::Md;
use crate::args::risk::{Effect, Proof, risk};
use crate::args::{self, Args, Command, Example, Group, Offers, Operand, Opt, Request, groups, shared};
use crate::device::found;
use crate::device::tables::{self, Meant};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::manner::Manner;
use crate::output::paint::printable;
use crate::output::stdio;
use crate::unlock::KeyOptions;
use crate::unlock::admission::{Demands, WeakCiphers};
use crate::unlock::passphrase::Heard;
use crate::verb::session::open::Open;
use keyway::Mapping;
use keyway_boot::cmdline::{self, CommandLine, USUAL_KEY};
use keyway_boot::crypttab::Entry;
use keyway_boot::plan;
use keyway_boot::root::{Root, Waits};
use options::{CMDLINE, DRY_RUN, INIT, WAIT};
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;
use typed::Typed;
use volume::{say_unknown, settle_crypto, whole_name};

/// `keyway unlock`.
pub(crate) static COMMAND: Command = Command {
    name: "unlock",
    aliases: &[],
    group: Group::Boot,
    operands: &[Operand {
        name: "NAME...",
        required: false,
        help: "Only these volumes.",
        offers: Offers::Files,
    }],
    about: "Open what the kernel's command line or crypttab names: at boot.",
    man: "The volumes are those of the kernel's command line; if it names none, those of /etc/crypttab (in \
          Debian's images /cryptroot/crypttab); else those of /keyway/unlock.conf, which \"keyway boot \
          initramfs\" embeds. Read are the parameters of systemd (rd.luks.uuid=, rd.luks.name=, \
          rd.luks.data=, rd.luks.key=, rd.luks.options=), dracut, mkinitcpio (cryptdevice=, cryptkey=, \
          crypto=), Debian (cryptopts=), booster, Alpine (cryptroot=) and Gentoo (crypt_root=), and our own: \
          keyway.device=, keyway.name=, keyway.key=, keyway.header=, keyway.options=. docs/BOOTING.md in the \
          source has a row for each; a known one that has no effect here is reported, and an unknown \
          keyway.WORD= is refused. rd.luks=0 opens none, rd.luks.crypttab=0 none of crypttab.\n\nDevices are \
          found without udev, by path, UUID=, LABEL=, PARTUUID= or PARTLABEL=, by the links below /dev/disk, \
          and waited for as long as x-systemd.device-timeout= and keyfile-timeout= say (0: without end). With \
          --init, linear and striped logical volumes of LVM that root=, resume=, a volume, a key or a header \
          need, and those of rd.lvm.lv= and rd.lvm.vg=, are activated, within opened volumes and below them; \
          while volumes are opened, root= and resume= take only those within. While a needed device is \
          missing, arrays of md RAID are assembled: complete ones at once and, after two thirds of the \
          waiting time, degraded ones, with a warning; rd.md.uuid= names the only ones, rd.md=0 assembles \
          none. A key file or a header may be on another device, PATH:DEVICE, or be a device; where none is \
          named, /etc/cryptsetup-keys.d/NAME.key is taken, if it is there; keyscript= runs a program and \
          takes the key from its output. A LUKS2 token that names a key in the kernel keyring is tried before \
          both. If none of these opens a volume, passphrases typed for others are tried (unless \
          keyway.cache=no or password-cache=no is given), then the passphrase is asked for, tries= times (3; \
          0: without end), unless the entry says headless. As process 1 it then pauses, longer each time, and \
          asks again; keyway.shell on the kernel's command line gives a shell instead, and nothing else does. \
          A volume with the option nofail is skipped if it cannot be opened; one that cannot be opened does \
          not keep the others closed. Swap and /tmp with a random key are left to the system that starts; \
          those with a key are opened, but not formatted.\n\nEvery volume must meet the policies of \
          keyway.require= on the kernel's command line (FILE, or the word sealed), of x-keyway.require= in \
          every entry of these three tables that means it, and /keyway/policy.toml, which boot initramfs \
          --require puts into the image: keyway-inspect(8) explains the demands. An entry means a volume that \
          has its name or its device, however that is written (a path, UUID=, a link); all demands hold \
          together. If a table exists but cannot be read, nothing is opened.\n\nA volume that was built with \
          --rekey-at-first-boot has the volume key of the image until its first boot. Before it is mapped, it \
          is reencrypted here under a new one, which comes from the kernel's random generator as soon as that \
          is seeded; cipher, key size and sector size stay, and so does the passphrase. The console shows the \
          progress. If the power fails, the next boot resumes it; at the end the mark is removed. \
          x-keyway.rekey= in the entry's options, or keyway.rekey= on the kernel's command line for all \
          volumes, says when: before (or yes, the default), after (the volume is opened as it is, and \
          \"keyway reencrypt --if-marked --active-name NAME\" does it in the running system), or no. A volume \
          without the mark is never reencrypted. Where it cannot be done (another keyslot has another \
          passphrase, the header is sealed, the device is read-only, the entry names a keyslot), a line says \
          why, the boot continues, and the mark stays.\n\nThe exit code is that of open: 2 for a wrong \
          passphrase, 4 for a device that never appeared.",
    options: &[&[&CMDLINE, &WAIT, &DRY_RUN, &INIT], groups::PROMPT, groups::LIMITS, groups::ADMISSION],
    rules: &[],
    examples: &[
        Example { line: "keyway unlock", does: "Open everything that this boot names." },
        Example { line: "keyway unlock --dry-run", does: "Show what that would be." },
    ],
    risks: &[
        risk("VOLUME", Effect::Mounts, Proof::Claim, ""),
        risk("VOLUME, marked", Effect::Overwrites, Proof::Claim, ""),
        risk("/, with --init", Effect::Deletes, Proof::FirstProcess, ""),
    ],
    run: args::run::<Unlock>,
};

/// Which volumes to open, and on what terms.
pub(crate) struct Unlock {
    /// As the first process of an initramfs.
    init: bool,
    /// Only print what would be done.
    dry_run: bool,
    /// Only these volumes.
    names: Vec<OsString>,
    /// Used instead of the kernel's command line.
    command_line: Option<String>,
    /// How long to wait for devices.
    wait: Option<Duration>,
    terms: Terms,
}

/// The terms for all volumes, which take precedence over an entry's own.
struct Terms {
    key: KeyOptions,
    /// What opened volumes so far, as it was typed.
    typed: Typed,
    demands: Demands,
    manner: Manner,
    /// The options that set them.
    given: Vec<&'static Opt>,
}

impl Request for Unlock {
    fn from_args(args: &Args) -> Result<Self> {
        Ok(Self {
            init: args.given(&INIT),
            dry_run: args.given(&DRY_RUN),
            names: args.operands().to_vec(),
            command_line: args.text(&CMDLINE).map(str::to_owned),
            wait: args.number(&WAIT).map(Duration::from_secs),
            terms: Terms::from_args(args)?,
        })
    }

    fn run(self) -> Result<()> {
        match (self.init, self.dry_run) {
            (true, true) => init::show(&self),
            (true, false) => init::run(&self),
            (false, dry_run) => {
                let plan = Plan::made(&self)?;
                let wanted = plan.named(&self.names)?;
                let show = |entry: &Entry| {
                    say_unknown(entry);
                    stdio::print(&format!("{}\n", printable(&plan.shown(entry).to_string())))
                };
                match dry_run {
                    true => wanted.into_iter().try_for_each(show),
                    false => all(&wanted, |entry| self.terms.unlock_or_pass(entry, &plan)),
                }
            }
        }
    }
}

impl Terms {
    fn from_args(args: &Args) -> Result<Self> {
        let (mut key, mut demands) = (KeyOptions::from_args(args)?, Demands::from_args(args)?);
        // Whatever name the program is called by: nobody reads the warnings during boot.
        let by_name = args.given(&shared::WEAK_CIPHER);
        let weak = WeakCiphers { taken: by_name, by_name };
        key.take_weak_ciphers(weak);
        demands.take_weak_ciphers(weak);
        // --batch-mode concerns the pauses between tries; it does not answer open's questions.
        key.manner.batch_mode = false;
        // With -v, says why no token opened a volume.
        key.tokens.are_offered = true;
        key.passphrase.heard = Some(Heard::default());
        let options = COMMAND.own_options().filter(|option| args.given(option));
        Ok(Self { key, typed: Typed::default(), demands, manner: args.manner(), given: options.collect() })
    }

    /// The request to `open` for this entry.
    fn opening(&self, entry: &Entry) -> Result<Open> {
        let is_given = |option: &Opt| self.given.iter().any(|given| std::ptr::eq(*given, option));
        Open::of_entry(entry, self.key.clone(), self.demands.clone(), &is_given)
    }

    /// Opens a volume; a failure is passed over if the entry says nofail.
    fn unlock_or_pass(&self, entry: &Entry, plan: &Plan) -> Result<()> {
        match self.unlock(entry, plan) {
            Err(failure) if entry.option("nofail").is_some() => {
                failure.report();
                say!("{}: skipped (nofail).", entry.name.to_string_lossy());
                Ok(())
            }
            done => done,
        }
    }
}

/// As the first process of an initramfs.
pub(crate) fn boot() -> Result<()> {
    let mut key = KeyOptions::default();
    key.tokens.are_offered = true;
    key.passphrase.heard = Some(Heard::default());
    let (typed, demands) = (Typed::default(), Demands::default());
    let terms = Terms { key, typed, demands, manner: Manner::default(), given: Vec::new() };
    Unlock { init: true, dry_run: false, names: Vec::new(), command_line: None, wait: None, terms }.run()
}

impl Unlock {
    /// The kernel's command line.
    fn line(&self) -> String {
        let told = self.command_line.clone();
        told.unwrap_or_else(|| fs::read_to_string("/proc/cmdline").unwrap_or_default())
    }
}

/// The volumes to open, and where they were named.
struct Plan {
    command_line: String,
    entries: Vec<Entry>,
    /// The entries of all tables that make demands.
    demanding: Vec<Entry>,
    waits: Waits,
    shell: bool,
    /// What opened one volume is not tried on the others.
    forgets: bool,
    /// Which logical volumes may be activated,
    lvm: Lvm,
    /// and which are, whether something needs them or not.
    listed: cmdline::Lvm,
    /// Which arrays may be assembled, if any.
    md: Option<Md>,
    /// Volumes that are left to the system that starts.
    left: Vec<OsString>,
}

impl Plan {
    fn made(asked: &Unlock) -> Result<Self> {
        let command_line = asked.line();
        let table = |file: &&str| {
            tables::read(file).map_err(|e| {
                let message =
                    format!("{file} cannot be read ({e}), and may contain demands: nothing is opened.");
                Failure::new(Exit::Device, message)
            })
        };
        let tables = TABLES.iter().map(table).collect::<Result<Vec<_>>>()?;
        let policy = fs::symlink_metadata(POLICY).is_ok().then_some(POLICY);
        let mut line = CommandLine::parse(&command_line);
        if Path::new(USUAL_KEY).exists() {
            line.give_usual_key();
        }
        let plan = plan::Plan::new(line, tables, policy);
        let plan::Plan { entries, demanding, wait, shell, forgets, lvm: listed, md, undone, unknown } = plan;
        for line in undone {
            say!("WARNING: the kernel's command line says {}", printable(&line));
        }
        if let Some(word) = unknown.first() {
            let message = format!(
                "The kernel's command line says {}, which is unknown and may be meant as a demand: nothing is \
                 opened.",
                printable(word)
            );
            return Err(Failure::new(Exit::Parameters, message));
        }
        let waits = Waits::new(asked.wait.or(wait), &command_line, USUAL_WAIT);
        let (left, mut entries): (Vec<Entry>, Vec<Entry>) =
            entries.into_iter().partition(Entry::is_made_anew);
        for Entry { name, .. } in &left {
            let name = name.to_string_lossy();
            say!("{name}: left to the system that starts: it gets a random key each time.");
        }
        for entry in entries.iter_mut().filter(|entry| entry.option("keyscript").is_none()) {
            entry.key_file = entry.key_file.take().or_else(|| key_of_name(&entry.name));
        }
        let left = left.into_iter().map(|entry| entry.name).collect();
        let is_first = asked.init && !asked.dry_run;
        let lvm = if is_first && !listed.off { Lvm::Anywhere } else { Lvm::Off };
        let md = Md::new(&md, waits).filter(|_| is_first);
        Ok(Self { command_line, entries, demanding, waits, shell, forgets, lvm, listed, md, left })
    }

    /// The command line's root and resume=, without one that is made anew at each start: nothing is suspended there.
    fn root(&self) -> Root {
        let mut root = Root::parse(&self.command_line);
        let is_left =
            |device: &str| self.left.iter().any(|name| Mapping::path_of(&name.to_string_lossy()) == *device);
        root.resume.take_if(|resume| is_left(&resume.device));
        root
    }

    /// What is brought up for a device that is sought.
    fn below(&self) -> Below<'_> {
        Below { lvm: self.lvm, md: self.md.as_ref(), may_lack: true, inside_only: false }
    }

    /// Whether there are volumes to open.
    fn opens(&self) -> bool {
        !self.entries.is_empty()
    }

    /// Adds to an entry, whose devices were found, what the tables demand of that volume under other
    /// names.
    fn demand(&self, there: &mut Entry) {
        let copy = there.clone();
        let header = copy.option("header").map(Path::new);
        let meant = Meant { name: Some(&copy.name), device: Path::new(&copy.device), header };
        meant.demanding(&self.demanding).into_iter().for_each(|other| there.demand_as(other));
    }

    /// The entry with these demands, if its device is there; what has no LUKS header that is seen here is shown as plain.
    fn shown(&self, entry: &Entry) -> Entry {
        let found = found::find(&entry.device);
        let is_there = found.is_some();
        let device = found.map_or_else(|| entry.device.clone(), Into::into);
        let mut there = Entry { device, ..entry.clone() };
        settle_crypto(&mut there, |device| found::has_luks(device) != Some(true));
        if !is_there {
            return there;
        }
        self.demand(&mut there);
        Entry { name: whole_name(entry, Path::new(&there.device)), options: there.options, ..entry.clone() }
    }

    fn named(&self, names: &[OsString]) -> Result<Vec<&Entry>> {
        let entry = |name: &OsString| {
            let found = self.entries.iter().find(|entry| entry.name == *name);
            found.ok_or_else(|| {
                let why = match self.left.contains(name) {
                    true => "it is left to the system that starts, with a random key each time".to_owned(),
                    false => format!("neither the kernel's command line nor {} names it", TABLES.join(", ")),
                };
                Failure::new(Exit::Parameters, format!("{}: {why}.", name.to_string_lossy()))
            })
        };
        match names {
            [] if self.entries.is_empty() && self.left.is_empty() => Err(Failure::new(
                Exit::Parameters,
                format!(
                    "Nothing to open: neither the kernel's command line nor {} names a volume.",
                    TABLES.join(", ")
                ),
            )),
            [] => Ok(self.entries.iter().collect()),
            names => names.iter().map(entry).collect(),
        }
    }
}

/// The key file that systemd takes for a volume whose entry names none: its name in one of two directories.
fn key_of_name(name: &OsString) -> Option<OsString> {
    let file = Path::new(name).file_name().filter(|file| file == name)?.to_string_lossy().into_owned();
    let mut files = KEY_DIRECTORIES.iter().map(|directory| Path::new(directory).join(format!("{file}.key")));
    files.find(|file| file.exists()).map(Into::into)
}

/// Opens each, whatever becomes of those before it. What failed is said at once, and summed up at the end.
fn all(entries: &[&Entry], mut open: impl FnMut(&Entry) -> Result<()>) -> Result<()> {
    let mut failed = Vec::new();
    for entry in entries {
        match open(entry) {
            Ok(()) => {}
            Err(failure) if entries.len() == 1 => return Err(failure),
            Err(failure) => {
                failure.report();
                failed.push((entry.name.to_string_lossy(), failure.exit()));
            }
        }
    }
    let Some((_, exit)) = failed.first() else { return Ok(()) };
    let names: Vec<_> = failed.iter().map(|(name, _)| &**name).collect();
    let message = format!("{} of {} volumes are not open: {}.", names.len(), entries.len(), names.join(", "));
    Err(Failure::new(*exit, message))
}

/// In this order; for each volume, the first table that names it counts.
const TABLES: &[&str] = &["/etc/crypttab", "/cryptroot/crypttab", "/keyway/unlock.conf"];
/// A policy in the image, which every volume must meet, whatever the kernel's command line says.
const POLICY: &str = "/keyway/policy.toml";
/// (systemd's crypttab(5), of the third field.)
const KEY_DIRECTORIES: &[&str] = &["/etc/cryptsetup-keys.d", "/run/cryptsetup-keys.d"];
const USUAL_WAIT: Duration = Duration::from_secs(30);
