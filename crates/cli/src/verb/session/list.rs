//! `list`: open volumes, through any kind of front end.

use crate::args::risk::{Effect, Proof, risk};
use crate::args::rule::Rule;
use crate::args::{self, Args, Command, Example, Group, Kind, Offers, Operand, Opt, Request, shared};
use crate::device::sessions;
use crate::mapping;
use crate::output::document;
use crate::output::failure::Result;
use crate::output::paint::printable;
use crate::output::stdio;
use keyway::Mapping;
use keyway_attach::session::{Facts, Moved, Status};
use keyway_format::json::{Object, Value};
use std::fmt::Write;

/// `keyway list`.
pub(crate) static COMMAND: Command = Command {
    name: "list",
    aliases: &[],
    group: Group::Also,
    operands: &[Operand {
        name: "NAME",
        required: false,
        help: "Only the volume open under this name.",
        offers: Offers::OpenVolumes,
    }],
    about: "Show what is open, and where.",
    man: "Prints one line for each volume that this user has opened: its name, the backend (nbd, fuse, ublk, \
          kernel), whether it is writable, its size, its place, and the file or device that holds it. A session \
          whose process was killed is not open: what it left behind is removed. Root also sees the kernel's \
          mappings. Exit code 4 means that nothing is open under NAME.\n\n--json prints an object: \"version\" (1) and \"volumes\", an array of objects: name, backend, place, device, format, cipher, key_bits, size \
          (bytes), read_only, suspended, closing, reencryption (of a session: an object with stage, \
          \"running\", \"stopped\", \"failed\" or \"done\", failure, done and size in bytes), clients, pid; null where a backend \
          cannot tell.",
    options: &[&[&PLACE, &shared::JSON]],
    rules: &[Rule::excludes(&PLACE, &[&shared::JSON])],
    examples: &[
        Example { line: "keyway list", does: "what have I left open?" },
        Example { line: "nbdinfo \"$(keyway list --place home)\"", does: "use its place, wherever that is" },
        Example { line: "keyway list --json | jq -r '.volumes[].place'", does: "the places, for a script" },
    ],
    risks: &[risk("dead sessions", Effect::Deletes, Proof::Session, "")],
    run: args::run::<List>,
};

static PLACE: Opt = Opt {
    long: "place",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Print the place alone, for a script.",
    man: "The URL of its socket (nbd), the file (fuse) or the block device (ublk, kernel), on a line of its own.",
};

struct List {
    name: Option<String>,
    form: Form,
}

/// What is printed.
enum Form {
    Table,
    Places,
    Json,
}

impl Request for List {
    fn from_args(args: &Args) -> Result<Self> {
        let form = match (args.given(&PLACE), args.given(&shared::JSON)) {
            (true, _) => Form::Places,
            (_, true) => Form::Json,
            (false, false) => Form::Table,
        };
        let name = args.operands().first().map(|name| mapping::name(Some(name))).transpose()?;
        Ok(Self { name, form })
    }

    fn run(self) -> Result<()> {
        let mut rows = rows();
        if let Some(name) = &self.name {
            rows.retain(|row| row.facts.name == *name);
            if rows.is_empty() {
                return Err(mapping::not_active(name));
            }
        }
        stdio::print(&match self.form {
            Form::Table => table(&rows),
            Form::Places => rows.iter().map(|row| format!("{}\n", row.facts.place)).collect(),
            Form::Json => json(&rows),
        })
    }
}

/// Sessions of this user, then kernel mappings if this user may query them.
fn rows() -> Vec<Status> {
    // A session that is closing right now no longer answers.
    let sessions = sessions::registry().list().into_iter().filter_map(|session| session.status().ok());
    sessions.chain(mappings()).collect()
}

/// dm-crypt's mappings, whichever program made them.
fn mappings() -> Vec<Status> {
    Mapping::all().unwrap_or_default().iter().filter_map(of_mapping).collect()
}

/// The same of a mapping; `None` if its whole table is not one line of dm-crypt's.
pub(super) fn of_mapping(mapping: &Mapping) -> Option<Status> {
    let status = mapping.status().ok().flatten().filter(|status| status.segments == 1)?;
    let facts = Facts {
        name: mapping.name().to_owned(),
        backend: "kernel".to_owned(),
        place: mapping.path().display().to_string(),
        device: status.image.unwrap_or(status.device).display().to_string(),
        format: mapping.kind().unwrap_or_default().to_owned(),
        uuid: mapping.volume_uuid().unwrap_or_default(),
        cipher: status.cipher,
        key_bits: 8 * status.key_len as u64,
        sector_size: u64::from(status.sector_size),
        offset: status.offset * SECTOR,
        size: status.len * SECTOR,
        read_only: mapping.is_read_only(),
        ..Facts::default()
    };
    let (suspended, closing) = (mapping.is_suspended(), mapping.is_removed_on_close());
    let clients = u64::from(mapping.open_count());
    Some(Status { facts, clients, suspended, closing, ..Status::default() })
}

fn table(rows: &[Status]) -> String {
    let mut cells = vec![["NAME", "BACKEND", "MODE", "SIZE", "PLACE", "VOLUME"].map(str::to_owned)];
    cells.extend(rows.iter().map(|row| {
        let facts = &row.facts;
        let mode = if facts.read_only { "read-only" } else { "read/write" };
        let mode = if row.suspended { "suspended" } else { mode };
        let mode = if row.moved.is_running() { "reencrypting" } else { mode };
        [&facts.name, &facts.backend, mode, &facts.size.to_string(), &facts.place, &facts.device]
            .map(printable)
    }));
    if rows.is_empty() {
        return String::new();
    }
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..COLUMNS - 1).map(width).collect();
    let mut text = String::new();
    for row in &cells {
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(text, "{cell:<width$}  ");
        }
        let _ = writeln!(text, "{}", row[COLUMNS - 1]);
    }
    text
}

fn json(rows: &[Status]) -> String {
    let objects = rows.iter().map(|status| Value::from(object(status)));
    document::text(document::document().with("volumes", Value::Array(objects.collect())))
}

/// An open volume.
pub(super) fn object(status: &Status) -> Object {
    let facts = &status.facts;
    Object::new()
        .with("name", facts.name.as_str())
        .with("backend", facts.backend.as_str())
        .with("place", facts.place.as_str())
        .with("device", facts.device.as_str())
        .with("header", optional(&facts.header))
        .with("format", optional(&facts.format))
        .with("uuid", optional(&facts.uuid))
        .with("cipher", optional(&facts.cipher))
        .with("key_bits", number(facts.key_bits))
        .with("sector_size", number(facts.sector_size))
        .with("size", number(facts.size))
        .with("read_only", Value::Bool(facts.read_only))
        .with("suspended", Value::Bool(status.suspended))
        .with("closing", Value::Bool(status.closing))
        .with("reencryption", reencryption(&status.moved))
        .with("clients", number(status.clients))
        .with("pid", Some(facts.pid).filter(|pid| *pid != 0).map_or(Value::Null, |pid| number(pid.into())))
}

fn reencryption(moved: &Moved) -> Value {
    if moved.stage.is_empty() {
        return Value::Null;
    }
    let stage = moved.failure().map_or(moved.stage.as_str(), |_| "failed");
    Object::new()
        .with("stage", stage)
        .with("failure", moved.failure().map_or(Value::Null, Value::from))
        .with("done", number(moved.done))
        .with("size", number(moved.len))
        .into()
}

fn number(number: u64) -> Value {
    Value::Number(number.to_string())
}

fn optional(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { Value::from(text) }
}

const COLUMNS: usize = 6;

/// The device mapper's unit, in bytes.
const SECTOR: u64 = keyway_format::Sectors::SIZE;
