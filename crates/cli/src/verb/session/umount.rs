//! `umount`: unmounts a volume's directory, or a file system in its file, once everything is
//! written.

use crate::args::risk::{Effect, Proof, risk};
use crate::args::{self, Args, Command, Example, Group, Kind, Offers, Operand, Opt, Request};
use crate::device::{explain, sessions};
use crate::output::failure::{Exit, Failure, Result};
use crate::session;
use keyway::devices::{self, Mount};
use keyway_attach::fuse;
use keyway_attach::session::{Error, Session, retry_while_busy, wait_until};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// `keyway umount`.
pub(crate) static COMMAND: Command = Command {
    name: "umount",
    aliases: &[],
    group: Group::Also,
    operands: &[Operand {
        name: "PLACE...",
        required: true,
        help: "Directory of \"keyway mount\", or mount point of a file system in it.",
        offers: Offers::MountPoints,
    }],
    about: "Unmount a volume, and wait until everything is written.",
    man: "If PLACE is the directory of \"keyway mount\" (or \"keyway open --backend fuse\"), umount waits \
          until nothing uses the plaintext any longer, flushes it, wipes the key, and returns when the \
          background process has ended. If PLACE is where a file system in the plaintext is mounted, by \
          fuse2fs or through a loop device, umount unmounts that, and waits until its program has written \
          everything and released the plaintext.\n\nSeveral places are unmounted in the order given: name the \
          file system before the volume. Programs such as fuse2fs go on writing after their mount is gone, so \
          that \"fusermount3 -u\" of the volume would be refused: umount waits for them. After three seconds \
          it says what it waits for; after --wait seconds it gives up (exit code 5) and leaves everything \
          open.\n\nNothing else is unmounted: no mount on top of a volume's directory, and none that has \
          nothing to do with Keyway.",
    options: &[&[&WAIT]],
    rules: &[],
    examples: &[
        Example { line: "keyway umount ~/files ~/disk", does: "a file system in a volume, then the volume" },
        Example { line: "keyway umount --wait 0 ~/disk", does: "only if it is not in use" },
    ],
    risks: &[
        risk("PLACE, a session's", Effect::Unmounts, Proof::Session, "umount --wait 0 PLACE"),
        risk("PLACE, a file system in a session's file", Effect::Unmounts, Proof::Session, ""),
    ],
    run: args::run::<Umount>,
};

static WAIT: Opt = Opt {
    long: "wait",
    short: None,
    value: "SECONDS",
    kind: Kind::Number(LONGEST_WAIT),
    help: "How long to wait for its users (60).",
    man: "",
};

struct Umount {
    places: Vec<PathBuf>,
    /// How long to wait for programs that use it.
    limit: Duration,
}

impl Request for Umount {
    fn from_args(args: &Args) -> Result<Self> {
        let limit = Duration::from_secs(args.number(&WAIT).unwrap_or(WAITS));
        Ok(Self { places: args.operands().iter().map(PathBuf::from).collect(), limit })
    }

    fn run(self) -> Result<()> {
        self.places.iter().try_for_each(|place| put_away(place, self.limit))
    }
}

fn put_away(place: &Path, limit: Duration) -> Result<()> {
    let place = &canonical(place);
    let before = devices::mount_at(place);
    // Listing the sessions also cleans up after killed ones.
    let sessions = sessions::registry().list();
    if let Some(session) = sessions.iter().find(|session| session.is_at(place)) {
        let said = session::close_when_unused(session, limit)?;
        return if said.is_empty() { Ok(()) } else { say_of(session, &said) };
    }
    match devices::mount_at(place) {
        Some(top) if top.kind == OWN_KIND => unmount(&top, limit),
        Some(top) => match below(&top, &sessions) {
            Some(session) => put_away_above(session, &top, limit),
            None => Err(not_ours(place, &format!("on it is {} of {}", top.kind, top.source.display()))),
        },
        None if before.is_some_and(|mount| mount.kind == OWN_KIND) => Ok(()),
        None => Err(Failure::new(Exit::Device, format!("Nothing is mounted on {}.", place.display()))),
    }
}

/// Unmounts a file system in a session's file.
fn put_away_above(session: &Session, mount: &Mount, limit: Duration) -> Result<()> {
    let clients = || session.status().map(|status| status.clients);
    let before = clients().map_err(explain::session)?;
    unmount(mount, limit)?;
    // The file system's program has the file open until it has written everything. A session that
    // has ended has no clients.
    let below = session.mount_point().unwrap_or(&mount.point);
    let is_over = || clients().map_or(true, |now| now == 0 || now < before);
    wait_until(below, limit, session::say_waiting, is_over).map_err(explain::session)
}

fn unmount(mount: &Mount, limit: Duration) -> Result<()> {
    let attempt = || fuse::unmount(mount).map_err(Error::FrontEnd);
    retry_while_busy(&mount.point, limit, session::say_waiting, attempt).map_err(explain::session)
}

/// The session whose file contains the mounted file system.
fn below<'a>(top: &Mount, sessions: &'a [Session]) -> Option<&'a Session> {
    let source = devices::file_behind(&top.source).unwrap_or_else(|| top.source.clone());
    let found = canonical(&source);
    let file =
        |session: &&Session| session.mount_point().is_some() && Path::new(&session.facts().place) == found;
    // A program that was given a relative path reports just that, whatever directory it was
    // relative to.
    let like = |session: &&Session| {
        session.mount_point().is_some() && Path::new(&session.facts().place).ends_with(&source)
    };
    let mut alike = sessions.iter().filter(like);
    sessions
        .iter()
        .find(file)
        .or_else(|| alike.next().filter(|_| source.is_relative() && alike.next().is_none()))
}

/// The absolute path, with links followed except in its last part, which may be a mount that is no
/// longer served.
fn canonical(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    fs::canonicalize(&path).unwrap_or_else(|_| {
        match (path.parent().map(fs::canonicalize), path.file_name()) {
            (Some(Ok(parent)), Some(name)) => parent.join(name),
            _ => path,
        }
    })
}

fn say_of(session: &Session, said: &str) -> Result<()> {
    say!("{}: {}", session.facts().name, said.trim_end());
    Ok(())
}

fn not_ours(place: &Path, what: &str) -> Failure {
    let message = format!(
        "{} is not unmounted: {what}, neither a volume that \"keyway mount\" shows nor a file system in one.",
        place.display()
    );
    Failure::new(Exit::Device, message)
}

/// The file system type of Keyway's mounts.
const OWN_KIND: &str = "fuse.keyway";

const WAITS: u64 = 60;
const LONGEST_WAIT: u64 = 86400;
