//! The public facts of a session: the header's public part, and where the front end is.
//!
//! The file `facts` in a session's directory holds one line per fact: its name, a space, and its
//! value with `\` and newline escaped. Unknown lines are ignored, so that different versions can
//! read each other's files.

use std::collections::BTreeMap;
use std::fmt::Write;

/// The facts that do not change while a session is open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The session's name, unique among the user's sessions.
    pub name: String,
    /// "nbd", "fuse" or "ublk".
    pub backend: String,
    /// Where clients find the plaintext: a socket's URI, a file or a device node.
    pub place: String,
    /// The device number of the mount, if the front end is one.
    pub mount: u64,
    /// The volume, as an absolute path or URL.
    pub device: String,
    /// A detached header; empty when the volume has its own.
    pub header: String,
    /// "LUKS1", "LUKS2", "PLAIN".
    pub format: String,
    /// The volume's UUID; empty when it has none.
    pub uuid: String,
    /// In dm-crypt's notation: "aes-xts-plain64".
    pub cipher: String,
    /// For a plain volume: the hash that derives its key from a passphrase, if one was named.
    pub hash: String,
    /// Size of the volume key in bits.
    pub key_bits: u64,
    /// Size of an encryption sector in bytes.
    pub sector_size: u64,
    /// Where the data starts on the device, in bytes.
    pub offset: u64,
    /// Size of the plaintext in bytes.
    pub size: u64,
    /// Whether writes are refused.
    pub read_only: bool,
    /// Whether discards reach the device.
    pub discards: bool,
    /// The session's process.
    pub pid: u32,
}

/// The facts, and the state that changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// What does not change.
    pub facts: Facts,
    /// Connections or files that are open now.
    pub clients: u64,
    /// Whether the volume is suspended, so that requests wait for the key.
    pub suspended: bool,
    /// Whether the session closes when its last client disconnects.
    pub closing: bool,
    /// Its re-encryption.
    pub moved: Moved,
}

/// How far a session's volume is re-encrypted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moved {
    /// "running", "stopped", "done", or "failed: " and why; empty where none was begun in the session.
    pub stage: String,
    /// Bytes that are done.
    pub done: u64,
    /// Bytes of the volume.
    pub len: u64,
}

impl Moved {
    /// Whether all is done.
    pub fn is_done(&self) -> bool {
        self.stage == "done"
    }

    /// Whether it goes on now.
    pub fn is_running(&self) -> bool {
        self.stage == "running"
    }

    /// Why it failed.
    pub fn failure(&self) -> Option<&str> {
        self.stage.strip_prefix("failed: ")
    }
}

impl Facts {
    /// The text of the file `facts`.
    pub(super) fn to_text(&self) -> String {
        let mut lines = Lines::default();
        lines.put("name", &self.name);
        lines.put("backend", &self.backend);
        lines.put("place", &self.place);
        lines.put("mount", &self.mount.to_string());
        lines.put("device", &self.device);
        lines.put("header", &self.header);
        lines.put("format", &self.format);
        lines.put("uuid", &self.uuid);
        lines.put("cipher", &self.cipher);
        lines.put("hash", &self.hash);
        lines.put("key-bits", &self.key_bits.to_string());
        lines.put("sector-size", &self.sector_size.to_string());
        lines.put("offset", &self.offset.to_string());
        lines.put("size", &self.size.to_string());
        lines.put("read-only", &self.read_only.to_string());
        lines.put("discards", &self.discards.to_string());
        lines.put("pid", &self.pid.to_string());
        lines.0
    }

    fn from_map(map: &Map) -> Self {
        Self {
            name: text(map, "name"),
            backend: text(map, "backend"),
            place: text(map, "place"),
            mount: number(map, "mount"),
            device: text(map, "device"),
            header: text(map, "header"),
            format: text(map, "format"),
            uuid: text(map, "uuid"),
            cipher: text(map, "cipher"),
            hash: text(map, "hash"),
            key_bits: number(map, "key-bits"),
            sector_size: number(map, "sector-size"),
            offset: number(map, "offset"),
            size: number(map, "size"),
            read_only: flag(map, "read-only"),
            discards: flag(map, "discards"),
            pid: number(map, "pid") as u32,
        }
    }

    /// Parses what [`Facts::to_text`] wrote.
    pub(super) fn from_text(file: &str) -> Self {
        Self::from_map(&parse(file))
    }
}

impl Status {
    /// The text that goes through the control socket.
    pub(super) fn to_text(&self) -> String {
        let mut lines = Lines(self.facts.to_text());
        lines.put("clients", &self.clients.to_string());
        lines.put("suspended", &self.suspended.to_string());
        lines.put("closing", &self.closing.to_string());
        lines.put("moving", &self.moved.stage);
        lines.put("moved", &self.moved.done.to_string());
        lines.put("to-move", &self.moved.len.to_string());
        lines.0
    }

    /// Parses what [`Status::to_text`] wrote.
    pub(super) fn from_text(answer: &str) -> Self {
        let map = parse(answer);
        Self {
            facts: Facts::from_map(&map),
            clients: number(&map, "clients"),
            suspended: flag(&map, "suspended"),
            closing: flag(&map, "closing"),
            moved: Moved {
                stage: text(&map, "moving"),
                done: number(&map, "moved"),
                len: number(&map, "to-move"),
            },
        }
    }
}

#[derive(Default)]
struct Lines(String);

impl Lines {
    fn put(&mut self, name: &str, value: &str) {
        let value = value.replace('\\', "\\\\").replace('\n', "\\n");
        let _ = writeln!(self.0, "{name} {value}");
    }
}

type Map = BTreeMap<String, String>;

fn parse(text: &str) -> Map {
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.map(|(name, value)| (name.to_owned(), unescape(value))).collect()
}

fn unescape(value: &str) -> String {
    let mut plain = String::with_capacity(value.len());
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match (letter, letter == '\\') {
            (_, true) => plain.push(if letters.next() == Some('n') { '\n' } else { '\\' }),
            (letter, false) => plain.push(letter),
        }
    }
    plain
}

fn text(map: &Map, name: &str) -> String {
    map.get(name).cloned().unwrap_or_default()
}

fn number(map: &Map, name: &str) -> u64 {
    map.get(name).and_then(|value| value.parse().ok()).unwrap_or(0)
}

fn flag(map: &Map, name: &str) -> bool {
    map.get(name).is_some_and(|value| value == "true")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_survive_their_file() {
        let facts = Facts {
            name: "home".into(),
            backend: "nbd".into(),
            place: "nbd+unix:///?socket=/run/a b".into(),
            device: "/srv/with\nnewline and \\n".into(),
            key_bits: 512,
            mount: 47,
            size: u64::MAX,
            read_only: true,
            pid: 7,
            ..Facts::default()
        };
        assert_eq!(Facts::from_text(&facts.to_text()), facts);
        let moved = Moved { stage: "failed: no power".into(), done: 3, len: 7 };
        assert_eq!(moved.failure(), Some("no power"));
        let status = Status { facts, clients: 3, suspended: true, closing: false, moved };
        assert_eq!(Status::from_text(&status.to_text()), status);
    }

    #[test]
    fn strange_lines_are_left_alone() {
        let facts = Facts::from_text("name x\nnonsense\nlater-version yes\nsize many\n");
        assert_eq!((facts.name.as_str(), facts.size), ("x", 0));
    }
}
