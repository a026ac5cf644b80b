//! The kernel's own mappings: device-mapper through its ioctls, without libdevmapper.
//!
//! A mapping has a name (`/dev/mapper/NAME`), a UUID and a table, which is a sequence of targets.
//! dm-crypt is the target that decrypts ([`crypt`]). The conventions that other tools rely on are
//! followed too: names as libdevmapper writes them ([`name`]), UUIDs as cryptsetup writes them
//! ([`uuid`]), a mapping for each of a chain's ciphers ([`chain`]), volume keys in the kernel's
//! keyring ([`keyring`]), links made by udev or nodes made without it ([`node`]), loop devices for
//! files ([`loopback`]).
//!
//! Source: include/uapi/linux/dm-ioctl.h, drivers/md/dm-ioctl.c.

mod backing;
mod buffer;
pub mod chain;
mod change;
mod control;
pub mod crypt;
mod device_number;
mod flag;
pub mod keyring;
pub mod loopback;
pub mod name;
pub mod node;
mod reason;
pub mod reencrypting;
mod refusal;
mod reply;
#[allow(unsafe_code)]
mod sys;
mod target;
mod udev;
pub use udev::{introduce, introduce_by_rule};
pub mod uuid;
pub mod volume;
mod write_protection;

pub use backing::Backing;
pub use change::{Step, Unchanged};
pub use device_number::DeviceNumber;
pub use flag::Flag;
pub use target::Target;
pub use write_protection::WriteProtection;

use crate::{Error, Result};
use buffer::Buffer;
use keyway_crypto::Secret;
use reason::Log;
use refusal::Asked;
use reply::Reply;
use rustix::fd::OwnedFd;
use std::thread;
use std::time::Duration;
use sys::Command;
use udev::Cookie;

/// The kernel's device-mapper. Calls are independent: no state is kept between them.
#[derive(Debug)]
pub struct Mapper {
    control: OwnedFd,
    /// How the nodes and links below `/dev` are made.
    nodes: node::Maker,
}

/// How a mapping is created, reloaded or brought into use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags {
    /// Writes are refused.
    pub read_only: bool,
    /// udev leaves the mapping alone: it makes no links but `/dev/mapper/NAME`, and does not probe
    /// the content.
    pub private: bool,
    /// Requests in flight are queued, not waited for, while tables change.
    pub no_flush: bool,
    /// File systems on it are not frozen while tables change.
    pub skip_lockfs: bool,
}

/// How a mapping is suspended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Suspend {
    /// Requests in flight are queued, not waited for.
    pub no_flush: bool,
    /// A file system on the mapping is not frozen first.
    pub skip_lockfs: bool,
}

/// What the kernel reports about a mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    /// The name, unmangled.
    pub name: String,
    /// The UUID; empty if the mapping has none.
    pub uuid: String,
    /// The mapping's block device.
    pub device: DeviceNumber,
    /// How many times the mapping is open: mounted, mapped by others, held open by programs.
    pub open_count: u32,
    /// Targets in its table.
    pub targets: u32,
    /// Whether requests are held back.
    pub suspended: bool,
    /// Whether writes are refused.
    pub read_only: bool,
    /// Whether the mapping has a table in use.
    pub has_table: bool,
    /// Whether a loaded table is waiting for [`Mapper::resume`].
    pub has_waiting_table: bool,
    /// Whether the mapping is removed as soon as the last user closes it.
    pub removed_on_close: bool,
    /// The event counter: how many times the table has changed or a target has raised an event.
    pub event: u32,
}

/// A version of the ioctl interface or of a target: major, minor, patch level.
pub type Version = (u32, u32, u32);

impl Mapper {
    /// Opens this machine's device-mapper; loads its module and makes its node where they are
    /// missing.
    ///
    /// # Errors
    /// [`Error::Permission`] without root privileges, [`Error::Unavailable`] without the module
    /// dm_mod.
    pub fn open() -> Result<Self> {
        Ok(Self { control: control::open()?, nodes: node::Maker::of_this_machine() })
    }

    /// The version of the kernel's interface.
    ///
    /// # Errors
    /// The kernel's.
    pub fn version(&self) -> Result<Version> {
        let reply = self.call(Command::Version, &Buffer::empty(), Asked::of(""))?;
        Ok(reply.version())
    }

    /// The version of a target; `None` when its module is not loaded. (Loading a table loads the
    /// module automatically.)
    ///
    /// # Errors
    /// The kernel's.
    pub fn target_version(&self, target: &str) -> Result<Option<Version>> {
        let reply = self.call(Command::ListVersions, &Buffer::empty(), Asked::of(target))?;
        let found = reply.target_versions().into_iter().find(|(name, _)| name == target);
        Ok(found.map(|(_, version)| version))
    }

    /// Whether this machine has the target; loads its module if necessary.
    pub fn has_target(&self, target: &str) -> bool {
        match self.call(Command::GetTargetVersion, &Buffer::named(target), Asked::of(target)) {
            Ok(_) => true,
            // Before Linux 5.3 there is no such query: loading a table will show.
            Err(_) if self.version().is_ok_and(|version| version < ASKS_FOR_MODULES) => true,
            Err(_) => self.target_version(target).is_ok_and(|version| version.is_some()),
        }
    }

    /// Creates a mapping with this table and puts it into use at once. Its node exists when this
    /// returns. If anything fails, nothing of the mapping remains.
    ///
    /// # Errors
    /// [`Error::Busy`] when the name or the UUID is taken, or a device below is in use;
    /// [`Error::Refused`] with the kernel's reason when it rejects the table;
    /// [`Error::Unavailable`] when the kernel lacks the target or a cipher.
    pub fn create(&self, name: &str, uuid: &str, table: &[Target], flags: Flags) -> Result<Info> {
        let mangled = name::mangle(name)?;
        let asked = Asked::creating(name);
        let create = Buffer::named(&mangled).uuid(&name::mangle_uuid(uuid)?);
        let created = self.call(Command::Create, &create, asked)?.info();
        let made = self.reload(name, table, flags).and_then(|()| self.resume(name, flags));
        if let Err(error) = made {
            // The reason for the failure is worth more than an error from the cleanup.
            let _ = self.remove(name, false);
            return Err(error);
        }
        self.nodes.add(&mangled, created.device)?;
        self.status(name)
    }

    /// Loads another table for a mapping, which waits for [`Mapper::resume`].
    ///
    /// # Errors
    /// As [`Mapper::create`]; the table in use is unaffected.
    pub fn reload(&self, name: &str, table: &[Target], flags: Flags) -> Result<()> {
        let mut load = Buffer::named(&name::mangle(name)?).secure();
        if flags.read_only {
            load = load.read_only();
        }
        let log = Log::now();
        let loaded = self.call(Command::TableLoad, &load.table(table), Asked::loading(name, table));
        loaded.map(drop).map_err(|error| log.explain(error))
    }

    /// Discards a waiting table.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such mapping.
    pub fn clear(&self, name: &str) -> Result<()> {
        self.simple(Command::TableClear, name)
    }

    /// Puts a waiting table into use and lets requests through.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such mapping.
    pub fn resume(&self, name: &str, flags: Flags) -> Result<()> {
        let mut resume = Buffer::named(&name::mangle(name)?);
        if flags.no_flush {
            resume = resume.no_flush();
        }
        if flags.skip_lockfs {
            resume = resume.skip_lockfs();
        }
        self.call_with_event(Command::Suspend, resume, Asked::of(name), flags.private).map(drop)
    }

    /// Holds all requests back until [`Mapper::resume`].
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such mapping.
    pub fn suspend(&self, name: &str, how: Suspend) -> Result<()> {
        let mut suspend = Buffer::named(&name::mangle(name)?).suspend();
        if how.no_flush {
            suspend = suspend.no_flush();
        }
        if how.skip_lockfs {
            suspend = suspend.skip_lockfs();
        }
        self.call(Command::Suspend, &suspend, Asked::of(name)).map(drop)
    }

    /// Sends a message to a mapping's first target ([`crypt::message`]).
    ///
    /// # Errors
    /// [`Error::Refused`] when the target rejects the message.
    pub fn message(&self, name: &str, text: &Secret) -> Result<()> {
        let message = Buffer::named(&name::mangle(name)?).secure().message(0, text.expose());
        let log = Log::now();
        let told = self.call(Command::TargetMessage, &message, Asked::telling(name));
        told.map(drop).map_err(|error| log.explain(error))
    }

    /// Removes a mapping; if it is open and `deferred` is set, as soon as the last user closes it.
    ///
    /// # Errors
    /// [`Error::Busy`] when it is open and not `deferred`; [`Error::NotFound`].
    pub fn remove(&self, name: &str, deferred: bool) -> Result<()> {
        let mangled = name::mangle(name)?;
        let mut tries = TRIES;
        loop {
            let mut remove = Buffer::named(&mangled);
            if deferred {
                remove = remove.deferred();
            }
            match self.call_with_event(Command::Remove, remove, Asked::removing(name), false) {
                // udev's rules open a device briefly to probe it.
                Err(Error::Busy(_)) if tries > 1 => thread::sleep(PAUSE),
                Err(error) => return Err(error),
                Ok(reply) if reply.is_removed_on_close() => return Ok(()),
                Ok(_) => return self.nodes.remove(&mangled),
            }
            tries -= 1;
        }
    }

    /// Cancels the deferred removal of a mapping.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Refused`] when no removal was deferred.
    pub fn cancel_deferred(&self, name: &str) -> Result<()> {
        let message = Buffer::named(&name::mangle(name)?).message(0, b"@cancel_deferred_remove");
        self.call(Command::TargetMessage, &message, Asked::telling(name)).map(drop)
    }

    /// What the kernel reports about a mapping.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such mapping.
    pub fn status(&self, name: &str) -> Result<Info> {
        let status = Buffer::named(&name::mangle(name)?).no_flush();
        Ok(self.call(Command::Status, &status, Asked::of(name))?.info())
    }

    /// What the kernel reports about the mapping with this block device.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the device is not a mapping.
    pub fn status_of(&self, device: DeviceNumber) -> Result<Info> {
        let status = Buffer::empty().device(device).no_flush();
        Ok(self.call(Command::Status, &status, Asked::of(&device.to_string()))?.info())
    }

    /// The table in use. Unless `with_keys` is set, the digits of dm-crypt's keys are zeros.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such mapping.
    pub fn table(&self, name: &str, with_keys: bool) -> Result<Vec<Target>> {
        let table = Buffer::named(&name::mangle(name)?).secure().no_flush().table_wanted();
        let mut targets = self.call(Command::TableStatus, &table, Asked::of(name))?.targets();
        if !with_keys {
            targets.iter_mut().for_each(crypt::hide_key);
        }
        Ok(targets)
    }

    /// All mappings on this machine: name and device.
    ///
    /// # Errors
    /// The kernel's.
    pub fn list(&self) -> Result<Vec<(String, DeviceNumber)>> {
        Ok(self.call(Command::ListDevices, &Buffer::empty(), Asked::of(""))?.names())
    }

    /// The block devices that a mapping's table uses.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such mapping.
    pub fn deps(&self, name: &str) -> Result<Vec<DeviceNumber>> {
        let deps = Buffer::named(&name::mangle(name)?).no_flush();
        Ok(self.call(Command::TableDeps, &deps, Asked::of(name))?.devices())
    }

    fn simple(&self, command: Command, name: &str) -> Result<()> {
        self.call(command, &Buffer::named(&name::mangle(name)?), Asked::of(name)).map(drop)
    }

    /// A call after which the kernel notifies udev; returns when udev's rules have run.
    fn call_with_event(
        &self,
        command: Command,
        buffer: Buffer,
        asked: Asked<'_>,
        private: bool,
    ) -> Result<Reply> {
        let cookie = if self.nodes.is_udev() { Cookie::new(private)? } else { Cookie::none(private) };
        let reply = self.call(command, &buffer.event(cookie.number()), asked)?;
        cookie.wait(reply.tells_udev());
        Ok(reply)
    }

    /// Calls the kernel with a growing buffer until its answer fits.
    fn call(&self, command: Command, buffer: &Buffer, asked: Asked<'_>) -> Result<Reply> {
        let mut room = ROOM;
        loop {
            let mut bytes = buffer.bytes(room);
            sys::call(&self.control, command, &mut bytes).map_err(|error| asked.refused(error))?;
            let reply = Reply::new(bytes);
            if !reply.is_cut() || room >= MOST_ROOM {
                return Ok(reply);
            }
            room *= 4;
        }
    }
}

/// Initial and maximum room for the kernel's answer, in bytes.
const ROOM: usize = 4 << 10;
const MOST_ROOM: usize = 16 << 20;

/// The first interface version that has `DM_GET_TARGET_VERSION`.
const ASKS_FOR_MODULES: Version = (4, 41, 0);

/// As in libdevmapper's "retry remove": 25 attempts, a fifth of a second apart.
const TRIES: u32 = 25;
const PAUSE: Duration = Duration::from_millis(200);
