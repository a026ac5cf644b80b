//! `list`: what is open, whichever door it is open through.

use crate::args::{Args, Command, Example, Group, shared};
use crate::failure::Result;
use crate::{output, session};
use keyway_format::json::{Object, Value};
use std::fmt::Write;

/// `keyway list`.
pub(crate) static COMMAND: Command = Command {
    name: "list",
    aliases: &[],
    group: Group::Rootless,
    operands: &[],
    about: "Show what is open, and where.",
    man: "A line for each volume that this user has opened: its name, the door (nbd, fuse, ublk, kernel), whether it is \
          writable, its size, where it is to be found, and the file or device that holds it. A session whose \
          process was killed is not open: what it left behind is cleared away.\n\n\
          With --json an array of objects: name, door, place, device, format, cipher, key_bits, size (bytes), \
          read_only, suspended, closing, clients, pid; null where a door cannot tell.",
    options: &[&shared::JSON],
    examples: &[
        Example { line: "keyway list", does: "what have I left open?" },
        Example { line: "keyway list --json | jq -r '.[].place'", does: "the places, for a script" },
    ],
    run,
};

fn run(args: &Args) -> Result<()> {
    let rows = rows();
    output::print(&if args.given(&shared::JSON) { json(&rows) } else { table(&rows) })
}

/// What is open.
struct Row {
    status: session::Status,
}

fn rows() -> Vec<Row> {
    // One that closes at this moment answers no more.
    let statuses = session::list().into_iter().filter_map(|session| session.status().ok());
    statuses.map(|status| Row { status }).collect()
}

fn table(rows: &[Row]) -> String {
    let mut cells = vec![["NAME", "DOOR", "MODE", "SIZE", "PLACE", "VOLUME"].map(str::to_owned)];
    cells.extend(rows.iter().map(|row| {
        let facts = &row.status.facts;
        let mode = if facts.read_only { "read-only" } else { "read/write" };
        let mode = if row.status.suspended { "suspended" } else { mode };
        [&facts.name, &facts.door, mode, &facts.size.to_string(), &facts.place, &facts.device]
            .map(|cell| cell.escape_debug().to_string())
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

fn json(rows: &[Row]) -> String {
    let objects = rows.iter().map(|row| {
        let (status, facts) = (&row.status, &row.status.facts);
        let object = Object::new()
            .with("name", facts.name.as_str())
            .with("door", facts.door.as_str())
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
            .with("clients", number(status.clients))
            .with("pid", number(u64::from(facts.pid)));
        Value::from(object)
    });
    Value::Array(objects.collect()).to_pretty()
}

fn number(number: u64) -> Value {
    Value::Number(number.to_string())
}

fn optional(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { Value::from(text) }
}

const COLUMNS: usize = 6;
