//! `refresh`, or `open --refresh`: an open mapping gets other flags without being closed.

use super::options::PERSISTENT;
use crate::door::shared::{
    self, ALLOW_DISCARDS, PERF_HIGH_PRIORITY, PERF_NO_READ, PERF_NO_WRITE, PERF_SAME_CPU, PERF_SUBMIT,
};
use crate::door::{Args, Command, Example, Group, Operand, Topic, groups};
use crate::mapping::{self, GivenFlags, Mapping, Open, Reopening};
use crate::say::failure::{Exit, Failure, Result};
use crate::say::sentence;
use crate::session::{Rights, Session};
use crate::unlock::admission;
use keyway_attach::dm::crypt::{Key, Line, Options};
use keyway_attach::dm::{self, Target};
use keyway_crypto::Secret;
use keyway_volume::{Access, Luks};

/// `keyway refresh`.
pub(crate) static COMMAND: Command = Command {
    name: "refresh",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Volumes),
    operands: &[Operand { name: "NAME", required: true, help: "The mapping's name." }],
    about: "Give an open mapping other flags.",
    man: "The mapping stays in use meanwhile. It gets the flags of the command line and those that its LUKS2 header keeps, and \
          no others. A LUKS volume's passphrase is asked for; a plain volume keeps the key that it has.\n\n\
          A volume behind a door of Keyway's own needs no passphrase, and takes --allow-discards and --readonly; clients that \
          are connected get what is allowed from then on. A ublk device that was opened without --allow-discards cannot get \
          it later.",
    options: &[
        &[
            &ALLOW_DISCARDS,
            &PERF_SAME_CPU,
            &PERF_SUBMIT,
            &PERF_NO_READ,
            &PERF_NO_WRITE,
            &PERF_HIGH_PRIORITY,
            &PERSISTENT,
            &shared::READONLY,
            &shared::KEY_SLOT,
        ],
        groups::KEY_AGAIN,
        groups::ADMISSION,
    ],
    examples: &[Example {
        line: "keyway refresh --allow-discards --persistent home",
        does: "Let TRIM through from now on.",
    }],
    run,
};

/// Refreshes the mapping that the last operand names.
pub(super) fn run(args: &Args) -> Result<()> {
    let name = mapping::name_operand(args, args.operands().len().min(2) - 1)?;
    match mapping::find_active(name)? {
        Open::Kernel(found) => refresh(args, &found),
        Open::Session(session) => refresh_session(args, &session),
    }
}

/// Its process has the key: no passphrase is needed. Flags that are about the kernel's
/// work queues say nothing to it, but can be kept.
fn refresh_session(args: &Args, session: &Session) -> Result<()> {
    let facts = session.facts();
    if session.status()?.suspended {
        return Err(mapping::suspended(&facts.name));
    }
    let access = if args.given(&PERSISTENT) { Access::Write } else { Access::Probe };
    let header = Reopening::from_args(args)?.session_header(facts, access)?;
    let mut options = Options::default();
    GivenFlags::from_args(args).apply(&mut options);
    if let Some((luks, _)) = &header {
        mapping::apply_kept(luks, &mut options);
    }
    let rights = Rights { discards: options.allow_discards, read_only: args.given(&shared::READONLY) };
    session.set_rights(rights)?;
    match header {
        Some((mut luks, path)) if args.given(&PERSISTENT) => {
            keep(args, &mut luks, None);
            admission::warn_of_seal(&luks, &path);
        }
        _ => {}
    }
    Ok(())
}

fn keep(args: &Args, luks: &mut Luks, volume_key: Option<&Secret>) {
    if GivenFlags::from_args(args).keep(luks, volume_key).is_err() {
        say!("Device activated but cannot make flags persistent.");
    }
}

fn refresh(args: &Args, found: &Mapping) -> Result<()> {
    found.refuse_suspended()?;
    let refuse = |line: String| Failure::new(Exit::Parameters, line);
    let kind = found.kind().map(|(kind, _)| kind.to_owned()).unwrap_or_default();
    if !["LUKS1", "LUKS2", "PLAIN"].contains(&kind.as_str()) {
        return Err(refuse(format!("Refresh is not supported for device type {kind}")));
    }
    let with_key = kind == "PLAIN";
    let (target, line) = found
        .line(with_key)?
        .ok_or_else(|| refuse(format!("Device {} has a table that cannot be refreshed.", found.name())))?;
    if kind == "PLAIN" {
        let key = line.key;
        return replace(args, found, &target, Line { key, ..line_with(args, found, None, &target)? });
    }
    let access = if args.given(&PERSISTENT) { Access::Write } else { Access::Read };
    let luks = Reopening::from_args(args)?
        .luks(found, &line, access)?
        .ok_or_else(|| mapping::no_header(found.name()))?;
    let shown = Reopening::from_args(args)?.header_path(found, &line).unwrap_or_default();
    let opened = Reopening::from_args(args)?.open_again(luks, &line, &shown)?;
    let digest = opened.digest();
    let (mut luks, _, volume_key) = opened.into_parts();
    let features = mapping::features(&found.mapper)?;
    let luks2 = (luks.version() == 2).then(|| (luks.uuid().to_owned(), digest));
    let luks2 = luks2.as_ref().map(|(uuid, digest)| (uuid.as_str(), *digest));
    let place = mapping::place_key(!args.given(&shared::DISABLE_KEYRING), &volume_key, luks2, &features)?;
    let key = if matches!(line.key, Key::Absent) { Key::Absent } else { place.key() };
    replace(args, found, &target, Line { key, ..line_with(args, found, Some(&luks), &target)? })?;
    if args.given(&PERSISTENT) {
        keep(args, &mut luks, Some(&volume_key));
    }
    Ok(())
}

/// The line that there is, with the flags of the command line and the header in place of its own.
fn line_with(args: &Args, found: &Mapping, luks: Option<&Luks>, target: &Target) -> Result<Line> {
    let line = target.as_crypt().map_err(|e| sentence::door(&e))?;
    let mut options = Options {
        sector_size: line.options.sector_size,
        iv_large_sectors: line.options.iv_large_sectors,
        integrity: line.options.integrity.clone(),
        others: line.options.others.clone(),
        ..Options::default()
    };
    GivenFlags::from_args(args).apply(&mut options);
    if let Some(luks) = luks {
        mapping::apply_kept(luks, &mut options);
    }
    mapping::drop_unknown(&mut options, &mapping::features(&found.mapper)?);
    Ok(Line { options, ..line })
}

fn replace(args: &Args, found: &Mapping, target: &Target, line: Line) -> Result<()> {
    let read_only = found.info.read_only || args.given(&shared::READONLY);
    let table = [Target::crypt(target.start, target.length, &line)];
    found.replace_table(&table, dm::Flags { read_only, ..dm::Flags::default() })
}
