//! `close` and its old names: closes a mapping or a session.

use crate::args::risk::{Effect, Proof, risk};
use crate::args::rule::Rule;
use crate::args::{self, Alias, Args, Command, Example, Group, Kind, Offers, Operand, Opt, Request, Topic};
use crate::device::explain;
use crate::mapping::{self, Open};
use crate::output::failure::{self, Exit, Failure, Result};
use crate::output::stdio;
use crate::session;
use keyway::{Mapping, Unchanged};
use keyway_attach::session::{Close, Session};
use std::thread;
use std::time::{Duration, Instant};

const fn old_name(name: &'static str) -> Alias {
    Alias { name, device_type: None }
}

/// `keyway close`.
pub(crate) static COMMAND: Command = Command {
    name: "close",
    aliases: &[
        old_name("luksClose"),
        old_name("remove"),
        old_name("plainClose"),
        old_name("loopaesClose"),
        old_name("tcryptClose"),
        old_name("bitlkClose"),
        old_name("fvault2Close"),
    ],
    group: Group::Cryptsetup(Topic::Volumes),
    operands: &[Operand {
        name: "NAME...",
        required: true,
        help: "The names of open volumes.",
        offers: Offers::OpenVolumes,
    }],
    about: "Close a volume and wipe its key.",
    man: "Closes what \"keyway open\" or cryptsetup opened, and no other mapping. Everything written reaches \
          the device first. If one of several cannot be closed, the others are. A volume that is in use stays open (exit code 5), unless --deferred closes it after its \
          last user; programs that are ending get five seconds, and \"keyway umount\" waits longer. NAME may be \
          where a volume is mounted (./mnt). A loop device made for the volume is removed with it, and so are \
          the mappings below a chain of ciphers.",
    options: &[&[&DEFERRED, &CANCEL_DEFERRED]],
    rules: &[Rule::excludes(&CANCEL_DEFERRED, &[&DEFERRED])
        .saying("Options --cancel-deferred and --deferred cannot be used at the same time.")],
    examples: &[Example {
        line: "keyway close --deferred home",
        does: "Close it as soon as nobody uses it.",
    }],
    risks: &[
        risk("NAME", Effect::Unmounts, Proof::Mapping, "close TARGET"),
        risk("NAME", Effect::Unmounts, Proof::Session, "close PLACE"),
    ],
    run: args::run::<CloseVolume>,
};

static DEFERRED: Opt = Opt {
    long: "deferred",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Close it when its last user is done.",
    man: "",
};
static CANCEL_DEFERRED: Opt = Opt {
    long: "cancel-deferred",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Cancel --deferred.",
    man: "",
};

struct CloseVolume {
    names: Vec<String>,
    when: Close,
}

impl Request for CloseVolume {
    fn from_args(args: &Args) -> Result<Self> {
        let when = match (args.given(&DEFERRED), args.given(&CANCEL_DEFERRED)) {
            (true, true) => {
                let message = "Options --cancel-deferred and --deferred cannot be used at the same time.";
                return Err(Failure::new(Exit::Parameters, message));
            }
            (true, false) => Close::Deferred,
            (false, true) => Close::CancelDeferred,
            (false, false) => Close::Now,
        };
        // cryptsetup closes the first, whatever follows.
        let count = if args.is_cryptsetup() { 1 } else { args.operands().len() };
        let names = args.operands().iter().take(count).map(|name| mapping::name(Some(name)));
        Ok(Self { names: names.collect::<Result<_>>()?, when })
    }

    fn run(self) -> Result<()> {
        failure::each(&self.names, |name| match mapping::find_active(name)? {
            Open::Kernel(found) => close_mapping(found, self.when),
            Open::Session(session) => close_session(&session, self.when),
        })
    }
}

fn close_mapping(found: Mapping, when: Close) -> Result<()> {
    let name = found.name().to_owned();
    let closed = match when {
        Close::CancelDeferred => found.keep(),
        Close::Now => found.remove(),
        Close::Deferred => match found.remove_when_unused() {
            Ok(Some(_)) => return say_scheduled(&name),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        },
    };
    closed.map_err(|error| match mapping::why(&error) {
        Some(Unchanged::Foreign { uuid, targets }) => mapping::refused(foreign(&name, uuid, targets)),
        Some(Unchanged::InUse { by }) => {
            let failure = Failure::new(Exit::Busy, format!("Device {name} is still in use."));
            by.iter().fold(failure, |failure, by| failure.hinting(format!("It is {by}.")))
        }
        _ if matches!(when, Close::CancelDeferred) => cannot_cancel(&name),
        _ => mapping::explain(&name, &error),
    })
}

/// A logical volume, a multipath device, a snapshot, which must be removed by the program that made it.
fn foreign(name: &str, uuid: &str, targets: &[String]) -> String {
    let whose =
        if uuid.is_empty() { "no UUID".to_owned() } else { format!("the UUID {}", uuid.escape_debug()) };
    let table = if targets.is_empty() { "empty".to_owned() } else { targets.join(", ") };
    format!(
        "Device {name} is not a mapping of Keyway's or cryptsetup's (it has {whose}, its table is {table}): dmsetup removes it."
    )
}

fn close_session(session: &Session, when: Close) -> Result<()> {
    let name = session.facts().name.clone();
    let said = match when {
        Close::Now => session::close_when_unused(session, TIMEOUT)?,
        when => session.close(when).map_err(explain::session)?,
    };
    if !said.is_empty() {
        say!("{name}: {}", said.trim_end());
    }
    if when == Close::Deferred && is_kept_open(session) { say_scheduled(&name) } else { Ok(()) }
}

/// Whether somebody uses it for longer than a program needs to let go that has just ended.
fn is_kept_open(session: &Session) -> bool {
    let waits = Instant::now() + LETTING_GO;
    while session.status().is_ok_and(|status| status.closing) {
        if Instant::now() > waits {
            return true;
        }
        thread::sleep(Duration::from_millis(10));
    }
    false
}

fn say_scheduled(name: &str) -> Result<()> {
    stdio::print(&format!("Device {name} is still active and scheduled for deferred removal.\n"))
}

fn cannot_cancel(name: &str) -> Failure {
    Failure::new(Exit::Parameters, format!("Could not cancel deferred remove from device {name}."))
}

/// How long cryptsetup retries to remove a busy mapping (lib/libdevmapper.c, RETRY: 25 times 0.2
/// s).
const TIMEOUT: Duration = Duration::from_secs(5);
/// For the kernel to tell of a file that was closed, on a busy machine.
const LETTING_GO: Duration = Duration::from_millis(500);
