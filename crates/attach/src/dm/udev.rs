//! Waiting for udev's rules, with libdevmapper's protocol.
//!
//! The kernel passes the number that came with the ioctl on to udev (`DM_COOKIE`). Its lower half
//! is the key of a System V semaphore, and its upper half says what the rules must skip. The last
//! of device-mapper's rules (`95-dm-notify.rules`) runs `dmsetup udevcomplete DM_COOKIE`, which
//! decrements the semaphore. Until then the links below `/dev` may be missing. Source:
//! libdm/libdm-common.c (dm_task_set_cookie, dm_udev_wait), libdm/libdevmapper.h.

use super::DeviceNumber;
use super::sys::Semaphore;
use crate::initramfs::Initramfs;
use crate::{Error, Result};
use rustix::io::Errno;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// Whether udev is running here with the rules that make device-mapper's links and notify on
/// completion.
pub(super) fn runs() -> bool {
    Path::new("/run/udev/control").exists()
        && RULES.iter().any(|directory| Path::new(directory).join("95-dm-notify.rules").exists())
}

/// Tells the udev that will start later of a mapping that was made without it. Its rules take the first event about a mapping
/// ("add", when udev starts) for none of libdevmapper's, and leave the mapping alone, unless its database says that it was
/// made as libdevmapper makes them (lvm2 2.03, 55-dm.rules): no links, no logical volumes found on it, no unit of systemd's.
///
/// # Errors
/// The entry cannot be written; an entry that is there stays.
pub fn introduce(device: DeviceNumber) -> std::io::Result<()> {
    introduce_in(Path::new(DATABASE), device)
}

fn introduce_in(database: &Path, DeviceNumber { major, minor }: DeviceNumber) -> std::io::Result<()> {
    std::fs::create_dir_all(database)?;
    let entry = database.join(format!("b{major}:{minor}"));
    match std::fs::File::create_new(entry) {
        Ok(mut file) => file.write_all(ENTRY),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// The same for the udev of an image's own /init, which mounts another /run: a rule ahead of device-mapper's, in the image. The
/// mark stays when the database is cleaned before the system starts (`db_persist`, udev(7)). A "change"
/// follows, as when udev sees a mapping being made: at an "add" dracut (059, 64-lvm.rules) looks for no logical volumes on it.
/// Does nothing in an image without udev.
///
/// # Errors
/// The rule cannot be written.
pub fn introduce_by_rule(_proof: &Initramfs, mappings: &[(String, DeviceNumber)]) -> std::io::Result<()> {
    match RULES.iter().any(|directory| Path::new(directory).is_dir()) && !mappings.is_empty() {
        true => write_rules(Path::new(OWN_RULES), mappings),
        false => Ok(()),
    }
}

/// A rule for each, by number and by name: the number may be another mapping's later.
fn write_rules(directory: &Path, mappings: &[(String, DeviceNumber)]) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)?;
    let rule = |(name, device): &(String, DeviceNumber)| {
        // What is none of udev's patterns and quotes stands for itself.
        let is_plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:+=@#".contains(&b));
        let name = if is_plain { format!("ATTR{{dm/name}}==\"{name}\", ") } else { String::new() };
        format!(
            "ACTION==\"add\", SUBSYSTEM==\"block\", KERNEL==\"dm-{}\", {name}\
             ENV{{DM_UDEV_PRIMARY_SOURCE_FLAG}}=\"1\", OPTIONS+=\"db_persist\", ATTR{{uevent}}=\"change\"\n",
            device.minor
        )
    };
    let path = directory.join(OWN_RULE);
    // A link there is not followed, and the rules of an earlier try go.
    let _ = std::fs::remove_file(&path);
    let mut file = std::fs::File::create_new(path)?;
    file.write_all(mappings.iter().map(rule).collect::<String>().as_bytes())
}

const OWN_RULES: &str = "/etc/udev/rules.d";
/// Before 10-dm.rules, or Debian's 55-dm.rules.
const OWN_RULE: &str = "09-keyway.rules";
const DATABASE: &str = "/run/udev/data";
const ENTRY: &[u8] = b"E:DM_UDEV_PRIMARY_SOURCE_FLAG=1\n";

/// What to wait for after a call that involves udev.
pub(super) struct Cookie {
    semaphore: Option<Semaphore>,
    number: u32,
}

impl Cookie {
    /// A cookie to wait for. `private`: udev makes the mapping's node and does nothing else.
    pub(super) fn new(private: bool) -> Result<Self> {
        for _ in 0..TRIES {
            let mut half = [0; 2];
            getrandom::fill(&mut half).map_err(|error| Error::Io {
                what: "asking for a random number".into(),
                source: error.into(),
            })?;
            // 0 would mean that nobody is waiting.
            let half = u32::from(u16::from_ne_bytes(half).max(1));
            match Semaphore::new((MAGIC << 16 | half) as i32, 1) {
                Err(Errno::EXIST) => {}
                Ok(semaphore) => {
                    return Ok(Self { semaphore: Some(semaphore), number: flags(private) << 16 | half });
                }
                // No semaphores (ENOSYS, ENOSPC): the links appear all the same, a moment later.
                Err(_) => break,
            }
        }
        Ok(Self::none(private))
    }

    /// A cookie that nobody waits for.
    pub(super) fn none(private: bool) -> Self {
        Self { semaphore: None, number: flags(private) << 16 }
    }

    /// The number passed with the ioctl.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// Returns when the rules have run, if the kernel notified udev at all. A udev that hangs is
    /// not waited for indefinitely.
    pub(super) fn wait(self, told: bool) {
        if let Some(semaphore) = self.semaphore.filter(|_| told) {
            while semaphore.wait_for_zero(LIMIT) == Err(Errno::INTR) {}
        }
    }
}

fn flags(private: bool) -> u32 {
    let private =
        if private { DISABLE_SUBSYSTEM_RULES | DISABLE_DISK_RULES | DISABLE_OTHER_RULES } else { 0 };
    PRIMARY_SOURCE | DISABLE_LIBRARY_FALLBACK | private
}

/// `DM_COOKIE_MAGIC`.
const MAGIC: u32 = 0x0d4d;

/// `DM_UDEV_…_FLAG`.
const DISABLE_SUBSYSTEM_RULES: u32 = 0x02;
const DISABLE_DISK_RULES: u32 = 0x04;
const DISABLE_OTHER_RULES: u32 = 0x08;
const DISABLE_LIBRARY_FALLBACK: u32 = 0x20;
const PRIMARY_SOURCE: u32 = 0x40;

const RULES: [&str; 4] =
    ["/usr/lib/udev/rules.d", "/lib/udev/rules.d", "/etc/udev/rules.d", "/run/udev/rules.d"];
const TRIES: u32 = 100;
/// The default time limit that udev gives to a program run by a rule.
const LIMIT: Duration = Duration::from_secs(180);

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_mapping_is_introduced_once() {
        let database = std::env::temp_dir().join(format!("keyway-udev-{}/data", std::process::id()));
        let device = DeviceNumber { major: 254, minor: 7 };
        introduce_in(&database, device).unwrap();
        let entry = database.join("b254:7");
        assert_eq!(fs::read(&entry).unwrap(), b"E:DM_UDEV_PRIMARY_SOURCE_FLAG=1\n");
        fs::write(&entry, "of udev's own").unwrap();
        introduce_in(&database, device).unwrap();
        assert_eq!(fs::read_to_string(&entry).unwrap(), "of udev's own");
        fs::remove_dir_all(database.parent().unwrap()).unwrap();
    }

    #[test]
    fn rules_name_the_mappings_that_are_there() {
        let directory = std::env::temp_dir().join(format!("keyway-udev-rules-{}", std::process::id()));
        let mappings = [("root", 0), ("a*b", 3)]
            .map(|(name, minor)| (name.to_owned(), DeviceNumber { major: 254, minor }));
        for _ in 0..2 {
            write_rules(&directory, &mappings).unwrap();
        }
        assert_eq!(
            fs::read_to_string(directory.join("09-keyway.rules")).unwrap(),
            "ACTION==\"add\", SUBSYSTEM==\"block\", KERNEL==\"dm-0\", ATTR{dm/name}==\"root\", \
             ENV{DM_UDEV_PRIMARY_SOURCE_FLAG}=\"1\", OPTIONS+=\"db_persist\", ATTR{uevent}=\"change\"\n\
             ACTION==\"add\", SUBSYSTEM==\"block\", KERNEL==\"dm-3\", \
             ENV{DM_UDEV_PRIMARY_SOURCE_FLAG}=\"1\", OPTIONS+=\"db_persist\", ATTR{uevent}=\"change\"\n"
        );
        fs::remove_dir_all(directory).unwrap();
    }
}
