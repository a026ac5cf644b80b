//! `status`: shows what is open under a name, in cryptsetup's words.
//!
//! The text is that of cryptsetup 2.8, or of 2.6 where the environment says so: scripts parse it.

use crate::args::{self, Args, Command, Example, Group, Offers, Operand, Release, Request, Topic, shared};
use crate::device::{self, explain};
use crate::mapping::{self, Open, Reopening};
use crate::output::document;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::paint::printable;
use crate::output::{shell, stdio};
use crate::verb::session::list;
use keyway::parts::{Luks, UnderWay};
use keyway::{Access, Locking, MappedKey, Mapping, MappingStatus};
use keyway_attach::session::{Facts, Moved, Session};
use keyway_crypto::CipherSpec;
use keyway_format::json::Value;
use std::fmt::{Display, Write};
use std::path::Path;

/// `keyway status`.
pub(crate) static COMMAND: Command = Command {
    name: "status",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Questions),
    operands: &[Operand {
        name: "NAME",
        required: true,
        help: "Name of the open volume, or its block device.",
        offers: Offers::OpenVolumes,
    }],
    about: "Show what is open under a name.",
    man: "Exit code 4 means that nothing is open under this name. For a volume opened with nbd, fuse or ublk, \
          two more lines show the backend and its place. A mapping with a detached header is of type n/a unless \
          --header names the header.\n\n--json prints an object: \"version\" (1), \"active\", and \"volume\", an object as \
          \"keyway list --json\" prints it, or null if nothing of dm-crypt's or Keyway's is open under the name.",
    options: &[&[&shared::HEADER, &shared::JSON]],
    rules: &[],
    examples: &[
        Example { line: "keyway status home", does: "Is it open, from where, with what?" },
        Example { line: "keyway status --json home | jq -r .volume.place", does: "Its place, for a script." },
    ],
    risks: &[],
    run: args::run::<ShowStatus>,
};

struct ShowStatus {
    name: String,
    reopening: Reopening,
    json: bool,
    is_cryptsetup: bool,
}

impl Request for ShowStatus {
    fn from_args(args: &Args) -> Result<Self> {
        let name = mapping::name(args.operands().first())?;
        let (json, is_cryptsetup) = (args.given(&shared::JSON), args.is_cryptsetup());
        Ok(Self { name, reopening: Reopening::from_args(args)?, json, is_cryptsetup })
    }

    fn run(self) -> Result<()> {
        let Self { name, reopening, json, is_cryptsetup } = self;
        if json {
            return show_json(&name);
        }
        // cryptsetup shows a path as given.
        let shown = if name.contains('/') { name.clone() } else { format!("/dev/mapper/{name}") };
        match mapping::find(&name)? {
            Some(Open::Kernel(found)) => stdio::print(&of_mapping(&reopening, &shown, &found)?),
            Some(Open::Session(session)) => stdio::print(&of_session(&session, is_cryptsetup)?),
            None => {
                stdio::print(&format!("{shown} is inactive.\n"))?;
                Err(Failure::silent(Exit::Device))
            }
        }
    }
}

fn show_json(name: &str) -> Result<()> {
    let open = mapping::find(name)?;
    let volume = match &open {
        Some(Open::Kernel(found)) => list::of_mapping(found),
        Some(Open::Session(session)) => Some(session.status().map_err(explain::session)?),
        None => None,
    };
    let volume = volume.as_ref().map_or(Value::Null, |status| list::object(status).into());
    document::print(document::document().with("active", Value::Bool(open.is_some())).with("volume", volume))?;
    open.map_or(Err(Failure::silent(Exit::Device)), |_| Ok(()))
}

fn of_mapping(reopening: &Reopening, shown: &str, found: &Mapping) -> Result<String> {
    let mut text = first_line(shown, found.open_count() > 0);
    match found.status().map_err(|error| mapping::explain(found.name(), &error))? {
        Some(status) => text += &of_crypt(reopening, found, &status)?,
        None => text += "  type:    n/a\n",
    }
    Ok(text)
}

fn of_crypt(reopening: &Reopening, found: &Mapping, status: &MappingStatus) -> Result<String> {
    let (kind, luks) = confirmed(reopening, found, status)?;
    // As in cryptsetup: dm-crypt has no key for cipher_null, but a LUKS header has one.
    let declared = || luks.as_ref().and_then(|luks| luks.header().volume_key_len()).unwrap_or(0);
    let key_len = if status.key == MappedKey::Absent { declared() } else { status.key_len };
    let mut text = String::new();
    let mut row = |name: &str, value: &dyn Display| {
        let _ = writeln!(text, "  {name}{}", printable(&value.to_string()));
    };
    row("type:    ", &kind.as_deref().unwrap_or("n/a"));
    let under_way = luks.as_ref().map(|luks| UnderWay::of(luks.header()));
    if matches!(under_way, Some(Ok(Some(_)))) {
        row("reencryption:  ", &"in-progress");
    }
    row("cipher:  ", &classic(&status.cipher));
    row("keysize: ", &bits(key_len as u64 * 8));
    let place = if status.key == MappedKey::Keyring { "keyring" } else { "dm-crypt" };
    row("key location: ", &place);
    if let Some(integrity) = &status.integrity {
        row("integrity: ", integrity);
    }
    row("device:  ", &status.device.display());
    if let Some(file) = &status.image {
        row("loop:    ", &file.display());
    }
    row("sector size:  ", &bytes(status.sector_size));
    row("offset:  ", &length(status.offset));
    row("size:    ", &length(status.len));
    if status.iv_offset > 0 {
        row("skipped: ", &sectors(status.iv_offset));
    }
    row("mode:    ", &mode(found.is_read_only(), found.is_suspended()));
    let flags = mapping::shown(&status.flags);
    if !flags.is_empty() {
        row("flags:   ", &flags);
    }
    Ok(text)
}

/// The type, as far as the mapping's UUID and the header confirm it, and that header.
fn confirmed(
    reopening: &Reopening,
    found: &Mapping,
    status: &MappingStatus,
) -> Result<(Option<String>, Option<Luks>)> {
    match found.kind() {
        Some(kind @ ("LUKS1" | "LUKS2")) => {
            let luks = reopening.luks(found, status, Access::Probe)?;
            Ok((luks.is_some().then(|| kind.to_owned()), luks))
        }
        other => Ok((other.map(str::to_owned), None)),
    }
}

/// The cipher without the crypto API's names, as cryptsetup shows it; one that this build does not
/// know, as the kernel names it.
fn classic(cipher: &str) -> String {
    CipherSpec::parse(cipher).map_or_else(|_| cipher.to_owned(), |spec| spec.classic().to_string())
}

fn of_session(session: &Session, is_cryptsetup: bool) -> Result<String> {
    let status = session.status().map_err(explain::session)?;
    let facts = &status.facts;
    let mut text = first_line(&facts.name, status.clients > 0);
    let mut row = |name: &str, value: &dyn Display| {
        let _ = writeln!(text, "  {name}{}", printable(&value.to_string()));
    };
    row("type:    ", &facts.format);
    let moved = reencryption(&status.moved, facts, is_cryptsetup);
    if let (Some(moved), true) = (&moved, is_cryptsetup) {
        row("reencryption:  ", moved);
    }
    row("cipher:  ", &facts.cipher);
    row("keysize: ", &bits(facts.key_bits));
    row("key location: ", &format_args!("process {}", facts.pid));
    row("device:  ", &facts.device);
    row("sector size:  ", &bytes(facts.sector_size));
    row("offset:  ", &length(facts.offset / SECTOR));
    row("size:    ", &length(facts.size / SECTOR));
    row("mode:    ", &mode(facts.read_only, status.suspended));
    if facts.discards {
        row("flags:   ", &"discards ");
    }
    if let (Some(moved), false) = (&moved, is_cryptsetup) {
        row("reencryption:  ", moved);
    }
    row("backend: ", &facts.backend);
    row("place:   ", &facts.place);
    Ok(text)
}

/// What is under way, or was in this session. As cryptsetup it is known by the header alone: in progress until it has
/// ended, whoever goes on with it or nobody.
fn reencryption(moved: &Moved, facts: &Facts, is_cryptsetup: bool) -> Option<String> {
    let Moved { stage, done, len } = moved;
    if stage.is_empty() && !waits(facts) || is_cryptsetup && moved.is_done() {
        return None;
    }
    if is_cryptsetup {
        return Some("in-progress".to_owned());
    }
    let percent = (u128::from(*done) * 100).checked_div((*len).into()).unwrap_or(0);
    let far = format!("{percent} % ({done} of {len} bytes)");
    let name = shell::word(&facts.name);
    let way = format!("waits for \"keyway reencrypt --resume-only --active-name {name}\"");
    Some(match (stage.as_str(), moved.failure()) {
        ("", _) => format!("in-progress, {way}"),
        (_, Some(why)) => format!("in-progress, {far}, {way}: it has failed, {why}"),
        ("stopped", _) => format!("stopped, {far}, {way}"),
        (stage, None) => format!("{stage}, {far}"),
    })
}

/// Whether a re-encryption was begun with which nobody goes on at present, as the header says, where that is at hand.
fn waits(facts: &Facts) -> bool {
    let path = Path::new(if facts.header.is_empty() { &facts.device } else { &facts.header });
    if facts.format != "LUKS2" || !path.exists() {
        return false;
    }
    let Ok(storage) = device::storage(path, Access::Probe) else { return false };
    let luks = Luks::open_with(storage, Access::Probe, Locking::default()).ok();
    luks.filter(|luks| luks.uuid() == facts.uuid)
        .is_some_and(|luks| matches!(UnderWay::of(luks.header()), Ok(Some(_))))
}

fn first_line(shown: &str, in_use: bool) -> String {
    format!("{} is active{}.\n", printable(shown), if in_use { " and is in use" } else { "" })
}

/// An offset or size on the device.
fn length(count: u64) -> String {
    match Release::followed() {
        Release::V2_6 => sectors(count),
        Release::V2_8 => format!("{} ({} [bytes])", sectors(count), count.saturating_mul(SECTOR)),
    }
}

fn sectors(count: u64) -> String {
    match Release::followed() {
        Release::V2_6 => format!("{count} sectors"),
        Release::V2_8 => format!("{count} [512-byte units]"),
    }
}

fn bits(count: impl Display) -> String {
    match Release::followed() {
        Release::V2_6 => format!("{count} bits"),
        Release::V2_8 => format!("{count} [bits]"),
    }
}

fn bytes(count: impl Display) -> String {
    match Release::followed() {
        Release::V2_6 => count.to_string(),
        Release::V2_8 => format!("{count} [bytes]"),
    }
}

fn mode(read_only: bool, suspended: bool) -> String {
    let mode = if read_only { "readonly" } else { "read/write" };
    format!("{mode}{}", if suspended { " (suspended)" } else { "" })
}

/// The unit of offsets and sizes, in bytes.
const SECTOR: u64 = keyway_format::Sectors::SIZE;
